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
    script: str, database: str, databases: Databases, registry: SessionRegistry, user: str
) -> None:
    """Run the statements of *script*, each terminated by ``;``, as *user* in *database*.

    Raises:   DatabaseError: a statement failed; `sql` is its text, `row_index` its position in the script, from 0.
              After a syntax error no statement has been run.
    """
    statements = list(_statements(script))
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
                raise _error(error, index, text, script[: start + max(error.offset - 1, 0)]) from None
        if engine.database is not None and engine.database.log_mode is LogMode.ANSI:
            # A transaction is always open in ANSI mode; otherwise each statement is autocommitted.
            engine.control(CommitWork())
    finally:
        engine.close()


def _statements(script: str) -> Iterator[tuple[str, int]]:
    count = 0
    try:
        for statement in split_script(script):
            yield statement
            count += 1
    except SqlError as error:
        raise _error(error, count, script, script[: error.offset - 1]) from None


def _error(cause: SqlError, index: int, text: str, before: str) -> DatabaseError:
    """Args:     before: the script up to the error."""
    error = from_server(cause.sqlcode, cause.isamcode, offset=cause.offset, token=cause.token, sql=text)
    line = before.count("\n") + 1
    error.args = (f"statement {index + 1} of the seed, line {line} of the script: {error}",)
    error.row_index = index
    if not cause.offset:
        error.add_note("SQL:\n" + indent("\n".join(text.splitlines()[:_SHOWN]), "    "))
    return error
