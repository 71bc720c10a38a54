"""The checks of `fetching` hold at the embedded server; quirks refute them one by one."""

from __future__ import annotations

import pytest

from aioifx.server.sqlite.databases import LogMode
from aioifx.verify import Outcome
from aioifx.verify.fetching import FETCHING
from tests.verify.outcomes import names_of, report_of, require_all_held


async def test_all_hold() -> None:
    await require_all_held(FETCHING)


_REFUTED_BY = {  # tests/verify/test_run.py has all quirks, and all checks
    "row-by-row": {"several-rows-per-reply", "fetch-size-in-force"},
    "no-optofc": {"optofc-closes"},
}


@pytest.mark.parametrize("quirk", _REFUTED_BY)
async def test_a_quirk_refutes_the_checks_about_it(quirk: str) -> None:
    # The others, and the other quirks: test_run.py, with the mark exhaustive.
    report = await report_of({name for names in _REFUTED_BY.values() for name in names}, quirks=[quirk])
    assert names_of(report, Outcome.REFUTED) == _REFUTED_BY[quirk]
    assert names_of(report, Outcome.NOT_TRIED) == set()


@pytest.mark.exhaustive
async def test_ansi_databases_may_send_row_by_row() -> None:
    report = await report_of(FETCHING, log_mode=LogMode.ANSI)
    assert names_of(report, Outcome.REFUTED) == set()
    assert "several-rows-per-reply" in names_of(report, Outcome.NOT_TRIED)
