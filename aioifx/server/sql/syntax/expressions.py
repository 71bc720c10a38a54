"""Values and conditions, and the precedence of their operators. Never: the words that stand for a value.

Invariants:
1. A value is not a condition: ``SELECT a = b`` is refused at the ``=``. Only parentheses in a condition may
   contain either, and their contents determine what may follow.
2. A chain of AND or OR is one node; arithmetic has one left-associative node per operator.
3. One function reads OR, AND and NOT, and another all arithmetic: fewer frames allow deeper nesting.

Source: the order of operators is documented (SQL Reference, Operator Precedence): UNITS, sign, ``::``,
``* /``, ``+ -``, ``||``, comparisons, NOT, AND, OR.
"""

from __future__ import annotations

from typing import Final, TypeAlias

from aioifx.server.sql.syntax import nodes
from aioifx.server.sql.syntax.primaries import at_query, parse_primary
from aioifx.server.sql.syntax.token_stream import TokenStream
from aioifx.server.sql.syntax.types import at_unit, parse_type, parse_unit

BooleanValue: TypeAlias = nodes.Column | nodes.FieldAccess | nodes.Call | nodes.Case | nodes.Cast
"""Values that are conditions if their type is BOOLEAN; assumed for Case and Cast."""

_ARITHMETIC: Final[dict[str, tuple[nodes.ArithmeticOperator, int]]] = {
    "||": ("||", 1),
    "+": ("+", 2),
    "-": ("-", 2),
    "*": ("*", 3),
    "/": ("/", 3),
}
"""The precedence of each operator."""

_COMPARISONS: Final[dict[str, nodes.ComparisonOperator]] = {
    "=": "=",
    "==": "=",  # documented: Relational Operator
    "<>": "<>",
    "!=": "<>",
    "<": "<",
    "<=": "<=",
    ">": ">",
    ">=": ">=",
}


def parse_value(s: TokenStream) -> nodes.Expression:
    """Read an expression that is not a condition."""
    return _arithmetic(s, 1, conditional=False)


def parse_condition(s: TokenStream) -> nodes.Expression:
    """Read the condition after WHERE, ON, HAVING, WHEN, or in CHECK."""
    condition = parse_either(s)
    _require_condition(s, condition)
    return condition


def parse_either(s: TokenStream) -> nodes.Expression:
    """Read a condition, or a value if no conditional operator follows."""
    alternatives: list[nodes.Expression] = []
    conjuncts: list[nodes.Expression] = []
    while True:
        conjuncts.append(_negated_predicate(s))
        if len(conjuncts) > 1 or alternatives or s.at_any("and", "or"):
            _require_condition(s, conjuncts[-1])
        if s.accept("and"):
            continue
        alternatives.append(
            conjuncts[0] if len(conjuncts) == 1 else nodes.And(conjuncts[0].offset, tuple(conjuncts))
        )
        conjuncts = []
        if s.accept("or"):
            continue
        if len(alternatives) == 1:
            return alternatives[0]
        return nodes.Or(alternatives[0].offset, tuple(alternatives))


def _require_condition(s: TokenStream, node: nodes.Expression) -> None:
    if not isinstance(node, nodes.Condition | BooleanValue):
        raise s.refusal()


def _negated_predicate(s: TokenStream) -> nodes.Expression:
    offsets: list[int] = []
    while s.at("not") and not s.at(".", ahead=1):
        s.descend()
        offsets.append(s.advance().offset)
    node = _predicate(s)
    if offsets:
        _require_condition(s, node)
        s.ascend(len(offsets))
    for offset in reversed(offsets):
        node = nodes.Not(offset, node)
    return node


