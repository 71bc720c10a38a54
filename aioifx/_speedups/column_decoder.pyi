from collections.abc import Callable
from typing import Any

class Memory:
    def __buffer__(self, flags: int, /) -> memoryview: ...
    def __len__(self) -> int: ...
    @property
    def address(self) -> int: ...

class Columns:
    def __new__(
        cls,
        fields: list[
            tuple[
                int,
                int,
                int,
                int,
                bool,
                int,
                int,
                int,
                int,
                int,
                tuple[int, ...],
                Callable[[bytes], bytes | None],
            ]
        ],
        codec: str,
        keeps_ascii: bool,
        most_bytes: int,
    ) -> Columns: ...
    @property
    def rows(self) -> int: ...
    @property
    def nbytes(self) -> int: ...
    def decode(self, data: bytearray, pos: int, end: int) -> int: ...
    def append(self, row: tuple[bytes | None, ...], /) -> bool: ...
    def finish(self) -> tuple[int, list[tuple[int, Any, Any, Any]]]: ...
