from collections.abc import Iterator, Sequence
from typing import Any

from aioifx.codecs.base import Codec

class Encoder:
    def __init__(
        self, codecs: Sequence[Codec], codec: str, errors: str, before: bytes | None, behind: bytes | None
    ) -> None: ...
    def run(self, rows: Iterator[tuple[Any, ...]], out: bytearray) -> tuple[tuple[Any, ...]] | None: ...
