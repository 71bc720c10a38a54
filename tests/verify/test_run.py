"""A run: one check never stops the others, and nothing is left behind."""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from collections.abc import Iterable

import pytest

import aioifx
from aioifx.errors import InterfaceError
from aioifx.server import Quirk, running
from aioifx.server.sqlite.databases import LogMode
from aioifx.verify import CHECKS, Check, Finding, Outcome, Report, run, verify
from aioifx.verify import lab as lab_module
from aioifx.verify.check import gives, sql_check
from aioifx.verify.fetching import FETCHING
from aioifx.verify.lab import CannotTry, Lab, Refuted
from aioifx.verify.run import as_json
from aioifx.verify.sessions import SESSIONS
from aioifx.verify.transfers import TRANSFERS
from tests.verify.outcomes import NEVER_TRIED, names_of, report_of

_FINE = sql_check("fine", "It holds.", "mark", gives("5", 5))


def check_of(error: BaseException, name: str = "broken") -> Check:
    async def fail(lab: Lab) -> None:
        await lab.prepare("CREATE TABLE vfy_left (a INT)")
        raise error

    return Check(name, "It fails.", (), fail, in_transaction=False)


async def findings_of(monkeypatch: pytest.MonkeyPatch, *checks: Check) -> Report:
    """The report on *checks* in place of all, at a server where nothing must be left behind."""
    monkeypatch.setattr(run, "CHECKS", checks)
    async with running() as dsn:
        report = await verify(dsn)
        async with aioifx.connect(dsn) as conn:
            assert await conn.fetch("SELECT 1 FROM informix.systables WHERE tabname LIKE 'aioifx_%'") == []
    assert report.left_behind == []
    return report


@pytest.mark.parametrize(
    ("error", "outcome", "detail"),
    [
        (Refuted("so"), Outcome.REFUTED, "so"),
        (CannotTry("why"), Outcome.NOT_TRIED, "why"),
        (aioifx.RowLocked("", sqlcode=-107), Outcome.NOT_TRIED, "SQLCODE -107"),
        (aioifx.PermissionDenied("", sqlcode=-387), Outcome.NOT_TRIED, "SQLCODE -387"),
        (aioifx.DatabaseError("", sqlcode=-999), Outcome.REFUTED, "it ended with SQLCODE -999"),
        (aioifx.QueryTimeout("late"), Outcome.NOT_TRIED, "a statement took longer than its time limit"),
        (aioifx.ProtocolError("tag 7"), Outcome.REFUTED, "a reply could not be read: tag 7"),
        (aioifx.ConnectionLost("db1"), Outcome.REFUTED, "the connection was lost"),
        (InterfaceError("no"), Outcome.NOT_TRIED, "aioifx cannot do it: InterfaceError"),
        (aioifx.NotSupportedError("no"), Outcome.NOT_TRIED, "aioifx cannot do it: NotSupportedError"),
        (ZeroDivisionError("zero"), Outcome.NOT_TRIED, "the check failed: ZeroDivisionError"),
    ],
)
async def test_an_error_ends_only_its_check(
    monkeypatch: pytest.MonkeyPatch, error: BaseException, outcome: Outcome, detail: str
) -> None:
    report = await findings_of(monkeypatch, check_of(error), _FINE)
    result = [(found.check.name, found.outcome, found.detail) for found in report.findings]
    assert result == [("broken", outcome, detail), ("fine", Outcome.HELD, "")]
    assert report.is_proven is (outcome is not Outcome.REFUTED)


@pytest.mark.parametrize(("failures", "outcome"), [(1, Outcome.HELD), (2, Outcome.REFUTED)])
async def test_a_check_that_loses_its_connection_runs_again_on_a_new_one(
    monkeypatch: pytest.MonkeyPatch, failures: int, outcome: Outcome
) -> None:
    runs: list[int] = []

    async def lose(lab: Lab) -> None:
        await lab.prepare("CREATE TABLE vfy_left (a INT)")
        runs.append(1)
        if len(runs) <= failures:
            lab.conn.terminate()
            await lab.run("SELECT 5 FROM vfy_left")

    losing = Check("losing", "It holds.", (), lose, in_transaction=False)
    report = await findings_of(monkeypatch, losing, _FINE)
    assert [finding.outcome for finding in report.findings] == [outcome, Outcome.HELD]
    assert len(runs) == 2


async def test_a_request_that_is_neither_answered_nor_interrupted_refutes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def hang(lab: Lab) -> None:
        lab.conn.terminate()
        raise aioifx.QueryTimeout("late")

    report = await findings_of(monkeypatch, Check("hanging", "It is answered.", (), hang), _FINE)
    assert [(found.outcome, found.detail) for found in report.findings] == [
        (Outcome.REFUTED, "a request was not answered, nor was it interrupted"),
        (Outcome.HELD, ""),
    ]


