"""Arrow's C data interface: the fields and buffers of batches, and their release. Never: values, types of SQL.

Source: documented: the Arrow C data interface, the Arrow C stream interface, and the Arrow PyCapsule interface

Invariants:
1. What an object exports stays in its capsules, which stay alive with the `ArrowSource` or `ArrowBatch`. Each release
   callback is called once: by `close` and `release`, or by the capsule's destructor or `__del__` if neither was called.
2. The address of a buffer is valid until its batch is released.
3. One thread at a time uses a source.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, Final, TypeVar, cast
from weakref import WeakSet

from aioifx.codecs.arrow_rows import ArrowColumn, ArrowField
from aioifx.codecs.arrow_structs import ArrayStruct, SchemaStruct, StreamStruct
from aioifx.errors import DataError, InterfaceError, NotSupportedError

_STRUCT: Final = "+s"

_T = TypeVar("_T")


class ArrowBatch:
    """Columns of one length, which live until `release`.

    Args:
        owner: what keeps *array* alive.
    """

    def __init__(self, array: ArrayStruct, fields: tuple[ArrowField, ...], owner: object = None) -> None:
        self._array = array
        self._owner = owner
        self._release: Callable[[Any], None] | None = array.release
        self._pointer = ctypes.pointer(array)
        if array.n_children != len(fields):
            raise InterfaceError(f"Arrow data: expected {len(fields)} columns, got {array.n_children}")
        _check_range(array)
        self.rows: int = array.length
        if array.null_count and _has_null(array):
            raise DataError("Arrow data: expected rows, got a struct that is null as a whole")
        self.columns: tuple[ArrowColumn, ...] = tuple(
            _column(child, field, array.offset, array.length)
            for child, field in zip(_children(array), fields, strict=True)
        )

    def release(self) -> None:
        """Give the buffers back. Idempotent."""
        release, self._release = self._release, None
        if release and self._array.release:
            self.columns = ()
            release(self._pointer)

    def __del__(self) -> None:
        self.release()


class ArrowSource:
    """The batches of an object with ``__arrow_c_array__`` or ``__arrow_c_stream__``. The calls may block."""

    def __init__(self, data: object) -> None:
        exporter: Any = data
        self._batches: WeakSet[ArrowBatch] = WeakSet()
        self._stream: StreamStruct | None = None
        self._single: ArrowBatch | None = None
        self._is_at_end = False
        if hasattr(type(data), "__arrow_c_array__"):
            pair: object = exporter.__arrow_c_array__()
            kind = type(pair).__name__
            if not isinstance(pair, tuple) or len(cast("tuple[object, ...]", pair)) != 2:
                raise InterfaceError(f"Arrow data: expected two PyCapsules, got {kind}")
            schema, array = cast("tuple[object, object]", pair)
            self.fields = _columns_of(_field(SchemaStruct.from_address(_address(schema, b"arrow_schema"))))
            found = _unreleased(ArrayStruct.from_address(_address(array, b"arrow_array")), "a record batch")
            self._single = ArrowBatch(found, self.fields, array)
            self._batches.add(self._single)
        else:
            self._capsule = exporter.__arrow_c_stream__()
            stream = StreamStruct.from_address(_address(self._capsule, b"arrow_array_stream"))
            self._stream = _unreleased(stream, "a stream")
            self.fields = self._read_schema(self._stream)

    def _read_schema(self, stream: StreamStruct) -> tuple[ArrowField, ...]:
        schema = SchemaStruct()
        self._check(stream, stream.get_schema(ctypes.byref(stream), ctypes.byref(schema)))
        try:
            return _columns_of(_field(schema))
        finally:
            schema.release(ctypes.byref(schema))

    def next(self) -> ArrowBatch | None:
        """The next batch that has rows; None at the end, and after `close`."""
        single, self._single = self._single, None
        if single is not None:
            return single if single.rows else None
        stream = self._stream
        while stream is not None and not self._is_at_end:
            array = ArrayStruct()
            self._check(stream, stream.get_next(ctypes.byref(stream), ctypes.byref(array)))
            if not array.release:
                self._is_at_end = True
                break
            batch = ArrowBatch(array, self.fields)
            self._batches.add(batch)
            if batch.rows:
                return batch
        return None

    def _check(self, stream: StreamStruct, code: int) -> None:
        """Raise the error of a callback; its text may quote data, so it is the cause only."""
        if code:
            text: int | None = stream.get_last_error(ctypes.byref(stream))
            cause = OSError(code, ctypes.string_at(text).decode("utf-8", "replace") if text else "")
            raise InterfaceError(f"Arrow data: the stream failed with error {code}") from cause

    def close(self) -> None:
        """Release the stream and its batches. Idempotent."""
        self._single = None
        for batch in [*self._batches]:
            batch.release()
        stream, self._stream = self._stream, None
        if stream is not None and stream.release:
            stream.release(ctypes.byref(stream))


# --- reading structures ---------------------------------------------------------------------------------------------


def _address(capsule: object, name: bytes) -> int:
    """The address in a capsule.

    Raises:
        InterfaceError: it is another object.
        NotSupportedError: this Python has no capsules for ctypes.
    """
    try:
        api = ctypes.pythonapi.PyCapsule_GetPointer
    except AttributeError:
        raise NotSupportedError("Arrow data: this Python gives no access to PyCapsules") from None
    api.argtypes, api.restype = (ctypes.py_object, ctypes.c_char_p), ctypes.c_void_p
    try:
        return cast("int", api(capsule, name))
    except ValueError:
        kind = type(capsule).__name__
        raise InterfaceError(f"Arrow data: expected a PyCapsule of {name.decode()}, got {kind}") from None


def _unreleased(one: _T, what: str) -> _T:
    """The structure itself, whose callbacks and pointers are valid until its release."""
    if not cast("Any", one).release:
        raise InterfaceError(f"Arrow data: expected {what}, got one that was released")
    return one


def _children(one: Any) -> list[Any]:
    if one.n_children > 0 and not (one.children and all(one.children[: one.n_children])):
        raise InterfaceError("Arrow data: expected a child, got a NULL pointer")
    return [one.children[index].contents for index in range(one.n_children)]


def _field(schema: SchemaStruct) -> ArrowField:
    _unreleased(schema, "a schema")
    return ArrowField(
        (schema.name or b"").decode("utf-8", "replace"),
        (schema.format or b"").decode("utf-8", "replace"),
        _field(schema.dictionary.contents) if schema.dictionary else None,
        tuple(map(_field, _children(schema))),
    )


def _columns_of(field: ArrowField) -> tuple[ArrowField, ...]:
    if field.format != _STRUCT or field.dictionary is not None:
        raise InterfaceError(
            f"Arrow data: expected a table or record batch, got the type {field.format!r:.40}"
        )
    return field.children


def _check_range(array: ArrayStruct) -> None:
    if array.length < 0 or array.offset < 0:
        raise InterfaceError(
            f"Arrow data: expected a range of rows, got {array.length} from {array.offset} on"
        )


def _column(array: ArrayStruct, field: ArrowField, first: int, length: int) -> ArrowColumn:
    """The column of a batch whose rows are *length* values from *first* on."""
    _check_range(array)
    if array.n_buffers > 0 and not array.buffers:
        raise InterfaceError("Arrow data: expected buffers, got a NULL pointer")
    buffers = tuple(array.buffers[index] or 0 for index in range(array.n_buffers))
    if array.length < first + length:
        raise InterfaceError(f"Arrow data: expected a column of {first + length} rows, got {array.length}")
    values = array.dictionary.contents if array.dictionary else None
    if (values is None) != (field.dictionary is None):
        raise InterfaceError(
            "Arrow data: expected a dictionary in both the schema and the batch, or in neither"
        )
    return ArrowColumn(
        length,
        array.offset + first,
        bool(array.null_count and buffers and buffers[0]),
        buffers,
        None
        if values is None or field.dictionary is None
        else _column(values, field.dictionary, 0, values.length),
    )


def _has_null(array: ArrayStruct) -> bool:
    """Whether the validity bitmap has a zero; its number may be unknown."""
    if not (array.n_buffers and array.buffers[0]):
        return False
    return 0 in validity(array.buffers[0], array.offset, array.length)


def validity(address: int, first: int, count: int) -> list[int]:
    """A bitmap as a list of 0 and 1."""
    head = first & 7
    data = ctypes.string_at(address + (first >> 3), (head + count + 7) >> 3)
    bits = int.from_bytes(data, "little") >> head & (1 << count) - 1
    return [48 != bit for bit in reversed(f"{bits:0{count}b}".encode())] if count else []
