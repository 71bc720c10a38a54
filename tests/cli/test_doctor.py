"""aioifx doctor: its lines at several widths, its JSON, its exit codes."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest

import aioifx.server
from aioifx.cli import doctor
from aioifx.cli.doctor import View, exit_code_of
from aioifx.cli.main import main
from aioifx.cli.output import LinePrinter
from aioifx.diagnosis import DiagnosisChange, DiagnosisReport, DiagnosisStep, checks, examination
from tests.cli.test_output import use_terminal
from tests.diagnosis.ports import closed

SERVER = "db1:9088"
STEPS = (
    DiagnosisStep("address", "ok", 0.0004, "db1:9088 (server ol_shop), database shop, user app"),
    DiagnosisStep("dns", "ok", 0.0021, "192.0.2.1", (), SERVER),
    DiagnosisStep("tcp", "ok", 0.0101, "connected to 192.0.2.1, port 9088", (), SERVER),
    DiagnosisStep("tls", "skipped", 0.0, "not used: data and password are not encrypted", (), SERVER),
    DiagnosisStep("listener", "ok", 0.25, "SQLI", (), SERVER),
    DiagnosisStep(
        "server_name",
        "failed",
        0.012,
        "the server is not named ol_shop (SQLCODE -761); it is 'ol_main' (option: server)",
        (DiagnosisChange("server", "ol_main"),),
        SERVER,
    ),
    DiagnosisStep("login", "skipped", 0.0, "server name failed", (), SERVER),
    DiagnosisStep("round_trip", "skipped", 0.0, "server name failed", (), SERVER),
)

AT_80 = """\
ok      address            0.4 ms db1:9088 (server ol_shop), database shop, user
                                  app

db1:9088
ok      dns                2.1 ms 192.0.2.1
ok      tcp               10.1 ms connected to 192.0.2.1, port 9088
skipped tls                       not used: data and password are not encrypted
ok      listener         250.0 ms SQLI
failed  server name       12.0 ms the server is not named ol_shop (SQLCODE
                                  -761); it is 'ol_main' (option: server)
                                  -> server: ol_main
skipped                           not tried: login, round trip

