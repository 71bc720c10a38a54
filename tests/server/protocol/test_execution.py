from __future__ import annotations

from collections.abc import Callable

import pytest

from aioifx.server.protocol.execution import Execution
from aioifx.server.protocol.fault_points import ConnectionDropped, Effect, FaultPoints, StatementFault
from aioifx.server.protocol.statement_log import StatementRecord
from aioifx.server.sql.errors import SqlError


class Owner:
    hits = 0


def execution(points: FaultPoints | None = None) -> Execution:
    return Execution(StatementRecord("INSERT"), "INSERT", points)


def points_with(effect: Effect, failure: SqlError | None = None) -> FaultPoints:
    points = FaultPoints()
    points.add_statement_fault(StatementFault(effect, None, None, Owner(), failure))
    return points


@pytest.mark.parametrize(("raised", "sqlcode"), [(SqlError(-239, -100), -239), (KeyError(1), -768)])
def test_the_record_has_the_error(raised: Exception, sqlcode: int) -> None:
    running = execution()
    with pytest.raises(type(raised)), running:
        raise raised
    assert running.record.error is not None
    assert running.record.error.sqlcode == sqlcode


def test_without_an_error_it_has_none() -> None:
    with execution(FaultPoints()) as record:
        record.rows = 1
    assert record.error is None


def test_a_statement_that_fails_is_not_executed_and_its_record_has_the_error() -> None:
    running = execution(points_with(Effect.FAIL, SqlError(-244, -107, "t")))
    with pytest.raises(SqlError), running:
        pytest.fail("it was executed")
    assert running.record.error is not None
    assert (running.record.error.sqlcode, running.record.error.isamcode) == (-244, -107)


@pytest.mark.parametrize(("effect", "is_executed"), [(Effect.DROP_BEFORE, False), (Effect.DROP_AFTER, True)])
def test_the_end_of_a_connection_is_not_an_error_of_the_statement(effect: Effect, is_executed: bool) -> None:
    running = execution(points_with(effect))
    executed: list[bool] = []
    run: Callable[[], None] = lambda: executed.append(True)  # noqa: E731
    with pytest.raises(ConnectionDropped), running:
        run()
    assert executed == [True] * is_executed
    assert running.record.error is None


def test_a_statement_that_failed_does_not_end_the_connection_after_it() -> None:
    with pytest.raises(SqlError), execution(points_with(Effect.DROP_AFTER)):
        raise SqlError(-239)
