"""Types of the arguments of load() and unload(), and the protocol of a text format. Never: what they do.

Loaded with every connection, so that `typing.get_type_hints` resolves the signatures. The rest is loaded on use.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterable, Awaitable, Callable, Iterable, Sequence
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias, runtime_checkable

from aioifx.client.execution.arrow_reader import ArrowTable
from aioifx.client.execution.pipeline import ParamRows
from aioifx.errors import DatabaseError
from aioifx.sqltypes import Column

TextRecord: TypeAlias = list[str | None]
"""The fields of one record; None is NULL."""

Chunk: TypeAlias = str | bytes | bytearray | memoryview


@runtime_checkable
class Readable(Protocol):
    """An open file, binary or text. A text file needs newline="", or Python turns a CR in a field into a newline."""

    def read(self, size: int, /) -> str | bytes: ...


TextSource: TypeAlias = str | os.PathLike[str] | Readable | Iterable[Chunk]
"""Source of records; a str is a path."""


class TextFormat(Protocol):
    """The part of a text format that `RecordReader` does not implement."""

    @property
    def encoding(self) -> str | None:
        """Python name of the encoding of bytes; None: UTF-8, where a byte order mark is skipped."""
        ...

    @property
    def max_record(self) -> int:
        """Maximum length of a record, in characters."""
        ...

    def continues(self, line: str, inside: bool) -> bool:
        """Whether the newline after *line* is data; *inside* is the same for the newline before it."""
        ...

    def split(self, text: str) -> TextRecord:
        """The fields of a record without its newline; an empty list for an empty line.

        Raises:
            DataError: the record is not in this format.
        """
        ...

    def join(self, fields: Sequence[str | None]) -> str:
        """One record, with its newline."""
        ...


Format: TypeAlias = Literal["unload", "csv"] | TextFormat
"""Format of a text file."""

RowSource: TypeAlias = ParamRows | ArrowTable | TextSource | AsyncIterable[Chunk]
"""Rows, or a table with Arrow's PyCapsule interface; with a format a path, an open file, or chunks of text or bytes."""

Progress: TypeAlias = Callable[[int], object]
"""Called with the number of rows so far."""


class Reject(NamedTuple):
    """A row that a load leaves out."""

    error: DatabaseError
    """Why. It has *row_index*, counted from 0, and *column* if one is known. Its message names the row or record."""
    columns: Sequence[Column]
    """The columns of the INSERT."""
    row: Sequence[Any]
    """The values; of a file, the texts of the fields, None for NULL."""


OnReject: TypeAlias = Callable[[Reject], object]
"""Called with each row that cannot be loaded. An exception ends the load."""


Commit: TypeAlias = Literal["end", "block"]
"""When a load commits."""


@runtime_checkable
class Writable(Protocol):
    """An open file, binary or text. A text file needs newline="", or Windows writes other newlines."""

    def write(self, data: Any, /) -> object: ...


WriteFunction: TypeAlias = Callable[[bytes], object] | Callable[[bytes], Awaitable[object]]
"""A function, async or not, called with bytes of text: any number of whole records."""

Target: TypeAlias = str | os.PathLike[str] | Writable | WriteFunction
"""Destination of text."""

# The public path, which pickles and messages name, also if the class was not imported by `aioifx` itself.
Reject.__module__ = "aioifx"
