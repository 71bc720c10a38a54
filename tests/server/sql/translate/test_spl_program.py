from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.plan import Query
from aioifx.server.sql.model.type_rules import INTEGER
from aioifx.server.sql.syntax import nodes
from aioifx.server.sql.translate.spl_program import HELPERS, EmbeddedExpression
from tests.server.sql.workbench import Workbench


def test_an_expression_is_a_query_of_one_row() -> None:
    bench = Workbench()
    tree = nodes.Binary(1, "+", nodes.Variable(1, 0, "a", INTEGER), nodes.Number(5, "1", 1), 3)
    plan = EmbeddedExpression(tree, INTEGER).plan(bench.schema, bench.settings)
    assert isinstance(plan.action, Query)
    assert bench.connection.execute(plan.action.sql.text, {"1": 4, "p1": 4}).fetchone() == (5,)
    assert len(plan.parameters) == 1


def test_a_range_goes_towards_its_end() -> None:
    values: Any = HELPERS["_range"]
    assert list(values(1, 3)) == [1, 2, 3]
    assert list(values(3, 1)) == [3, 2, 1]
    assert list(values(1, 8, 3)) == [1, 4, 7]
    assert list(values(8, 1, -3)) == [8, 5, 2]
    assert list(values(2, 2, -1)) == [2]
    assert list(values(None, 3)) == list(values(1, None, 0)) == []
    for step, sqlcode in ((-1, -683), (0, -697), (None, -697)):
        with pytest.raises(SqlError) as raised:
            values(1, 3, step)
        assert raised.value.sqlcode == sqlcode


def test_a_handler_takes_its_codes_and_no_interrupt() -> None:
    host: Any = SimpleNamespace(sqlcode=0)
    traps: Any = HELPERS["_traps"]
    call = object()
    assert traps(host, SqlError(-206), (-206,), call, 0)
    assert not traps(host, SqlError(-206), (-217,), call, 0)
    assert traps(host, SqlError(-268, -100), (-100,), call, 0)
    assert not traps(host, SqlError(-206), (0,), call, 0)
    assert traps(host, SqlError(-206), (), call, 0)
    assert not traps(host, SqlError(-213), (), call, 0)
    assert host.sqlcode == -213


def test_the_error_of_a_handler_is_for_blocks_outside_of_its_own() -> None:
    host: Any = SimpleNamespace(sqlcode=0)
    traps: Any = HELPERS["_traps"]
    call, raised = object(), SqlError(-746)

    def handler(error: SqlError) -> None:
        raise raised

    with pytest.raises(SqlError):
        HELPERS["_handled"](handler, SqlError(-206), call, 1)
    assert [traps(host, raised, (), call, depth) for depth in (0, 1, 2)] == [True, False, False]
    assert traps(host, raised, (), object(), 2)
