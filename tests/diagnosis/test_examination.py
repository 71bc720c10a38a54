"""The steps of one server; test_diagnose.py has every wrong setting."""

from __future__ import annotations

from typing import Any

import pytest

import aioifx.server
from aioifx.client.config.resolve import parse_dsn
from aioifx.client.connect.connect import candidate_addresses
from aioifx.diagnosis import checks, examination
from aioifx.diagnosis.examination import Examination
from aioifx.diagnosis.report import SERVER_STEPS, Steps
from aioifx.errors import ConnectionLost, DatabaseError


async def examined(dsn: str) -> Steps:
    options = parse_dsn(dsn)
    (address,) = candidate_addresses(options)
    steps = Steps(str(address), 10)
    await Examination(options, "", address, steps).run()
    assert [step.name for step in steps.done] == [*SERVER_STEPS]
    return steps


async def test_a_check_whose_statement_fails_is_skipped(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(*_: Any) -> None:
        raise DatabaseError("no permission", sqlcode=-272)

    monkeypatch.setattr(checks, "optofc", fail)
    steps = await examined(dsn)
    outcomes = {step.name: step.outcome for step in steps.done}
    assert (outcomes["optofc"], outcomes["interrupt"]) == ("skipped", "ok")


async def test_a_check_that_loses_the_connection_fails(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(*_: Any) -> None:
        raise ConnectionLost("the server closed the connection")

    monkeypatch.setattr(checks, "round_trip", fail)
    steps = await examined(dsn)
    outcomes = {step.name: step.outcome for step in steps.done}
    assert (outcomes["round_trip"], outcomes["optofc"]) == ("failed", "skipped")
    assert [change.setting for step in steps.done for change in step.changes] == ["the way to the server"]


async def test_a_locale_that_cannot_be_queried_is_skipped(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(*_: Any) -> None:
        raise DatabaseError("no sysmaster")

    monkeypatch.setattr(examination, "query_locale", fail)
    steps = await examined(dsn)
    assert {step.name: step.found for step in steps.done}["locale"] == "no sysmaster"
    assert {step.outcome for step in steps.done} == {"ok", "skipped"}


async def test_what_is_not_known_after_a_failure_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(*_: Any) -> None:
        raise DatabaseError("no sysmaster")

    monkeypatch.setattr(examination, "query_locale", fail)
    monkeypatch.setattr(examination, "query_sysmaster", fail)
    async with aioifx.server.running() as dsn:
        steps = await examined(dsn.replace("/demo", "/other"))
    (failed,) = (step for step in steps.done if step.outcome == "failed")
    assert [str(change) for change in failed.changes] == ["database: the name of a database of this server"]
