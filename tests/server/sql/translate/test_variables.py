from __future__ import annotations

from aioifx.server.sql.complex_types import row_of
from aioifx.server.sql.model.type_rules import DATE, INTEGER
from aioifx.server.sql.syntax import nodes
from aioifx.server.sql.syntax.parser import parse
from aioifx.server.sql.translate.variables import expression_with_variables, with_variables
from aioifx.sqltypes import SqlType

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


def test_a_field_of_a_variable_comes_before_a_column() -> None:
    inner = row_of(("x", "y"), (INTEGER, DATE))
    types: dict[str, SqlType] = {"r": row_of(("p", "q"), (DATE, inner)), "new.r": inner, "a": INTEGER}
    text = "SELECT r.p, r.q.y, new.r.x, r.k, a.k, r.q.z, d:o.r.p, r.p.x FROM r WHERE r.q.x.b.c = 1"
    tree, names = with_variables(parse(text), types.get)
    found = [
        (node.name, node.path, node.type) for node in nodes.walk(tree) if isinstance(node, nodes.Variable)
    ]
    assert found == [("r", (0,), DATE), ("r", (1, 1), DATE), ("new.r", (0,), INTEGER)]
    assert names == ("r", "new.r")


def test_targets_are_columns() -> None:
    tree, names = with_variables(parse("UPDATE t SET a = a WHERE b = 1"), TYPES.get)
    assert names == ("a",)
    assert isinstance(tree, nodes.Update) and tree.assignments[0].columns[0].text == "a"  # type: ignore[index]


def test_an_expression_may_be_one_variable() -> None:
    tree, names = expression_with_variables(nodes.Column(3, "a"), TYPES.get)
    assert (tree, names) == (nodes.Variable(3, 0, "a", INTEGER), ("a",))
