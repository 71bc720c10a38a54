"""aioifx describe: one table, view, synonym or sequence. Never: how the catalog is read, what lines look like."""

from __future__ import annotations

import argparse
import json
from functools import partial
from typing import Any

from aioifx.catalog.definitions import plain
from aioifx.catalog.description import describe
from aioifx.cli.address import add_connection
from aioifx.cli.description_text import description_lines
from aioifx.cli.output import LinePrinter, terminal_width, write_text
from aioifx.cli.parsing import Verbs, add_verb, examples
from aioifx.cli.session import run_connected
from aioifx.client.api.connection import Connection


def add_parser(verbs: Verbs) -> None:
    """Add the verb."""
    parser = add_verb(
        verbs,
        "describe",
        run,
        description="Describe a table, view, synonym or sequence: columns, keys, indexes, triggers, privileges.",
        epilog=examples(
            "aioifx describe 'informix://app@db1:9088/shop?server=ol_shop' customer",
            "aioifx describe anna.item --format json",
        ),
    )
    add_connection(parser)
    parser.add_argument("table", metavar="TABLE", help="name or owner.name")
    parser.add_argument(
        "--format",
        choices=("text", "json"),
        default="text",
        help="text, for people (default); json: an object",
    )


def run(arguments: argparse.Namespace) -> int:
    """Run the verb."""
    return run_connected(arguments, partial(_describe, arguments.table, arguments.format))


async def _describe(table: str, form: str, conn: Connection[Any]) -> int:
    found = await describe(conn, table)
    if form == "text":
        LinePrinter().print(description_lines(found, terminal_width()))
        return 0
    description = plain(found.relation) | {
        "referenced_by": [each._asdict() for each in found.children],
        "grants": plain((*found.grants,)),
    }
    write_text(json.dumps(description, ensure_ascii=False, indent=2) + "\n")
    return 0
