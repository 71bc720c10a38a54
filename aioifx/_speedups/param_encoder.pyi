from collections.abc import Iterator, Mapping, Sequence
from typing import Any

class Encoder:
    def __init__(
        self,
        parameters: Sequence[tuple[Mapping[type[object], Any], Any]],
        codec: str,
        errors: str,
        head: bytes,
        tail: bytes,
    ) -> None: ...
    def __call__(
        self, rows: Iterator[Sequence[Any]], out: bytearray, limit: int
    ) -> tuple[int, tuple[Any] | None]: ...
