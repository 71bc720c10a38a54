"""Transaction control: what may run, and what a statement changes. Whole calls: see test_session.py."""

from __future__ import annotations

from typing import Any

import pytest

from aioifx.client.session.transaction_status import TransactionEvent, TransactionStatus
from aioifx.errors import InterfaceError
from aioifx.testing.messages import ANSI, DIALECT
from aioifx.testing.script import Peer
from aioifx.wire.opcodes import StatementType
from tests.scripted import session_with


def transactions(warnings: int = 0x15, **options: Any) -> Any:
    return session_with(Peer([], capabilities=DIALECT), warnings=warnings, **options).transactions


async def test_only_an_error_inside_a_transaction_aborts_it() -> None:
    found = transactions()
    assert found.runs_unchecked
    found._on(TransactionEvent.ENDED_BY_ERROR)
    assert found.status is TransactionStatus.NONE
    found._on(TransactionEvent.BEGUN)
    found._on(TransactionEvent.ENDED_BY_ERROR)
    assert found.is_aborted
    assert not found.runs_unchecked
    with pytest.raises(InterfaceError, match="roll back before anything else"):
        found.check("select 1 from t")
    found.check("rollback work")
    found.on_executed(StatementType.ROLLBACK_WORK, "rollback work")
    assert found.status is TransactionStatus.NONE
    assert found.runs_unchecked


async def test_autocommit_does_not_change_in_a_transaction_even_if_the_server_has_ended_it() -> None:
    found = transactions()
    for event in (TransactionEvent.BEGUN, TransactionEvent.ENDED_BY_ERROR):
        found._on(event)
        with pytest.raises(InterfaceError, match="cannot change in a transaction"):
            found.set_autocommit(False)
    found._on(TransactionEvent.ENDED)
    found.set_autocommit(False)
    assert not found.autocommit


async def test_a_rollback_to_a_savepoint_ends_no_transaction() -> None:
    found = transactions()
    found.on_executed(StatementType.BEGIN_WORK, "begin work")
    found.on_executed(StatementType.ROLLBACK_WORK, "rollback work to savepoint a")
    assert found.is_open


@pytest.mark.parametrize("options", [{"autocommit": False}, {"read_only": True}])
async def test_without_autocommit_or_read_only_each_statement_is_checked(options: dict[str, bool]) -> None:
    assert not transactions(**options).runs_unchecked


async def test_rows_of_an_ansi_database_may_come_one_by_one_unless_the_transaction_is_read_only() -> None:
    found = transactions(ANSI)
    assert found.sends_row_by_row
    found._on(TransactionEvent.BEGUN)
    assert found.sends_row_by_row
    found._on(TransactionEvent.MADE_READ_ONLY)
    assert not found.sends_row_by_row
    assert not transactions().sends_row_by_row


async def test_without_autocommit_a_statement_in_the_open_transaction_needs_no_check() -> None:
    found = transactions(autocommit=False)
    found.on_executed(StatementType.BEGIN_WORK)
    assert found.runs_unchecked
    found._on(TransactionEvent.ENDED_BY_ERROR)
    assert not found.runs_unchecked
    found.on_executed(StatementType.ROLLBACK_WORK, "rollback work")
    assert not found.runs_unchecked, "the next statement starts a transaction"


async def test_in_a_read_only_transaction_each_statement_is_still_checked() -> None:
    found = transactions(autocommit=False, read_only=True)
    found.on_executed(StatementType.BEGIN_WORK)
    assert not found.runs_unchecked
