"""`_speedups.arrow_release` by ctypes: release of the structures that are exported. Never: what they hold.

Invariants:
1. The functions have no other references than their arguments' defaults, and are never freed: consumers may call them
   while the interpreter ends.
2. CPython has no way for such a function to keep an exception that the thread is raising: with a temporary object of a
   failing expression it may become SystemError. The kernel keeps it.
"""

from __future__ import annotations

import ctypes
from ctypes import byref, cast
from typing import Any, Final

from aioifx.codecs.arrow_structs import ArrayStruct, SchemaStruct, StreamStruct

LIVE: Final[dict[int, object]] = {}
"""What lives until a release: by the private data of a structure, or by the address of a capsule."""


def _release(pointer: Any, kept: dict[int, object] = LIVE) -> None:
    one = pointer.contents
    null = type(one.release)()
    for place in range(getattr(one, "n_children", 0)):  # a stream has none
        child = one.children[place].contents
        if child.release:
            child.release(one.children[place])
    key, one.release = one.private_data, null
    kept.pop(key, None)


def _destroy(capsule: int, kept: dict[int, object] = LIVE, byref: Any = byref) -> None:
    """The destructor of a capsule: releases a structure that no consumer has taken."""
    struct: Any = kept[capsule]
    if struct.release:
        struct.release(byref(struct))
    del kept[capsule]


def _address(function: Any) -> int:
    """Of a function that is never freed."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(function))
    return cast(function, ctypes.c_void_p).value or 0


ADDRESSES: Final = (
    *(
        _address(ctypes.CFUNCTYPE(None, ctypes.POINTER(kind))(_release))
        for kind in (SchemaStruct, ArrayStruct, StreamStruct)
    ),
    _address(ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(_destroy)),
)
"""Of the functions that release a schema, an array and a stream, and of the destructor of a capsule."""
