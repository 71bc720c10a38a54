"""CREATE and DROP of PROCEDURE, FUNCTION and ROUTINE: header, body, what follows END. Never: a statement of a body.

Source: the grammar is documented (Guide to SQL: Syntax, CREATE PROCEDURE, CREATE FUNCTION and DROP ROUTINE).
"""

from __future__ import annotations

from typing import Final, Literal, cast

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.syntax.nodes import QualifiedName
from aioifx.server.sql.syntax.spl_nodes import (
    CreateRoutine,
    DropRoutine,
    RoutineParameter,
    RoutineResult,
    TriggerTable,
)
from aioifx.server.sql.syntax.spl_statements import parse_block, parse_declared_type
from aioifx.server.sql.syntax.tables import parse_if_not_exists
from aioifx.server.sql.syntax.token_stream import SYNTAX_ERROR, TokenStream, parse_qualified_name
from aioifx.server.sql.syntax.types import parse_type

Kind = Literal["procedure", "function"]

_MODES: Final = ("in", "out", "inout")
_MODIFIERS: Final = ("variant", "not", "handlesnulls", "parallelizable", "iterator", "selconst", "negator")


def at_create_routine(s: TokenStream) -> bool:
    """Whether the words after CREATE are those of a routine."""
    ahead = 2 if s.at("or", "replace") else 0
    if s.at("dba", ahead=ahead):
        ahead += 1
    return s.at_any("procedure", "function", ahead=ahead)


def parse_create_routine(s: TokenStream, offset: int) -> CreateRoutine:
    """Read the statement after CREATE, which is at *offset*."""
    or_replace = s.accept("or", "replace") is not None
    is_dba = s.accept("dba") is not None
    kind: Kind = "procedure" if s.expect_any("procedure", "function").text == "procedure" else "function"
    if s.at("from"):
        raise s.unsupported(f"CREATE {kind.upper()} FROM")
    if_not_exists = parse_if_not_exists(s)
    if or_replace and if_not_exists:
        raise SqlError(SYNTAX_ERROR, offset=offset)
    name = parse_qualified_name(s)
    parameters = _parameters(s)
    trigger = _trigger_table(s)
    results = s.listed(_result) if s.accept_any("returning", "returns") else ()
    specific = parse_qualified_name(s).name if s.accept("specific") else ""
    is_not_variant = _modifiers(s)
    s.accept(";")
    if s.at("external", "name"):
        raise s.unsupported("EXTERNAL NAME")
    s.in_routine = True
    body = parse_block(s)
    s.in_routine = False
    s.expect("end")
    s.expect(kind)
    end = s.last_end
    document = ""
    if s.at(";") and (s.at("document", ahead=1) or s.at("with", "listing", ahead=1)):
        s.advance()
    if s.accept("document"):
        document = "".join(s.listed(TokenStream.string))
        end = s.last_end
    if s.accept("with", "listing", "in"):
        s.string()
        end = s.last_end
    text = s.written(offset, end)
    return CreateRoutine(
        offset,
        kind,
        name,
        parameters,
        results,
        body,
        text,
        is_dba,
        if_not_exists,
        or_replace,
        specific,
        trigger,
        document,
        is_not_variant,
    )


def _parameters(s: TokenStream) -> tuple[RoutineParameter, ...]:
    s.expect("(")
    parameters = () if s.at(")") else s.listed(_parameter)
    s.expect(")")
    return parameters


def _parameter(s: TokenStream) -> RoutineParameter:
    offset = s.token.offset
    mode = "in"
    has_mode = s.at_any(*_MODES) and s.at_name(2) and not s.at_any("like", "references", ahead=1)
    if has_mode and not s.at("default", ahead=2):
        mode = s.advance().text
    name = s.name()
    type_ = parse_declared_type(s)
    default = s.grammar.value(s) if s.accept("default") else None
    return RoutineParameter(offset, name.text, type_, default, cast(Literal["in", "out", "inout"], mode))


def _result(s: TokenStream) -> RoutineResult:
    offset = s.token.offset
    if s.at("references"):
        raise s.unsupported(f"REFERENCES {s.ahead(1).text.upper()}")
    type_ = parse_type(s)
    return RoutineResult(offset, type_, s.name().text if s.accept("as") else "")


def _trigger_table(s: TokenStream) -> TriggerTable | None:
    """Read ``REFERENCING OLD AS name NEW AS name FOR table``, also with FOR first."""
    if not s.at_any("referencing", "for"):
        return None
    offset = s.token.offset
    table: QualifiedName | None = None
    if s.accept("for"):
        table = parse_qualified_name(s)
    names = {"old": "", "new": ""}
    if s.accept("referencing"):
        while s.at_any("old", "new"):
            word = s.advance().text
            s.accept("as")
            if names[word]:
                raise s.refusal()
            names[word] = s.name().text
    if table is None:
        s.expect("for")
        table = parse_qualified_name(s)
    return TriggerTable(offset, table, names["old"], names["new"])


def _modifiers(s: TokenStream) -> bool:
    """Read ``WITH (modifier, ..)``; returns whether NOT VARIANT is among them."""
    is_not_variant = False
    if s.at("with", "("):
        s.expect("with", "(")
        while True:
            if s.accept("not", "variant"):
                is_not_variant = True
            elif s.at_any("variant", "parallelizable", "handlesnulls", "iterator"):
                s.advance()
            elif s.at_any("negator", "selfunc", "selconst", "percall_cost", "costfunc", "class", "stack"):
                raise s.unsupported(s.token.text.upper())
            else:
                raise s.refusal()
            if not s.accept(","):
                break
        s.expect(")")
    return is_not_variant


def parse_drop_routine(s: TokenStream, offset: int) -> DropRoutine:
    """Read the statement after DROP, which is at *offset*."""
    is_specific = s.accept("specific") is not None
    word = s.expect_any("procedure", "function", "routine").text
    if_exists = s.accept("if", "exists") is not None
    name = parse_qualified_name(s)
    types = None
    if s.accept("("):
        types = () if s.at(")") else s.listed(parse_type)
        s.expect(")")
    kind = cast(Literal["procedure", "function", "routine"], word)
    return DropRoutine(offset, kind, name, types, if_exists, is_specific)
