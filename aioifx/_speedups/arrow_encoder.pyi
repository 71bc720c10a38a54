from collections.abc import Iterable, Sequence
from typing import Any

class Encoder:
    def __init__(
        self, plans: Iterable[Any], head: bytes, size_at: int, tail: bytes, codec: str, errors: str
    ) -> None: ...
    def run(
        self, readings: Iterable[Sequence[Any]], first: int, row: int, last: int, out: bytearray, limit: int
    ) -> int: ...
