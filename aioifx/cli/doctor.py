"""aioifx doctor: a diagnosis as lines for people, or as JSON. Never: how it is made, what a step means.

Exit codes: 0 no step failed. 1 the connection works, but a check or a step for another server failed. 2 the command
line or an option is wrong. 3 no connection.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import textwrap
from typing import Final

from aioifx.cli.address import Destination, add_connection, destination
from aioifx.cli.failures import CONNECTION, FAILED, USAGE
from aioifx.cli.output import LinePrinter, terminal_width
from aioifx.cli.parsing import Verbs, add_verb, examples
from aioifx.diagnosis.report import DiagnosisReport, DiagnosisStep

_TIMEOUT: Final = 10.0
_STYLES: Final = {"ok": "green", "warning": "yellow", "failed": "bold red", "skipped": "dim"}
_OUTCOME_WIDTH: Final = max(map(len, _STYLES))
_INDENT: Final = _OUTCOME_WIDTH + 27
"""Column of what was found."""
_MIN_WIDTH: Final = 60
_MAX_WIDTH: Final = 120
_LEAST_SECONDS: Final = 0.00005
"""Shown as 0.1 ms; less is not shown."""


def add_parser(verbs: Verbs) -> None:
    """Add the verb."""
    parser = add_verb(
        verbs,
        "doctor",
        run,
        description="Connects step by step, and says of each step what was found, how long it took, and which\n"
        "setting to change. Changes nothing at the server. --timeout is the time limit of each step.",
        epilog=examples(
            "aioifx doctor 'informix://app@db1:9088/shop?server=ol_shop'",
            "aioifx doctor --json @address.txt | jq '.steps[] | select(.outcome == \"failed\")'",
        )
        + "\n\nexit codes: 0 no step failed; 1 the connection works, but a step failed; 2 an option is wrong;\n"
        "3 no connection",
    )
    add_connection(parser, timeout=_TIMEOUT)
    parser.add_argument("--json", action="store_true", help="print the report as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Run the verb."""
    from aioifx.diagnosis.run import diagnose

    where = destination(arguments)
    where.options.pop("command_timeout", None)
    view = None if arguments.json else View(LinePrinter(), terminal_width())

    def examine(where: Destination) -> DiagnosisReport:
        on_step = None if view is None else view.on_step
        return asyncio.run(
            diagnose(where.dsn, step_timeout=arguments.timeout, on_step=on_step, **where.options)
        )

    report = examine(where)
    if where.may_ask and any(change.setting == "password" for change in report.changes):
        report = examine(where.ask())
    if view is None:
        print(json.dumps(report.as_dict(), indent=2))
    else:
        view.finish(report)
    return exit_code_of(report)


def exit_code_of(report: DiagnosisReport) -> int:
    """The exit code for a report."""
    if report.ok:
        return 0
    if report.steps[0].outcome == "failed":
        return USAGE
    return FAILED if report.connects else CONNECTION


class View:
    """Prints steps as they end: outcome, name, milliseconds, what was found, what to change.

    Args:
        width: columns of the terminal; None: lines may be of any length.
    """

    def __init__(self, printer: LinePrinter, width: int | None) -> None:
        self._printer = printer
        self._width = sys.maxsize if width is None else max(_MIN_WIDTH, min(width, _MAX_WIDTH))
        self._server = ""
        self._left_out: list[str] = []
        """Steps that were skipped because one before them failed."""
        self._has_failed = False

    def on_step(self, step: DiagnosisStep) -> None:
        """Print a step; the steps after a failure are gathered in one line."""
        if step.server != self._server:
            self._end_server()
            self._server = step.server
            self._printer.print([(), ((step.server, "bold"),)])
        if step.outcome == "skipped" and self._has_failed:
            self._left_out.append(step.name)
            return
        self._has_failed = step.outcome == "failed"
        time = f"{step.seconds * 1000:.1f} ms" if step.seconds >= _LEAST_SECONDS else ""
        self._print(step.outcome, step.name, time, step.found)
        for change in step.changes:
            self._printer.print(
                ((line, "bold"),) for line in self._wrapped(str(change), " " * _INDENT + "-> ", _INDENT + 3)
            )

    def finish(self, report: DiagnosisReport) -> None:
        """Print the summary."""
        self._end_server()
        self._printer.print([(), *(((line, ""),) for line in self._wrapped(_summary(report), "", 0))])

    def _end_server(self) -> None:
        if self._left_out:
            self._print("skipped", "", "", f"not tried: {', '.join(map(_name_of, self._left_out))}")
        self._left_out, self._has_failed = [], False

    def _print(self, outcome: str, name: str, time: str, text: str) -> None:
        first, *rest = self._wrapped(text, " " * _INDENT, _INDENT)
        head = f" {_name_of(name):12} {time:>12} ".ljust(_INDENT - _OUTCOME_WIDTH)
        line = ((f"{outcome:{_OUTCOME_WIDTH}}", _STYLES[outcome]), (head + first[_INDENT:], ""))
        self._printer.print([line, *(((more, ""),) for more in rest)])

    def _wrapped(self, text: str, first: str, indent: int) -> list[str]:
        return textwrap.wrap(
            text or " ",
            self._width,
            initial_indent=first,
            subsequent_indent=" " * indent,
            break_on_hyphens=False,
            drop_whitespace=bool(text),
        )


def _name_of(step: str) -> str:
    return step.replace("_", " ")


def _summary(report: DiagnosisReport) -> str:
    if report.steps[0].outcome == "failed":
        return "Not connected: an option is wrong."
    if not report.connects:
        return "Not connected. See the changes after ->, the likeliest first."
    warnings = sum(step.outcome == "warning" for step in report.steps)
    if not report.ok:
        return "Connected, but a step failed."
    return (
        f"Connected, with {warnings} warning{'s' * (warnings != 1)}."
        if warnings
        else "Connected. All is well."
    )
