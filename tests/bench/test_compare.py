"""The interleaved benchmark runs, prints ratios of neighbours, and excludes clients that read wrong rows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.bench.compare import Result, compare, main, named, orders, ping_pong_of, table
from tests.bench.peers import Missing, Order
from tests.bench.shapes import Shape
from tests.bench.workers import Sample, Worker

SELECT_ONE = Order("select-1")


def result(peer: str, *walls: float) -> Result:
    return Result(SELECT_ONE, peer, [Sample(wall, wall / 2, 10, 3 << 20, 1 << 20) for wall in walls])


def test_a_ratio_is_that_of_neighbours() -> None:
    ours, theirs = result("ours", 1.0, 2.0, 1.0), result("theirs", 4.0, 4.0, 3.0)
    assert ours.ratio(theirs) == "3.00 [2.00-4.00]"


def test_a_table_has_a_line_for_each_peer() -> None:
    ours, theirs, ping = result("ours", 1e-5), result("theirs", 4e-5), result("ping-pong", 0.5e-5)
    head, _, first, *_ = table([ours, theirs, ping], ["theirs", "nobody"])
    assert head == "| select-1 | µs | CPU, µs | MiB | MiB added | x theirs | ping-pongs | own CPU, µs |"
    assert first == "| ours | 10.0 | 5.0 | 3.0 | 1.0 | 4.00 [4.00-4.00] | 2.00 [2.00-2.00] | 2.5 |"


@pytest.mark.parametrize(
    ("peer", "ping"),
    [
        ("aioifx native", "ping-pong"),
        ("aioifx pure uvloop", "ping-pong uvloop"),
        ("informix-driver aio", "ping-pong"),
        ("asyncpg", "ping-pong postgres"),
        ("psycopg uvloop", "ping-pong postgres uvloop"),
        ("ping-pong postgres uvloop", "ping-pong postgres uvloop"),
        ("ping-pong", "ping-pong"),
    ],
)
def test_a_client_is_measured_by_the_ping_pong_of_its_own_server_and_loop(peer: str, ping: str) -> None:
    assert ping_pong_of(peer) == ping


def test_patterns_name_beginnings() -> None:
    assert named("fetch/narrow/100", "stream,fetch/*/1")
    assert not named("fetch/narrow/100", "stream,fetch/wide")


def test_every_workload_has_a_name_of_its_own() -> None:
    names = [order.name for order in orders(100_000)]
    assert len(names) == len(set(names))
    assert {"fetch/narrow", "fetch/wide/100000", "many-tx/1000", "select-1"} <= set(names)


class Liar(Worker):
    """A client that reads something else."""

    def __init__(self) -> None:
        self.name = "liar"

    def check(self, shape: Shape, rows: int) -> bool:
        return False


def test_a_client_that_reads_wrong_rows_ends_the_run() -> None:
    with pytest.raises(AssertionError, match="liar: wrong rows of the narrow table"):
        list(compare([(("*",), Liar())], [SELECT_ONE], 1))


class Idle(Worker):
    """A client that cannot do anything."""

    def __init__(self) -> None:
        self.name = "idle"

    def check(self, shape: Shape, rows: int) -> bool:
        raise Missing("no rows")

    def sample(self, order: Order) -> Sample:
        raise Missing(order.workload)


def test_a_client_that_cannot_do_it_is_left_out() -> None:
    assert list(compare([(("*",), Idle())], [SELECT_ONE], 1)) == [[]]


@pytest.mark.exhaustive
def test_clients_are_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = tmp_path / "report.json"
    pytest.importorskip("uvloop")
    arguments = ["--peers", "aioifx pure uvloop,informix-driver aio,ping-pong uvloop"]
    arguments += ["--only", "select-1,fetch/narrow/60", "--rows", "60", "--rounds", "2", "--effort", "0.002"]
    main([*arguments, "--json", str(report)])
    printed = capsys.readouterr().out
    assert "| aioifx pure uvloop |" in printed
    results = json.loads(report.read_text())
    assert results["machine"]["python"]
    counted = [(one["order"]["workload"], one["peer"], len(one["samples"])) for one in results["results"]]
    assert ("fetch", "informix-driver aio", 2) in counted
    assert ("select-1", "ping-pong uvloop", 2) in counted
