"""aioifx schema: the DDL of a database or of some objects, as SQL, JSON or models. Never: how the catalog is read."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from functools import partial
from importlib import import_module
from typing import Any

from aioifx.catalog.ddl import DdlOptions, statements
from aioifx.catalog.definitions import plain
from aioifx.catalog.description import read_schema
from aioifx.cli.address import Destination, add_connection, destination, take_operands
from aioifx.cli.output import write_text
from aioifx.cli.parsing import Verbs, add_verb, examples
from aioifx.cli.session import run_connected
from aioifx.client.api.connection import Connection
from aioifx.client.sql.hints import did_you_mean
from aioifx.client.sql.identifiers import catalog_name
from aioifx.errors import InterfaceError, UndefinedTable


def add_parser(verbs: Verbs) -> None:
    """Add the verb."""
    parser = add_verb(
        verbs,
        "schema",
        run,
        description="Write the statements that make a database, or some of its objects, again: types, tables,\n"
        "constraints, indexes, views, synonyms, sequences, routines, triggers and privileges.",
        epilog=examples(
            "aioifx schema 'informix://app@db1:9088/shop?server=ol_shop' > shop.sql",
            "aioifx schema customer orders --no-owners --no-grants",
            "aioifx schema --all --format json | jq '.relations[].name'",
            "aioifx schema --all --format sqlalchemy > models.py",
        ),
    )
    add_connection(parser)
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help="tables, views, synonyms, sequences, routines: name or owner.name; default: the whole database",
    )
    parser.add_argument("--all", action="store_true", help="the whole database, as without any NAME")
    parser.add_argument(
        "--format",
        choices=("sql", "json", "sqlalchemy"),
        default="sql",
        help="sql (default); json: all that is known, one object; sqlalchemy: a module with a class for each table,"
        " which needs aioifx[models]",
    )
    parser.add_argument(
        "--storage",
        action="store_true",
        help="sql: extents, lock modes, dbspaces and fragments, as by dbschema -ss",
    )
    parser.add_argument("--no-owners", action="store_true", help="sql: names without their owners")
    parser.add_argument("--no-grants", action="store_true", help="sql: no privileges")


def run(arguments: argparse.Namespace) -> int:
    """Run the verb."""
    names = take_operands(arguments, "names")
    if names and arguments.all:
        raise InterfaceError("--all: not with NAME")
    for option in ("storage", "no_owners", "no_grants"):
        if getattr(arguments, option) and arguments.format != "sql":
            raise InterfaceError(f"--{option.replace('_', '-')}: not for the format {arguments.format}")
    if arguments.format == "sqlalchemy":
        write_text(_models(destination(arguments), names))
        return 0
    return run_connected(arguments, partial(_write, arguments, names or None))


async def _write(arguments: argparse.Namespace, names: Sequence[str] | None, conn: Connection[Any]) -> int:
    schema = await read_schema(conn, names)
    if arguments.format == "json":
        write_text(json.dumps(plain(schema), ensure_ascii=False, indent=2) + "\n")
        return 0
    options = DdlOptions(not arguments.no_owners, arguments.storage, not arguments.no_grants)
    write_text("\n".join(_lines(statements(schema, options))))
    return 0


def _lines(sql: Iterator[str]) -> Iterator[str]:
    """Statements with semicolons; a blank line is around those that take several lines."""
    was_long = False
    for index, statement in enumerate(sql):
        is_long = "\n" in statement
        yield ("\n" if index and (is_long or was_long) else "") + f"{statement};"
        was_long = is_long
    yield ""


def _models(place: Destination, names: Sequence[str]) -> str:
    """A module with a class for each table and a Table for each view, by sqlacodegen."""
    try:
        sa: Any = import_module("sqlalchemy")
        generators: Any = import_module("sqlacodegen.generators")
    except ImportError:
        raise InterfaceError("--format: sqlalchemy needs sqlacodegen: pip install 'aioifx[models]'") from None
    dbapi = import_module("aioifx.dbapi")
    engine = sa.create_engine("informix+aioifx://", creator=lambda: dbapi.connect(place.dsn, **place.options))
    wanted = [catalog_name(name) for name in names]
    metadata = sa.MetaData()
    try:
        inspector = sa.inspect(engine)
        known = {*inspector.get_table_names(), *inspector.get_view_names()}
        for name in wanted:
            if name not in known:
                hint = did_you_mean(name, known)
                raise UndefinedTable(f"no table or view is named {name}{hint}", sqlcode=-206)
        metadata.reflect(engine, views=True, only=wanted or None)
    except sa.exc.DBAPIError as error:
        raise error.orig from None
    finally:
        engine.dispose()
    module: str = generators.DeclarativeGenerator(metadata, engine, {"nosyntheticenums"}).generate()
    return module
