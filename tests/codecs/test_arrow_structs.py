from __future__ import annotations

import ctypes
import sys
from struct import Struct

import pytest

from aioifx.codecs.arrow_structs import ARRAY, SCHEMA, STREAM, ArrayStruct, SchemaStruct, StreamStruct


@pytest.mark.parametrize(
    ("packed", "struct"), [(SCHEMA, SchemaStruct), (ARRAY, ArrayStruct), (STREAM, StreamStruct)]
)
def test_fields_are_where_struct_packs_them(packed: Struct, struct: type[ctypes.Structure]) -> None:
    one = struct()
    names = [name for name, *_ in struct._fields_]
    numbers = [place + 1 for place in range(len(names))]
    packed.pack_into(one, 0, *numbers)
    assert packed.size == ctypes.sizeof(struct)
    for name, number in zip(names, numbers, strict=True):
        size = getattr(struct, name).size
        found = ctypes.string_at(ctypes.addressof(one) + getattr(struct, name).offset, size)
        assert int.from_bytes(found, sys.byteorder) == number
