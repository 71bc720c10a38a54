"""Outcomes of checks at an embedded server, for tests."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from aioifx.server import running
from aioifx.verify import Check, Outcome, Report
from aioifx.verify.run import select_checks, try_checks

NEVER_TRIED = {"call-is-interrupted", "ansi-needs-commit", "distinct-of-clob-parameter"}
"""Checks that cannot be tried at an embedded server with its default options."""


async def report_of(checks: Iterable[Check | str], **options: Any) -> Report:
    """The report on some checks at an embedded server with these options."""
    chosen = [
        each for check in checks for each in (select_checks([check]) if isinstance(check, str) else [check])
    ]
    async with running(**options) as dsn:
        return await try_checks(chosen, dsn)


def names_of(report: Report, outcome: Outcome) -> set[str]:
    return {finding.check.name for finding in report.of(outcome)}


async def require_all_held(checks: Sequence[Check], **options: Any) -> None:
    """Fail unless all checks held, apart from those that the embedded server cannot try."""
    report = await report_of(checks, **options)
    refuted = {finding.check.name: finding.detail for finding in report.of(Outcome.REFUTED)}
    assert refuted == {}
    assert names_of(report, Outcome.NOT_TRIED) == {check.name for check in checks} & NEVER_TRIED
    assert len(report.findings) == len(checks)
    assert report.left_behind == []
