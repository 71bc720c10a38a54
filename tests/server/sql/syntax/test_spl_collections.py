from __future__ import annotations

import pytest

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.syntax import nodes
from aioifx.server.sql.syntax.parser import parse
from aioifx.server.sql.syntax.spl_nodes import ChangeElements, CreateRoutine, SplStatement, Sql


def statement(text: str) -> SplStatement:
    tree = parse(f"CREATE PROCEDURE p() {text} END PROCEDURE")
    assert isinstance(tree, CreateRoutine)
    (found,) = tree.body.statements
    return found


@pytest.mark.parametrize(
    ("text", "verb", "cursor"),
    [
        ("INSERT INTO TABLE(v) VALUES (1);", "insert", ""),
        ("INSERT AT n + 1 INTO TABLE(v) VALUES (1);", "insert", ""),
        ("UPDATE TABLE(v)(x) SET x = 1;", "update", ""),
        ("UPDATE TABLE(v) (x) SET x = 1 WHERE CURRENT OF c;", "update", "c"),
        ("DELETE FROM TABLE(v);", "delete", ""),
        ("DELETE FROM TABLE(v) WHERE CURRENT OF c;", "delete", "c"),
    ],
)
def test_elements_of_a_variable_are_changed(text: str, verb: str, cursor: str) -> None:
    found = statement(text)
    assert isinstance(found, ChangeElements)
    assert (found.verb, found.variable.text) == (verb, "v")
    assert (found.cursor.text if found.cursor else "") == cursor
    assert isinstance(found.position, nodes.Binary) == (" AT " in text)
    assert (found.value is None) == (verb == "delete")


def test_a_table_may_be_named_table() -> None:
    assert isinstance(statement("INSERT INTO table VALUES (1);"), Sql)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("INSERT INTO TABLE(v) VALUES (1, 2);", ", 2"),
        ("INSERT INTO TABLE(v) SELECT a FROM t;", "SELECT"),
        ("UPDATE TABLE(v) SET x = 1;", "SET"),
        ("UPDATE TABLE(v)(x) SET y = 1;", "="),
        ("UPDATE TABLE(v)(x) SET x = 1 WHERE x = 2;", "x = 2"),
        ("DELETE FROM TABLE(v) WHERE x = 2;", "x = 2"),
        ("DELETE FROM TABLE(SET{1});", "{1"),
    ],
)
def test_there_is_no_other_form(text: str, place: str) -> None:
    with pytest.raises(SqlError) as caught:
        statement(text)
    start = len("CREATE PROCEDURE p() ")
    assert (caught.value.sqlcode, caught.value.offset) == (-201, start + text.index(place) + 1)
