"""Seeds of test databases: their files, and how a client runs them. Never: which database gets which seed."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from aioifx.client.api.connection import Connection
from aioifx.errors import DatabaseError, InterfaceError
from aioifx.server.host.seed import located, split


class Seed(NamedTuple):
    """Statements, each terminated by ``;``."""

    script: str
    source: str
    """What messages call the script: a path, or the place of the SQL."""


def seed_of(value: object, root: Path, option: str) -> Seed:
    """The seed that an option, a marker or a call names.

    Args:
        value: a Path, or a str: the path of a file if it ends with ``.sql``, otherwise SQL.
        root: relative paths start here.
        option: where *value* comes from, for messages.

    Raises:
        InterfaceError: *value* is neither; the file cannot be read, or is not UTF-8.
    """
    if isinstance(value, str) and not value.rstrip().endswith(".sql"):
        return Seed(value, option)
    if not isinstance(value, str | Path):
        raise InterfaceError(f"{option}: expected SQL or the path of a script, got {type(value).__name__}")
    path = root / str(value).strip()
    shown = path.relative_to(root) if path.is_relative_to(root) else path
    try:
        return Seed(path.read_text("utf-8-sig"), shown.as_posix())
    except OSError as error:
        raise InterfaceError(f"{option}: {shown.as_posix()} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise InterfaceError(f"{option}: {shown.as_posix()} is not UTF-8 at byte {error.start}") from None


async def run_seed(conn: Connection[Any], seed: Seed) -> None:
    """Run the statements of *seed* on a connection.

    Raises:
        DatabaseError: a statement failed; the message has its number, its line and the name of the script.
    """
    for index, (sql, start) in enumerate(list(split(seed.script, seed.source))):
        try:
            await conn.execute(sql)
        except DatabaseError as error:
            before = seed.script[: start + max(error.offset - 1, 0)]
            raise located(error, index, before, seed.source) from None
