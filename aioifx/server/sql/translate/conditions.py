"""Conditions, true, false or NULL: comparisons, IN, BETWEEN, LIKE, ANY, EXISTS. Never: values.

An operand may appear twice in the result, as in BETWEEN. That only costs time: evaluation has no effect but errors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

from aioifx.server.sql.complex_types import ComplexType
from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model import type_rules
from aioifx.server.sql.model.type_rules import LONG_TEXT, Family, common, comparison_type, family_of
from aioifx.server.sql.sqlite import tree
from aioifx.server.sql.syntax import nodes
from aioifx.server.sql.translate.complex_types import contains
from aioifx.server.sql.translate.scopes import Context, Scope
from aioifx.server.sql.translate.sqlite_ddl import collated
from aioifx.server.sql.translate.typed import (
    Typed,
    are_compared_by_sqlite,
    beside,
    comparison,
    converted,
    unpadded_text_of,
)
from aioifx.sqltypes import SqlType


class SubqueryRelation(Protocol):
    """A translated query, as used in an expression."""

    @property
    def names(self) -> Sequence[str]:
        """The names of its columns."""
        ...

    @property
    def outputs(self) -> Sequence[Typed]:
        """Its columns."""
        ...

    @property
    def is_one_row(self) -> bool:
        """Whether it always returns one row: an aggregate without GROUP BY."""
        ...

    def query(self, types: Sequence[SqlType] | None = None) -> tree.Query:
        """The query, its columns cast to *types* and named c1, c2, ..."""
        ...


class Subqueries(Protocol):
    """Translates the queries inside expressions."""

    def subquery(self, query: nodes.Query, scope: Scope) -> SubqueryRelation:
        """A query that may refer to columns of *scope*."""
        ...


class ConditionTranslator(Protocol):
    """A translator of operands."""

    context: Context
    scope: Scope
    subqueries: Subqueries

    def value(self, node: nodes.Expression, hint: SqlType | None = None) -> Typed: ...

    def any_value(self, node: nodes.Expression, hint: SqlType | None = None) -> Typed: ...

    def pair(self, left: nodes.Expression, right: nodes.Expression) -> tuple[Typed, Typed]: ...

    def beside(self, node: nodes.Expression, other: Typed) -> Typed: ...

    def compared(self, node: nodes.Parameter, other: Typed) -> Typed: ...

    def one_column(self, query: nodes.Query) -> SubqueryRelation: ...


_NEGATED: Final = {"=": "<>", "<>": "=", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}


def condition(translator: ConditionTranslator, node: nodes.Expression) -> tree.Node:
    """A condition.

    Raises:
        SqlError: -201, it is a value other than a BOOLEAN.
    """
    translator.context.settings.check_interrupt()
    match node:
        case nodes.And():
            return tree.logic("AND", [condition(translator, operand) for operand in node.operands])
        case nodes.Or():
            return tree.logic("OR", [condition(translator, operand) for operand in node.operands])
        case nodes.Not():
            return tree.Not(condition(translator, node.operand))
        case nodes.Comparison():
            left, right = translator.pair(node.left, node.right)
            return comparison(left, node.operator, right, node.operator_offset)
        case nodes.IsNull():
            return _is_null(translator, node)
        case nodes.Between():
            return _between(translator, node)
        case nodes.InList():
            return _in_list(translator, node)
        case nodes.InCollection():
            return _in_collection(translator, node, translator.value(node.collection))
        case nodes.InQuery():
            return _in_query(translator, node)
        case nodes.Quantified():
            return _quantified(translator, node)
        case nodes.Exists():
            relation = translator.subqueries.subquery(node.query, translator.scope)
            return tree.sql("(EXISTS ({}))", relation.query())
        case nodes.Match():
            return _match(translator, node)
        case _:
            return _boolean(translator, node)


def _boolean(translator: ConditionTranslator, node: nodes.Expression) -> tree.Node:
    value = translator.value(node)
    if value.type is None or family_of(value.type) is not Family.BOOLEAN:
        raise SqlError(-201, offset=node.offset)
    return tree.Operation("=", value.sql, tree.Literal("t"))


def _is_null(translator: ConditionTranslator, node: nodes.IsNull) -> tree.Node:
    """IS NULL refuses a bare ``?`` (assumed: -201, as for every ``?`` without a type)."""
    if isinstance(node.operand, nodes.Parameter):
        raise SqlError(-201, offset=node.operand.offset)
    return tree.Is(translator.any_value(node.operand).sql, node.is_negated)


def _between(translator: ConditionTranslator, node: nodes.Between) -> tree.Node:
    if isinstance(node.operand, nodes.Parameter):
        low = translator.value(node.low)
        operand, high = translator.compared(node.operand, low), translator.beside(node.high, low)
    else:
        operand = translator.value(node.operand)
        low, high = translator.beside(node.low, operand), translator.beside(node.high, operand)
    bounds = comparison(operand, ">=", low, node.offset), comparison(operand, "<=", high, node.offset)
    return _negated(tree.Logic("AND", bounds), node.is_negated)


def _negated(node: tree.Node, is_negated: bool) -> tree.Node:
    return tree.Not(node) if is_negated else node


def _in_collection(
    translator: ConditionTranslator, node: nodes.InCollection | nodes.InList, collection: Typed
) -> tree.Node:
    if isinstance(node.operand, nodes.Parameter) and isinstance(collection.type, ComplexType):
        operand = translator.compared(node.operand, Typed(tree.NULL, collection.type.element))
    else:
        operand = translator.value(node.operand)
    return _negated(contains(collection, operand, node.offset), node.is_negated)


def _in_list(translator: ConditionTranslator, node: nodes.InList) -> tree.Node:
    if len(node.items) == 1 and not isinstance(node.items[0], nodes.Parameter):
        only = translator.value(node.items[0])
        if only.type is not None and family_of(only.type) is Family.COLLECTION:
            operand_type = (
                None if isinstance(node.operand, nodes.Parameter) else translator.value(node.operand).type
            )
            if operand_type is None or family_of(operand_type) is not Family.COLLECTION:
                return _in_collection(translator, node, only)
    if isinstance(node.operand, nodes.Parameter):
        items = [translator.value(item) for item in node.items]
        operand = translator.compared(node.operand, items[0])
    else:
        operand = translator.value(node.operand)
        items = [translator.beside(item, operand) for item in node.items]
    if operand.type is not None:
        shaped = [beside(item, operand.type) for item in items]
        if all(each.type is None or are_compared_by_sqlite(operand.type, each.type) for each in shaped):
            of_items = tuple(each.sql for each in shaped)
            return tree.In(collated(operand.sql, operand.type), of_items, node.is_negated)
    either = tree.logic("OR", [comparison(operand, "=", item, node.offset) for item in items])
    return _negated(either, node.is_negated)


def _in_query(translator: ConditionTranslator, node: nodes.InQuery) -> tree.Node:
    relation = translator.one_column(node.query)
    (output,) = relation.outputs
    if isinstance(node.operand, nodes.Parameter):
        operand = translator.compared(node.operand, output)
    else:
        operand = translator.value(node.operand)
    operand, query = _meeting(operand, output, relation, node.offset)
    return tree.In(collated(operand.sql, operand.type), (query,), node.is_negated)


def _quantified(translator: ConditionTranslator, node: nodes.Quantified) -> tree.Node:
    """ANY becomes EXISTS, ALL becomes NOT EXISTS of the opposite; either is unknown if a comparison is unknown."""
    relation = translator.one_column(node.query)
    (output,) = relation.outputs
    left = (
        translator.compared(node.left, output)
        if isinstance(node.left, nodes.Parameter)
        else translator.value(node.left)
    )
    alias = translator.context.alias()
    right = Typed(tree.unquoted(alias, 1), output.type)
    is_any = node.quantifier == "any"
    operator = node.operator if is_any else _NEGATED[node.operator]
    test = comparison(left, operator, right, node.operator_offset)
    rows = tree.query_sql("SELECT 1 FROM ({}) AS {} WHERE ", relation.query(), alias)
    decided, otherwise = (1, 0) if is_any else (0, 1)
    branches = (
        (tree.sql("EXISTS ({}{})", rows, test), tree.Literal(decided)),
        (tree.sql("EXISTS ({}{})", rows, tree.Is(test)), tree.NULL),
    )
    return tree.Case(branches, tree.Literal(otherwise))


def _match(translator: ConditionTranslator, node: nodes.Match) -> tree.Node:
    operand = translator.value(node.operand, LONG_TEXT)
    pattern = translator.value(node.pattern, LONG_TEXT)
    arguments = [unpadded_text_of(operand), unpadded_text_of(pattern)]
    if node.escape is not None:
        arguments.append(unpadded_text_of(translator.value(node.escape, LONG_TEXT)))
    return _negated(tree.call(f"ifx_{node.kind}", *arguments), node.is_negated)


def _meeting(
    operand: Typed, output: Typed, relation: SubqueryRelation, offset: int
) -> tuple[Typed, tree.Query]:
    """Both sides of ``x IN (SELECT y ..)`` in one storage form, which SQLite can compare."""
    if operand.type is None or output.type is None or are_compared_by_sqlite(operand.type, output.type):
        return operand, relation.query()
    type_ = common(operand.type, output.type)
    if type_ is None:
        if not type_rules.are_comparable(operand.type, output.type):
            raise SqlError(-1260, offset=offset)
        is_text = family_of(operand.type) is Family.TEXT
        type_ = comparison_type(output.type if is_text else operand.type)
    return converted(operand, type_), relation.query((type_,))
