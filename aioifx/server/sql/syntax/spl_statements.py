"""SPL's blocks and statements: DEFINE, LET, IF, loops, exceptions, RETURN. Never: a routine's header, what names mean.

Invariants:
1. A block is declarations (DEFINE), handlers (ON EXCEPTION), then statements, in this order.
2. A statement ends with ``;``, which may be absent after END.

Source: the grammar is documented (Guide to SQL: Syntax, SPL statements).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final, Literal, TypeAlias

from aioifx.server.sql.builtin_types import BYTE, TEXT
from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.syntax.control import parse_arguments, parse_execute
from aioifx.server.sql.syntax.nodes import Execute, Expression, Name, Query
from aioifx.server.sql.syntax.primaries import at_query
from aioifx.server.sql.syntax.spl_collections import at_elements, parse_elements
from aioifx.server.sql.syntax.spl_dynamic import DYNAMIC, parse_dynamic
from aioifx.server.sql.syntax.spl_nodes import (
    Block,
    Branch,
    CallRoutine,
    DeclaredType,
    Define,
    For,
    Foreach,
    Goto,
    If,
    Immediate,
    Labelled,
    Leave,
    Let,
    LikeColumn,
    LoopKind,
    OnException,
    Raise,
    Range,
    Return,
    SplStatement,
    Sql,
    System,
    Trace,
    While,
)
from aioifx.server.sql.syntax.token_stream import TokenStream, parse_qualified_name
from aioifx.server.sql.syntax.types import parse_type
from aioifx.sqltypes import (
    SERIALS,
)

_ENDS: Final = ("end", "elif", "else", "when")
"""Words after a block."""
_CREATE_ROUTINE: Final = (
    ("create", "procedure"),
    ("create", "function"),
    ("create", "dba"),
    ("create", "or", "replace"),
)
_NOT_IN_ROUTINES: Final = (
    ("connect", "to"),
    ("create", "database"),
    ("database",),
    ("disconnect",),
    ("drop", "database"),
    ("rename", "database"),
    ("update", "statistics"),
)
ILLEGAL_STATEMENT: Final = -675
"""The statement is not valid in a routine (documented)."""
ROUTINE_IN_ROUTINE: Final = -657
"""CREATE of a routine in a routine (documented)."""
SERIAL_VARIABLE: Final = -670
"""A variable or parameter of a SERIAL type (documented)."""
NO_DEFAULT: Final = -658
"""A global variable without DEFAULT (documented)."""
NO_TARGETS: Final = -659
"""A SELECT without INTO (documented)."""

Reader: TypeAlias = Callable[[TokenStream], SplStatement]


# --- Blocks -----------------------------------------------------------------------------------------------------------


def parse_block(s: TokenStream) -> Block:
    """Read declarations, handlers and statements, up to the word that ends the block."""
    s.descend()
    offset = s.token.offset
    defines: list[Define] = []
    while s.at("define"):
        defines += _define(s)
    handlers: list[OnException] = []
    while s.at("on", "exception"):
        handlers.append(_on_exception(s))
    statements: list[SplStatement] = []
    while not s.at_any(*_ENDS):
        statements.append(_statement(s))
    s.ascend()
    return Block(offset, tuple(defines), tuple(handlers), tuple(statements))


def _define(s: TokenStream) -> tuple[Define, ...]:
    """Read DEFINE; nothing for ``DEFINE name PROCEDURE``, as no variable hides routines here (documented)."""
    offset = s.expect("define").offset
    is_global = s.at("global") and s.at_name(2) and s.accept("global") is not None
    names = s.listed(TokenStream.name)
    if s.accept("procedure", ";"):
        return ()
    type_ = parse_declared_type(s)
    default = s.grammar.value(s) if s.accept("default") else None
    if is_global and default is None:
        raise SqlError(NO_DEFAULT, offset=names[0].offset)
    s.expect(";")
    return (Define(offset, names, type_, default, is_global),)


def parse_declared_type(s: TokenStream) -> DeclaredType:
    """Read the type of a variable or parameter: a type, or ``LIKE table.column``.

    Raises:
        SqlError: -999, BYTE and TEXT, which are declared with REFERENCES; -670, a SERIAL type.
    """
    if s.at("references"):
        raise s.unsupported(f"REFERENCES {s.ahead(1).text.upper()}")
    if s.at("like"):
        offset = s.expect("like").offset
        path = parse_qualified_name(s)
        last = path
        if s.accept("."):
            last = replace(path, name=s.name().text)
            table = path
        else:
            table = replace(path, name=path.owner, owner="")
        if not table.name:
            raise s.refusal()
        return LikeColumn(offset, table, Name(offset, last.name))
    token = s.token
    type_ = parse_type(s)
    if type_ in (BYTE, TEXT):
        raise s.refusal(token)
    if type_.kind in SERIALS:
        raise SqlError(SERIAL_VARIABLE, offset=token.offset)
    return type_


def _on_exception(s: TokenStream) -> OnException:
    offset = s.expect("on", "exception").offset
    codes = s.enclosed(TokenStream.signed_integer) if s.accept("in") else ()
    targets: tuple[Name, ...] = ()
    if s.accept("set"):
        targets = s.listed(TokenStream.name)
        if len(targets) > _MOST_EXCEPTION_VALUES:
            raise s.refusal()
    body = parse_block(s)
    s.expect("end", "exception")
    resumes = s.accept("with", "resume") is not None
    s.accept(";")
    return OnException(offset, codes, targets, body, resumes)


_MOST_EXCEPTION_VALUES: Final = 3


# --- Statements -------------------------------------------------------------------------------------------------------


def _statement(s: TokenStream) -> SplStatement:
    offset, label = s.token.offset, _label(s)
    reader = _LOOPS.get(s.token.text)
    if reader is not None:
        s.descend()
        loop = reader(s, label)
        s.ascend()
        return loop
    if label:
        if s.at_any(*_ENDS, "<"):
            raise s.refusal()
        return Labelled(offset, label, _statement(s))
    if at_elements(s):
        return parse_elements(s)
    plain = _STATEMENTS.get(s.token.text)
    if plain is not None and not s.at("close", "database"):
        return plain(s)
    return _sql(s)


def _label(s: TokenStream) -> str:
    if not s.accept("<", "<"):
        return ""
    label = s.name().text
    s.expect(">", ">")
    return label


def _let(s: TokenStream) -> Let:
    offset = s.expect("let").offset
    targets = s.listed(TokenStream.target)
    s.expect("=")
    values = s.listed(s.grammar.value)
    s.expect(";")
    return Let(offset, targets, values)


def _if(s: TokenStream) -> If:
    offset = s.expect("if").offset
    branches = [_branch(s, offset, s.grammar.condition(s))]
    while s.at("elif"):
        start = s.expect("elif").offset
        branches.append(_branch(s, start, s.grammar.condition(s)))
    otherwise = parse_block(s) if s.accept("else") else None
    _end(s, "if")
    return If(offset, tuple(branches), otherwise)


def _case(s: TokenStream) -> If:
    offset = s.expect("case").offset
    operand = s.grammar.value(s)
    branches: list[Branch] = []
    while s.at("when") or not (branches or s.at("else")):
        start = s.expect("when").offset
        branches.append(_branch(s, start, s.grammar.value(s)))
    otherwise = parse_block(s) if s.accept("else") else None
    _end(s, "case")
    return If(offset, tuple(branches), otherwise, operand)


def _branch(s: TokenStream, offset: int, condition: Expression) -> Branch:
    s.expect("then")
    return Branch(offset, condition, parse_block(s))


def _end(s: TokenStream, word: str, label: str = "") -> None:
    """Read END with its word; END LOOP may repeat the label of the loop."""
    s.expect("end", word)
    if label:
        s.accept(label)
    s.accept(";")


def _loop_body(s: TokenStream, word: str, label: str) -> Block:
    """Read the statements of FOR or WHILE, to its own END or to that of LOOP."""
    if s.accept("loop"):
        word = "loop"
    body = parse_block(s)
    _end(s, word, label)
    return body


def _for(s: TokenStream, label: str) -> For:
    offset = s.expect("for").offset
    variable = s.name()
    if s.accept("in"):
        items = s.enclosed(_for_item)
    else:
        s.expect("=")
        item = _for_item(s)
        if not isinstance(item, Range):
            raise s.refusal()
        items = (item,)
    return For(offset, variable, items, _loop_body(s, "for", label), label)


def _for_item(s: TokenStream) -> Range | Expression:
    offset = s.token.offset
    first = s.grammar.value(s)
    if not s.accept("to"):
        return first
    last = s.grammar.value(s)
    step = s.grammar.value(s) if s.accept("step") else None
    return Range(offset, first, last, step)


def _while(s: TokenStream, label: str) -> While:
    offset = s.expect("while").offset
    condition = s.grammar.condition(s)
    return While(offset, condition, _loop_body(s, "while", label), label)


def _loop(s: TokenStream, label: str) -> While:
    offset = s.expect("loop").offset
    body = parse_block(s)
    _end(s, "loop", label)
    return While(offset, None, body, label)


def _foreach(s: TokenStream, label: str) -> Foreach:
    offset = s.expect("foreach").offset
    hold = s.accept("with", "hold") is not None
    cursor = ""
    if not (at_query(s) or s.at("execute")):
        cursor = s.name().text
        hold = s.accept("with", "hold") is not None or hold
        s.expect("for")
    s.ends_at_statement = True
    source = s.grammar.statement(s)
    s.ends_at_statement = False
    if isinstance(source, Query):
        targets = s.take_targets()
    elif isinstance(source, Execute):
        targets = _into(s)
    else:
        raise s.refusal()
    if not targets:
        raise SqlError(NO_TARGETS, offset=source.offset)
    s.accept(";")
    body = parse_block(s)
    _end(s, "foreach", label)
    return Foreach(offset, source, targets, body, cursor, hold, label)


def _into(s: TokenStream) -> tuple[Name, ...]:
    return s.listed(TokenStream.target) if s.accept("into") else ()


def _exit(s: TokenStream) -> Leave:
    return _leave(s, "exit")


def _continue(s: TokenStream) -> Leave:
    return _leave(s, "continue")


def _leave(s: TokenStream, verb: Literal["exit", "continue"]) -> Leave:
    offset = s.expect(verb).offset
    kind: LoopKind | None = None
    if s.token.text in _KINDS:
        kind = _KINDS[s.advance().text]
    label = s.name().text if s.at_name() and not s.at("when") else ""
    condition = s.grammar.condition(s) if s.accept("when") else None
    s.expect(";")
    return Leave(offset, verb, kind, label, condition)


def _goto(s: TokenStream) -> Goto:
    offset = s.expect("goto").offset
    label = s.name().text
    s.expect(";")
    return Goto(offset, label)


_KINDS: Final[dict[str, LoopKind]] = {"for": "for", "foreach": "foreach", "while": "while", "loop": "loop"}


def _return(s: TokenStream) -> Return:
    offset = s.expect("return").offset
    values = () if s.at(";") or s.at("with", "resume") else s.listed(s.grammar.value)
    resumes = s.accept("with", "resume") is not None
    s.expect(";")
    return Return(offset, values, resumes)


def _raise(s: TokenStream) -> Raise:
    offset = s.expect("raise", "exception").offset
    values = s.listed(s.grammar.value)
    if len(values) > _MOST_EXCEPTION_VALUES:
        raise s.refusal()
    s.expect(";")
    return Raise(offset, values)


def _call(s: TokenStream) -> CallRoutine:
    offset = s.expect("call").offset
    routine = parse_qualified_name(s)
    call = Execute(offset, "procedure", routine, parse_arguments(s))
    targets = s.listed(TokenStream.target) if s.accept("returning") else ()
    s.expect(";")
    return CallRoutine(offset, call, targets)


def _execute(s: TokenStream) -> CallRoutine | Immediate:
    if s.at("execute", "immediate"):
        offset = s.expect("execute", "immediate").offset
        text = s.grammar.value(s)
        s.expect(";")
        return Immediate(offset, text)
    call = parse_execute(s)
    targets = _into(s)
    s.expect(";")
    return CallRoutine(call.offset, call, targets)


def _begin(s: TokenStream) -> Block | Sql:
    if s.at("begin", "work") or s.at("begin", ";"):
        return _sql(s)
    s.expect("begin")
    body = parse_block(s)
    s.expect("end")
    s.accept(";")
    return body


def _system(s: TokenStream) -> System:
    offset = s.expect("system").offset
    command = s.grammar.value(s)
    s.expect(";")
    return System(offset, command)


def _trace(s: TokenStream) -> Trace:
    offset = s.expect("trace").offset
    if not (s.at_any("on", "off", "procedure") and s.at(";", ahead=1)):
        s.grammar.value(s)
    else:
        s.advance()
    s.expect(";")
    return Trace(offset)


def _sql(s: TokenStream) -> Sql:
    """Read an SQL statement.

    Raises:
        SqlError: -657 and -675, it is not valid in a routine; -659, a SELECT without INTO.
    """
    token = s.token
    if any(s.at(*words) for words in _CREATE_ROUTINE):
        raise SqlError(ROUTINE_IN_ROUTINE, offset=token.offset)
    if s.at("close", "database") or any(s.at(*words) for words in _NOT_IN_ROUTINES):
        raise SqlError(ILLEGAL_STATEMENT, offset=token.offset)
    statement = s.grammar.statement(s)
    targets = s.take_targets()
    is_query = isinstance(statement, Query) and statement.into_temp is None
    if is_query and not targets:
        raise SqlError(NO_TARGETS, offset=token.offset)
    if targets and not is_query:
        raise SqlError(-201, offset=targets[0].offset)
    s.expect(";")
    return Sql(token.offset, statement, targets)


_STATEMENTS: Final[dict[str, Reader]] = {
    "let": _let,
    "if": _if,
    "case": _case,
    "exit": _exit,
    "goto": _goto,
    "continue": _continue,
    "return": _return,
    "raise": _raise,
    "call": _call,
    "execute": _execute,
    "begin": _begin,
    "system": _system,
    "trace": _trace,
    **dict.fromkeys(DYNAMIC, parse_dynamic),
}
_LOOPS: Final[dict[str, Callable[[TokenStream, str], SplStatement]]] = {
    "for": _for,
    "while": _while,
    "loop": _loop,
    "foreach": _foreach,
}
