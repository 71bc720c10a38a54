from __future__ import annotations

from typing import Any

import pytest

from aioifx.codecs.text import code_set_of
from aioifx.errors import DataError
from aioifx.server.protocol.complex_fields import collection_values, complex_codec, is_binary_collection
from aioifx.server.sql.complex_types import ComplexType
from aioifx.server.sql.model.settings import Settings
from aioifx.server.sql.syntax.parser import parse_type_text
from aioifx.wire.fields import BindEntry
from tests.server.talking import LATIN_1
from tests.wire.frames import load


def entry(name: str) -> BindEntry:
    """The parameter of a recorded SQ_BIND."""
    (case,) = [case for case in load("collections15")["cases"] if case["name"] == f"setObject({name})"]
    data = bytes.fromhex(case["frames"][0]["hex"])
    size = int.from_bytes(data[12:14], "big")
    start = 14 + size + (size & 1) + 4
    length = int.from_bytes(data[start : start + 4], "big")
    return BindEntry(44, b"", data[14 : 14 + size], 0, 0, data[start + 4 : start + 4 + length])


def field(definition: str, stored: str | None) -> bytes:
    type_ = parse_type_text(definition)
    assert isinstance(type_, ComplexType)
    return complex_codec(type_, LATIN_1, Settings()).encode(stored)


BINDS = [
    ("HashSet of 7", "MULTISET(int not null)", "[7]", [7]),
    ("ArrayList of 1, 2, 3", "LIST(int not null)", "[1,2,3]", [1, 2, 3]),
]


@pytest.mark.parametrize(("name", "definition", "stored", "values"), BINDS)
def test_a_row_carries_what_jdbc_binds(name: str, definition: str, stored: str, values: list[Any]) -> None:
    # JDBC reads its own bytes back from a row in this form (observed).
    bound = entry(name)
    assert is_binary_collection(bound.name, bound.data)
    assert collection_values(bound.data, LATIN_1) == values
    assert field(definition, stored) == len(bound.data).to_bytes(4, "big") + bound.data


def test_elements_of_variable_size_are_followed_by_their_offsets() -> None:
    bound = entry("ArrayList of ab, cde")
    assert collection_values(bound.data, LATIN_1) == ["ab", "cde"]
    assert field("LIST(lvarchar not null)", '["ab","cde"]')[-31:] == bound.data[-31:]
    assert field("LIST(varchar(5) not null)", '["ab","cde"]')[-27:].hex() == (
        "00000013" "00000001" "026162" "03636465" "ffffffff" "00000003" "00000000"
    )  # fmt: skip


@pytest.mark.parametrize(
    ("definition", "stored", "values"),
    [
        ("SET(int not null)", "[]", "00000000 00000001"),
        ("SET(int not null)", None, "00000000 ffffffff"),
        ("ROW(a int, b varchar(10))", '[7,"x"]', "00000006 00000001 00000007 0178"),
        ("ROW(a int, b varchar(10))", "[null,null]", "00000006 00000001 80000000 0100"),
        ("ROW(a int, b varchar(10))", None, "00000000 ffffffff"),
        (
            "LIST(boolean not null)",
            '["t","f"]',
            "00000018 00000001 000000000101 000000000100 ffffffff 00000006 00000000",
        ),
        ("ROW(a boolean, c char(3))", '[null,"x"]', "00000008 00000001 0100000000 782020"),
        ("ROW(a ROW(b smallint))", '["[5]"]', "0000000a 00000001 00000002 00000001 0005"),
    ],
)
def test_values(definition: str, stored: str | None, values: str) -> None:
    assert field(definition, stored).endswith(bytes(4) + bytes.fromhex(values))


def test_the_description_lists_members_with_their_levels_and_parents() -> None:
    data = field("ROW(a int not null, b SET(date not null))", None)
    count = int.from_bytes(data[4 + 134 : 4 + 136], "big")
    members = [data[4 + 136 + 414 * index :][:414] for index in range(count)]
    numbers = [
        tuple(int.from_bytes(one[at : at + 2], "big") for at in (0, 2, 4, 6, 138, 140)) for one in members
    ]
    assert numbers == [
        (1, 0, 0, 0, 22, 0),
        (2, 1, 1, 1, 0x102, 4),
        (3, 1, 1, 2, 19, 2048),
        (4, 2, 3, 0, 0x107, 4),
    ]
    assert [one[8:136].rstrip() for one in members] == [b"", b"a", b"b", b""]


def test_text_is_not_taken_for_a_collection() -> None:
    assert not is_binary_collection(b"set(int not null)", b"SET{1}")
    assert not is_binary_collection(b"row(a int)", bytes(8))
    assert not is_binary_collection(b"", b"")


@pytest.mark.parametrize("change", ["cut", "count", "size"])
def test_other_bytes_are_refused(change: str) -> None:
    data = bytearray(entry("HashSet of 7").data)
    if change == "cut":
        del data[970:]
    elif change == "count":
        data[135] = 3
    else:
        data[971] = 5
    with pytest.raises(DataError):
        collection_values(bytes(data), LATIN_1)


def test_it_only_encodes() -> None:
    type_ = parse_type_text("SET(int not null)")
    assert isinstance(type_, ComplexType)
    with pytest.raises(DataError):
        complex_codec(type_, code_set_of("en_US.utf8"), Settings()).decode(b"")
