"""Counting instructions: valgrind's output is parsed, and a client's own are those beyond its ping-pong."""

from __future__ import annotations

import shutil

import pytest

from tests.bench.instructions import ROWS, Client, clients, table, total_of
from tests.bench.peers import Missing
from tests.bench.replay import replay_process

REPORT = """
==7== Cachegrind, a cache and branch-prediction profiler
==7==
==7== I   refs:      1,484,040,055
"""


def test_the_total_is_read() -> None:
    assert total_of(REPORT) == 1_484_040_055


def test_a_report_without_a_total_is_refused() -> None:
    with pytest.raises(ValueError, match="valgrind: not found"):
        total_of("valgrind: not found")


def test_a_clients_own_are_beyond_its_own_ping_pong() -> None:
    counted = {
        "ping-pong": {"select-1": 5000.0},
        "ping-pong postgres": {"select-1": 4000.0},
        "asyncpg": {"select-1": 10_000.0, "insert": 11_000.0},
        "aioifx": {"select-1": 9000.0, "insert": 12_000.0, "gather": 7000.0},
    }
    assert [*table(counted)] == [
        "| client | its own of SELECT 1 | select-1 | insert | gather |",
        "| --- | ---: | ---: | ---: | ---: |",
        "| ping-pong | 0 | 5,000 |  |  |",
        "| ping-pong postgres | 0 | 4,000 |  |  |",
        "| asyncpg | 6,000 | 10,000 | 11,000 |  |",
        "| aioifx | 4,000 | 9,000 | 12,000 | 7,000 |",
    ]


def test_without_postgresql_its_clients_are_left_out() -> None:
    names = [client.name for client in clients("informix", None, ["asyncio", "uvloop"])]
    assert names == [
        *("ping-pong", "aioifx", "aioifx pure", "aioifx observed"),
        *("ping-pong uvloop", "aioifx uvloop", "aioifx pure uvloop", "aioifx observed uvloop"),
    ]


@pytest.mark.exhaustive
@pytest.mark.timeout(300)  # a process starts 40 times slower under valgrind
@pytest.mark.skipif(shutil.which("valgrind") is None, reason="no valgrind")
def test_a_call_is_counted() -> None:
    with replay_process(rows=ROWS) as dsn:
        assert 10_000 < Client("ping-pong", "ping-pong", dsn, "asyncio").instructions("select-1") < 200_000


@pytest.mark.exhaustive
@pytest.mark.timeout(300)  # a process starts 40 times slower under valgrind
@pytest.mark.skipif(shutil.which("valgrind") is None, reason="no valgrind")
def test_what_a_client_cannot_do_is_said() -> None:
    with replay_process(rows=ROWS) as dsn, pytest.raises(Missing, match=r"^fetch$"):
        Client("ping-pong", "ping-pong", dsn, "asyncio").instructions("fetch")
