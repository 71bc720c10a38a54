from __future__ import annotations

import pytest

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.syntax.parser import parse
from aioifx.server.sql.syntax.spl_dynamic import DYNAMIC
from aioifx.server.sql.syntax.spl_nodes import (
    CreateRoutine,
    DeclareCursor,
    EndCursor,
    FetchCursor,
    OpenCursor,
    Prepare,
    SplStatement,
)


def statements(text: str) -> tuple[SplStatement, ...]:
    tree = parse(f"CREATE PROCEDURE p() {text} END PROCEDURE")
    assert isinstance(tree, CreateRoutine)
    return tree.body.statements


def test_statements_have_names_and_variables() -> None:
    found = statements(
        "PREPARE s FROM 'SELECT ' || x; DECLARE c CURSOR WITH HOLD FOR s; DECLARE d CURSOR FOR s; OPEN c USING a, b;"
        " OPEN d; FETCH c INTO a, b; CLOSE c; FREE s;"
    )
    prepare, held, plain, using, opened, fetch, close, free = found
    assert isinstance(prepare, Prepare) and prepare.name.text == "s"
    assert isinstance(held, DeclareCursor) and isinstance(plain, DeclareCursor)
    assert (held.cursor.text, held.statement.text, held.hold, plain.hold) == ("c", "s", True, False)
    assert isinstance(using, OpenCursor) and [each.text for each in using.values] == ["a", "b"]
    assert isinstance(opened, OpenCursor) and opened.values == ()
    assert isinstance(fetch, FetchCursor) and [each.text for each in fetch.targets] == ["a", "b"]
    assert isinstance(close, EndCursor) and isinstance(free, EndCursor)
    assert [(each.verb, each.name.text) for each in (close, free)] == [("close", "c"), ("free", "s")]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("PREPARE s;", ";"),
        ("DECLARE c SCROLL CURSOR FOR s;", "SCROLL"),
        ("DECLARE c CURSOR FOR SELECT a FROM t;", "a FROM"),
        ("OPEN c USING 1;", "1"),
        ("FETCH c;", ";"),
        ("FETCH NEXT c INTO a;", "c INTO"),
        *((f"{word};", ";") for word in DYNAMIC),
    ],
)
def test_what_the_grammar_of_routines_lacks(text: str, place: str) -> None:
    with pytest.raises(SqlError) as caught:
        statements(text)
    start = len("CREATE PROCEDURE p() ")
    assert (caught.value.sqlcode, caught.value.offset) == (-201, start + text.index(place) + 1)
