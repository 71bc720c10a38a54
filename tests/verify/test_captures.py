"""The checks of `captures` hold at the embedded server, and are not tried without the privileges."""

from __future__ import annotations

from typing import Any

import pytest

from aioifx.codecs.cdc_rows import RowLayout
from aioifx.server import running
from aioifx.server.protocol.quirks import Quirk
from aioifx.verify import Outcome, verify
from aioifx.verify.captures import CAPTURES
from tests.verify.outcomes import names_of, report_of, require_all_held


@pytest.mark.exhaustive  # reads that wait
async def test_all_hold() -> None:
    await require_all_held(CAPTURES)


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "quirk",
    [
        Quirk.CDC_LITTLE_ENDIAN, Quirk.CDC_LONG_HEADERS, Quirk.CDC_NUL_AFTER_COLUMNS, Quirk.CDC_CUT_RECORDS,
        Quirk.CDC_SEVERAL_RECORDS, Quirk.CDC_HELD_BACK,
    ],
)  # fmt: skip
async def test_what_aioifx_reads_as_well_refutes_nothing(quirk: Quirk) -> None:
    await require_all_held([check for check in CAPTURES if check.name == "cdc-insert"], quirks=[quirk])


async def test_rows_are_captured() -> None:
    await require_all_held([check for check in CAPTURES if check.name == "cdc-insert"])


async def test_a_session_that_dies_leaves_no_table_behind() -> None:
    report = await report_of(["cdc-insert"], quirks=[Quirk.CDC_DEAD_SESSION])
    assert names_of(report, Outcome.REFUTED) == {"cdc-insert"}
    assert report.left_behind == []


async def test_they_are_not_tried_without_the_privilege() -> None:
    report = await report_of(CAPTURES, user="anna", quirks=[Quirk.CDC_INFORMIX_ONLY])
    assert report.of(Outcome.REFUTED) == []
    assert names_of(report, Outcome.HELD) == {"cdc-codes", "push-data"}


async def test_another_layout_of_rows_refutes_a_check(monkeypatch: pytest.MonkeyPatch) -> None:
    encode = RowLayout.encode

    def wrong(self: RowLayout, row: Any, **options: Any) -> tuple[bytes, bytes]:
        sizes, payload = encode(self, row, **options)
        return sizes, payload[1:] + payload[:1]

    monkeypatch.setattr(RowLayout, "encode", wrong)
    async with running() as dsn:
        report = await verify(dsn, only=["cdc-insert"])
    (finding,) = report.findings
    assert finding.outcome is Outcome.REFUTED
    assert report.left_behind == []
