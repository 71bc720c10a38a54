"""The report: what it sums up, and its form in JSON."""

from __future__ import annotations

import json

from aioifx.diagnosis import DiagnosisChange, DiagnosisReport, DiagnosisStep
from aioifx.diagnosis.report import STEPS

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
