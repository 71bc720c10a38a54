from __future__ import annotations

from aioifx.server.sql.model.plan import Query
from aioifx.server.sql.model.type_rules import INTEGER
from aioifx.server.sql.syntax import nodes
from aioifx.server.sql.translate.spl_program import EmbeddedExpression
from tests.server.sql.workbench import Workbench


def test_an_expression_is_a_query_of_one_row() -> None:
    bench = Workbench()
    tree = nodes.Binary(1, "+", nodes.Variable(1, 0, "a", INTEGER), nodes.Number(5, "1", 1), 3)
    plan = EmbeddedExpression(tree, INTEGER).plan(bench.schema, bench.settings)
    assert isinstance(plan.action, Query)
    assert bench.connection.execute(plan.action.sql.text, (4,)).fetchone() == (5,)
    assert len(plan.parameters) == 1
