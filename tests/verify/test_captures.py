"""The checks of `captures` hold at the embedded server, and are not tried without the privileges."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from aioifx.codecs.cdc_records import Timeout, encode_record
from aioifx.codecs.cdc_rows import RowLayout
from aioifx.server import running
from aioifx.server.engine import cdc_routines
from aioifx.server.engine.cdc_session import CdcSession
from aioifx.server.engine.push_queries import PushQuery
from aioifx.server.protocol.quirks import Quirk
from aioifx.verify import Check, Outcome, captures, verify
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


def two_timeouts(patch: pytest.MonkeyPatch) -> None:
    timeout = encode_record(Timeout(1))
    patch.setattr(CdcSession, "read", lambda *_: timeout * 2)


def no_data(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(captures, "_MOST_SECONDS", 0.1)
    patch.setattr(CdcSession, "read", lambda *_: encode_record(Timeout(1)))


DEFECTS: dict[str, tuple[Callable[[pytest.MonkeyPatch], None], str]] = {
    "cdc-codes": (
        lambda patch: patch.setitem(captures._CODES, -83705, "ANOTHER"),
        "syscdcerrcodes has other names: {-83705: 'NOTAB'}",
    ),
    "cdc-open-close": (
        lambda patch: patch.setattr(cdc_routines, "_session", lambda *_, **__: None),
        "a session was closed twice",
    ),
    "cdc-timeout-record": (two_timeouts, "a read without data returned Timeout, Timeout"),
    "cdc-insert": (no_data, "no COMMTX came within 0.1 s"),
    "cdc-max-records": (no_data, "no COMMTX came within 0.1 s"),
    "cdc-interrupt": (
        lambda patch: patch.setattr(CdcSession, "read", lambda *_: b""),
        "a read returned 0",
    ),
    "cdc-lsn-too-old": (
        lambda patch: patch.setattr(CdcSession, "activate", lambda *_: None),
        "cdc_activatesess at a position without a log returned 0",
    ),
    "push-data": (lambda patch: patch.setattr(PushQuery, "columns", lambda *_: "{}"), "expected"),
}
"""By check: what the server does otherwise, and what the report says."""


@pytest.mark.parametrize("check", CAPTURES, ids=lambda check: check.name)
async def test_each_check_can_be_refuted(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    plant, detail = DEFECTS[check.name]
    plant(monkeypatch)
    report = await report_of([check])
    (finding,) = report.findings
    assert (finding.outcome, finding.detail[: len(detail)]) == (Outcome.REFUTED, detail)
    assert report.left_behind == []
