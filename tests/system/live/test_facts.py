"""The facts hold at the embedded server, and at a real one: `poe live`."""

from __future__ import annotations

import pytest

from aioifx.server.sqlite.databases import LogMode
from aioifx.verify import Check, Outcome
from aioifx.verify.run import try_checks
from tests.system.live.composites import COMPOSITES
from tests.system.live.facts import FACTS
from tests.system.live.queries import QUERIES
from tests.system.live.statements import STATEMENTS
from tests.system.live.values import VALUES
from tests.verify.outcomes import names_of, report_of, require_all_held

_SLOW = "too-many-columns"


@pytest.mark.parametrize(
    "checks", [COMPOSITES, QUERIES, STATEMENTS, VALUES], ids=lambda checks: checks[0].name
)
async def test_all_hold_at_the_embedded_server(checks: tuple[Check, ...], is_exhaustive: bool) -> None:
    await require_all_held([check for check in checks if is_exhaustive or check.name != _SLOW])


@pytest.mark.informix
@pytest.mark.timeout(600)
async def test_all_hold_at_a_real_server(informix_dsn: str) -> None:
    report = await try_checks(FACTS, informix_dsn)
    assert {finding.check.name: finding.detail for finding in report.of(Outcome.REFUTED)} == {}
    assert report.left_behind == []


async def test_none_is_refuted_where_characters_have_several_bytes() -> None:
    report = await report_of(VALUES, db_locale="en_US.utf8")
    assert names_of(report, Outcome.REFUTED) == set()
    assert "text-function-sizes" in names_of(report, Outcome.NOT_TRIED)


async def test_savepoints_are_not_tried_without_a_log() -> None:
    wanted = ("savepoint-unique", "savepoint-unknown", "drop-restrict")
    report = await report_of([check for check in FACTS if check.name in wanted], log_mode=LogMode.UNLOGGED)
    assert names_of(report, Outcome.NOT_TRIED) == {"savepoint-unique", "savepoint-unknown"}
    assert names_of(report, Outcome.HELD) == {"drop-restrict"}
    assert report.left_behind == []
