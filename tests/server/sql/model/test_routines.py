from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from aioifx.errors import InterfaceError
from aioifx.server.sql.model.routines import Routine, Routines


def nothing(*arguments: object) -> None:
    pass


async def later() -> int:
    return 1


async def many_later() -> AsyncIterator[int]:
    yield 1


def many() -> Iterator[int]:
    yield 1


def test_names_are_folded_and_types_are_read_as_sql_reads_them() -> None:
    routine = Routine("Price", [("Item", "VARCHAR(20)"), ("n", "int")], ["DECIMAL(8,2)", "date"], nothing)
    assert routine.name == "price"
    found = [(name, str(type_)) for name, type_ in routine.params]
    assert found == [("item", "VARCHAR(20)"), ("n", "INTEGER")]
    assert [str(type_) for type_ in routine.returns] == ["DECIMAL(8,2)", "DATE"]


@pytest.mark.parametrize(
    ("name", "params", "returns", "function", "message"),
    [
        ("two words", [], [], nothing, "expected an identifier, got 'two words'"),
        ("f", [("a", "INTEGRE")], [], nothing, "unknown type 'INTEGRE'"),
        ("f", [("a", "INT, b INT")], [], nothing, "unknown type 'INT, b INT'"),
        ("f", [], [""], nothing, "unknown type ''"),
        ("f", [("a", "BYTE")], [], nothing, "BYTE"),
        ("f", [("a", "INT"), ("A", "INT")], [], nothing, "two parameters have the same name"),
        ("f", [], ["INT"], later, "must not be async"),
        ("f", [], ["INT"], many_later, "must not be async"),
        ("f", [], [], many, "a generator must have returns"),
    ],
)
def test_what_cannot_be_called_is_refused(
    name: str, params: list[tuple[str, str]], returns: list[str], function: Callable[..., Any], message: str
) -> None:
    with pytest.raises(InterfaceError, match=message):
        Routine(name, params, returns, function)


def test_the_register_moves_its_version_with_every_change() -> None:
    one, other = Routine("f", [], ["INT"], nothing), Routine("F", [], ["DATE"], nothing)
    routines = Routines([one])
    versions = {routines.version}
    assert routines.find("f") is one
    routines.add(other)
    versions.add(routines.version)
    assert routines.find("f") is other
    routines.remove("f")
    versions.add(routines.version)
    assert routines.find("f") is None
    assert len(versions) == 3
