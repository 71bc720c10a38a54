from collections.abc import Sequence
from datetime import tzinfo
from typing import Protocol, TypeVar

_Row = TypeVar("_Row", bound=tuple[object, ...])

class _Codec(Protocol):
    @property
    def kind(self) -> int: ...
    @property
    def head(self) -> int: ...
    @property
    def width(self) -> int: ...
    @property
    def detail(self) -> int: ...
    @property
    def zone(self) -> tzinfo | None: ...
    def decode(self, field: bytes, /) -> object: ...

class _CodeSet(Protocol):
    @property
    def codec(self) -> str: ...
    @property
    def errors(self) -> str: ...
    @property
    def keeps_ascii(self) -> bool: ...
    def decode(self, data: bytes, /) -> str: ...

class Decoder:
    """Decodes the rows of one shape into instances of *row_type*.

    It stops before a row that raises one of *fallback_errors*.
    """

    def __init__(
        self,
        codecs: Sequence[_Codec],
        code_set: _CodeSet,
        row_type: type[tuple[object, ...]],
        fallback_errors: tuple[type[BaseException], ...],
        /,
    ) -> None: ...
    def run(self, data: bytes | bytearray, pos: int, end: int, rows: list[tuple[object, ...]], /) -> int:
        """Decode whole SQ_TUPLE messages from *pos* on; returns the position after the last one."""
