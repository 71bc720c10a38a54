"""aioifx tables: the tables, views, synonyms and sequences of a database. Never: what a table consists of."""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from functools import partial
from typing import Any, Final

from aioifx.catalog.description import KINDS
from aioifx.catalog.objects import synonym_targets
from aioifx.catalog.tables import Tables, fetch_of
from aioifx.catalog.texts import Place
from aioifx.cli.address import add_connection, take_operands
from aioifx.cli.parsing import Verbs, add_verb, examples
from aioifx.cli.results import WRITERS
from aioifx.cli.session import run_connected
from aioifx.client.api.connection import Connection
from aioifx.sqltypes import Column, Row, SqlType, TypeCode

_COLUMNS: Final = tuple(
    Column(name, SqlType(TypeCode.VARCHAR, 255)) for name in ("name", "owner", "kind", "for")
)
_SHORT: Final = {"external": "E", "sequence": "Q", "synonym": "SP", "table": "T", "view": "V"}
"""Letters of systables.tabtype by the arguments of --kind."""


def add_parser(verbs: Verbs) -> None:
    """Add the verb."""
    parser = add_verb(
        verbs,
        "tables",
        run,
        description="List the tables, views, synonyms and sequences of a database that users have made.",
        epilog=examples(
            "aioifx tables 'informix://app@db1:9088/shop?server=ol_shop'",
            "aioifx tables 'cust*' 'order*' --kind table --kind view",
            "aioifx tables --owner anna --format json",
        ),
    )
    add_connection(parser)
    parser.add_argument(
        "patterns", nargs="*", metavar="NAME", help="names, * for any characters and ? for one; default: all"
    )
    parser.add_argument(
        "--kind", action="append", choices=sorted(_SHORT), dest="kinds", help="only those of this kind"
    )
    parser.add_argument("--owner", metavar="NAME", help="only those of this owner")
    parser.add_argument("--format", choices=[*WRITERS], default="table", help="default: table")


def run(arguments: argparse.Namespace) -> int:
    """Run the verb."""
    patterns = [pattern.lower() for pattern in take_operands(arguments, "patterns")]
    return run_connected(arguments, partial(_list, arguments, patterns))


async def _list(arguments: argparse.Namespace, patterns: Sequence[str], conn: Connection[Any]) -> int:
    began = time.monotonic()
    kinds = "".join(_SHORT[kind] for kind in arguments.kinds or _SHORT)
    entries = await Tables(Place(), None, is_ansi=conn.is_ansi).entries(fetch_of(conn))
    chosen = [
        entry
        for entry in entries
        if entry.kind in kinds
        and (arguments.owner is None or entry.owner.lower() == arguments.owner.lower())
        and (not patterns or any(fnmatchcase(entry.name.lower(), pattern) for pattern in patterns))
    ]
    has_synonyms = any(entry.kind in "SP" for entry in chosen)
    targets: Mapping[int, str] = await synonym_targets(fetch_of(conn)) if has_synonyms else {}
    nothing = "" if arguments.format == "table" else None
    rows: list[Row] = [
        (entry.name, entry.owner, KINDS[entry.kind], targets.get(entry.tabid, nothing))
        for entry in sorted(chosen, key=lambda entry: (entry.name, entry.owner))
    ]
    writer = WRITERS[arguments.format](_COLUMNS)
    writer.write(rows)
    writer.end(time.monotonic() - began, is_limited=False)
    return 0
