"""Storage clauses of tables and indexes: parsed in full, without effect. Never: a clause that has an effect.

The lock mode, the sizes of extents and the fragments are kept, because systables and sysfragments show them.

Source: the grammar is documented (Guide to SQL: Syntax, CREATE TABLE and CREATE INDEX, storage options).
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple, TypeAlias

from aioifx.server.sql.syntax.nodes import Fragment
from aioifx.server.sql.syntax.token_stream import TokenStream
from aioifx.server.sql.syntax.tokens import TokenKind

LockMode: TypeAlias = Literal["row", "page", "table"]

_LOCK_MODES: Final[dict[str, LockMode]] = {"row": "row", "page": "page", "table": "table"}


class IndexStorage(NamedTuple):
    """What the catalog shows of an index's storage."""

    is_disabled: bool = False
    filtering: str = ""
    fragments: tuple[Fragment, ...] = ()


class TableStorage(NamedTuple):
    """What systables shows of a table's storage; None for the server's defaults."""

    lock_mode: LockMode | None = None
    first_extent: int | None = None
    """KB."""
    next_extent: int | None = None
    """KB."""
    fragments: tuple[Fragment, ...] = ()


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
        elif (fragments := _common_clause(s)) is None:
            return storage
        elif fragments and fragments[0].strategy != _IN_DBSPACE:
            storage = storage._replace(fragments=fragments)


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


def parse_filtering(s: TokenStream) -> str:
    """Read ``[FILTERING [WITHOUT ERROR | WITH ERROR]]``; returns its letter, as `schema.Constraint.filtering`.

    Source: documented: SET Database Object Mode statement, "Filtering Modes"
    """
    if not s.accept("filtering"):
        return ""
    if s.accept("with", "error"):
        return "G"
    s.accept("without", "error")
    return "F"


def parse_index_storage(s: TokenStream) -> IndexStorage:
    """Read all clauses after the columns of CREATE INDEX."""
    storage = IndexStorage()
    while True:
        if s.accept("fillfactor"):
            s.integer()
        elif s.at("using") and s.at_name(1):
            s.advance()
            if not s.accept("btree"):
                raise s.unsupported(f"USING {s.token.text.upper()}")
        elif s.at("hash", "on"):
            raise s.unsupported("HASH ON")
        elif s.at("filtering"):
            storage = storage._replace(filtering=parse_filtering(s))
        elif s.accept("disabled"):
            storage = storage._replace(is_disabled=True)
        elif s.accept_any("online", "enabled"):
            continue
        elif (fragments := _common_clause(s)) is None:
            return storage
        elif fragments:
            storage = storage._replace(fragments=fragments)


def _common_clause(s: TokenStream) -> tuple[Fragment, ...] | None:
    """Read one clause that tables and indexes share, and return its fragments; None if none comes next."""
    if s.accept("in"):
        name = s.names_enclosed()[0].text if s.at("(") else s.name().text
        return (Fragment(_IN_DBSPACE, 0, name, name),)
    if s.accept("extent", "size") or s.accept("next", "size"):
        s.integer()
    elif s.at_any("fragment", "partition") and s.at("by", ahead=1):
        return _fragmentation(s)
    elif not s.accept("compressed"):
        return None
    return ()


_IN_DBSPACE: Final = "I"


def _word_or_number(s: TokenStream, *words: str) -> None:
    if s.token.kind is TokenKind.NUMBER:
        s.integer()
    else:
        s.expect_any(*words)


# --- FRAGMENT BY -------------------------------------------------------------


def _fragmentation(s: TokenStream) -> tuple[Fragment, ...]:
    s.advance()
    s.expect("by")
    if s.accept("round", "robin"):
        return _numbered(s.listed(_round_robin_fragment))
    if s.accept("expression"):
        return _numbered(s.listed(_expression_fragment))
    if s.at_any("range", "list"):
        return _keyed_fragments(s)
    raise s.refusal()


def _numbered(fragments: tuple[Fragment, ...]) -> tuple[Fragment, ...]:
    return tuple(each._replace(position=number) for number, each in enumerate(fragments))


def _partition_name(s: TokenStream) -> str:
    return s.name().text if s.accept("partition") else ""


def _placed(strategy: str, partition: str, dbspace: str, expression: str = "") -> Fragment:
    return Fragment(strategy, 0, dbspace, partition or dbspace, expression)


def _round_robin_fragment(s: TokenStream) -> Fragment:
    partition = _partition_name(s)
    s.accept("in")  # only the first of a list needs the word
    return _placed("R", partition, s.name().text)


def _expression_fragment(s: TokenStream) -> Fragment:
    partition = _partition_name(s)
    start = s.token.offset
    if not s.accept("remainder"):
        s.grammar.condition(s)
    text = s.written(start, s.last_end)
    s.expect("in")
    return _placed("E", partition, s.name().text, text)


def _keyed_fragments(s: TokenStream) -> tuple[Fragment, ...]:
    """Read RANGE (key) [INTERVAL (..) [STORE IN ..]] or LIST (key), and their fragments."""
    strategy = "N" if s.expect_any("range", "list").text == "range" else "L"
    rules = [Fragment(strategy, -3, expression=_enclosed_text(s))]
    if s.accept("interval"):
        rules.append(Fragment(strategy, -2, expression=_enclosed_text(s)))
        if s.accept("store", "in"):
            names = ", ".join(name.text for name in s.names_enclosed())
            rules.append(Fragment(strategy, -1, expression=names))
    fragments = s.listed(_keyed_fragment)
    return (*rules, *_numbered(tuple(each._replace(strategy=strategy) for each in fragments)))


def _enclosed_text(s: TokenStream) -> str:
    """Read values in parentheses, and return them as written, without the parentheses."""
    start = s.token.offset
    s.enclosed(s.grammar.value)
    return s.written(start, s.last_end)[1:-1].strip()


def _keyed_fragment(s: TokenStream) -> Fragment:
    s.expect("partition")
    partition = s.name().text
    start = s.token.offset
    if not s.accept("remainder"):
        s.expect("values")
        if s.accept("<"):
            s.grammar.value(s)
        elif not s.accept("is", "null"):
            s.enclosed(s.grammar.value)
    text = s.written(start, s.last_end)
    s.expect("in")
    return _placed("", partition, s.name().text, text)
