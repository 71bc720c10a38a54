from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from aioifx.errors import InterfaceError
from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.spl import Routine, Routines, SplParameter, SplRoutine, has_signature, resolved
from aioifx.server.sql.syntax.parser import parse_type_text
from aioifx.sqltypes import SqlType


def routine(*types: str, optional: int = 0) -> SplRoutine:
    parameters = tuple(
        SplParameter(f"p{number}", parse_type_text(text), number >= len(types) - optional)
        for number, text in enumerate(types)
    )
    return SplRoutine(1, "f", "ann", False, parameters, (("", parse_type_text("INT")),), "")


def types_of(*texts: str) -> list[SqlType]:
    return [parse_type_text(text) for text in texts]


def test_arguments_must_give_a_value_to_each_parameter() -> None:
    made = routine("INT", "DATE", optional=1)
    assert made.accepts(1) and made.accepts(2) and made.accepts(1, ["p1"]) and made.accepts(0, ["p1", "p0"])
    assert not (made.accepts(0) or made.accepts(3) or made.accepts(1, ["p0"]) or made.accepts(1, ["x"]))


def test_lengths_are_not_part_of_a_signature() -> None:
    assert has_signature(routine("CHAR(5)"), types_of("CHAR(9)"))
    assert not has_signature(routine("CHAR(5)"), types_of("VARCHAR(5)"))


def test_out_parameters_are_not_part_of_a_signature() -> None:
    parameters = tuple(
        SplParameter(mode, parse_type_text("INT"), mode=mode) for mode in ("in", "out", "inout")
    )
    made = SplRoutine(1, "p", "ann", True, parameters, (), "")
    assert has_signature(made, types_of("INT", "INT")) and not has_signature(
        made, types_of("INT", "INT", "INT")
    )
    assert [column.name for column in made.columns] == ["out", "inout"]


def test_the_nearest_types_are_chosen() -> None:
    found = [routine("INT"), routine("DECIMAL(8,2)"), routine("CHAR(5)"), routine("INT", "INT", optional=1)]
    for text, index in (("INT", 0), ("SMALLINT", 0), ("DECIMAL(4)", 1), ("VARCHAR(3)", 2)):
        assert resolved(found, "f", types_of(text), (), 0) is found[index]


def test_no_or_several_routines_are_errors() -> None:
    with pytest.raises(SqlError) as missing:
        resolved([routine("INT")], "f", types_of("INT", "INT"), (), 7)
    assert (missing.value.sqlcode, missing.value.token, missing.value.offset) == (-674, "f", 7)
    with pytest.raises(SqlError) as several:
        resolved([routine("INT"), routine("DATE")], "f", [None], (), 7)
    assert several.value.sqlcode == -9700


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
    assert [(name, str(type_)) for name, type_ in routine.params] == [
        ("item", "VARCHAR(20)"),
        ("n", "INTEGER"),
    ]
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
    name: str,
    params: list[tuple[str, str]],
    returns: list[str],
    function: Callable[..., Any],
    message: str,
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
