"""What is known of a server: shared, cautious, and never better than what was shown last."""

from __future__ import annotations

import logging
from typing import Any

import pytest

import aioifx
from aioifx.client.session.server_behavior import (
    _MAX_KNOWN,
    ServerBehavior,
    _known,
    behavior_of,
    forget_servers,
)


def test_nothing_is_known_at_first() -> None:
    assert set(ServerBehavior().facts.values()) == {None}


def test_a_refuted_fact_stays_refuted(caplog: pytest.LogCaptureFixture) -> None:
    behavior = ServerBehavior("db1", 9088, "15")
    behavior.learn("done_ends_rows", True)
    assert behavior.done_ends_rows is True
    with caplog.at_level(logging.WARNING, "aioifx.session"):
        behavior.learn("done_ends_rows", False)
        behavior.learn("done_ends_rows", False)
        behavior.learn("done_ends_rows", True)
    assert behavior.done_ends_rows is False
    (message,) = caplog.messages
    assert message.startswith("db1:9088: not done_ends_rows; ")


def test_connections_to_one_server_share_what_is_known() -> None:
    one = behavior_of("db1", 9088, "15")
    assert behavior_of("db1", 9088, "15") is one
    assert behavior_of("db2", 9088, "15") is not one
    assert behavior_of("db1", 9089, "15") is not one
    assert behavior_of("db1", 9088, "14") is not one  # upgraded
    forget_servers()
    assert behavior_of("db1", 9088, "15") is not one


def test_not_all_servers_of_a_long_process_are_remembered() -> None:
    for port in range(_MAX_KNOWN + 10):
        behavior_of("db1", port, "15")
    assert len(_known) <= _MAX_KNOWN


async def test_a_connection_shows_what_is_known_and_a_pool_shares_it(dsn: str) -> None:
    async with aioifx.connect(dsn) as conn, aioifx.create_pool(dsn, min_size=2) as pool:
        behavior = conn.server_behavior
        assert behavior.host == "127.0.0.1" and "15.0" in behavior.version
        async with pool.acquire() as first, pool.acquire() as second:
            shared: list[Any] = [first.server_behavior, second.server_behavior]
        assert all(each is behavior for each in shared)
