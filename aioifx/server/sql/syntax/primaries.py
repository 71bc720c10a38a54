"""Primary expressions: literals, columns, calls, windows, CASE, subqueries. Never: operators between values.

Invariants:
1. A word is a keyword only in the right context. ``TODAY`` before ``.`` is a table, ``CASE`` before a comma is a
   column, ``INTERVAL(`` is a call unless a qualifier follows the parentheses.
2. USER, TODAY, CURRENT and similar words take precedence over columns of the same name (documented: identifiers;
   a qualified name is a column).
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Final, Literal, TypeAlias, cast

from aioifx.server.sql.syntax import nodes
from aioifx.server.sql.syntax.token_stream import TokenStream, parse_database_prefix
from aioifx.server.sql.syntax.tokens import TokenKind
from aioifx.server.sql.syntax.types import (
    at_qualifier,
    parse_datetime_qualifier,
    parse_interval_qualifier,
    parse_type,
)
from aioifx.sqltypes import Unit, datetime_qualifier

SET_OPERATORS: Final = ("union", "intersect", "minus", "except")

_CURRENT: Final = datetime_qualifier(Unit.YEAR, Unit.FRACTION, 3)
_SESSION_WORDS: Final[dict[str, nodes.SessionWord]] = {
    "today": "today",
    "user": "user",
    "current_user": "user",
    "sitename": "sitename",
    "dbservername": "dbservername",
    "current_role": "current_role",
    "default_role": "default_role",
}
_COLLECTIONS: Final[dict[str, nodes.CollectionKind]] = {"set": "set", "multiset": "multiset", "list": "list"}
_SIDES: Final[dict[str, nodes.TrimSide]] = {"both": "both", "leading": "leading", "trailing": "trailing"}
_SYSDATE: Final = datetime_qualifier(Unit.YEAR, Unit.FRACTION, 5)
_AFTER_VALUE: Final = frozenset(
    "as from and or is in like matches between asc desc order group having where union into".split()
)
"""Words that show that the word before them is a name, not a keyword."""

Reader: TypeAlias = Callable[[TokenStream], nodes.Expression]


def parse_primary(s: TokenStream, *, conditional: bool) -> nodes.Expression:
    """Read one operand. *conditional*: parentheses may hold a condition."""
    token = s.token
    if token.kind is TokenKind.NUMBER:
        return parse_number(s)
    if token.kind is TokenKind.STRING and not s.at(".", ahead=1):
        s.advance()
        return nodes.String(token.offset, token.text)
    if s.at("?"):
        return s.parameter()
    s.descend()
    if s.at("("):
        node = _parenthesised(s, conditional=conditional)
    elif token.kind is TokenKind.NAME and (special := _special_at(s)) is not None:
        node = special(s)
    else:
        node = _named(s)
    s.ascend()
    return node


def parse_number(s: TokenStream) -> nodes.Number:
    """Read a number without a sign."""
    token = s.token
    if token.kind is not TokenKind.NUMBER:
        raise s.refusal()
    s.advance()
    value = int(token.text) if token.text.isdigit() else Decimal(token.text)
    return nodes.Number(token.offset, token.text, value)


# --- Parentheses -------------------------------------------------------------


def at_query(s: TokenStream, ahead: int = 0) -> bool:
    """Whether a query starts there, possibly with a part of a UNION in parentheses."""
    if s.at("select", ahead=ahead):
        return True
    if s.at("with", ahead=ahead):
        ahead += 1 + s.at("recursive", ahead=ahead + 1)
        return s.at_name(ahead) and s.at_any("as", "(", ahead=ahead + 1)
    after = s.after_parentheses(ahead) if s.at("(", ahead=ahead) else None
    if after is None or not s.at_any(*SET_OPERATORS, ahead=after):
        return False
    while s.at("(", ahead=ahead):
        ahead += 1
    return s.at_any("select", "with", ahead=ahead)


def _parenthesised(s: TokenStream, *, conditional: bool) -> nodes.Expression:
    redundant = 0
    while s.is_doubled():  # without recursion, so that any number of them may be written
        s.advance()
        redundant += 1
    opening = s.expect("(")
    node: nodes.Expression
    if at_query(s):
        node = nodes.Subquery(opening.offset, s.grammar.subquery(s))
    else:
        node = s.grammar.either(s) if conditional else s.grammar.value(s)
    for _ in range(redundant + 1):
        s.expect(")")
    return node


# --- Words with a meaning ----------------------------------------------------


def _special_at(s: TokenStream) -> Reader | None:
    """The reader for the next word if its context makes it a keyword."""
    word = s.token.text
    if s.at_any(".", ":", "@", ahead=1):
        return None
    if word == "case":
        return _case if _at_operand(s) or _at_signed_operand(s) else None
    if word == "not" and _at_operand(s):
        raise s.refusal()
    if word == "connect_by_root" or (word == "prior" and s.is_hierarchical):
        return _ancestor if _at_operand(s) else None
    if s.at("(", ahead=1):
        if word in ("datetime", "interval"):
            after = s.after_parentheses(1)
            return _READERS[word] if after is not None and at_qualifier(s, after) else None
        if word == "multiset" and at_query(s, ahead=2):
            return _multiset
        if word in nodes.AGGREGATES:
            return _aggregate
        return _WITH_PARENTHESES.get(word)
    if s.at("{", ahead=1) and word in ("set", "multiset", "list"):
        return parse_collection
    return _WITHOUT_PARENTHESES.get(word)


def _null(s: TokenStream) -> nodes.Null:
    return nodes.Null(s.expect("null").offset)


def _session_constant(s: TokenStream) -> nodes.SessionConstant:
    token = s.advance()
    return nodes.SessionConstant(token.offset, _SESSION_WORDS[token.text])


def _current(s: TokenStream) -> nodes.Current:
    offset = s.expect("current").offset
    return nodes.Current(offset, parse_datetime_qualifier(s) if at_qualifier(s) else _CURRENT)


def _sysdate(s: TokenStream) -> nodes.Current:
    return nodes.Current(s.expect("sysdate").offset, _SYSDATE)


def _literal_text(s: TokenStream) -> str:
    """Read the parentheses of DATETIME(..) or INTERVAL(..): numbers and their separators."""
    opening = s.expect("(")
    while not s.at(")"):
        if s.token.kind is not TokenKind.NUMBER and not s.at_any("-", "+", ":", "."):
            raise s.refusal()
        s.advance()
    closing = s.advance()
    return s.written(opening.end, closing.offset)


def _datetime_literal(s: TokenStream) -> nodes.DatetimeLiteral:
    offset = s.expect("datetime").offset
    text = _literal_text(s)
    return nodes.DatetimeLiteral(offset, text, parse_datetime_qualifier(s))


def _interval_literal(s: TokenStream) -> nodes.IntervalLiteral:
    offset = s.expect("interval").offset
    text = _literal_text(s)
    return nodes.IntervalLiteral(offset, text, parse_interval_qualifier(s))


def _at_operand(s: TokenStream, ahead: int = 0) -> bool:
    """Whether the token after the next one starts an operand, so that the next one is not a name."""
    following = s.ahead(ahead + 1)
    if following.kind is TokenKind.NAME:
        return following.text not in _AFTER_VALUE
    return following.kind in (TokenKind.NUMBER, TokenKind.STRING, TokenKind.DELIMITED) or s.at_any(
        "(", "?", ahead=ahead + 1
    )


def _at_signed_operand(s: TokenStream) -> bool:
    """Whether ``CASE -`` starts an expression; without WHEN, a column named CASE is before the sign."""
    return s.at_any("+", "-", ahead=1) and s.has_ahead("when")


def _case(s: TokenStream) -> nodes.Case:
    offset = s.expect("case").offset
    operand = None if s.at("when") else s.grammar.value(s)
    branches: list[nodes.When] = []
    while (token := s.accept("when")) is not None:
        condition = s.grammar.condition(s) if operand is None else s.grammar.value(s)
        s.expect("then")
        branches.append(nodes.When(token.offset, condition, s.grammar.value(s)))
    if not branches:
        raise s.refusal()
    otherwise = s.grammar.value(s) if s.accept("else") else None
    s.expect("end")
    return nodes.Case(offset, operand, tuple(branches), otherwise)


def _ancestor(s: TokenStream) -> nodes.Ancestor:
    token = s.advance()
    kind: Literal["prior", "root"] = "prior" if token.text == "prior" else "root"
    return nodes.Ancestor(token.offset, kind, parse_primary(s, conditional=False))


def _cast(s: TokenStream) -> nodes.Cast:
    offset = s.expect("cast", "(").offset
    operand = s.grammar.value(s)
    s.expect("as")
    type_ = parse_type(s)
    s.expect(")")
    return nodes.Cast(offset, operand, type_)


def _extend(s: TokenStream) -> nodes.Extend:
    offset = s.expect("extend", "(").offset
    operand = s.grammar.value(s)
    qualifier = parse_datetime_qualifier(s) if s.accept(",") else None
    s.expect(")")
    return nodes.Extend(offset, operand, qualifier)


def _trim(s: TokenStream) -> nodes.Trim:
    offset = s.expect("trim", "(").offset
    side: nodes.TrimSide = "both"
    characters: nodes.Expression | None = None
    if s.at_any(*_SIDES) and not s.at_any(")", ".", "||", "::", "[", ahead=1):
        side = _SIDES[s.advance().text]
        characters = None if s.at("from") else s.grammar.value(s)
        s.expect("from")
        operand = s.grammar.value(s)
    else:
        operand = s.grammar.value(s)
        if s.accept("from"):
            characters, operand = operand, s.grammar.value(s)
    s.expect(")")
    return nodes.Trim(offset, side, characters, operand)


def _substring(s: TokenStream) -> nodes.Call:
    start = s.expect("substring", "(")
    arguments = [s.grammar.value(s)]
    s.expect("from")
    arguments.append(s.grammar.value(s))
    if s.accept("for"):
        arguments.append(s.grammar.value(s))
    s.expect(")")
    return nodes.Call(start.offset, nodes.QualifiedName(start.offset, "substring"), tuple(arguments))


def _multiset(s: TokenStream) -> nodes.MultisetQuery:
    """Read ``MULTISET(SELECT [ITEM] ..)``; ITEM is a name before a comma, FROM and operators."""
    offset = s.expect("multiset", "(").offset
    is_item = s.at("select", "item") and _at_operand(s, 1)
    query = s.grammar.items(s) if is_item else s.grammar.subquery(s)
    s.expect(")")
    return nodes.MultisetQuery(offset, query, is_item)


def _row(s: TokenStream) -> nodes.RowConstructor:
    offset = s.expect("row").offset
    return nodes.RowConstructor(offset, s.enclosed(s.grammar.value))


def parse_collection(s: TokenStream) -> nodes.CollectionConstructor:
    """Read ``SET{value, ..}``."""
    token = s.advance()
    kind = _COLLECTIONS[token.text]
    s.expect("{")
    elements = () if s.at("}") else s.listed(s.grammar.value)
    s.expect("}")
    return nodes.CollectionConstructor(token.offset, kind, elements)


_READERS: Final[dict[str, Reader]] = {"datetime": _datetime_literal, "interval": _interval_literal}
_WITH_PARENTHESES: Final[dict[str, Reader]] = {
    "cast": _cast,
    "extend": _extend,
    "trim": _trim,
    "substring": _substring,
    "row": _row,
}
_WITHOUT_PARENTHESES: Final[dict[str, Reader]] = {
    "null": _null,
    "current": _current,
    "sysdate": _sysdate,
    **dict.fromkeys(_SESSION_WORDS, _session_constant),
}
VALUE_WORDS: Final = frozenset(_WITHOUT_PARENTHESES)
"""Words that are values, unless they are in quotes or qualified."""


# --- Columns and calls -------------------------------------------------------


_LONGEST_COLUMN: Final = 3
"""Parts of ``owner.table.column``; names after them are fields."""


def _named(s: TokenStream) -> nodes.Expression:
    """Read a column, a sequence's value or a call, with any qualification."""
    offset = s.token.offset
    database, server = parse_database_prefix(s)
    if s.token.kind is TokenKind.STRING and s.at(".", ahead=1):
        parts = [s.advance().text.rstrip()]
    else:
        parts = [s.name().text]
    while s.at(".") and s.at_name(ahead=1):
        s.advance()
        parts.append(s.name().text)
    if s.at("("):
        return _call(s, _qualified(s, offset, parts, database, server))
    if s.at("."):
        raise s.refusal(s.ahead(1))
    if len(parts) == 1:
        if database:
            raise s.refusal()
        return _subscripted(s, nodes.Column(offset, parts[0]))
    if len(parts) > _LONGEST_COLUMN and not database:
        first = _qualified(s, offset, parts[: _LONGEST_COLUMN - 1], "", "")
        column = nodes.Column(offset, parts[_LONGEST_COLUMN - 1], first)
        return nodes.FieldAccess(offset, column, tuple(parts[_LONGEST_COLUMN:]))
    table = _qualified(s, offset, parts[:-1], database, server)
    if parts[-1] in ("nextval", "currval"):
        return nodes.SequenceValue(offset, table, "nextval" if parts[-1] == "nextval" else "currval")
    return _subscripted(s, nodes.Column(offset, parts[-1], table))


