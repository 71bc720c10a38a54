"""The checks of `sessions` hold at the embedded server; quirks refute them one by one."""

from __future__ import annotations

import pytest

from aioifx.server.sqlite.databases import LogMode
from aioifx.verify import Outcome
from aioifx.verify.sessions import SESSIONS
from tests.verify.outcomes import names_of, report_of, require_all_held


async def test_all_hold() -> None:
    await require_all_held(SESSIONS)


@pytest.mark.parametrize(
    ("quirk", "refuted"),
    [  # tests/verify/test_run.py has all quirks
        ("no-bit-54", {"capability-bits"}),
        ("no-transaction-states", {"transaction-levels"}),
    ],
)
async def test_a_quirk_refutes_the_checks_about_it(quirk: str, refuted: set[str]) -> None:
    checks = [check for check in SESSIONS if "interrupt" not in check.name]
    report = await report_of(checks, quirks=[quirk])
    assert names_of(report, Outcome.REFUTED) == refuted


@pytest.mark.exhaustive
async def test_a_server_that_ignores_the_urgent_byte_is_noticed_and_left_alone() -> None:
    report = await report_of(["urgent-byte-interrupts", "interrupts-count-once"], quirks=["no-interrupts"])
    assert names_of(report, Outcome.REFUTED) == {"urgent-byte-interrupts"}
    assert names_of(report, Outcome.HELD) == {"interrupts-count-once"}


async def test_the_commit_of_ansi_databases_is_tried_there() -> None:
    report = await report_of(["ansi-needs-commit", "transaction-levels"], log_mode=LogMode.ANSI)
    assert names_of(report, Outcome.HELD) == {"ansi-needs-commit"}
    assert names_of(report, Outcome.NOT_TRIED) == {"transaction-levels"}
