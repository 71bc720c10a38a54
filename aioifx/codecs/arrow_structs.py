"""The structures of Arrow's C data and C stream interface. Never: who exports them, values.

Source: documented: the Arrow C data interface, the Arrow C stream interface
"""

from __future__ import annotations

import ctypes
from struct import Struct
from typing import Final


class SchemaStruct(ctypes.Structure):
    """The name and type of a column."""


class ArrayStruct(ctypes.Structure):
    """The buffers of a column, or the columns of a batch."""


class StreamStruct(ctypes.Structure):
    """A series of batches."""


SchemaStruct._fields_ = [
    ("format", ctypes.c_char_p),
    ("name", ctypes.c_char_p),
    ("metadata", ctypes.c_void_p),
    ("flags", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("children", ctypes.POINTER(ctypes.POINTER(SchemaStruct))),
    ("dictionary", ctypes.POINTER(SchemaStruct)),
    ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(SchemaStruct))),
    ("private_data", ctypes.c_void_p),
]
ArrayStruct._fields_ = [
    ("length", ctypes.c_int64),
    ("null_count", ctypes.c_int64),
    ("offset", ctypes.c_int64),
    ("n_buffers", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.POINTER(ctypes.POINTER(ArrayStruct))),
    ("dictionary", ctypes.POINTER(ArrayStruct)),
    ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(ArrayStruct))),
    ("private_data", ctypes.c_void_p),
]
GetSchema: Final = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(StreamStruct), ctypes.POINTER(SchemaStruct))
GetNext: Final = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(StreamStruct), ctypes.POINTER(ArrayStruct))
GetLastError: Final = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.POINTER(StreamStruct))

StreamStruct._fields_ = [
    ("get_schema", GetSchema),
    ("get_next", GetNext),
    ("get_last_error", GetLastError),
    ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(StreamStruct))),
    ("private_data", ctypes.c_void_p),
]

SCHEMA: Final = Struct("@3P2q4P")
ARRAY: Final = Struct("@5q5P")
STREAM: Final = Struct("@5P")
"""The same fields for struct, which sets all of them at once."""
