"""The report: what it sums up, and its form in JSON."""

from __future__ import annotations

import asyncio
import json

import pytest

from aioifx.diagnosis import DiagnosisChange, DiagnosisReport, DiagnosisStep
from aioifx.diagnosis.report import SERVER_STEPS, STEPS, Failed, Finding, Steps
from aioifx.errors import ConnectError, Error

PORT = DiagnosisChange("port", "9088")
ADDRESS = DiagnosisStep("address", "ok", 0.0, "a:1, b:1")


def step(name: str, outcome: str, server: str, *changes: DiagnosisChange) -> DiagnosisStep:
    return DiagnosisStep(name, outcome, 0.5, "found", changes, server, {"n": 1})  # type: ignore[arg-type]


def test_one_server_that_can_be_used_is_enough() -> None:
    report = DiagnosisReport((ADDRESS, step("tcp", "failed", "a:1", PORT), step("tcp", "ok", "b:1")))
    assert not report.ok and report.connects
    assert report.failed == (report.steps[1],)


def test_a_check_that_fails_does_not_mean_that_connections_fail() -> None:
    report = DiagnosisReport((ADDRESS, step("role", "ok", "a:1"), step("interrupt", "failed", "a:1")))
    assert not report.ok and report.connects


def test_a_wrong_option_means_that_nothing_connects() -> None:
    report = DiagnosisReport((DiagnosisStep("address", "failed", 0.0, "server: missing"),))
    assert not report.ok and not report.connects


def test_warnings_are_well() -> None:
    assert DiagnosisReport((ADDRESS, step("tls", "warning", "a:1", PORT))).ok


def test_each_change_is_named_once() -> None:
    report = DiagnosisReport((step("tcp", "failed", "a:1", PORT), step("tcp", "failed", "b:1", PORT)))
    assert report.changes == (PORT,)
    assert str(PORT) == "port: 9088"


def test_the_report_in_json() -> None:
    report = DiagnosisReport((step("tcp", "failed", "a:1", PORT),))
    assert json.loads(json.dumps(report.as_dict())) == {
        "ok": False,
        "connects": False,
        "steps": [
            {
                "name": "tcp",
                "outcome": "failed",
                "seconds": 0.5,
                "found": "found",
                "changes": [{"setting": "port", "to": "9088"}],
                "server": "a:1",
                "details": {"n": 1},
            }
        ],
    }


def test_the_docstring_names_all_steps() -> None:
    assert DiagnosisStep.__doc__ is not None
    assert all(f'"{name}"' in DiagnosisStep.__doc__ for name in STEPS)


CHANGE = DiagnosisChange("port", "9088")


async def well() -> Finding:
    return Finding("well", details={"n": 1})


async def explained(error: Error) -> Failed:
    return Failed(f"because {error}", CHANGE)


async def test_a_step_is_recorded_and_reported() -> None:
    reported: list[DiagnosisStep] = []
    steps = Steps("db1:9088", 10, reported.append)
    await steps.run("tcp", well)
    (step,) = steps.done
    assert reported == [step]
    assert (step.name, step.outcome, step.found, step.server, step.details) == (
        "tcp", "ok", "well", "db1:9088", {"n": 1},
    )  # fmt: skip
    assert step.seconds > 0


async def test_the_server_is_not_repeated_in_what_was_found() -> None:
    steps = Steps("db1:9088", 10)
    steps.add("login", 0.0, Finding("db1:9088: wrong password"))
    assert steps.done[0].found == "wrong password"


async def test_an_error_is_explained() -> None:
    async def fail() -> Finding:
        raise ConnectError("refused")

    steps = Steps("", 10)
    for explain, found in ((explained, "because refused"), (None, "refused")):
        with pytest.raises(Failed):
            await steps.run("tcp", fail, explain)
        assert (steps.done[-1].outcome, steps.done[-1].found) == ("failed", found)
    assert steps.done[0].changes == (CHANGE,)


async def test_a_step_that_takes_too_long_fails() -> None:
    async def hang() -> Finding:
        await asyncio.Event().wait()
        raise AssertionError

    steps = Steps("", 0.01)
    for explain, found in ((explained, "because no answer within 0.01 s"), (None, "no answer within 0.01 s")):
        with pytest.raises(Failed):
            await steps.run("tcp", hang, explain)
        assert steps.done[-1].found == found


async def test_a_timeout_of_other_code_is_not_a_step_that_took_too_long() -> None:
    async def fail() -> Finding:
        raise TimeoutError

    steps = Steps("", 10)
    with pytest.raises(TimeoutError):
        await steps.run("tcp", fail)
    assert steps.done == []


async def test_the_rest_is_skipped() -> None:
    steps = Steps("", 10)
    await steps.run("dns", well)
    steps.skip_rest("tcp failed")
    assert [step.name for step in steps.done] == [*SERVER_STEPS]
    assert {step.outcome for step in steps.done[1:]} == {"skipped"}
