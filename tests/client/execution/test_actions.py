"""What a call does with its statement: rows fetched, counted or discarded, and warnings."""

from __future__ import annotations

from typing import Any
from unittest.mock import Mock

import pytest

from aioifx import rows
from aioifx.client.execution.actions import SENDERS, execute_statement
from aioifx.errors import InterfaceError
from aioifx.testing.messages import (
    EOT,
    column,
    described,
    done,
    ints,
    raw_row,
    takes,
)
from aioifx.testing.script import (
    PREPARE,
    Exchange,
    closing,
    opening,
    release,
    select_ints,
)
from aioifx.wire.opcodes import StatementType
from tests.scripted import C1, INTEGER, played, talking


async def test_a_value_is_found_by_its_column() -> None:
    two: list[Exchange] = [
        (PREPARE, described(0, C1, column("c2", 2, 4))),
        (opening(0, 4096), raw_row(b"\0\0\0\1\0\0\0\2") + done(1) + EOT),
        *closing(0),
    ]
    async with talking(two, two, two) as (conn, _):
        assert await conn.fetchval("select c1, c2 from t") == 1
        assert await conn.fetchval("select c1, c2 from t", column=1) == 2
        with pytest.raises(InterfaceError, match="column: index 2 is out of range; the row has 2 values"):
            await conn.fetchval("select c1, c2 from t", column=2)


async def test_no_row_returns_none_and_no_rows_return_an_empty_list() -> None:
    def nothing(size: int) -> list[Exchange]:
        return [(PREPARE, described(0, C1)), (opening(0, size), done(0) + EOT), *closing(0)]

    async with talking(nothing(4096), nothing(4096), nothing(32767)) as (conn, _):
        assert await conn.fetchrow("select c1 from t") is None
        assert await conn.fetchval("select c1 from t") is None
        assert await conn.fetch("select c1 from t") == []


async def test_the_factory_of_the_call_wins_over_the_connections() -> None:
    def one(size: int) -> list[Exchange]:
        return [(PREPARE, described(0, C1)), (opening(0, size), ints(1) + done(1) + EOT), *closing(0)]

    async with talking(one(32767), one(32767), one(4096), one(4096), row_factory=rows.dict_row) as (conn, _):
        all_rows: list[Any] = await conn.fetch("select c1 from t")
        assert all_rows == [{"c1": 1}]
        assert await conn.fetch("select c1 from t", row_factory=rows.tuple_row) == [(1,)]
        one_row: Any = await conn.fetchrow("select c1 from t")
        assert one_row == {"c1": 1}
        assert await conn.fetchrow("select c1 from t", row_factory=rows.tuple_row) == (1,)


@pytest.mark.parametrize(("case", "rows"), [("fetch_100", []), ("fetch_rows_100", [(1,), (2,)])])
async def test_that_there_are_no_more_rows_ends_a_fetch_and_keeps_its_rows(
    case: str, rows: list[tuple[int]]
) -> None:
    """A deliberate difference: JDBC fetches once more. The server has already sent the end."""
    prepare, (_, answer), _, *rest = played("errors15", case)
    async with talking(
        [prepare, (opening(0, 4096), answer), *rest], fetch_size=4096, statement_cache_size=0
    ) as (conn, _):
        assert [tuple(row) for row in await conn.fetch("select * from tt")] == rows


async def test_warnings_of_prepare_and_of_execution_are_both_returned() -> None:
    async with talking(
        (PREPARE, described(2, kind=StatementType.DELETE_ALL, warnings=8)),
        ("Id(2) DescribeInput", takes(INTEGER)),
        ("Id(2) Bind(1) Execute", done(3, warnings=1) + EOT),
        release(2),
    ) as (conn, _):
        result = await conn.execute("delete from t where a = ?", 1)
        assert [warning.sqlstate for warning in result.warnings] == ["01004", "01I07"]


async def test_execute_counts_the_rows_of_a_query_and_discards_them() -> None:
    async with talking(select_ints(1, 5, 6)) as (conn, _):
        result = await conn.execute("select c1 from t")
        assert (result.rowcount, result.serial) == (2, None)


@pytest.mark.parametrize("action", SENDERS)
def test_what_sends_the_request_of_an_action_leaves_what_it_cannot_send(action: object) -> None:
    """Of rows, without a plan for the factory; of none, without rows."""
    statement = Mock(returns_rows=action is execute_statement)
    statement.plans.last = None
    assert SENDERS[action](statement, (), rows.tuple_row, Mock()) is None
    assert not statement.try_send_open.called and not statement.try_send_execute.called
