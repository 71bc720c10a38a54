LIVE: dict[int, object]
ADDRESSES: tuple[int, int, int, int]