def _predicate(s: TokenStream) -> nodes.Expression:
    if s.at("exists", "(") and at_query(s, ahead=2):
        return _exists(s)
    left = _arithmetic(s, 1, conditional=True)
    if isinstance(left, nodes.Condition):
        return left
    if s.at_any(*_COMPARISONS):
        return _comparison(s, left)
    if s.accept("is"):
        negated = s.accept("not") is not None
        s.expect("null")
        return nodes.IsNull(left.offset, left, negated)
    negated = s.at("not") and s.at_any("in", "between", "like", "matches", ahead=1)
    if negated:
        s.advance()
    if s.accept("between"):
        low = parse_value(s)
        s.expect("and")
        return nodes.Between(left.offset, left, low, parse_value(s), negated)
    if s.accept("in"):
        return _membership(s, left, negated)
    if s.at_any("like", "matches"):
        return _match(s, left, negated)
    return left


def _exists(s: TokenStream) -> nodes.Exists:
    offset = s.expect("exists", "(").offset
    s.descend()
    query = s.grammar.subquery(s)
    s.ascend()
    s.expect(")")
    return nodes.Exists(offset, query)


def _comparison(s: TokenStream, left: nodes.Expression) -> nodes.Expression:
    token = s.advance()
    operator = _COMPARISONS[token.text]
    if s.at_any("any", "some", "all") and s.at("(", ahead=1) and at_query(s, ahead=2):
        quantifier = s.advance().text
        s.expect("(")
        query = s.grammar.subquery(s)
        s.expect(")")
        return nodes.Quantified(
            left.offset, operator, left, "all" if quantifier == "all" else "any", query, token.offset
        )
    return nodes.Comparison(left.offset, operator, left, parse_value(s), token.offset)


def _membership(s: TokenStream, left: nodes.Expression, negated: bool) -> nodes.Expression:
    if not s.at("("):
        return nodes.InCollection(left.offset, left, parse_value(s), negated)
    s.expect("(")
    if at_query(s):
        query = s.grammar.subquery(s)
        s.expect(")")
        return nodes.InQuery(left.offset, left, query, negated)
    items = s.listed(parse_value)
    s.expect(")")
    return nodes.InList(left.offset, left, items, negated)


def _match(s: TokenStream, left: nodes.Expression, negated: bool) -> nodes.Match:
    kind = s.advance().text
    pattern = parse_value(s)
    escape = parse_value(s) if s.accept("escape") else None
    return nodes.Match(left.offset, "like" if kind == "like" else "matches", left, pattern, escape, negated)


def _arithmetic(s: TokenStream, least: int, *, conditional: bool) -> nodes.Expression:
    """Read operands and operators of at least that precedence. *conditional*: the first may be a condition."""
    s.check()
    left = _signed(s, conditional=conditional)
    while s.at_any(*_ARITHMETIC):
        operator, level = _ARITHMETIC[s.token.text]
        if level < least:
            break
        _refuse_condition(s, left)
        operator_offset = s.advance().offset
        right = _arithmetic(s, level + 1, conditional=False)
        left = nodes.Binary(left.offset, operator, left, right, operator_offset)
    return left


def _signed(s: TokenStream, *, conditional: bool) -> nodes.Expression:
    """Read ``- operand UNITS unit :: type``."""
    signs: list[tuple[int, str]] = []
    while s.at_any("-", "+"):
        s.descend()
        token = s.advance()
        signs.append((token.offset, token.text))
    node = parse_primary(s, conditional=conditional and not signs)
    s.ascend(len(signs))
    if s.at("units") and at_unit(s, ahead=1):
        node = _units(s, node)
    for offset, sign in reversed(signs):
        node = nodes.Unary(offset, "-" if sign == "-" else "+", node)
    while True:
        if s.at("::"):
            _refuse_condition(s, node)
            s.advance()
            node = nodes.Cast(node.offset, node, parse_type(s))
        elif s.at("units") and at_unit(s, ahead=1):
            node = _units(s, node)
        else:
            return node


def _units(s: TokenStream, operand: nodes.Expression) -> nodes.Units:
    _refuse_condition(s, operand)
    s.expect("units")
    return nodes.Units(operand.offset, operand, parse_unit(s))


def _refuse_condition(s: TokenStream, node: nodes.Expression) -> None:
    if isinstance(node, nodes.Condition):
        raise s.refusal()
