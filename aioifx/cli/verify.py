"""aioifx verify: checks of what is assumed of servers, as a table and a report. Never: what a check does."""

from __future__ import annotations

import argparse
import asyncio
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from aioifx.cli.address import Destination, add_connection, destination
from aioifx.cli.failures import FAILED
from aioifx.cli.output import LinePrinter, StyledLine, say, terminal_width
from aioifx.cli.parsing import Verbs, add_verb, examples
from aioifx.cli.session import asking, run_until_signal
from aioifx.verify import Finding, Outcome, Report, verify
from aioifx.verify.run import as_json, select_checks

_MAX_WIDTH: Final = 120
_WORDS: Final = {
    Outcome.HELD: ("held", "green"),
    Outcome.REFUTED: ("REFUTED", "bold red"),
    Outcome.NOT_TRIED: ("not tried", "dim"),
}
_WORD_WIDTH: Final = max(len(word) for word, _ in _WORDS.values())


def add_parser(verbs: Verbs) -> None:
    """Add the verb."""
    parser = add_verb(
        verbs,
        "verify",
        run,
        description="Try at a server what aioifx assumes of servers. It takes about a minute, needs a database in\n"
        "which the user has CONNECT and RESOURCE, and leaves nothing behind.",
        epilog=examples(
            "aioifx verify 'informix://me@db1:9088/test?server=ol_test' --report report.json",
            "aioifx verify --list",
            "aioifx verify @address.txt --only '*interrupt*' --only optofc-closes",
        )
        + "\n\nexit codes: 0 nothing was refuted; 1 a check was refuted; 2 an option is wrong; 3 no connection",
    )
    add_connection(parser, timeout=20.0)
    parser.add_argument("--list", action="store_true", help="show the checks; no server is needed")
    parser.add_argument(
        "--only",
        metavar="NAME",
        action="append",
        default=[],
        help="run this check; it may be a pattern, and repeated",
    )
    parser.add_argument(
        "--report",
        metavar="FILE",
        type=Path,
        help="write a report as JSON, without names and data of the database",
    )


def run(arguments: argparse.Namespace) -> int:
    """Return the exit code: 1 if a check was refuted."""
    printer, width = LinePrinter(), min(terminal_width() or _MAX_WIDTH, _MAX_WIDTH)
    checks = select_checks(arguments.only)
    if arguments.list:
        printer.print(line for check in checks for line in _entry(check.name, [check.fact], width))
        return 0
    where = destination(arguments)
    if arguments.report is not None:
        arguments.report.touch()  # a folder that does not exist is noticed before the checks
    name_width = max(len(check.name) for check in checks)

    async def verify_and_report(where: Destination) -> int:
        report = await _verify(where, arguments.only, printer, name_width, width)
        printer.print(_summary(report, width))
        if arguments.report is not None:
            arguments.report.write_text(as_json(report), "utf-8")
            printer.print([[], [(f"The report is in {arguments.report}.", "")]])
        return 0 if report.is_proven else FAILED

    return asking(where, lambda where: run_until_signal(verify_and_report(where)))


async def _verify(
    where: Destination, only: list[str], printer: LinePrinter, name_width: int, width: int
) -> Report:
    def show(finding: Finding) -> None:
        word, style = _WORDS[finding.outcome]
        left = width - _WORD_WIDTH - name_width - 4
        fact = finding.check.fact
        if len(fact) > left:
            fact = f"{fact[: max(left - 3, 0)]}..."
        name = f"{finding.check.name:<{name_width}}"
        printer.print([[(f"{word:<{_WORD_WIDTH}}  ", style), (f"{name}  ", ""), (fact, "")]])

    try:
        return await verify(where.dsn, only=only, on_finding=show, **where.options)
    except asyncio.CancelledError as error:
        for note in getattr(error, "__notes__", ()):
            say(note)
        raise


def _summary(report: Report, width: int) -> Iterator[StyledLine]:
    for outcome in (Outcome.REFUTED, Outcome.NOT_TRIED):
        if found := report.of(outcome):
            yield []
            yield [(outcome.value.upper(), _WORDS[outcome][1])]
            for finding in found:
                yield from _entry(finding.check.name, [finding.check.fact, finding.detail], width)
    if report.left_behind:
        yield []
        yield [("LEFT AT THE SERVER: run these statements yourself", "bold red")]
        yield from ([(f"  {statement}", "")] for statement in report.left_behind)
    counts = ", ".join(
        f"{len(report.of(outcome))} {outcome.value}"
        for outcome in (Outcome.HELD, Outcome.REFUTED, Outcome.NOT_TRIED)
    )
    seconds = sum(finding.seconds for finding in report.findings)
    yield []
    yield [(f"{report.server_version}, database {report.log_mode}: {counts}, in {seconds:.0f} s", "bold")]


def _entry(name: str, texts: Iterable[str], width: int) -> Iterator[StyledLine]:
    yield [(f"  {name}", "bold")]
    for text in texts:
        for line in textwrap.wrap(text, width, initial_indent=" " * 4, subsequent_indent=" " * 6):
            yield [(line, "")]
