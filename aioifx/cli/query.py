"""aioifx query: one statement, its rows as a table, CSV, JSON or Arrow. Never: how results are written."""

from __future__ import annotations

import argparse
import sys
from functools import partial
from typing import Any

from aioifx.cli.address import add_connection
from aioifx.cli.formats import ESCAPE_FORMULAS
from aioifx.cli.output import is_terminal
from aioifx.cli.parsing import Verbs, add_verb, examples, whole
from aioifx.cli.results import WRITERS, CsvWriter, MakeWriter, print_results
from aioifx.cli.session import run_connected
from aioifx.cli.statement import Parameters, add_statement, statement_of
from aioifx.client.api.connection import Connection
from aioifx.client.sql.script import statements_of
from aioifx.errors import InterfaceError


def add_parser(verbs: Verbs) -> None:
    """Add the verb."""
    parser = add_verb(
        verbs,
        "query",
        run,
        description="Run one statement, and print its rows.",
        epilog=examples(
            "aioifx query 'informix://app@db1:9088/shop?server=ol_shop' 'SELECT * FROM item'",
            "aioifx query 'SELECT * FROM item WHERE id = ? AND price < ?' --param 7 --param 1.50",
            "aioifx query 'SELECT * FROM item WHERE id = :id' --named id=7 --format json",
            "aioifx query @report.sql --format csv > report.csv",
        ),
    )
    add_connection(parser)
    add_statement(parser)
    parser.add_argument(
        "--format",
        choices=[*WRITERS, "arrow"],
        default="table",
        help="table (default), to be read on a terminal; csv, with a header; json: an object in each line; arrow:"
        " a stream for programs, which needs aioifx[arrow]",
    )
    parser.add_argument("--escape-formulas", action="store_true", help=ESCAPE_FORMULAS)
    parser.add_argument("--limit", type=whole, metavar="ROWS", help="stop after so many rows")


def run(arguments: argparse.Namespace) -> int:
    """Run the verb."""
    if arguments.format == "arrow" and is_terminal(sys.stdout):
        raise InterfaceError("--format: arrow is binary; write it to a file or a pipe")
    if arguments.escape_formulas and arguments.format != "csv":
        raise InterfaceError(f"--escape-formulas: not for the format {arguments.format}")
    make = partial(CsvWriter, escape_formulas=True) if arguments.escape_formulas else None
    statement = statement_of(arguments, arguments.sql)
    _require_one(statement.sql)
    return run_connected(arguments, partial(_query, statement, arguments.format, arguments.limit, make))


def _require_one(sql: str) -> None:
    """Raise InterfaceError if a text has several statements, of which the results could not be told apart."""
    if ";" in sql and (count := len(statements_of(sql))) > 1:
        raise InterfaceError(f"SQL: expected one statement, got {count}; `aioifx run` runs scripts")


async def _query(
    statement: Parameters, form: str, limit: int | None, make: MakeWriter | None, conn: Connection[Any]
) -> int:
    await print_results(conn, statement, form, limit=limit, make=make)
    return 0