async def test_a_check_that_does_not_end_is_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    async def wait(lab: Lab) -> None:
        raise TimeoutError

    report = await findings_of(monkeypatch, Check("slow", "It ends.", (), wait), _FINE)
    assert [finding.outcome for finding in report.findings] == [Outcome.REFUTED, Outcome.HELD]


async def test_a_run_that_is_cancelled_drops_what_its_check_has_created(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    started = asyncio.Event()

    async def wait(lab: Lab) -> None:
        await lab.prepare("CREATE TABLE vfy_left (a INT)")
        started.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(run, "CHECKS", (Check("waiting", "It waits.", (), wait, in_transaction=False),))
    async with running() as dsn:
        running_checks = asyncio.create_task(verify(dsn))
        await started.wait()
        running_checks.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running_checks
        async with aioifx.connect(dsn) as conn:
            assert await conn.fetch("SELECT 1 FROM informix.systables WHERE tabname LIKE 'aioifx_%'") == []


async def test_a_cancelled_run_says_what_it_leaves_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    started = asyncio.Event()

    async def hang(lab: Lab) -> None:
        await asyncio.Event().wait()

    async def wait(lab: Lab) -> None:
        await lab.prepare("CREATE TABLE vfy_left (a INT)")
        monkeypatch.setattr(lab, "clean", lambda: hang(lab))
        started.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(lab_module, "_ABANDON_TIMEOUT", 0.01)
    monkeypatch.setattr(run, "CHECKS", (Check("waiting", "It waits.", (), wait, in_transaction=False),))
    async with running() as dsn:
        running_checks = asyncio.create_task(verify(dsn))
        await started.wait()
        running_checks.cancel()
        with pytest.raises(asyncio.CancelledError) as cancelled:
            await running_checks
    (note,) = cancelled.value.__notes__
    assert re.fullmatch(r"left behind: DROP TABLE aioifx_\w+_left: not run", note)


async def test_names_and_patterns_select_checks() -> None:
    assert run.select_checks([]) == list(CHECKS)
    result = [check.name for check in run.select_checks(["scroll-*", "optofc-closes"])]
    assert result == ["optofc-closes", "scroll-kinds"]
    with pytest.raises(
        InterfaceError, match=r"only: expected names of checks, got 'nosuch'; --list shows them"
    ):
        await verify("informix://nowhere:1/x?server=y", only=["optofc-closes", "nosuch"])


async def test_findings_are_reported_as_they_come() -> None:
    seen: list[Finding] = []
    async with running() as dsn:
        report = await verify(dsn, only=["decimal-rounds-half-up", "to-char-width"], on_finding=seen.append)
    assert seen == report.findings
    assert [finding.check.name for finding in seen] == ["decimal-rounds-half-up", "to-char-width"]
    assert report.log_mode == "logged"
    assert "IBM Informix" in report.server_version
    assert "bigint" in report.capabilities


async def test_without_a_server_there_is_no_report(unused_tcp_port: int) -> None:
    with pytest.raises(aioifx.ConnectError):
        await verify(f"informix://me@127.0.0.1:{unused_tcp_port}/x?server=y", connect_retries=0)


@pytest.mark.exhaustive
async def test_nothing_is_left_behind_by_all_checks() -> None:
    async with running() as dsn:
        report = await verify(dsn, only=())
        async with aioifx.connect(dsn) as conn:
            for table, column in (
                ("systables", "tabname"),
                ("sysxtdtypes", "name"),
                ("sysprocedures", "procname"),
            ):
                assert (
                    await conn.fetch(f"SELECT 1 FROM informix.{table} WHERE {column} LIKE 'aioifx_%'") == []
                )
    assert report.left_behind == []
    assert names_of(report, Outcome.NOT_TRIED) == NEVER_TRIED
    assert names_of(report, Outcome.REFUTED) == set()


@pytest.mark.exhaustive
@pytest.mark.parametrize("log_mode", [LogMode.ANSI, LogMode.UNLOGGED])
async def test_no_check_is_refuted_in_databases_of_other_log_modes(log_mode: LogMode) -> None:
    report = await report_of(CHECKS, log_mode=log_mode)
    assert {finding.check.name: finding.detail for finding in report.of(Outcome.REFUTED)} == {}
    assert report.left_behind == []


_OF_LIMITS = {"put-of-most-rows", "many-statements", "large-fetch-size"}
"""Checks that take seconds, of limits that no quirk changes."""

_REFUTED_BY = {
    Quirk.NO_AUTOFREE: {"autofree-releases"},
    Quirk.STANDARD_BLOCKS: {"fetch-size-in-force"},
    Quirk.LARGE_BLOCKS: {"fetch-size-in-force"},
    Quirk.ROW_BY_ROW: {"several-rows-per-reply", "fetch-size-in-force"},
    Quirk.SEPARATE_END: {"done-ends-rows"},
    Quirk.ERROR_100: {"no-rows-without-error"},
    Quirk.NO_OPTOFC: {"optofc-closes"},
    Quirk.COUNT_WITH_EACH_BLOCK: {"done-ends-rows"},
    Quirk.DROPPED_VALUES: {"optofc-keeps-large-values", "byte-round-trip", "large-values-in-order"},
    Quirk.SEPARATE_RET_TYPE: {"ret-type-with-open", "bson-with-and-without-ret-type"},
    Quirk.NO_PUT: {"failed-put", "large-values-in-order"},
    Quirk.NO_INTERRUPTS: {"urgent-byte-interrupts", "interrupt-keeps-transaction"},
    Quirk.LATE_INTERRUPTS: {"urgent-byte-interrupts", "interrupt-keeps-transaction"},
    Quirk.NO_TRANSACTION_STATES: {"transaction-levels"},
    Quirk.NO_BIT_34: {"capability-bits"},
    Quirk.NO_BIT_54: {"capability-bits"},
    Quirk.NO_BIT_56: {"capability-bits"},
    Quirk.NO_BIT_62: {"capability-bits"},
}
"""The checks that a quirk refutes. The other quirks refute none, since aioifx assumes nothing about the difference."""


_SIDE_BY_SIDE = [
    (Quirk.STANDARD_BLOCKS, Quirk.ERROR_100, Quirk.NO_INTERRUPTS, Quirk.NO_BIT_34),
    (Quirk.LARGE_BLOCKS, Quirk.LATE_INTERRUPTS, Quirk.NO_BIT_54),
    (Quirk.ROW_BY_ROW, Quirk.NO_AUTOFREE, Quirk.NO_BIT_56),
    (Quirk.SEPARATE_END, Quirk.NO_BIT_62),
    (Quirk.NO_OPTOFC, Quirk.NO_TRANSACTION_STATES, Quirk.COUNT_WITH_EACH_BLOCK, Quirk.NO_PUT),
    (Quirk.DROPPED_VALUES, Quirk.SEPARATE_RET_TYPE),
]
"""All of these quirks, once each; those of a server refute different checks, and do not change what others refute."""


_OF_CAPTURES = (Quirk.CDC_CUT_RECORDS, Quirk.CDC_FOREIGN_ROWS, Quirk.CDC_DEAD_SESSION)
"""With these a check of capture gets no record in time, or fails; tests/cdc has them."""


def _refuted_by(quirks: Iterable[Quirk]) -> set[str]:
    return {check for quirk in quirks for check in _REFUTED_BY[quirk]}


def test_each_quirk_that_refutes_a_check_is_tried_once() -> None:
    assert Counter(quirk for quirks in _SIDE_BY_SIDE for quirk in quirks) == Counter([*_REFUTED_BY])
    for quirks in _SIDE_BY_SIDE:
        assert sum(len(_REFUTED_BY[quirk]) for quirk in quirks) == len(_refuted_by(quirks))


@pytest.mark.exhaustive
@pytest.mark.parametrize("quirks", _SIDE_BY_SIDE)
async def test_quirks_refute_exactly_the_checks_about_them(quirks: tuple[Quirk, ...]) -> None:
    checks = {check.name for check in (*FETCHING, *TRANSFERS, *SESSIONS)}
    report = await report_of(checks - _OF_LIMITS, quirks=quirks)
    assert names_of(report, Outcome.REFUTED) == _refuted_by(quirks)
    assert report.left_behind == []


@pytest.mark.exhaustive
async def test_all_other_quirks_together_refute_no_check() -> None:
    others = [quirk for quirk in Quirk if quirk not in {*_REFUTED_BY, *_OF_CAPTURES}]
    report = await report_of(CHECKS, quirks=others)
    assert names_of(report, Outcome.REFUTED) == set()
    assert report.left_behind == []


async def test_a_report_has_every_check_and_no_names_of_the_server() -> None:
    async with running(
        database="secretdb",
        user="secretuser",
        password="secretpw",
        server_name="secretserver",
        quirks=["no-optofc"],
    ) as dsn:
        report = await verify(dsn, only=["optofc-closes", "decimal-rounds-half-up", "ansi-needs-commit"])
    text = as_json(report)
    assert "secret" not in text
    assert "127.0.0.1" not in text
    found = json.loads(text)
    assert {check["name"]: check["outcome"] for check in found["checks"]} == {
        "optofc-closes": "refuted",
        "ansi-needs-commit": "could not be tried",
        "decimal-rounds-half-up": "held",
    }
    assert found["server_version"] == report.server_version
    assert found["log_mode"] == "logged"
    refuted = found["checks"][0]
    assert refuted["detail"] == "with OPTOFC=1 the reply with the last rows had no SQ_CLOSE"
    messages = [event["name"] for event in refuted["trace"] if event.get("kind") == "sent"]
    assert messages.count("SQ_NFETCH") >= 2
    assert "SQ_EXECUTE" not in messages  # the rows of the table
    assert all("trace" not in check for check in found["checks"][1:])
    assert refuted["marks"] == ["client/config/environment.py: session_pairs"]
