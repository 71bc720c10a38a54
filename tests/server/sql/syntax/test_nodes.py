"""The syntax tree."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, fields, is_dataclass

import pytest

from aioifx.server.sql.syntax import nodes
from aioifx.server.sql.syntax.parser import parse

NODES = [each for each in vars(nodes).values() if isinstance(each, type) and issubclass(each, nodes.Node)]


@pytest.mark.parametrize("node", NODES, ids=lambda node: node.__name__)
def test_every_node_is_frozen_slotted_and_placed(node: type[nodes.Node]) -> None:
    assert is_dataclass(node)
    assert fields(node)[0].name == "offset"
    assert node.__doc__ and not node.__doc__.startswith(node.__name__ + "(")
    assert "__slots__" in vars(node)


def test_a_node_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        nodes.Name(1, "a").text = "b"  # type: ignore[misc]


@pytest.mark.parametrize(
    ("name", "written"),
    [
        (nodes.QualifiedName(1, "t"), "t"),
        (nodes.QualifiedName(1, "t", "o"), "o.t"),
        (nodes.QualifiedName(1, "t", "", "d"), "d:t"),
        (nodes.QualifiedName(1, "t", "o", "d", "s"), "d@s:o.t"),
    ],
)
def test_a_qualified_name_is_written_as_it_was_read(name: nodes.QualifiedName, written: str) -> None:
    assert str(name) == written


def test_children_are_in_the_order_of_writing() -> None:
    statement = parse("SELECT a, 1 FROM t, u WHERE b = 2 GROUP BY c")
    assert isinstance(statement, nodes.Query)
    assert [child.offset for child in nodes.children(statement.body)] == [8, 11, 18, 21, 29, 44]


def test_a_walk_meets_every_node_once_and_parents_first() -> None:
    statement = parse("SELECT a + 1 FROM (SELECT b FROM t WHERE c IN (2, 3)) x")
    found = list(nodes.walk(statement))
    assert found[0] is statement
    assert [each.name for each in found if isinstance(each, nodes.Column)] == ["a", "b", "c"]
    assert [each.value for each in found if isinstance(each, nodes.Number)] == [1, 2, 3]
    for place, node in enumerate(found):
        assert all(any(child is later for later in found[place + 1 :]) for child in nodes.children(node))


def test_parameters_come_in_the_order_of_the_text() -> None:
    text = (
        "WITH c AS (SELECT ? x FROM t) SELECT SKIP ? FIRST ? a, ? FROM (SELECT b FROM u WHERE d = ?) v "
        "WHERE a IN (?, 1) AND CASE ? WHEN ? THEN 1 ELSE ? END > ? GROUP BY ? HAVING a = ? ORDER BY ? SKIP ? LIMIT ?"
    )
    found = nodes.parameters(parse(text))
    assert [each.index for each in found] == list(range(text.count("?")))
    assert [each.offset for each in found] == [place + 1 for place, each in enumerate(text) if each == "?"]
