from __future__ import annotations

from aioifx.server.engine.results import StatementResult, TransactionEvent


def test_a_result_counts_nothing_by_default() -> None:
    result = StatementResult()
    assert (result.rows, result.rowid, result.serial, result.serial8, result.bigserial) == (0, 0, 0, 0, 0)
    assert result.opened is None
    assert result.event is TransactionEvent.NONE
