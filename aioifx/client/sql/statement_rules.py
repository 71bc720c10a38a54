"""Rules for statements before they run: read-only, needs a transaction, alters the session. Never: a session."""

from __future__ import annotations

from typing import Final

from aioifx.client.sql.scanner import TOKEN, first_words, scan
from aioifx.errors import ProgrammingError
from aioifx.wire.opcodes import StatementType

_OUTSIDE: Final = frozenset(
    {"begin", "close", "commit", "connect", "database", "disconnect", "rollback", "set"}
)
"""Verbs that need no transaction before them: they start or end one, or are independent of transactions."""

_ALTERING: Final = frozenset({"alter", "drop", "rename"})

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
"""Objects of SET that belong to the session; others affect other sessions (constraints, indexes, triggers)."""
_SETS_THAT_PASS: Final = frozenset({"constraints", "isolation", "lock", "transaction"})
"""Objects of SET that are restored anyway: with the transaction, or by `SessionSettings`."""


def alters_tables(sql: str) -> bool:
    """Whether the statement may change what prepared statements name, so that they are stale."""
    return scan(sql).verb in _ALTERING


def needs_transaction(sql: str) -> bool:
    """Whether the statement needs a transaction if none is open and none commits by itself."""
    verb = scan(sql).verb
    if verb in ("create", "drop", "rename"):
        return first_words(sql, 2)[1:] != ["database"]  # -759 inside a transaction (documented)
    return verb not in _OUTSIDE


def check_read_only_text(sql: str) -> None:
    """Check the text of a statement on a read-only connection, before it is prepared.

    Raises:
        ProgrammingError: not a query.
    """
    verb = scan(sql).verb
    if verb and verb not in _READING_VERBS and not _sets_session(verb, sql):
        raise _refusal(sql)


def check_read_only_type(statement_type: int, sql: str) -> None:
    """Check the server's description of the statement, before it runs. Functions called by a query are not checked.

    Raises:
        ProgrammingError: not a query.
    """
    verb = scan(sql).verb
    if statement_type not in _READING_TYPES and not (
        verb in ("release", "rollback", "savepoint") or _sets_session(verb, sql)
    ):
        raise _refusal(sql)


def may_change(sql: str) -> bool:
    """Whether the statement may change data of other sessions. Functions called by a query are not checked."""
    verb = scan(sql).verb
    return verb not in _READING_VERBS and not _sets_session(verb, sql)


def alters_session(sql: str) -> bool:
    """Whether the statement has lasting effects that a pool cannot restore: settings, temporary tables."""
    match first_words(sql, 3):
        case ["set", what, *_]:
            return what not in _SETS_THAT_PASS
        case ["create", "temp", *_] | ["create", "private", "temporary" | "temp"]:
            return True
        case _:
            return False


_NO_ROUTINES: Final = frozenset(
    # words of SQL, types and qualifiers
    "all and any as between by case char character dec decimal distinct else exists first fraction from full group"
    " having hour in inner interval datetime join left like limit list lvarchar matches minute money month multiset"
    " nchar not numeric nvarchar on or order outer over partition right row second select set skip some table then"
    " union unique using values varchar when where with year day"
    # functions of the server without side effects, which any session evaluates alike
    " abs acos add_months ascii asin atan atan2 avg bitand bitor bitnot bitxor cast ceil char_length"
    " character_length charindex chr coalesce concat cos cosh count date decode degrees dense_rank exp extend"
    " first_value format_units greatest hex initcap instr lag last_day last_value lead least left len length"
    " ln log10 logn lower lpad ltrim max mdy min mod months_between next_day ntile nullif nvl nvl2 octet_length"
    " pow power quarter radians range rank replace reverse root round row_number rpad rtrim sign sin sinh space"
    " sqrt stdev substr substrb substring substring_index sum tan tanh to_char to_date to_number today trim trunc"
    " upper variance weekday".split()
)
"""Words before a parenthesis that are not names of user-defined routines."""


def calls_routine(sql: str) -> bool:
    """Whether a query may call a user-defined routine, which may have side effects, or uses a sequence's value.

    Any other name before a parenthesis counts as one, and so does a name with an owner. So does DBINFO, which depends
    on the session: its last serial value, for example.
    """
    word, is_qualified, previous = "", False, ""
    for found in TOKEN.finditer(sql):
        text = found[0]
        if found["skipped"]:
            continue
        if text == "(" and word and (is_qualified or word not in _NO_ROUTINES):
            return True
        if text.lower() in ("nextval", "currval"):
            return True
        is_name = found["word"] is not None or found["name"] is not None or text[0] == '"'
        word = text.lower() if is_name else ""
        is_qualified = is_name and previous == "."
        previous = text
    return False


def _sets_session(verb: str, sql: str) -> bool:
    return verb == "set" and not _READING_SETS.isdisjoint(first_words(sql, 2)[1:])


def _refusal(sql: str) -> ProgrammingError:
    return ProgrammingError(
        "the connection is read-only: only queries and session settings are allowed", sqlcode=-878, sql=sql
    )
