"""Storage clauses of tables and indexes: parsed in full, without effect. Never: a clause that has an effect.

Only the lock mode and the sizes of extents are kept, because systables shows them.

Source: the grammar is documented (Guide to SQL: Syntax, CREATE TABLE and CREATE INDEX, storage options).
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple, TypeAlias

from aioifx.server.sql.syntax.token_stream import TokenStream
from aioifx.server.sql.syntax.tokens import TokenKind

LockMode: TypeAlias = Literal["row", "page", "table"]

_LOCK_MODES: Final[dict[str, LockMode]] = {"row": "row", "page": "page", "table": "table"}


class TableStorage(NamedTuple):
    """What systables shows of a table's storage; None for the server's defaults."""

    lock_mode: LockMode | None = None
    first_extent: int | None = None
    """KB."""
    next_extent: int | None = None
    """KB."""


EXTRA_COLUMNS: Final = ("rowids", "crcols", "erkey", "vercols", "replcheck", "audit")


def parse_lock_mode(s: TokenStream) -> LockMode:
    """Read ``LOCK MODE ROW``, with or without parentheses."""
    s.expect("lock", "mode")
    opened = s.accept("(")
    mode = _LOCK_MODES[s.expect_any(*_LOCK_MODES).text]
    if opened:
        s.expect(")")
    return mode


def parse_table_storage(s: TokenStream) -> TableStorage:
    """Read all clauses after the parentheses of CREATE TABLE, except WITH NO LOG."""
    storage = TableStorage()
    while True:
        if s.at("lock", "mode"):
            storage = storage._replace(lock_mode=parse_lock_mode(s))
        elif s.accept("extent", "size"):
            storage = storage._replace(first_extent=s.integer())
        elif s.accept("next", "size"):
            storage = storage._replace(next_extent=s.integer())
        elif s.at("with") and s.at_any(*EXTRA_COLUMNS, ahead=1):
            s.advance()
            s.advance()
        elif s.at_any("statchange", "statlevel"):
            s.advance()
            _word_or_number(s, "auto", "table", "fragment")
        elif s.at("put"):
            parse_put(s)
        elif s.at("using") or s.at("security", "policy"):
            raise s.unsupported(s.token.text.upper())
        elif not _common_clause(s):
            return storage


def parse_put(s: TokenStream) -> None:
    """Read ``PUT column IN (sbspace, ..) [(option, ..)], ..``.

    A comma continues the clause only before ``column IN (``: after it, ALTER TABLE may have another action.
    """
    s.expect("put")
    while True:
        s.name()
        s.expect("in")
        s.names_enclosed()
        if s.at("("):
            s.enclosed(_sbspace_option)
        if not (s.at(",") and s.at_name(1) and s.at("in", "(", ahead=2)):
            return
        s.expect(",")


def _sbspace_option(s: TokenStream) -> None:
    if s.accept("extent", "size"):
        s.integer()
    elif s.accept_any("high", "moderate"):
        s.expect("integ")
    elif not (s.accept("log") or s.accept("no", "log") or s.accept("no", "keep", "access", "time")):
        s.expect("keep", "access", "time")


def parse_index_storage(s: TokenStream) -> None:
    """Read all clauses after the columns of CREATE INDEX."""
    while True:
        if s.accept("fillfactor"):
            s.integer()
        elif s.at("using") and s.at_name(1):
            s.advance()
            if not s.accept("btree"):
                raise s.unsupported(f"USING {s.token.text.upper()}")
        elif s.at("hash", "on"):
            raise s.unsupported("HASH ON")
        elif s.at_any("disabled", "filtering"):
            raise s.unsupported(s.token.text.upper())
        elif s.accept_any("online", "enabled"):
            continue
        elif not _common_clause(s):
            return


def _common_clause(s: TokenStream) -> bool:
    """Read one clause that tables and indexes share; False if none comes next."""
    if s.accept("in"):
        _spaces(s)
    elif s.accept("extent", "size") or s.accept("next", "size"):
        s.integer()
    elif s.accept("compressed"):
        pass
    elif s.at_any("fragment", "partition") and s.at("by", ahead=1):
        _fragmentation(s)
    else:
        return False
    return True


def _spaces(s: TokenStream) -> None:
    """Read ``dbspace`` or ``(dbspace, ..)``."""
    if s.at("("):
        s.names_enclosed()
    else:
        s.name()


def _word_or_number(s: TokenStream, *words: str) -> None:
    if s.token.kind is TokenKind.NUMBER:
        s.integer()
    else:
        s.expect_any(*words)


# --- FRAGMENT BY -------------------------------------------------------------


def _fragmentation(s: TokenStream) -> None:
    s.advance()
    s.expect("by")
    if s.accept("round", "robin"):
        s.listed(_round_robin_fragment)
    elif s.accept("expression"):
        s.listed(_expression_fragment)
    elif s.at_any("range", "list"):
        _keyed_fragments(s)
    else:
        raise s.refusal()


def _partition_name(s: TokenStream) -> None:
    if s.accept("partition"):
        s.name()


def _round_robin_fragment(s: TokenStream) -> None:
    _partition_name(s)
    s.accept("in")  # only the first of a list needs the word
    s.name()


def _expression_fragment(s: TokenStream) -> None:
    _partition_name(s)
    if not s.accept("remainder"):
        s.grammar.condition(s)
    s.expect("in")
    s.name()


def _keyed_fragments(s: TokenStream) -> None:
    """Read RANGE (key) [INTERVAL (..) [STORE IN ..]] or LIST (key), and their fragments."""
    s.expect_any("range", "list")
    s.enclosed(s.grammar.value)
    if s.accept("interval"):
        s.enclosed(s.grammar.value)
        if s.accept("store", "in"):
            s.names_enclosed()
    s.listed(_keyed_fragment)


def _keyed_fragment(s: TokenStream) -> None:
    s.expect("partition")
    s.name()
    if not s.accept("remainder"):
        s.expect("values")
        if s.accept("<"):
            s.grammar.value(s)
        elif not s.accept("is", "null"):
            s.enclosed(s.grammar.value)
    s.expect("in")
    s.name()
