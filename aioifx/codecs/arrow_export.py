"""Columns of results as PyCapsules of Arrow's C data interface, by the kernel. Never: pyarrow, who consumes them.

Source: documented: the Arrow C data interface, the Arrow C stream interface, and the Arrow PyCapsule interface

Invariants:
1. Nothing is copied. A column's buffers live until the consumer releases its structure, and no longer.
2. A structure is released once: by its consumer, or by its capsule if it was not consumed.
3. Consumers call in any thread. An exception becomes an error code and a text.
"""

from __future__ import annotations

import ctypes
import errno
from collections.abc import Callable, Iterable, Sequence
from ctypes import addressof, c_void_p, sizeof
from struct import pack
from typing import Any, Final, NamedTuple, cast

from aioifx.codecs.arrow_structs import (
    ARRAY,
    SCHEMA,
    STREAM,
    ArrayStruct,
    GetLastError,
    GetNext,
    GetSchema,
    SchemaStruct,
    StreamStruct,
)
from aioifx.codecs.column_buffers import Block, NextBlock
from aioifx.codecs.native import arrow_releases

_new_capsule: Any = ctypes.PYFUNCTYPE(ctypes.py_object, c_void_p, ctypes.c_char_p, c_void_p)(
    ("PyCapsule_New", ctypes.pythonapi)
)
releases: Any = arrow_releases()

_NULLABLE: Final = 2


class FieldText(NamedTuple):
    """A column of a schema: the addresses of its texts, and what keeps them alive."""

    format: int
    name: int
    metadata: int
    texts: object


def fields_of(columns: Iterable[tuple[str, str, str]]) -> list[FieldText]:
    """Columns: their names, formats and types in SQL."""
    return [_field_text(name, form, sql_type=sql_type) for name, form, sql_type in columns]


def _field_text(name: str, form: str, **metadata: str) -> FieldText:
    """A column, with its type as the interface spells it."""
    pairs = [text.encode() for pair in metadata.items() for text in pair]
    sized = b"".join(pack("=i", len(text)) + text for text in pairs)
    texts = [
        ctypes.create_string_buffer(text)
        for text in (form.encode(), name.encode(), pack("=i", len(metadata)) + sized)
    ]
    at_format, at_name, at_metadata = map(addressof, texts)
    return FieldText(at_format, at_name, at_metadata, texts)


# --- capsules -------------------------------------------------------------------------------------------------------


def export_schema(fields: Sequence[FieldText]) -> object:
    """A capsule of a schema."""
    schema = SchemaStruct()
    _fill_schema(schema, fields)
    return _capsule(schema, b"arrow_schema")


def export_block(fields: Sequence[FieldText], block: Block) -> tuple[object, object]:
    """Capsules of a schema, and of a block as an array of structs."""
    array = ArrayStruct()
    _fill_array(array, block)
    return export_schema(fields), _capsule(array, b"arrow_array")


def export_stream(fields: Sequence[FieldText], next_block: NextBlock) -> object:
    """A capsule of a stream of blocks. Its release gives up the reference to *next_block*."""
    stream = StreamStruct()
    key = _keep(_Export(fields, next_block))
    STREAM.pack_into(stream, 0, *_CALLBACKS, releases.ADDRESSES[2], key)
    return _capsule(stream, b"arrow_array_stream")


def _capsule(struct: Any, name: bytes) -> object:
    capsule = _new_capsule(addressof(struct), name, releases.ADDRESSES[3])
    struct.capsule_name = name  # must live as long as the capsule
    releases.LIVE[id(capsule)] = struct
    return capsule


def _keep(*what: object) -> int:
    """Keep *what* alive until the release of a structure with this private data."""
    key = id(what)  # of no other that lives
    releases.LIVE[key] = what
    return key


_ROOT: Final = _field_text("", "+s")


# --- structures -----------------------------------------------------------------------------------------------------


def _fill_schema(into: Any, fields: Sequence[FieldText]) -> None:
    children = (SchemaStruct * len(fields))()
    pointers = _pointers(children)
    release = releases.ADDRESSES[0]
    for place, field in enumerate(fields):
        where, key = place * sizeof(SchemaStruct), _keep(field)
        SCHEMA.pack_into(children, where, *field[:3], _NULLABLE, 0, 0, 0, release, key)
    key = _keep(children, pointers, _ROOT)
    SCHEMA.pack_into(into, 0, *_ROOT[:3], 0, len(fields), addressof(pointers), 0, release, key)


def _fill_array(into: Any, block: Block) -> None:
    children = (ArrayStruct * len(block.chunks))()
    pointers = _pointers(children)
    release = releases.ADDRESSES[1]
    for place, chunk in enumerate(block.chunks):
        addresses = [None if buffer is None else buffer.address for buffer in chunk.buffers]
        buffers = (c_void_p * len(addresses))(*addresses)
        key, where = _keep(chunk, buffers), place * sizeof(ArrayStruct)
        numbers = block.rows, chunk.nulls, 0, len(addresses), 0
        ARRAY.pack_into(children, where, *numbers, addressof(buffers), 0, 0, release, key)
    buffers = (c_void_p * 1)()
    key = _keep(children, pointers, buffers)
    numbers = block.rows, 0, 0, 1, len(block.chunks)
    ARRAY.pack_into(into, 0, *numbers, addressof(buffers), addressof(pointers), 0, release, key)


def _pointers(children: Any) -> Any:
    """Pointers to the items of an array."""
    first, size, count = addressof(children), sizeof(children._type_), len(children)
    return (c_void_p * count)(*range(first, first + count * size, size))


# --- a stream's callbacks -------------------------------------------------------------------------------------------


class _Export:
    """What one stream exports."""

    def __init__(self, fields: Sequence[FieldText], next_block: NextBlock) -> None:
        self._fields = fields
        self._next_block = next_block
        self.error: Any = None
        """The text of the last error, which lives until the next call."""

    def answer(self, fill: Callable[[Any], None], into: Any) -> int:
        """Fill the structure at *into*, or return the code of an error."""
        self.error = None
        try:
            fill(into.contents)
        except BaseException as error:  # no exception can pass the consumer's code
            self.error = ctypes.create_string_buffer(
                f"{type(error).__name__}: {error}".encode("utf-8", "replace")
            )
            return errno.ENOMEM if isinstance(error, MemoryError) else errno.EIO
        return 0

    def fill_schema(self, into: SchemaStruct) -> None:
        _fill_schema(into, self._fields)

    def fill_next(self, into: ArrayStruct) -> None:
        block = self._next_block()
        if block is None:
            ctypes.memset(addressof(into), 0, sizeof(into))  # without a release, it is the end
        else:
            _fill_array(into, block)


def _export_of(stream: Any) -> _Export:
    return cast("tuple[_Export]", releases.LIVE[stream.contents.private_data])[0]


def _get_schema(stream: Any, into: Any) -> int:
    export = _export_of(stream)
    return export.answer(export.fill_schema, into)


def _get_next(stream: Any, into: Any) -> int:
    export = _export_of(stream)
    return export.answer(export.fill_next, into)


def _get_last_error(stream: Any) -> int | None:
    error = _export_of(stream).error
    return None if error is None else addressof(error)


_FUNCTIONS: Final = GetSchema(_get_schema), GetNext(_get_next), GetLastError(_get_last_error)
_CALLBACKS: Final = [ctypes.cast(function, c_void_p).value for function in _FUNCTIONS]
