"""Expressions -> SQLite's tree with Informix types, bottom-up. Never: FROM clauses, built-in functions, windows.

Invariants:
1. `value` returns a Typed. `condition` returns a truth value: true, false or NULL. They are not
   interchangeable.
2. A ``?`` gets its type from its context; `value` has a hint of that type.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Final

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model import type_rules
from aioifx.server.sql.model.storage import type_number
from aioifx.server.sql.model.type_rules import (
    INTEGER,
    INTERVALS,
    LONG_TEXT,
    Family,
    char,
    common,
    comparison_type,
    decimal,
    family_of,
    interval,
    is_large,
    is_padded,
    plain,
    varchar,
)
from aioifx.server.sql.runtime.strings import byte_length
from aioifx.server.sql.sqlite.tree import NULL, Case, Literal, Node, Parameter, Piece, call, query_sql, sql
from aioifx.server.sql.syntax import nodes
from aioifx.server.sql.translate import calls, complex_types
from aioifx.server.sql.translate.arithmetic import COUNT, aggregated, arithmetic, concatenation
from aioifx.server.sql.translate.conditions import Subqueries, SubqueryRelation, condition
from aioifx.server.sql.translate.large_objects import large_cast, large_subscript
from aioifx.server.sql.translate.scopes import Context, Scope
from aioifx.server.sql.translate.sequences import sequence_value
from aioifx.server.sql.translate.typed import (
    UNTYPED_NULL,
    Typed,
    cast,
    comparison,
    converted,
    current,
    literal_number,
    literal_of,
    number,
    number_of,
    require_castable,
    session_constant,
    text_of,
)
from aioifx.server.sql.translate.windows import window
from aioifx.sqltypes import Qualifier, SqlType, TypeCode, Unit, datetime_qualifier

_LONGEST_UNITS: Final = 9


@dataclass(slots=True)
class Expressions:
    """Translates the expressions in one clause of one SELECT, or in a DML statement."""

    context: Context
    scope: Scope
    subqueries: Subqueries
    allows_aggregates: bool = False
    """Whether aggregates are allowed here: select list, HAVING, ORDER BY."""
    sequences: int = -201
    """The SQLCODE of NEXTVAL and CURRVAL here; 0 where they are allowed: select list, VALUES, SET."""

    # --- Values -------------------------------------------------------------------------------------------------------

    def value(self, node: nodes.Expression, hint: SqlType | None = None) -> Typed:
        """The value of an expression that is not a large object; *hint* is the type of a ``?``.

        Raises:
            SqlError: -615, it is a large object; -616, a subscript of one.
        """
        value = self.any_value(node, hint)
        if value.type is not None and is_large(value.type):
            raise SqlError(-616 if isinstance(node, nodes.Subscript) else -615, offset=node.offset)
        return value

    def any_value(self, node: nodes.Expression, hint: SqlType | None = None) -> Typed:
        """The value of an expression, which may be a large object.

        Raises:
            SqlError: -201, a condition, or a ``?`` without a type.
        """
        self.context.settings.check_interrupt()
        match node:
            case nodes.Null():
                return UNTYPED_NULL
            case nodes.Number():
                return literal_number(node.value)
            case nodes.String():
                size = byte_length(node.value, self.context.settings.code_set)
                if size > type_rules.CHAR_LIMIT:  # assumed: the limit is that of CHAR
                    raise SqlError(-280, offset=node.offset)
                return Typed(Literal(node.value), char(size), False, node.value)
            case nodes.Parameter():
                return self._parameter(node, hint)
            case nodes.Variable():
                value: Node = Parameter(node.index + 1)
                for index in node.path:
                    value = call("ifx_field", value, index)
                return Typed(value, node.type)
            case nodes.DatetimeLiteral():
                return literal_of(node.text, SqlType(TypeCode.DATETIME, node.qualifier.encoded))
            case nodes.IntervalLiteral():
                return literal_of(node.text, SqlType(TypeCode.INTERVAL, node.qualifier.encoded))
            case nodes.Column() | nodes.FieldAccess():
                return self._column(node)
            case nodes.RowConstructor():
                return complex_types.row(self.conditional(), node, hint)
            case nodes.MultisetQuery():
                return complex_types.multiset(self.subqueries.subquery(node.query, self.scope), node)
            case nodes.CollectionConstructor():
                return complex_types.collection(self.conditional(), node, hint)
            case nodes.SessionConstant():
                return session_constant(node)
            case nodes.Current():
                return current(node)
            case nodes.Subscript():
                return self._subscript(node)
            case nodes.Ancestor():
                return self._of_ancestor(node, hint)
            case nodes.Unary():
                return self._signed(node)
            case nodes.Binary():
                return self._binary(node)
            case nodes.Cast():
                return self._cast(node)
            case nodes.Case():
                return self.conditional()._case(node, hint)
            case nodes.Units():
                return self._units(node)
            case nodes.Extend():
                return self._extend(node)
            case nodes.Trim():
                return self._trim(node)
            case nodes.Call():
                return calls.function_call(self, node, hint)
            case nodes.Aggregate():
                return self._aggregate(node)
            case nodes.Window():
                return self._window(node)
            case nodes.Subquery():
                return self._scalar(node)
            case nodes.SequenceValue():
                if self.sequences:
                    token = node.kind.upper() if self.sequences == -999 else ""
                    raise SqlError(self.sequences, token=token, offset=node.offset)
                return sequence_value(node, self.context)
            case _:
                raise SqlError(-201, offset=node.offset)

    def conditional(self) -> Expressions:
        """The translator of a part that is not evaluated for every row, where sequences are not allowed."""
        return self if self.sequences else replace(self, sequences=-999)

    def typed(self, node: nodes.Expression, hint: SqlType | None = None) -> Typed:
        """The value of an expression that must have a type."""
        value = self.value(node, hint)
        if value.type is None:
            raise SqlError(-201, offset=node.offset)
        return value

    def pair(self, left: nodes.Expression, right: nodes.Expression) -> tuple[Typed, Typed]:
        """Two operands of a comparison; a ``?`` among them is compared with the other."""
        if isinstance(left, nodes.Parameter):
            other = self.value(right)
            return self.compared(left, other), other
        one = self.value(left)
        return one, self.beside(right, one)

    def beside(self, node: nodes.Expression, other: Typed) -> Typed:
        """The other operand of a comparison."""
        return (
            self.compared(node, other) if isinstance(node, nodes.Parameter) else self.value(node, other.type)
        )

    def compared(self, node: nodes.Parameter, other: Typed) -> Typed:
        """A ``?`` that is compared with a value.

        Raises:
            SqlError: -201, the value has no type either.
        """
        if other.type is None:
            raise SqlError(-201, offset=node.offset)
        type_ = comparison_type(plain(other.type))
        return Typed(self.context.parameter(node, type_, compared=True), type_, is_parameter=True)

    def _column(self, node: nodes.Column | nodes.FieldAccess) -> Typed:
        try:
            _, column = self.scope.find(node)
        except SqlError as error:
            if self.context.gone is None or error.sqlcode != -217:
                raise
            return Typed(Literal(None), self.context.gone)
        if self.context.names is not None:
            self.context.names.columns.append(self.scope.resolved(node))
        return Typed(column.sql, column.type, column.is_nullable)

    def _parameter(self, node: nodes.Parameter, hint: SqlType | None) -> Typed:
        if hint is None:
            raise SqlError(-201, offset=node.offset)
        return Typed(self.context.parameter(node, hint), hint, is_parameter=True)

    def _subscript(self, node: nodes.Subscript) -> Typed:
        operand = self.any_value(node.operand)
        type_ = operand.known_type
        last = node.first if node.last is None else node.last
        if family_of(type_) is Family.SIMPLE_LARGE:
            return large_subscript(operand, node.first, last, node.offset)
        if family_of(type_) is not Family.TEXT:
            raise SqlError(-999, token="[]", offset=node.offset)
        if not 1 <= node.first <= last or last > type_rules.size_of(type_):
            raise SqlError(-306, offset=node.offset)
        size = last - node.first + 1
        result = (
            replace(type_, length=size) if is_padded(type_) else varchar(size, type_rules.is_national(type_))
        )
        # The stored text of a CHAR may lack its blanks: a substring beyond it is empty, and a CHAR is padded again.
        return Typed(call("ifx_subscript", text_of(operand), node.first, last), result, operand.is_nullable)

    def _of_ancestor(self, node: nodes.Ancestor, hint: SqlType | None) -> Typed:
        scope = self.scope.of_ancestor(node.kind)
        if scope is None:
            raise SqlError(-201, offset=node.offset)
        return replace(self, scope=scope, allows_aggregates=False).any_value(node.operand, hint)

    def _signed(self, node: nodes.Unary) -> Typed:
        operand = self.value(node.operand, decimal())
        if node.operator == "+" or operand.type is None:
            return operand
        if isinstance(operand.constant, int | Decimal):
            return Typed(number(-operand.constant), operand.type, False, -operand.constant)
        if family_of(operand.type) in INTERVALS:
            return Typed(call("ifx_interval_neg", operand.sql), operand.type, operand.is_nullable)
        operand = number_of(operand)
        result = type_rules.number_of(operand.known_type, "-", INTEGER)
        return Typed(call("ifx_neg", operand.sql, type_number(result)), result, operand.is_nullable)

    def _binary(self, node: nodes.Binary) -> Typed:
        if node.operator == "||":
            left, right = self.value(node.left, LONG_TEXT), self.value(node.right, LONG_TEXT)
            return concatenation(left, right)
        left, right = self._operands(node)
        if left.type is None or right.type is None:
            known = left.type or right.type
            return Typed(NULL, known)
        if not type_rules.is_same_distinct(left.type, right.type):
            raise SqlError(-674, token=_ROUTINES[node.operator], offset=node.operator_offset)
        result = type_rules.sum_of(left.type, node.operator, right.type)
        if result is None:
            both = {family_of(left.type), family_of(right.type)}
            mixed = both & (INTERVALS | {Family.DATETIME, Family.DATE})
            raise SqlError(-1266 if mixed else -1260, offset=node.operator_offset)
        nullable = left.is_nullable or right.is_nullable
        return Typed(arithmetic(node.operator, left, right, result), result, nullable)

    def _operands(self, node: nodes.Binary) -> tuple[Typed, Typed]:
        """The operands of arithmetic; a ``?`` gets its type from the other operand."""
        if isinstance(node.left, nodes.Parameter):
            right = self.typed(node.right)
            return self._exact(node.left, node.operator, right.known_type), right
        left = self.value(node.left)
        if isinstance(node.right, nodes.Parameter):
            if left.type is None:
                raise SqlError(-201, offset=node.offset)
            return left, self._exact(node.right, node.operator, left.type)
        return left, self.value(node.right)

    def _exact(self, node: nodes.Parameter, operator: str, other: SqlType) -> Typed:
        """A ``?`` beside a number has its type; beside a DATE, days; beside a DATETIME, an INTERVAL (assumed)."""
        family = family_of(other)
        if family is Family.DATE:
            type_ = INTEGER
        elif family is Family.DATETIME:
            type_ = _interval_beside(other)
        elif family is Family.TEXT or (family in INTERVALS and operator in "*/"):
            type_ = decimal()
        else:
            type_ = plain(other)
        parameter = self.context.parameter(node, comparison_type(type_), exact=True)
        return Typed(parameter, type_, is_parameter=True)

    def _cast(self, node: nodes.Cast) -> Typed:
        type_ = self.context.resolved(node.type)
        if isinstance(node.operand, nodes.Parameter):
            return Typed(self.context.parameter(node.operand, type_), type_)
        if family_of(type_) is Family.OTHER:
            raise SqlError(-999, token=str(type_), offset=node.offset)
        is_constructor = isinstance(node.operand, nodes.RowConstructor | nodes.CollectionConstructor)
        operand = self.any_value(node.operand, type_ if is_constructor else None)
        if operand.type is None:
            return Typed(NULL, type_)
        if is_large(operand.type) or is_large(type_):
            return large_cast(operand, type_, node.offset)
        require_castable(operand.type, type_, node.offset)
        return Typed(cast(operand, type_), type_, operand.is_nullable)

    def _case(self, node: nodes.Case, hint: SqlType | None) -> Typed:
        results = [branch.result for branch in node.branches]
        otherwise = [node.otherwise] if node.otherwise is not None else []
        values, type_ = self.promoted([*results, *otherwise], hint)
        branches = (
            (self._case_condition(node.operand, branch.condition), result.sql)
            for branch, result in zip(node.branches, values, strict=False)
        )
        case = Case(tuple(branches), values[-1].sql if otherwise else None)
        nullable = not otherwise or any(value.is_nullable for value in values)
        return Typed(case, type_, nullable)

    def _case_condition(self, operand: nodes.Expression | None, condition: nodes.Expression) -> Node:
        if operand is None:
            return self.condition(condition)
        left, right = self.pair(operand, condition)
        return comparison(left, "=", right, condition.offset)

    def promoted(
        self, expressions: Sequence[nodes.Expression], hint: SqlType | None = None
    ) -> tuple[list[Typed], SqlType]:
        """Values of several expressions, all converted to their common type.

        Raises:
            SqlError: -800, they have no common type.
        """
        found = [
            None if isinstance(node, nodes.Parameter) else self.value(node, hint) for node in expressions
        ]
        type_ = hint if all(value is None or value.type is None for value in found) else None
        for node, value in zip(expressions, found, strict=True):
            if value is None or value.type is None:
                continue
            joined = plain(value.type) if type_ is None else common(type_, value.type)
            if joined is None:
                raise SqlError(-800, offset=node.offset)
            type_ = joined
        if type_ is None:
            raise SqlError(-201, offset=expressions[0].offset)
        if None in found:
            type_ = _unbounded(type_)
        values = [
            self.value(node, type_) if value is None else converted(value, type_)
            for node, value in zip(expressions, found, strict=True)
        ]
        return values, type_

    def _units(self, node: nodes.Units) -> Typed:
        if node.unit == Unit.FRACTION:  # undocumented: the fraction of a second that one unit is
            raise SqlError(-999, token="UNITS FRACTION", offset=node.offset)
        type_ = interval(Qualifier(node.unit, node.unit, _LONGEST_UNITS))
        count = number_of(self.value(node.operand, decimal()))
        return Typed(call("ifx_units", count.sql, type_number(type_)), type_, count.is_nullable)

    def _extend(self, node: nodes.Extend) -> Typed:
        qualifier = node.qualifier or datetime_qualifier(Unit.YEAR, Unit.FRACTION, 3)
        type_ = SqlType(TypeCode.DATETIME, qualifier.encoded)
        operand = self.value(node.operand, type_)
        if operand.type is not None and family_of(operand.type) not in _MOMENTS:
            raise SqlError(-1260, offset=node.offset)
        return converted(operand, type_) if operand.type is not None else Typed(NULL, type_)

    def _trim(self, node: nodes.Trim) -> Typed:
        operand = self.value(node.operand, LONG_TEXT)
        name = "ifx_trim" if node.side == "both" else f"ifx_trim_{node.side}"
        arguments = [text_of(operand)]
        if node.characters is not None:
            arguments.append(text_of(self.value(node.characters, LONG_TEXT)))
        size = type_rules.size_of(operand.type) if operand.type is not None else 1
        national = operand.type is not None and type_rules.is_national(operand.type)
        return Typed(call(name, *arguments), varchar(size, national), operand.is_nullable)

    # --- Aggregates ---------------------------------------------------------------------------------------------------

    def _aggregate(self, node: nodes.Aggregate, over: Piece = "") -> Typed:
        if not self.allows_aggregates:
            raise SqlError(-201, offset=node.offset)
        if node.argument is None:
            return Typed(sql("CAST(count(*){} AS TEXT)", over), COUNT, False)
        inner = replace(self, allows_aggregates=False, sequences=-201)
        operand = inner.typed(node.argument)
        complex_types.require_aggregated(node, operand.type)
        return aggregated(node.name, operand, "DISTINCT " if node.is_distinct else "", node.offset, over)

    def _window(self, node: nodes.Window) -> Typed:
        if not self.allows_aggregates:
            raise SqlError(-201, offset=node.offset)
        return window(replace(self, sequences=-201), node)

    def aggregate_in_window(self, node: nodes.Aggregate, over: Node) -> Typed:
        """An aggregate as the function of a window."""
        return self._aggregate(node, sql(" {}", over))

    # --- Subqueries ---------------------------------------------------------------------------------------------------

    def _scalar(self, node: nodes.Subquery) -> Typed:
        relation = self.one_column(node.query)
        (output,) = relation.outputs
        if relation.is_one_row:
            return Typed(sql("({})", relation.query()), output.type)
        return Typed(sql("({})", query_sql("SELECT ifx_single(c1) FROM ({})", relation.query())), output.type)

    def one_column(self, query: nodes.Query) -> SubqueryRelation:
        """A subquery of one column.

        Raises:
            SqlError: -201, it has several columns.
        """
        relation = self.subqueries.subquery(query, self.scope)
        if len(relation.outputs) != 1:
            raise SqlError(-201, offset=query.offset)
        return relation

    # --- Conditions ---------------------------------------------------------------------------------------------------

    def condition(self, node: nodes.Expression) -> Node:
        """A condition.

        Raises:
            SqlError: -201, it is a value other than a BOOLEAN.
        """
        return condition(self, node)


_ROUTINES: Final = {"+": "plus", "-": "minus", "*": "times", "/": "divide"}
"""The functions of the operators (documented: operator binding); a DISTINCT type needs the same on both sides."""

_MOMENTS: Final = frozenset({Family.DATE, Family.DATETIME, Family.TEXT})


def _unbounded(type_: SqlType) -> SqlType:
    """The common type of branches if one is a ``?``; wide enough for any bound value."""
    return comparison_type(type_) if family_of(type_) in (Family.TEXT, Family.DECIMAL) else type_


def _interval_beside(moment: SqlType) -> SqlType:
    """An INTERVAL of days and smaller units, down to the last one of a DATETIME."""
    qualifier = type_rules.qualifier_of(moment)
    return interval(Qualifier(Unit.DAY, max(Unit.DAY, qualifier.last), _LONGEST_UNITS, qualifier.scale))