def _qualified(
    s: TokenStream, offset: int, parts: list[str], database: str, server: str
) -> nodes.QualifiedName:
    if len(parts) > 2:
        raise s.refusal()
    return nodes.QualifiedName(offset, parts[-1], parts[0] if len(parts) == 2 else "", database, server)


def _subscripted(s: TokenStream, column: nodes.Column) -> nodes.Expression:
    if not s.accept("["):
        return column
    first = s.integer()
    last = s.integer() if s.accept(",") else None
    s.expect("]")
    return nodes.Subscript(column.offset, column, first, last)


def _call(s: TokenStream, routine: nodes.QualifiedName) -> nodes.Expression:
    s.expect("(")
    arguments: list[nodes.Expression] = []
    named: list[nodes.NamedArgument] = []
    while not s.at(")"):
        if s.at_name() and s.at("=", ahead=1):
            name = s.name()
            s.expect("=")
            named.append(nodes.NamedArgument(name.offset, name.text, _routine_argument(s)))
        elif named:
            raise s.refusal()
        else:
            arguments.append(_routine_argument(s))
        if not s.at(")"):
            s.expect(",")
            if s.at(")"):
                raise s.refusal()
    s.expect(")")
    return parse_windowed(s, nodes.Call(routine.offset, routine, tuple(arguments), tuple(named)))


