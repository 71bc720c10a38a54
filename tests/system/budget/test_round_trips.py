"""What calls cost, by the connection's own count and by the server's, which is independent of it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.bench.trips import measured

BUDGET = {
    "connect": 4,
    "SELECT, first time": 3,
    "SELECT, again": 1,
    "SELECT with parameters, first time": 3,
    "SELECT with parameters, again": 1,
    "INSERT of literals": 1,
    "INSERT with parameters, first time": 3,
    "INSERT with parameters, again": 1,
    "executemany(1000), its own transaction": 3,
    "BEGIN": 1,
    "executemany(1000), in a transaction": 1,
    "COMMIT": 1,
    "executemany(10000), its own transaction": 14,
    "prepare": 2,
    "prepared SELECT": 1,
    "close of the prepared statement": 0,
}
"""At most so many round trips by default."""


async def test_no_call_costs_more_than_its_budget() -> None:
    spent = {trips.call: trips.client async for trips in measured()}
    over = {call: cost for call, cost in spent.items() if cost > BUDGET.get(call, cost)}
    assert over == {}
    assert BUDGET.keys() <= spent.keys()


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "options",
    [
        {},
        pytest.param({"environment": {"OPTOFC": "0"}}, marks=pytest.mark.exhaustive),
        pytest.param({"statement_cache_size": 0}, marks=pytest.mark.exhaustive),
        {"statement_cache_size": 0, "environment": {"OPTOFC": "0"}},
        pytest.param({"command_timeout": 30}, marks=pytest.mark.exhaustive),
    ],
    ids=["defaults", "without OPTOFC", "without a cache", "with neither", "with a time limit"],
)
async def test_the_connections_count_is_the_servers(options: dict[str, Any]) -> None:
    async for trips in measured(**options):
        if trips.call.startswith("executemany"):
            # Half of what is under way is waited for at a time; the server is never without work meanwhile.
            assert trips.server <= trips.client
        else:
            assert trips.client == trips.server == trips.groups, trips.call


@pytest.mark.exhaustive
async def test_pipelined_cleanup_takes_no_round_trip() -> None:
    options: dict[str, Any] = {"environment": {"OPTOFC": "0"}, "pipelining": True}
    spent = {trips.call: trips async for trips in measured(**options)}
    # One more than with OPTOFC: nothing has shown that the DONE of a single block ends the rows.
    assert spent["SELECT, again"].client == 2
    assert spent["SELECT, again"].groups == 3  # the CLOSE of the one before it is in there
