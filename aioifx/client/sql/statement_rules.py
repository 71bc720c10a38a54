"""What must be known of a statement before it runs: may it, and does it belong into a transaction. Never: who asks."""

from __future__ import annotations

from typing import Final

from aioifx.client.sql.scanner import first_words, scan
from aioifx.errors import ProgrammingError
from aioifx.wire.opcodes import StatementType

_OUTSIDE: Final = frozenset(
    {"begin", "close", "commit", "connect", "database", "disconnect", "rollback", "set"}
)
"""Verbs in front of which no transaction is begun: they end or begin one, or have nothing to do with any."""

_READING_TYPES: Final = frozenset(
    {
        StatementType.SELECT,
        StatementType.BEGIN_WORK,
        StatementType.COMMIT_WORK,
        StatementType.ROLLBACK_WORK,
        StatementType.DATABASE,
        StatementType.CLOSE_DATABASE,
    }
)
_READING_VERBS: Final = frozenset(
    {"begin", "close", "commit", "database", "release", "rollback", "savepoint", "select", "with"}
)
_READING_SETS: Final = frozenset(
    "collation environment explain isolation lock optimization pdqpriority role session statement".split()
)
"""What SET may be about: the session, not what other sessions see (constraints, indexes, triggers)."""
_SETS_THAT_PASS: Final = frozenset({"constraints", "isolation", "lock", "transaction"})
"""What SET may be about and is put back anyway: with the transaction, or as `manners` knows it."""


def needs_transaction(sql: str) -> bool:
    """Whether a transaction is begun in front of it where none is open and none commits by itself."""
    verb = scan(sql).verb
    if verb in ("create", "drop", "rename"):
        return first_words(sql, 2)[1:] != ["database"]  # -759 inside of one (documented)
    return verb not in _OUTSIDE


def check_read_only_text(sql: str) -> None:
    """What the text alone tells of a statement on a read-only connection, before it is prepared.

    Raises:   ProgrammingError: it is no query.
    """
    verb = scan(sql).verb
    if verb and verb not in _READING_VERBS and not _sets_session(verb, sql):
        raise _refusal(sql)


def check_read_only_type(statement_type: int, sql: str) -> None:
    """What the server's description tells of it, before it runs. A function that a query calls is not looked into.

    Raises:   ProgrammingError: it is no query.
    """
    verb = scan(sql).verb
    if statement_type not in _READING_TYPES and not (
        verb in ("release", "rollback", "savepoint") or _sets_session(verb, sql)
    ):
        raise _refusal(sql)


def may_change(sql: str) -> bool:
    """Whether it may change what other sessions see. A function that a query calls is not looked into."""
    verb = scan(sql).verb
    return verb not in _READING_VERBS and not _sets_session(verb, sql)


def alters_session(sql: str) -> bool:
    """Whether it changes what outlives its transaction, and no pool could restore: settings, temporary tables."""
    match first_words(sql, 3):
        case ["set", what, *_]:
            return what not in _SETS_THAT_PASS
        case ["create", "temp", *_] | ["create", "private", "temporary" | "temp"]:
            return True
        case _:
            return False


def _sets_session(verb: str, sql: str) -> bool:
    return verb == "set" and not _READING_SETS.isdisjoint(first_words(sql, 2)[1:])


def _refusal(sql: str) -> ProgrammingError:
    return ProgrammingError(
        "the connection is read-only: it runs queries, and what changes the session", sqlcode=-878, sql=sql
    )
