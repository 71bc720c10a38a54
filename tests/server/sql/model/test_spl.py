from __future__ import annotations

import pytest

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.spl import SplParameter, SplRoutine, has_signature, resolved
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
