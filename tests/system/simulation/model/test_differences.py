"""Servers that differ do so on the wire, and the client withstands it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

import pytest

from tests.system.simulation.generate import generate
from tests.system.simulation.model.differences import EXCLUSIVE, Difference
from tests.system.simulation.run import Report, run
from tests.system.simulation.scenario import Caller, Host, Operation, Scenario
from tests.system.simulation.trace import TextTracer

TUPLES: Final = r"SQ_TUPLE x \d+ \(.*?\)"
ALL_WIDE: Final = ("read wide", 2)
VALUES: Final = ("read values", 5)
TEXT: Final = ("read all text", 6)
SHOWN: Final[dict[Difference, tuple[tuple[str, int], tuple[Difference, ...], str]]] = {
    Difference.DONE_WITH_EACH_BLOCK: (ALL_WIDE, (), rf"server -> \d+ bytes: {TUPLES}, SQ_DONE"),
    Difference.NO_DONE_WITH_ROWS: (ALL_WIDE, (), r"server -> \d+ bytes: SQ_CLOSE, SQ_DONE \(rows=150\)"),
    Difference.END_WITHOUT_DONE: (
        ALL_WIDE,
        (Difference.NO_DONE_WITH_ROWS,),
        r"server -> \d+ bytes: SQ_CLOSE, SQ_EOT",
    ),
    Difference.END_WITH_ZERO: (
        ALL_WIDE,
        (Difference.NO_DONE_WITH_ROWS,),
        r"server -> \d+ bytes: SQ_CLOSE, SQ_DONE, ",
    ),
    Difference.OPTOFC_IGNORED: (ALL_WIDE, (), r"client -> \d+ bytes: SQ_ID.*, SQ_CLOSE"),
    Difference.OPTOFC_ALWAYS: (ALL_WIDE, (), rf"{TUPLES}, SQ_CLOSE"),
    Difference.VALUES_KEPT: (VALUES, (), r"SQ_TUPLE x \d+ \(rows=\[\[1, \['0.*?\), SQ_CLOSE"),
    Difference.VALUES_GONE: (VALUES, (), r"SQ_ERR \(sqlcode=-602"),
    Difference.RET_TYPE_REFUSED: (TEXT, (), r"SQ_ERR \(sqlcode=-999"),
    Difference.PUT_REFUSED: (("load", 3), (), r"SQ_ERR \(sqlcode=-999"),
    Difference.LATE_INTERRUPTS: (("go on after a timeout", 2), (), "operation 1: QueryCanceled"),
}
"""An operation, its size, other differences that it takes, and what the trace shows."""


def run_with(differs: Sequence[Difference], kind: str, size: int, **options: Any) -> tuple[Report, str]:
    lines: list[str] = []
    operations = (Operation(1, kind, size), Operation(2, "fetch", 3), Operation(3, "stream all"))
    scenario = Scenario(
        1,
        (Host(differs=tuple(differs)),),
        pools=({"max_size": 1, "fetch_size": 4096, **options},),
        callers=(Caller(0.0, 0, operations),),
    )
    return run(scenario, TextTracer(lines.append)), "\n".join(lines)


@pytest.mark.parametrize("difference", SHOWN)
def test_a_difference_shows_on_the_wire(difference: Difference) -> None:
    (kind, size), others, shown = SHOWN[difference]
    _, usual = run_with(others, kind, size)
    _, with_it = run_with((*others, difference), kind, size)
    assert re.search(shown, with_it), with_it
    if difference is not Difference.OPTOFC_ALWAYS:  # the client asks for it by default
        assert not re.search(shown, usual)


def test_a_server_drops_the_later_writes_of_a_batch_that_fails() -> None:
    usual, _ = run_with((), "fail in a large batch", 1)
    report, text = run_with((Difference.SILENT_AFTER_ERROR,), "fail in a large batch", 1)
    assert "SQ_ERR (sqlcode=-268" in text
    assert 100 < usual.groups - report.groups < 300
    assert not report.violations and report.outcomes == {"done": 3}


@pytest.mark.parametrize("difference", SHOWN)
def test_the_client_withstands_it(difference: Difference) -> None:
    (kind, size), others, _ = SHOWN[difference]
    report, _ = run_with((*others, difference), kind, size)
    assert not report.violations and report.outcomes["done"] >= 2


def test_a_server_closes_no_cursor_that_the_client_wants_open() -> None:
    _, text = run_with((Difference.OPTOFC_ALWAYS,), *ALL_WIDE)
    assert re.search(rf"{TUPLES}, SQ_CLOSE", text)
    _, text = run_with((), *ALL_WIDE, environment={"OPTOFC": "0"})
    assert not re.search(rf"{TUPLES}, SQ_CLOSE", text)


def test_seeds_draw_each_difference() -> None:
    drawn = [host.differs for seed in range(400) for host in generate(seed).hosts]
    assert {each for differs in drawn for each in differs} == {*Difference}
    for ways in EXCLUSIVE:
        assert all(len({*ways}.intersection(differs)) <= 1 for differs in drawn)
