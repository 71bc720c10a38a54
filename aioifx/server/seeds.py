"""A script that fills a database before the first client comes. Never: where the script is kept."""

from __future__ import annotations

from aioifx.errors import from_server
from aioifx.server.databases import Databases, LogMode
from aioifx.server.engine import Engine
from aioifx.server.roster import Roster
from aioifx.server.sql.fault import SqlFault
from aioifx.server.sql.parser.statement import split_script
from aioifx.server.sql.settings import Settings


def run_script(script: str, database: str, databases: Databases, roster: Roster, user: str) -> None:
    """Run the statements of *script*, which ``;`` ends, as *user* in *database*.

    Raises:   DatabaseError: a statement failed; `sql` is its text, `row_index` its place in the script, from 0.
    """
    member = roster.enter(user)
    settings = Settings(user=user, session_id=member.session_id, routines=databases.routines)
    locale = databases.find(database).locale
    engine = Engine(databases, roster, member, settings, database_locale=locale)
    try:
        engine.open_database(database)
        for index, text in enumerate(split_script(script)):
            try:
                engine.execute(engine.prepare(text))
            except SqlFault as fault:
                raise from_server(
                    fault.sqlcode,
                    fault.isamcode,
                    offset=fault.offset,
                    token=fault.token,
                    sql=text,
                    row_index=index,
                ) from None
        if engine.database is not None and engine.database.log_mode is LogMode.ANSI:
            engine.commit()  # a transaction is always open there, elsewhere every statement has committed itself
    finally:
        engine.close()