Not connected. See the changes after ->, the likeliest first.
"""


def shown(report: DiagnosisReport, capsys: pytest.CaptureFixture[str], width: int | None = 80) -> str:
    view = View(LinePrinter(), width)
    for step in report.steps:
        view.on_step(step)
    view.finish(report)
    return capsys.readouterr().out


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AIOIFX_DSN", "AIOIFX_PASSWORD"):
        monkeypatch.delenv(name, raising=False)


def test_lines_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    assert shown(DiagnosisReport(STEPS), capsys) == AT_80


@pytest.mark.parametrize("width", [None, 120])
def test_there_are_fewer_lines_if_there_is_room(
    width: int | None, capsys: pytest.CaptureFixture[str]
) -> None:
    text = shown(DiagnosisReport(STEPS), capsys, width)
    assert "the server is not named ol_shop (SQLCODE -761); it is 'ol_main' (option: server)\n" in text


def test_no_line_is_wider_than_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    for width in (60, 80, 120, 300):
        lines = shown(DiagnosisReport(STEPS), capsys, width).splitlines()
        assert max(map(len, lines)) <= min(width, 120)


def test_a_pipe_gets_one_line_for_each_step(capsys: pytest.CaptureFixture[str]) -> None:
    long = DiagnosisStep(
        "login", "failed", 0.0, "word " * 100, (DiagnosisChange("user", "x " * 200),), SERVER
    )
    lines = shown(DiagnosisReport((long,)), capsys, None).splitlines()
    assert [line[:8].strip() for line in lines] == ["", "db1:9088", "failed", "", "", "Not conn"]


def test_a_step_without_a_finding_has_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    report = DiagnosisReport((DiagnosisStep("version", "ok", 0.0, ""),))
    assert shown(report, capsys).startswith("ok      version\n")


def test_a_terminal_has_styles_and_nothing_else_has(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("rich")
    data = use_terminal(monkeypatch)
    view = View(LinePrinter(), 80)
    for step in STEPS:
        view.on_step(step)
    assert b"\x1b[32mok     \x1b[0m address" in data.getvalue()
    assert b"\x1b[1;31mfailed \x1b[0m server name" in data.getvalue()


def test_several_servers_are_apart(capsys: pytest.CaptureFixture[str]) -> None:
    other = DiagnosisStep("tcp", "ok", 0.001, "connected", (), "db2:9088")
    text = shown(DiagnosisReport((*STEPS, other)), capsys)
    assert "not tried: login, round trip\n\ndb2:9088\nok      tcp" in text
    assert text.endswith("\nConnected, but a step failed.\n")


@pytest.mark.parametrize(
    ("outcomes", "code", "summary"),
    [
        (["ok", "ok"], 0, "Connected. All is well."),
        (["ok", "warning"], 0, "Connected, with 1 warning."),
        (["ok", "warning", "warning"], 0, "Connected, with 2 warnings."),
        (["failed"], 2, "Not connected: an option is wrong."),
        (["ok", "failed"], 3, "Not connected. See"),
    ],
)
def test_exit_codes_and_summaries(
    outcomes: list[Any], code: int, summary: str, capsys: pytest.CaptureFixture[str]
) -> None:
    names = ("address", "tcp", "tls")
    report = DiagnosisReport(
        tuple(
            DiagnosisStep(name, outcome, 0.0, "found", (), "" if name == "address" else SERVER)
            for name, outcome in zip(names, outcomes, strict=False)
        )
    )
    assert exit_code_of(report) == code
    assert shown(report, capsys).splitlines()[-1].startswith(summary)


def test_a_check_that_failed_is_not_a_connection_that_failed() -> None:
    report = DiagnosisReport((STEPS[0], DiagnosisStep("interrupt", "failed", 0.0, "lost", (), SERVER)))
    assert exit_code_of(report) == 1


# -- the verb ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def dsn(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """An embedded server in a thread: the verb has an event loop of its own."""

    monkeypatch.setattr(examination, "BANNER_WAIT", 0.01)
    monkeypatch.setattr(checks, "RUNNING_TIME", 0.02)
    monkeypatch.setenv("AIOIFX_PASSWORD", "hidden")
    found: list[Any] = []
    ready = threading.Event()

    async def serve() -> None:
        stop = asyncio.Event()
        async with aioifx.server.running(user="app", password="hidden", server_name="ol_shop") as dsn:
            found.extend([dsn.replace(":hidden", ""), asyncio.get_running_loop(), stop])
            ready.set()
            await stop.wait()

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    ready.wait()
    dsn, loop, stop = found
    yield dsn
    loop.call_soon_threadsafe(stop.set)
    thread.join()


def test_the_verb_prints_steps(dsn: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", dsn]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert out.startswith("ok      address ") and out.endswith("\nConnected. All is well.\n")
    assert "hidden" not in out and "\x1b" not in out


def test_the_verb_prints_json(dsn: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--json", dsn.replace("ol_shop", "ol_other")]) == 3
    out, err = capsys.readouterr()
    report = json.loads(out)
    assert (err, report["ok"], report["connects"]) == ("", False, False)
    (failed,) = (step for step in report["steps"] if step["outcome"] == "failed")
    assert failed["name"] == "server_name"
    assert failed["changes"] == [{"setting": "server", "to": "ol_shop"}]
    assert "hidden" not in out


def test_the_time_limit_is_of_each_step(monkeypatch: pytest.MonkeyPatch) -> None:
    given: dict[str, Any] = {}

    async def diagnose(dsn: str, **options: Any) -> DiagnosisReport:
        given.update(options)
        return DiagnosisReport(STEPS[:1])

    monkeypatch.setattr("aioifx.diagnosis.run.diagnose", diagnose)
    assert main(["doctor", "informix://app@db1/shop?server=s", "--timeout", "2.5", "--no-password"]) == 0
    assert given["step_timeout"] == 2.5 and "command_timeout" not in given


def test_a_wrong_option_of_the_address(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--no-password", "informix://app@db1/shop?server=s&fetch_size=1"]) == 2
    assert "-> fetch_size: " in capsys.readouterr().out


def test_a_closed_port(capsys: pytest.CaptureFixture[str]) -> None:
    with closed() as port:
        assert main(["doctor", "--no-password", f"informix://app@127.0.0.1:{port}/shop?server=s"]) == 3
    assert "-> port: " in capsys.readouterr().out


def test_the_exit_codes_are_those_of_the_command_line() -> None:
    assert doctor.__doc__ is not None
    for text in ("0 no step failed", "1 the connection works", "2 the command line", "3 no connection"):
        assert text in " ".join(doctor.__doc__.split())
