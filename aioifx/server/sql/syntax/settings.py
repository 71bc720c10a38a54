"""The SET statements. Never: what a setting does.

Invariant: a SET without effect here is still parsed to its end, so that a misspelt one is refused.

Source: the grammar is documented (Guide to SQL: Syntax, the statements of these names).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from aioifx.server.sql.syntax import nodes
from aioifx.server.sql.syntax.storage_clauses import parse_filtering
from aioifx.server.sql.syntax.token_stream import TokenStream, parse_qualified_name
from aioifx.server.sql.syntax.tokens import TokenKind

Reader: TypeAlias = Callable[[TokenStream, int], nodes.Statement]
"""Reads the rest of a SET statement after its keywords; gets the offset of SET."""


def parse_set(s: TokenStream) -> nodes.Statement:
    """Read any SET statement."""
    offset = s.expect("set").offset
    if s.at_any(*_OBJECTS):
        return _objects(s, offset)
    for words, reader in _SETTINGS:
        if s.accept(*words):
            return reader(s, offset)
    for words in _NOT_EXECUTED:
        if s.at(*words):
            raise s.unsupported(f"SET {' '.join(words).upper()}")
    raise s.refusal()


# --- Settings with an effect -------------------------------------------------


def _lock_mode(s: TokenStream, offset: int) -> nodes.SetLockMode:
    s.expect("to")
    if s.accept("not", "wait"):
        return nodes.SetLockMode(offset, 0)
    s.expect("wait")
    return nodes.SetLockMode(offset, s.integer() if s.token.kind is TokenKind.NUMBER else None)


def _isolation(s: TokenStream, offset: int) -> nodes.SetIsolation:
    s.accept("to")
    level: nodes.IsolationLevel
    if s.accept("dirty", "read"):
        level = "dirty read"
        s.accept("with", "warning")
    elif s.accept("committed", "read"):
        level = "last committed" if s.accept("last", "committed") else "committed read"
    elif s.accept("cursor", "stability"):
        level = "cursor stability"
    else:
        s.expect("repeatable", "read")
        level = "repeatable read"
    return nodes.SetIsolation(offset, level, s.accept("retain", "update", "locks") is not None)


def _transaction(s: TokenStream, offset: int) -> nodes.SetTransaction:
    read_only: bool | None = None
    level: nodes.IsolationLevel | None = None
    while True:
        if read_only is None and s.accept("read"):
            read_only = s.expect_any("only", "write").text == "only"
        elif level is None and s.at("isolation"):
            s.expect("isolation", "level")
            level = _transaction_level(s)
        else:
            raise s.refusal()
        if not s.accept(","):
            return nodes.SetTransaction(offset, read_only, level)


def _transaction_level(s: TokenStream) -> nodes.IsolationLevel:
    if s.accept("read", "uncommitted"):
        return "dirty read"
    if s.accept("read"):
        s.expect("committed")
        return "committed read"
    if s.accept("repeatable"):
        s.expect("read")
    else:
        s.expect("serializable")
    return "repeatable read"


_OBJECTS: Final[tuple[nodes.ObjectKind, ...]] = ("constraints", "indexes", "triggers")


def _objects(s: TokenStream, offset: int) -> nodes.SetConstraints | nodes.SetObjectMode:
    """Read SET CONSTRAINTS, SET INDEXES or SET TRIGGERS.

    Source: documented: SET Database Object Mode and SET Transaction Mode statements
    """
    kinds: list[str] = []
    while not kinds or s.accept(","):
        kinds.append(s.expect_any(*(kind for kind in _OBJECTS if kind not in kinds)).text)
    known: tuple[nodes.ObjectKind, ...] = tuple(kind for kind in _OBJECTS if kind in kinds)
    table: nodes.QualifiedName | None = None
    names: tuple[nodes.QualifiedName, ...] = ()
    if len(kinds) > 1 or s.at("for"):
        s.expect("for")
        table = parse_qualified_name(s)
    elif known == ("constraints",) and s.at("all") and s.at_any("immediate", "deferred", ahead=1):
        s.advance()
        return nodes.SetConstraints(offset, (), s.advance().text == "deferred")
    else:
        names = s.listed(parse_qualified_name)
        if known == ("constraints",) and (mode := s.accept_any("immediate", "deferred")):
            return nodes.SetConstraints(offset, names, mode.text == "deferred")
    filtering = "" if "triggers" in known else parse_filtering(s)
    disabled = not filtering and s.expect_any("enabled", "disabled").text == "disabled"
    unchecked = "constraints" in known and not disabled and s.accept("novalidate") is not None
    return nodes.SetObjectMode(offset, known, table, names, disabled, filtering, unchecked)


def _role(s: TokenStream, offset: int) -> nodes.SetRole:
    if s.token.kind is TokenKind.STRING:
        token = s.advance()
        return nodes.SetRole(offset, nodes.Name(token.offset, token.text))
    role = s.name()
    return nodes.SetRole(offset, None if role.text in ("null", "none") else role)


def _environment(s: TokenStream, offset: int) -> nodes.SetEnvironment:
    name = s.name().text
    token = s.token
    if token.kind in (TokenKind.STRING, TokenKind.NUMBER):
        return nodes.SetEnvironment(offset, name, s.advance().text)
    return nodes.SetEnvironment(offset, name, s.expect_any("on", "off", "default").text)


# --- Settings without an effect ----------------------------------------------


def _constant(name: str, value: str) -> Reader:
    return lambda s, offset: nodes.SetOption(offset, name, value)


def _state(s: TokenStream) -> str:
    state = s.accept_any("enabled", "disabled")
    return state.text if state else "enabled"


def _autofree(s: TokenStream, offset: int) -> nodes.SetOption:
    value = _state(s)
    if s.accept("for"):
        s.name()
    return nodes.SetOption(offset, "autofree", value)


def _explain(s: TokenStream, offset: int) -> nodes.SetOption:
    if s.accept("file", "to"):
        return nodes.SetOption(offset, "explain file", _file(s))
    value = s.expect_any("on", "off").text
    if value == "on" and s.accept("avoid_execute"):
        value = "on avoid_execute"
    return nodes.SetOption(offset, "explain", value)


def _optimization(s: TokenStream, offset: int) -> nodes.SetOption:
    if not s.accept("environment"):
        level = s.expect_any("high", "low", "first_rows", "all_rows").text
        return nodes.SetOption(offset, "optimization", level)
    name = s.expect_any("star_join", "fact", "avoid_fact", "non_dim").text
    token = s.token
    if name != "star_join":
        value = "" if s.accept("default") else s.string()
    elif (value := s.string().strip().lower()) not in ("enabled", "disabled", "forced"):
        raise s.refusal(token)
    return nodes.SetOption(offset, f"optimization {name}", value)


def _pdqpriority(s: TokenStream, offset: int) -> nodes.SetOption:
    if s.token.kind is TokenKind.NUMBER:
        return nodes.SetOption(offset, "pdqpriority", str(s.integer()))
    return nodes.SetOption(offset, "pdqpriority", s.expect_any("default", "low", "off", "high").text)


def _file(s: TokenStream) -> str:
    """Read the name of a file; in a routine any expression, which is not evaluated (documented: a variable, too)."""
    if not s.in_routine:
        return s.string()
    value = s.grammar.value(s)
    return value.value if isinstance(value, nodes.String) else ""


def _debug_file(s: TokenStream, offset: int) -> nodes.SetOption:
    value = _file(s)
    s.accept("with", "append")
    return nodes.SetOption(offset, "debug file", value)


def _session_authorization(s: TokenStream, offset: int) -> nodes.SetOption:
    user = s.string() if s.token.kind is TokenKind.STRING else s.name().text
    if s.accept("using"):
        s.string()
    return nodes.SetOption(offset, "session authorization", user)


def _dataskip(s: TokenStream, offset: int) -> nodes.SetOption:
    value = s.expect_any("on", "off", "default").text
    if value == "on" and s.at_name():
        s.listed(TokenStream.name)
    return nodes.SetOption(offset, "dataskip", value)


def _statement_cache(s: TokenStream, offset: int) -> nodes.SetOption:
    return nodes.SetOption(offset, "statement cache", s.expect_any("on", "off").text)


def _encryption(s: TokenStream, offset: int) -> nodes.SetEncryption:
    if s.at("?"):
        raise s.unsupported("a parameter of SET ENCRYPTION PASSWORD")
    password = s.string()
    return nodes.SetEncryption(offset, password, s.string() if s.accept("with", "hint") else "")


_SETTINGS: Final[tuple[tuple[tuple[str, ...], Reader], ...]] = (
    (("lock", "mode"), _lock_mode),
    (("isolation",), _isolation),
    (("transaction",), _transaction),
    (("role",), _role),
    (("environment",), _environment),
    (("explain",), _explain),
    (("optimization",), _optimization),
    (("pdqpriority",), _pdqpriority),
    (("debug", "file", "to"), _debug_file),
    (("buffered", "log"), _constant("log", "buffered")),
    (("log",), _constant("log", "unbuffered")),
    (("no", "collation"), _constant("collation", "")),
    (("collation",), lambda s, offset: nodes.SetOption(offset, "collation", s.string())),
    (("session", "authorization", "to"), _session_authorization),
    (("encryption", "password"), _encryption),
    (("autofree",), _autofree),
    (("deferred_prepare",), lambda s, offset: nodes.SetOption(offset, "deferred_prepare", _state(s))),
    (("dataskip",), _dataskip),
    (("statement", "cache"), _statement_cache),
)
_NOT_EXECUTED: Final = (
    ("connection",),
    ("table",),
    ("user", "password"),
)
