"""The script that fills a database before the server listens. Never: the location of the script."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import indent
from typing import Final

from aioifx.errors import DatabaseError, from_server
from aioifx.server.engine.engine import Engine
from aioifx.server.engine.session_registry import SessionRegistry
from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.plan import CommitWork
from aioifx.server.sql.model.settings import Settings
from aioifx.server.sql.syntax.parser import split_script
from aioifx.server.sqlite.databases import Databases, LogMode

_SHOWN: Final = 20
"""Maximum lines of a statement in the note of an error without an offset."""


def run_script(
    script: str,
    database: str,
    databases: Databases,
    registry: SessionRegistry,
    user: str,
    source: str = "the script",
) -> None:
    """Run the statements of *script*, each terminated by ``;``, as *user* in *database*.

    Args:
        source: what messages call the script.

    Raises:
        DatabaseError: a statement failed; `sql` is its text, `row_index` its position in the script, from 0. After a
            syntax error no statement has been run.
    """
    statements = list(split(script, source))
    entry = registry.register(user)
    settings = Settings(user=user, session_id=entry.session_id, routines=databases.routines)
    locale = databases.find(database).locale
    engine = Engine(databases, registry, entry, settings, database_locale=locale)
    try:
        engine.open_database(database)
        for index, (text, start) in enumerate(statements):
            try:
                engine.execute(engine.prepare(text))
            except SqlError as error:
                failure = from_server(
                    error.sqlcode, error.isamcode, offset=error.offset, token=error.token, sql=text
                )
                raise located(failure, index, script[: start + max(error.offset - 1, 0)], source) from None
        if engine.database is not None and engine.database.log_mode is LogMode.ANSI:
            # A transaction is always open in ANSI mode; otherwise each statement is autocommitted.
            engine.control(CommitWork())
    finally:
        engine.close()


def split(script: str, source: str) -> Iterator[tuple[str, int]]:
    """The statements of a script, each with its start, from 0.

    Raises:
        DatabaseError: an unterminated string or comment, or a character that SQL does not have; `sql` is the script.
    """
    count = 0
    try:
        for statement in split_script(script):
            yield statement
            count += 1
    except SqlError as error:
        failure = from_server(
            error.sqlcode, error.isamcode, offset=error.offset, token=error.token, sql=script
        )
        raise located(failure, count, script[: error.offset - 1], source) from None


def located(error: DatabaseError, index: int, before: str, source: str) -> DatabaseError:
    """The error of a statement, with its place in the script.

    Args:
        index: number of the statement, from 0.
        before: the script up to the error.
    """
    line = before.count("\n") + 1
    error.args = (f"statement {index + 1} of the seed, line {line} of {source}: {error}",)
    error.row_index = index
    if not error.offset:
        error.add_note("SQL:\n" + indent("\n".join((error.sql or "").splitlines()[:_SHOWN]), "    "))
    return error
