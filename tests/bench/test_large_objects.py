from __future__ import annotations

import pytest

from tests.bench.large_objects import CLIENTS, VALUE, measured, table


@pytest.mark.parametrize("name", CLIENTS)
async def test_every_client_does_the_work(name: str, dsn: str) -> None:
    if name.startswith("informix-driver"):
        pytest.skip("it blocks the loop that the server is in")
    cost = await measured(name, dsn, 2, 10)
    assert cost.name == name
    assert cost.write > 0
    assert cost.read > 0
    assert (cost.rows > 0) is (name == "aioifx")
    assert len(VALUE) == 1 << 20


async def test_the_table_has_a_line_for_each_client(dsn: str) -> None:
    cost = await measured("aioifx", dsn, 1, 3)
    assert list(table([cost, cost._replace(rows=0)]))[2:] == [
        f"| aioifx | {cost.write:,.0f} | {cost.read:,.0f} | {cost.rows:,.0f} |",
        f"| aioifx | {cost.write:,.0f} | {cost.read:,.0f} |  |",
    ]
