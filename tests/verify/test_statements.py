"""The checks of `statements` hold at the embedded server."""

from __future__ import annotations

import pytest

from aioifx.server.sqlite.databases import LogMode
from aioifx.verify import Outcome
from aioifx.verify.statements import STATEMENTS
from tests.verify.outcomes import names_of, report_of, require_all_held

_SLOW = "too-many-columns"


async def test_all_hold() -> None:
    await require_all_held([check for check in STATEMENTS if check.name != _SLOW])


@pytest.mark.exhaustive
async def test_a_table_of_too_many_columns_is_refused() -> None:
    await require_all_held([check for check in STATEMENTS if check.name == _SLOW])


async def test_savepoints_are_not_tried_without_a_log() -> None:
    report = await report_of(["savepoint-*", "drop-restrict"], log_mode=LogMode.UNLOGGED)
    assert names_of(report, Outcome.NOT_TRIED) == {"savepoint-unique", "savepoint-unknown"}
    assert names_of(report, Outcome.HELD) == {"drop-restrict"}
    assert report.left_behind == []
