"""The checks of `values` hold at the embedded server."""

from __future__ import annotations

from aioifx.verify import Outcome
from aioifx.verify.values import VALUES
from tests.verify.outcomes import names_of, report_of, require_all_held


async def test_all_hold() -> None:
    await require_all_held(VALUES)


async def test_none_is_refuted_where_characters_have_several_bytes() -> None:
    report = await report_of(VALUES, db_locale="en_US.utf8")
    assert names_of(report, Outcome.REFUTED) == set()
    assert "text-function-sizes" in names_of(report, Outcome.NOT_TRIED)
