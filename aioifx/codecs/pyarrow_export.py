"""Columns of results as PyCapsules that pyarrow makes, without the kernel. Never: a request, who consumes them.

A consumer may release what it holds while its thread raises an exception. ctypes cannot call a Python function then, so
no structure has one. pyarrow's functions keep the exception.

Invariants:
1. Nothing is copied. A column's buffers live until the consumer releases its structure, and no longer.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from importlib import import_module
from typing import Any, Final

from aioifx.codecs.column_buffers import Block, NextBlock
from aioifx.errors import NotSupportedError

try:
    pa: Any = import_module("pyarrow")  # type checkers know nothing of it
except ImportError:
    raise NotSupportedError("Arrow data: expected the compiled kernel or pyarrow, got neither") from None

_TYPES: Final = {
    "s": "int16", "i": "int32", "l": "int64", "f": "float32", "g": "float64", "d": "decimal128",
    "b": "bool_", "u": "utf8", "z": "binary", "tdD": "date32",
    "tss": "timestamp s", "tsm": "timestamp ms", "tsu": "timestamp us",
    "tts": "time32 s", "ttm": "time32 ms", "ttu": "time64 us",
    "tDs": "duration s", "tDm": "duration ms", "tDu": "duration us",
}  # fmt: skip
"""pyarrow's functions that make types, and their unit, by what `aioifx.codecs.arrow_layout` calls a format."""


def fields_of(columns: Iterable[tuple[str, str, str]]) -> Any:
    """A `pyarrow.Schema` of columns: their names, formats and types in SQL."""
    return pa.schema(
        [pa.field(name, _type(form), metadata={"sql_type": sql_type}) for name, form, sql_type in columns]
    )


def export_schema(fields: Any) -> object:
    """A capsule of a schema."""
    capsule: object = fields.__arrow_c_schema__()
    return capsule


def export_block(fields: Any, block: Block) -> tuple[object, object]:
    """Capsules of a schema, and of a block as an array of structs."""
    capsules: tuple[object, object] = _batch(fields, block).__arrow_c_array__()
    return capsules


def export_stream(fields: Any, next_block: NextBlock) -> object:
    """A capsule of a stream of blocks. Its release gives up the reference to *next_block*."""
    batches = map(partial(_batch, fields), iter(next_block, None))
    capsule: object = pa.RecordBatchReader.from_batches(fields, batches).__arrow_c_stream__()
    return capsule


def _type(form: str) -> Any:
    kind, _, rest = form.partition(":")
    name, *unit = _TYPES[kind].split()
    details = map(int, rest.split(",")) if kind == "d" else filter(None, [rest])  # digits, or a time zone
    return getattr(pa, name)(*unit, *details)


def _batch(fields: Any, block: Block) -> Any:
    arrays: list[Any] = []
    for kind, chunk in zip(fields.types, block.chunks, strict=True):
        buffers = [None if buffer is None else pa.py_buffer(buffer) for buffer in chunk.buffers]
        arrays.append(pa.Array.from_buffers(kind, block.rows, buffers, chunk.nulls))
    return pa.RecordBatch.from_arrays(arrays, schema=fields)
