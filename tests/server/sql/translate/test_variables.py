from __future__ import annotations

from aioifx.server.sql.model.type_rules import DATE, INTEGER
from aioifx.server.sql.syntax import nodes
from aioifx.server.sql.syntax.parser import parse
from aioifx.server.sql.translate.variables import expression_with_variables, with_variables

TYPES = {"a": INTEGER, "n.b": DATE}


def test_a_name_is_replaced_wherever_an_expression_may_be() -> None:
    text = "SELECT a, t.a, n.b FROM t WHERE k = a + 1 AND EXISTS (SELECT 1 FROM u WHERE c = n.b) ORDER BY a"
    tree, names = with_variables(parse(text), TYPES.get)
    found = [(node.name, node.index) for node in nodes.walk(tree) if isinstance(node, nodes.Variable)]
    assert names == ("a", "n.b")
    assert found == [("a", 0), ("n.b", 1), ("a", 0), ("n.b", 1)]
    columns = [node.name for node in nodes.walk(tree) if isinstance(node, nodes.Column)]
    assert columns == ["a", "k", "c", "a"]
    assert nodes.bound_count(tree) == 2


def test_targets_are_columns() -> None:
    tree, names = with_variables(parse("UPDATE t SET a = a WHERE b = 1"), TYPES.get)
    assert names == ("a",)
    assert isinstance(tree, nodes.Update) and tree.assignments[0].columns[0].text == "a"  # type: ignore[index]


def test_an_expression_may_be_one_variable() -> None:
    tree, names = expression_with_variables(nodes.Column(3, "a"), TYPES.get)
    assert (tree, names) == (nodes.Variable(3, 0, "a", INTEGER), ("a",))
