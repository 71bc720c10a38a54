"""Databases, transactions, locks, SET, rights, statistics, routines called. Never: tables and their rows.

Invariant: a SET without effect here is still parsed to its end, so that a misspelt one is refused.

Source: the grammar is documented (Guide to SQL: Syntax, the statements of these names).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from aioifx.server.sql.syntax import nodes
from aioifx.server.sql.syntax.token_stream import TokenStream, parse_qualified_name
from aioifx.server.sql.syntax.tokens import TokenKind
from aioifx.server.sql.syntax.types import parse_type

# --- Databases ---------------------------------------------------------------


def parse_database_name(s: TokenStream) -> nodes.DatabaseName:
    """Read ``database``, ``database@server`` or ``'//server/database'``."""
    token = s.token
    if token.kind is TokenKind.STRING:
        return _quoted_database(s)
    name = s.name().text
    server = s.name().text if s.accept("@") else ""
    return nodes.DatabaseName(token.offset, name, server)


def _quoted_database(s: TokenStream) -> nodes.DatabaseName:
    token = s.advance()
    server, name = "", token.text.strip()
    if name.startswith("//"):
        server, _, name = name[2:].partition("/")
    else:
        name, _, server = name.partition("@")
    if not name or "/" in name:
        raise s.refusal(token)
    return nodes.DatabaseName(token.offset, name.lower(), server)


def parse_open_database(s: TokenStream) -> nodes.OpenDatabase:
    """Read DATABASE."""
    offset = s.expect("database").offset
    database = parse_database_name(s)
    return nodes.OpenDatabase(offset, database, s.accept("exclusive") is not None)


def parse_close(s: TokenStream) -> nodes.CloseDatabase:
    """Read CLOSE DATABASE."""
    return nodes.CloseDatabase(s.expect("close", "database").offset)


# --- Transactions and locks --------------------------------------------------


def parse_begin(s: TokenStream) -> nodes.BeginWork:
    """Read BEGIN [WORK]."""
    offset = s.expect("begin").offset
    s.accept("work")
    if s.at("without", "replication"):
        raise s.unsupported("WITHOUT REPLICATION")
    return nodes.BeginWork(offset)


def parse_commit(s: TokenStream) -> nodes.CommitWork:
    """Read COMMIT [WORK]."""
    offset = s.expect("commit").offset
    s.accept("work")
    return nodes.CommitWork(offset)


def parse_rollback(s: TokenStream) -> nodes.RollbackWork | nodes.RollbackToSavepoint:
    """Read ROLLBACK [WORK] [TO SAVEPOINT [name]]."""
    offset = s.expect("rollback").offset
    s.accept("work")
    if not s.accept("to"):
        return nodes.RollbackWork(offset)
    s.expect("savepoint")
    return nodes.RollbackToSavepoint(offset, s.name() if s.at_name() else None)


def parse_savepoint(s: TokenStream) -> nodes.Savepoint:
    """Read SAVEPOINT name [UNIQUE]."""
    offset = s.expect("savepoint").offset
    name = s.name()
    return nodes.Savepoint(offset, name, s.accept("unique") is not None)


def parse_release(s: TokenStream) -> nodes.ReleaseSavepoint:
    """Read RELEASE SAVEPOINT name."""
    offset = s.expect("release", "savepoint").offset
    return nodes.ReleaseSavepoint(offset, s.name())


def parse_lock(s: TokenStream) -> nodes.LockTable:
    """Read LOCK TABLE."""
    offset = s.expect("lock", "table").offset
    table = parse_qualified_name(s)
    s.expect("in")
    exclusive = s.expect_any("share", "exclusive").text == "exclusive"
    s.expect("mode")
    return nodes.LockTable(offset, table, exclusive)


def parse_unlock(s: TokenStream) -> nodes.UnlockTable:
    """Read UNLOCK TABLE."""
    offset = s.expect("unlock", "table").offset
    return nodes.UnlockTable(offset, parse_qualified_name(s))


# --- Rights ------------------------------------------------------------------

_COLUMN_RIGHTS: Final = ("select", "update", "references")
_TABLE_RIGHTS: Final = (
    *_COLUMN_RIGHTS,
    "all",
    "insert",
    "delete",
    "index",
    "alter",
    "under",
    "execute",
    "usage",
)


_LANGUAGES: Final = ("spl", "c", "java")
_KINDS: Final = ("language", "type", "procedure", "function", "routine")
"""The kinds of objects in GRANT and REVOKE, as keywords before the name."""


def parse_grant(s: TokenStream) -> nodes.Grant:
    """Read GRANT of rights or roles."""
    offset = s.expect("grant").offset
    privileges, target = _privileges(s)
    s.expect("to")
    grantees = s.listed(parse_grantee)
    s.accept("with", "grant", "option")
    _grantor(s)
    return nodes.Grant(offset, privileges, target, grantees)


def parse_revoke(s: TokenStream) -> nodes.Revoke:
    """Read REVOKE of rights or roles."""
    offset = s.expect("revoke").offset
    privileges, target = _privileges(s)
    s.expect("from")
    grantees = s.listed(parse_grantee)
    if target is not None:
        s.accept_any("cascade", "restrict")
    _grantor(s)
    return nodes.Revoke(offset, privileges, target, grantees)


def _privileges(s: TokenStream) -> tuple[tuple[nodes.Privilege, ...], nodes.QualifiedName | None]:
    start = s.token
    if s.at_any("fragment", "security", "setsessionauth", "dbsecadm"):
        raise s.unsupported(start.text.upper())
    if s.accept("default", "role"):
        role = parse_grantee(s)
        return (nodes.Privilege(start.offset, f"default role {role.text}"),), None
    privileges = s.listed(_privilege)
    if not s.accept("on"):
        if any(each.name in _TABLE_RIGHTS for each in privileges):
            raise s.refusal()
        return privileges, None
    if any(each.name not in _TABLE_RIGHTS for each in privileges):
        raise s.refusal(start)
    is_kind = s.at_qualified_name(1) and not s.at_any("to", "from", ahead=1)
    if is_kind and s.at_any(*_KINDS) and s.advance().text == "language" and not s.at_any(*_LANGUAGES):
        raise s.refusal()
    target = parse_qualified_name(s)
    if s.at("("):
        _signature(s)
    return privileges, target


def _signature(s: TokenStream) -> None:
    """Read the types of a routine's parameters; no two of the server's routines have the same name."""
    s.expect("(")
    if not s.at(")"):
        s.listed(_parameter_type)
    s.expect(")")


def _parameter_type(s: TokenStream) -> None:
    """Read a type; observed in dbschema's output: DATETIME and INTERVAL without a qualifier."""
    if s.at_any("datetime", "interval") and s.at_any(",", ")", ahead=1):
        s.advance()
    else:
        parse_type(s)


