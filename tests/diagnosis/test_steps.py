"""Steps: recorded with their outcome, bounded in time, skipped after a failure."""

from __future__ import annotations

import asyncio

import pytest

from aioifx.diagnosis import DiagnosisChange, DiagnosisStep
from aioifx.diagnosis.steps import SERVER_STEPS, Failed, Finding, Steps
from aioifx.errors import ConnectError, Error

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