def _routine_argument(s: TokenStream) -> nodes.Expression:
    """Read a value, or a statement-local variable: ``name # type``."""
    if not (s.at_name() and s.at("#", ahead=1)):
        return s.grammar.value(s)
    name = s.name()
    s.expect("#")
    return nodes.LocalVariable(name.offset, name.text, parse_type(s))


def _aggregate(s: TokenStream) -> nodes.Expression:
    token = s.advance()
    s.expect("(")
    argument: nodes.Expression | None = None
    distinct = False
    if token.text != "count" or not s.accept("*"):
        if s.at_any("distinct", "unique", "all") and not s.at_any(")", ".", ahead=1):
            distinct = s.advance().text != "all"
        argument = s.grammar.value(s)
    s.expect(")")
    return parse_windowed(
        s, nodes.Aggregate(token.offset, cast(nodes.AggregateName, token.text), argument, distinct)
    )


# --- Windows -----------------------------------------------------------------


def parse_windowed(s: TokenStream, function: nodes.Call | nodes.Aggregate) -> nodes.Expression:
    """Read ``OVER (..)`` if present."""
    if s.at("ignore", "nulls"):
        raise s.unsupported("IGNORE NULLS")
    if s.at("respect", "nulls", "over"):
        s.expect("respect", "nulls")
    if not s.at("over", "("):
        return function
    s.expect("over", "(")
    partition_by: tuple[nodes.Expression, ...] = ()
    order_by: tuple[nodes.OrderItem, ...] = ()
    if s.at("partition"):
        s.expect("partition", "by")
        partition_by = s.listed(s.grammar.value)
    if s.at("order"):
        s.expect("order", "by")
        order_by = s.listed(parse_order_item)
    frame = _frame(s) if s.at_any("rows", "range") else None
    s.expect(")")
    return nodes.Window(function.offset, function, partition_by, order_by, frame)


def parse_order_item(s: TokenStream) -> nodes.OrderItem:
    """Read one key of ORDER BY."""
    expression = s.grammar.value(s)
    direction = s.accept_any("asc", "desc")
    nulls_first: bool | None = None
    if s.accept("nulls"):
        nulls_first = s.expect_any("first", "last").text == "first"
    descending = direction is not None and direction.text == "desc"
    return nodes.OrderItem(expression.offset, expression, descending, nulls_first)


def _frame(s: TokenStream) -> nodes.Frame:
    token = s.expect_any("rows", "range")
    if s.accept("between"):
        start = _frame_bound(s)
        s.expect("and")
        end = _frame_bound(s)
    else:
        start, end = _frame_bound(s), nodes.FrameBound(token.offset, "current")
    return nodes.Frame(token.offset, "rows" if token.text == "rows" else "range", start, end)


def _frame_bound(s: TokenStream) -> nodes.FrameBound:
    offset = s.token.offset
    if s.accept("current", "row"):
        return nodes.FrameBound(offset, "current")
    count = None if s.accept("unbounded") else s.grammar.value(s)
    kind = s.expect_any("preceding", "following").text
    return nodes.FrameBound(offset, "preceding" if kind == "preceding" else "following", count)