def _privilege(s: TokenStream) -> nodes.Privilege:
    token = s.token
    if token.kind is TokenKind.STRING:
        s.advance()
        return nodes.Privilege(token.offset, token.text)
    name = s.name()
    if name.text == "all":
        s.accept("privileges")
    columns = s.names_enclosed() if name.text in _COLUMN_RIGHTS and s.at("(") else ()
    return nodes.Privilege(name.offset, name.text, columns)


def parse_grantee(s: TokenStream) -> nodes.Name:
    """Read the name of a user or role, with or without quotes."""
    if s.token.kind is TokenKind.STRING:
        token = s.advance()
        return nodes.Name(token.offset, token.text)
    return s.name()


def _grantor(s: TokenStream) -> None:
    if s.accept("as"):
        parse_grantee(s)


# --- Statistics --------------------------------------------------------------


def parse_update_statistics(s: TokenStream) -> nodes.UpdateStatistics:
    """Read UPDATE STATISTICS."""
    offset = s.expect("update", "statistics").offset
    s.accept_any("low", "medium", "high")
    table: nodes.QualifiedName | None = None
    if s.accept("for"):
        is_table = s.expect_any("table", "procedure", "function", "routine").text == "table"
        if s.at_qualified_name() and not s.at_any(*_STATISTICS_OPTIONS):
            name = parse_qualified_name(s)
            table = name if is_table else None
            if is_table and s.at("("):
                s.names_enclosed()
    _statistics_options(s)
    return nodes.UpdateStatistics(offset, table)


_STATISTICS_OPTIONS: Final = ("drop", "resolution", "distributions", "sampling", "force", "auto")


def _statistics_options(s: TokenStream) -> None:
    if s.accept("drop", "distributions"):
        s.accept("only")
    if s.accept("sampling", "size"):
        _decimal(s)
    if s.accept("resolution"):
        _decimal(s)
        if s.token.kind is TokenKind.NUMBER:
            _decimal(s)
    s.accept("distributions", "only")
    s.accept_any("force", "auto")


def _decimal(s: TokenStream) -> None:
    if s.token.kind is not TokenKind.NUMBER:
        raise s.refusal()
    s.advance()


# --- Routines ----------------------------------------------------------------


def parse_execute(s: TokenStream, *, in_trigger: bool = False) -> nodes.Execute:
    """Read EXECUTE PROCEDURE or EXECUTE FUNCTION.

    Args:
        in_trigger: the parentheses may be missing (documented: examples of CREATE TRIGGER).
    """
    offset = s.expect("execute").offset
    kind = s.expect_any("procedure", "function").text
    routine = parse_qualified_name(s)
    arguments = () if in_trigger and not s.at("(") else parse_arguments(s)
    return nodes.Execute(offset, "procedure" if kind == "procedure" else "function", routine, arguments)


def parse_arguments(s: TokenStream) -> tuple[nodes.Expression | nodes.NamedArgument, ...]:
    """Read ``(argument, ..)``, each by position or by name."""
    s.expect("(")
    arguments: tuple[nodes.Expression | nodes.NamedArgument, ...] = () if s.at(")") else s.listed(_argument)
    s.expect(")")
    return arguments


def _argument(s: TokenStream) -> nodes.Expression | nodes.NamedArgument:
    if s.at_name() and s.at("=", ahead=1):
        name = s.name()
        s.expect("=")
        return nodes.NamedArgument(name.offset, name.text, s.grammar.value(s))
    return s.grammar.value(s)


Reader: TypeAlias = Callable[[TokenStream], nodes.Statement]

SESSIONS: Final[dict[str, Reader]] = {
    "database": parse_open_database,
    "close": parse_close,
    "begin": parse_begin,
    "commit": parse_commit,
    "rollback": parse_rollback,
    "savepoint": parse_savepoint,
    "release": parse_release,
    "lock": parse_lock,
    "unlock": parse_unlock,
    "grant": parse_grant,
    "revoke": parse_revoke,
    "execute": parse_execute,
}
"""Readers by the first word of a statement."""
