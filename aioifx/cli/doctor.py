"""aioifx doctor: a diagnosis as lines for people, or as JSON. Never: how it is made, what a step means.

Exit codes: 0 no step failed; 1 the connection works, but a step failed: another server, or a check; 2 the command line
or an option is wrong; 3 no connection.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import sys
import textwrap
from collections.abc import Iterator
from typing import Final, TextIO

from aioifx.cli.address import add_connection, destination
from aioifx.cli.failures import CONNECTION, FAILED, USAGE
from aioifx.cli.parsing import Verbs, add_verb, examples
from aioifx.diagnosis.report import DiagnosisReport, DiagnosisStep

_TIMEOUT: Final = 10.0
_COLOURS: Final = {"ok": "32", "warning": "33", "failed": "1;31", "skipped": "2"}
"""Codes of ANSI terminals."""
_INDENT: Final = 34
_MAX_WIDTH: Final = 120


def add_parser(verbs: Verbs) -> None:
    """Add the verb."""
    parser = add_verb(
        verbs,
        "doctor",
        run,
        help="why a connection fails, step by step, or what it is like",
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
    from aioifx.diagnosis.diagnose import diagnose

    dsn, options = destination(arguments)
    options.pop("command_timeout", None)
    view = None if arguments.json else View(sys.stdout)
    report = asyncio.run(
        diagnose(
            dsn, step_timeout=arguments.timeout, on_step=None if view is None else view.on_step, **options
        )
    )
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
    """Prints steps as they end: outcome, name, milliseconds, what was found, what to change."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._width = max(60, min(shutil.get_terminal_size().columns, _MAX_WIDTH))
        self._has_colours = (
            out.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        )
        self._server = ""
        self._left_out: list[str] = []
        """Steps that were skipped because one before them failed."""
        self._has_failed = False

    def on_step(self, step: DiagnosisStep) -> None:
        """Print a step; the steps after a failure are gathered in one line."""
        if step.server != self._server:
            self._end_server()
            self._server = step.server
            self._print(f"\n{step.server}")
        if step.outcome == "skipped" and self._has_failed:
            self._left_out.append(step.name)
            return
        self._has_failed = step.outcome == "failed"
        for line in self._lines(step):
            self._print(line)

    def finish(self, report: DiagnosisReport) -> None:
        """Print the summary."""
        self._end_server()
        self._print("\n" + textwrap.fill(_summary(report), self._width))

    def _end_server(self) -> None:
        if self._left_out:
            names = ", ".join(name.replace("_", " ") for name in self._left_out)
            for line in self._wrapped(f"{self._outcome('skipped')} {'':25}", f"not tried: {names}"):
                self._print(line)
        self._left_out, self._has_failed = [], False

    def _lines(self, step: DiagnosisStep) -> Iterator[str]:
        time = f"{step.seconds * 1000:9.1f} ms" if step.seconds >= 0.00005 else ""
        head = f"{self._outcome(step.outcome)} {step.name.replace('_', ' '):12} {time:>12}"
        yield from self._wrapped(head, step.found)
        for change in step.changes:
            arrow = "-> "
            yield from textwrap.wrap(
                str(change),
                self._width,
                initial_indent=" " * _INDENT + arrow,
                subsequent_indent=" " * (_INDENT + len(arrow)),
                break_on_hyphens=False,
            )

    def _wrapped(self, head: str, text: str) -> Iterator[str]:
        lines = textwrap.wrap(text, self._width - _INDENT, break_on_hyphens=False) or [""]
        yield f"{head} {lines[0]}".rstrip()
        for line in lines[1:]:
            yield " " * _INDENT + line

    def _outcome(self, outcome: str) -> str:
        text = f"{outcome:7}"
        return f"\x1b[{_COLOURS[outcome]}m{text}\x1b[0m" if self._has_colours else text

    def _print(self, line: str) -> None:
        print(line, file=self._out, flush=True)


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
