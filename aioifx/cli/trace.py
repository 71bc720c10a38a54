"""aioifx trace: the file of a trace, shown as a conversation or written as a page. Never: a connection."""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

from aioifx.cli.parsing import Verbs, add_verb, examples, whole
from aioifx.tracing.conversation import Summary, read_trace
from aioifx.tracing.html_view import write_page
from aioifx.tracing.text_view import conversation_lines, summary_lines


def add_parser(verbs: Verbs) -> None:
    """Add the verb."""
    parser = add_verb(
        verbs,
        "trace",
        run,
        description="Show a file that connect(trace=...) has written, as round trips with times.",
        epilog=examples(
            "aioifx trace shop.jsonl",
            "aioifx trace shop.jsonl --summary",
            "aioifx trace shop.jsonl --html shop.html",
        ),
    )
    parser.add_argument("file", metavar="FILE", type=Path, help="the file of the trace")
    parser.add_argument("--connection", type=whole, metavar="NUMBER", help="this connection only")
    shown = parser.add_mutually_exclusive_group()
    shown.add_argument("--summary", action="store_true", help="show the summary only")
    shown.add_argument("--html", type=Path, metavar="OUT", help="write a page that needs no other files")
    parser.add_argument("--full", action="store_true", help="do not cut lines to the width of the terminal")


def run(arguments: argparse.Namespace) -> int:
    """Run the verb."""
    events = read_trace(arguments.file)
    if arguments.connection is not None:
        events = (event for event in events if event.connection == arguments.connection)
    summary = Summary()
    if arguments.html is not None:
        write_page(events, summary, arguments.html, title=arguments.file.name)
        print(f"{arguments.html}: {summary.round_trips:,} round trips of {summary.connections} connections")
        return 0
    width = None if arguments.full or not sys.stdout.isatty() else shutil.get_terminal_size().columns
    for line in conversation_lines(events, summary, width=width):
        if not arguments.summary:
            print(line)
    if not arguments.summary:
        print()
    for line in summary_lines(summary):
        print(line)
    return 0
