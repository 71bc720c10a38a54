"""Exports batches of one INTEGER column through Arrow's C stream interface, and counts what is released."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

from aioifx.codecs.arrow_structs import ArrayStruct, SchemaStruct, StreamStruct

_NEW = ctypes.pythonapi.PyCapsule_New
_NEW.argtypes, _NEW.restype = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p), ctypes.py_object
_DESTRUCTOR = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
_POINTER = ctypes.pythonapi.PyCapsule_GetPointer

_STREAM = b"arrow_array_stream"

_KEPT: list[Any] = []
"""What C structures refer to, until the process ends. The garbage collector may clear an exporter before the capsule
that it has made, whose destructor calls back."""


class Exporter:
    """An object with ``__arrow_c_stream__``.

    Args:
        batches: the values of each batch.
        failure: the code that get_next returns after the batches.
        formats: those of the columns; only INTEGER columns have values.
    """

    def __init__(
        self,
        *batches: Sequence[int],
        failure: int = 0,
        formats: tuple[bytes, ...] = (b"i",),
        children: int = 1,
    ) -> None:
        self.batches = [list(batch) for batch in batches]
        self.failure = failure
        self.formats = formats
        self.children = children
        self.exported = 0
        self.released: list[str] = []

    def __arrow_c_stream__(self, requested_schema: object = None) -> Any:
        self.exported += 1
        upcoming = [*self.batches]
        stream = StreamStruct()

        def get_schema(_: Any, into: Any) -> int:
            self._put_schema(into.contents)
            return 0

        def get_next(_: Any, into: Any) -> int:
            if not upcoming:
                return self.failure
            self._put_batch(into.contents, upcoming.pop(0))
            return 0

        text = ctypes.create_string_buffer(b"disk 7 is gone")
        _KEPT.append(text)

        def get_last_error(_: Any) -> int:
            return ctypes.addressof(text)

        def release(one: Any) -> None:
            self.released.append("stream")
            one.contents.release = type(stream.release)()

        for name, function in (
            ("get_schema", get_schema),
            ("get_next", get_next),
            ("get_last_error", get_last_error),
            ("release", release),
        ):
            callback = type(getattr(stream, name))(function)
            _KEPT.append(callback)
            setattr(stream, name, callback)

        def destroy(capsule: int) -> None:
            if stream.release:
                stream.release(ctypes.byref(stream))

        destructor = _DESTRUCTOR(destroy)
        _KEPT.extend((stream, destructor))
        return _NEW(ctypes.addressof(stream), _STREAM, ctypes.cast(destructor, ctypes.c_void_p))

    def _put_schema(self, schema: SchemaStruct) -> None:
        children = [SchemaStruct() for _ in self.formats]
        for child, form in zip(children, self.formats, strict=True):
            child.format, child.name = form, b"number"
            child.release = self._callback(child, "child of schema")
        schema.format, schema.n_children = b"+s", len(children)
        schema.children = self._pointers(SchemaStruct, children)
        schema.release = self._callback(schema, "schema")

    def _put_batch(self, array: ArrayStruct, values: list[int]) -> None:
        data = (ctypes.c_int32 * len(values))(*values)
        _KEPT.append(data)
        child = ArrayStruct(length=len(values), n_buffers=2)
        child.buffers = (ctypes.c_void_p * 2)(None, ctypes.addressof(data))
        child.release = self._callback(child, "child of batch")
        array.length, array.n_buffers, array.n_children = len(values), 1, self.children
        array.buffers = (ctypes.c_void_p * 1)(None)
        array.children = self._pointers(ArrayStruct, [child] * self.children)
        array.release = self._callback(array, "batch")

    def _callback(self, one: Any, name: str) -> Any:
        def release(released: Any) -> None:
            self.released.append(name)
            released.contents.release = type(one.release)()

        callback = type(one.release)(release)
        _KEPT.append(callback)
        return callback

    def _pointers(self, kind: Any, children: list[Any]) -> Any:
        pointers = (ctypes.POINTER(kind) * len(children))(*map(ctypes.pointer, children))
        _KEPT.extend((children, pointers))
        return ctypes.cast(pointers, ctypes.POINTER(ctypes.POINTER(kind)))
