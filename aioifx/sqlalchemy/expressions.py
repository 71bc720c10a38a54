"""Expressions as Informix's SQL: casts of parameters, conditions as values, operators. Never: functions.

Where an expression stands decides its text, and travels down the tree as the keyword `place`:

- `item`: by itself in a select list. A parameter and NULL need a type there: ``?::INTEGER``, ``NULL::LVARCHAR``.
- `typed`: inside an item, or a result of CASE. Parameters get a cast; NULL does not.
- `value`: an operand, or what INSERT and UPDATE store. Parameters take their type from the other operand.
- `source`: what MERGE stores, by way of a cast.
- none: a condition, or unknown.

In the first four a condition becomes ``CASE WHEN .. THEN 't'::BOOLEAN ..``: Informix has no conditions as values.

Source: documented (Guide to SQL: Syntax, "Expressions in the Select List": variables by themselves are not allowed
there; Guide to SQL: Reference, BOOLEAN). DECODE takes two NULLs as equal (Syntax, "DECODE Function").
"""

# pyright: reportUnknownMemberType=false, reportUnknownParameterType=false, reportMissingParameterType=false
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false, reportIncompatibleMethodOverride=false
# pyright: reportPrivateUsage=false
# mypy: disable-error-code="no-untyped-call, no-any-return, override"
# SQLAlchemy's compilers are annotated in part, and a dialect overrides methods that start with an underscore.

from __future__ import annotations

import re
from typing import Any, Final, cast

from sqlalchemy import exc
from sqlalchemy import types as sqltypes
from sqlalchemy.sql import compiler, elements, operators
from sqlalchemy.util import memoized_property

from aioifx.errors import DataError
from aioifx.sqlalchemy.types import is_text_by_option

NO_TABLE: Final = " FROM informix.systables WHERE tabid = 1"
"""The one row that a SELECT without FROM reads, with a condition already.

It is in the database itself: a UNION in a subquery cannot read other databases (documented: "Restrictions on a Combined
SELECT"), and the owner is needed in ANSI databases.
"""

_TEXT_CAST: Final = "LVARCHAR"
_MAX_TEXT: Final = 2048
"""Bytes of an LVARCHAR without a length. A row has at most 32,767, so that the greatest length would fit once."""

_TEXT_LENGTH: Final = re.compile(r"(?:N?CHAR|L?VARCHAR|NVARCHAR)(?:\((\d+)|$)")
_MAX_PRECISION: Final = 32

ITEM_OPERATORS: Final = frozenset(
    {operators.getitem, operators.json_getitem_op, operators.json_path_getitem_op}
)
_RANGES: Final = frozenset({operators.between_op, operators.not_between_op})
_TEMPORAL: Final = (sqltypes.Date, sqltypes.DateTime, sqltypes.Interval, sqltypes.Time)
_SIMPLE_LARGE: Final = ("BYTE", "TEXT")
_LARGE: Final = ("BLOB", "CLOB", *_SIMPLE_LARGE)


def is_condition(element: Any) -> bool:
    """Whether an expression is a condition, which cannot be a value."""
    if isinstance(element, elements.BinaryExpression):
        is_range = element.operator in _RANGES  # their type is unknown
        return is_range or (_is_boolean(element) and element.operator not in ITEM_OPERATORS)
    if isinstance(element, elements.UnaryExpression):
        return element.operator in (operators.inv, operators.exists, operators.is_false)
    return isinstance(element, elements.BooleanClauseList)


def _affinity(element: Any) -> Any:
    return element.type._type_affinity


def _is_boolean(element: Any) -> bool:
    return _affinity(element) is sqltypes.Boolean


def _is_untyped(element: Any) -> bool:
    return isinstance(element, elements.Null | elements.BindParameter) and not getattr(
        element, "expanding", False
    )


def _never_null(element: Any) -> bool:
    return getattr(element, "operator", None) in (operators.exists, operators.is_, operators.is_not)


def _text_limit(type_text: str | None) -> int | None:
    """The bytes that a type of text holds; None for other types."""
    length = _TEXT_LENGTH.match(type_text or "")
    return length and int(length[1] or _MAX_TEXT)


class _Bounded(sqltypes.TypeDecorator[Any]):
    """The type of text that is cast to a type of *limit* bytes, which would cut longer text silently.

    Args:
        column: what the text is stored into; empty: it is in a select list.
    """

    impl = sqltypes.String
    cache_ok = True

    def __init__(self, inner: Any, limit: int = _MAX_TEXT, column: str = "") -> None:
        super().__init__()
        self.inner, self.limit, self.column = inner, limit, column

    def bind_processor(self, dialect: Any) -> Any:
        process = self.inner._cached_bind_processor(dialect)

        def checked(value: Any) -> Any:
            value = value if process is None else process(value)
            if isinstance(value, str) and (size := len(dialect.code_set.encode(value))) > self.limit:
                raise self._error(size)
            return value

        return checked

    def _error(self, size: int) -> Exception:
        if self.column:
            text = f"column {self.column}: text of {size} bytes does not fit {self.limit} bytes"
            return DataError(text, column=self.column)
        return ValueError(
            f"text in a select list: expected at most {self.limit} bytes; give literal() a String(length)"
        )


class ExpressionCompiler(compiler.SQLCompiler):
    """Compiles expressions."""

    # -- types of casts -----------------------------------------------------------------------------------------------

    def cast_type(self, type_: Any) -> str | None:
        """The type of a parameter of *type_*, or None without one: binary large objects, unknown types."""
        impl = type_._unwrapped_dialect_impl(self.dialect)
        if isinstance(impl, sqltypes.NullType):
            return None
        if self.is_large(type_):
            return f"{_TEXT_CAST}(32739)" if isinstance(impl, sqltypes.String) else None
        if isinstance(impl, sqltypes.String) and impl.length is None:
            if cast(Any, self.dialect).text_length is None or not is_text_by_option(impl):
                return _TEXT_CAST
        return self._typed(elements.TypeClause(type_))

    def is_large(self, type_: Any) -> bool:
        """Whether a column of *type_* is a large object, which nothing is cast to."""
        return self._column_type(type_).startswith(_LARGE)

    def is_simple_large(self, type_: Any) -> bool:
        """Whether a column of *type_* is BYTE or TEXT, which take parameters in INSERT and UPDATE alone."""
        return self._column_type(type_).startswith(_SIMPLE_LARGE)

    def _column_type(self, type_: Any) -> str:
        return str(self.dialect.type_compiler_instance.process(type_)).upper()

    def _typed(self, clause: Any, **kw: Any) -> str:
        impl = clause.type._unwrapped_dialect_impl(self.dialect)
        if isinstance(impl, sqltypes.Numeric) and not isinstance(impl, sqltypes.Float):
            if impl.precision is None or impl.precision > _MAX_PRECISION:
                return f"DECIMAL({_MAX_PRECISION})"  # without a scale the point floats
        return self.process(clause, **kw)

    def visit_cast(self, cast: Any, place: str | None = None, **kw: Any) -> str:
        clause = cast.clause.typed_expression if isinstance(cast.clause, elements.TypeCoerce) else cast.clause
        target = cast.type._type_affinity
        if _is_boolean(clause) and target in (sqltypes.Integer, sqltypes.Numeric):
            text = self.condition(clause, **kw)  # Informix has no cast of a BOOLEAN to a number
            return f"CAST(CASE WHEN {text} THEN 1 WHEN NOT ({text}) THEN 0 END AS {self._typed(cast.typeclause, **kw)})"
        place = "value"
        if isinstance(clause, elements.BindParameter) and not clause.type._isnull:
            # A parameter has the cast's type, unless its own is another one.
            is_other = clause.type._type_affinity is not target
            place = "typed" if is_other else place
        return f"CAST({self.process(clause, place=place, **kw)} AS {self._typed(cast.typeclause, **kw)})"

    # -- parameters and constants -------------------------------------------------------------------------------------

    stored: dict[str, Any] = {}  # noqa: RUF012 - replaced before it is changed
    """The columns of values in which the server would cut text silently, by the key of the parameter."""

    def bounded(self, parameter: Any, column: Any) -> Any:
        """A parameter whose text is checked against a column."""
        limit = _text_limit(self.cast_type(column.type))
        if limit is None:
            return parameter
        return parameter._with_binary_element_type(_Bounded(parameter.type, limit, column.name))

    def visit_bindparam(self, bindparam: Any, place: str | None = None, **kw: Any) -> str:
        if (column := self.stored.get(bindparam.key)) is not None:
            bindparam = self.bounded(bindparam, column)
        if place not in ("item", "typed") or bindparam.expanding:
            return super().visit_bindparam(bindparam, **kw)
        if kw.get("literal_binds"):
            text = super().visit_bindparam(bindparam, **kw)
            if text == "NULL":
                return self.visit_null(None, place)
            # A CHAR would have at least one character, and the length of the longest row or branch.
            is_text = place == "item" and text.startswith("'") and isinstance(bindparam.type, sqltypes.String)
            type_text = self.cast_type(bindparam.type) if is_text else None
            limit = _text_limit(type_text)
            value = cast(Any, self.dialect).code_set.encode(text[1:-1].replace("''", "'"))
            is_cut = limit is None or len(value) > limit
            return text if is_cut else f"{text}::{type_text}"
        type_text = _TEXT_CAST if bindparam.type._isnull else self.cast_type(bindparam.type)
        if (limit := _text_limit(type_text)) is not None:
            bindparam = bindparam._with_binary_element_type(_Bounded(bindparam.type, limit))
        text = super().visit_bindparam(bindparam, **kw)
        return f"{text}::{type_text}" if type_text else text

    def render_literal_value(self, value: Any, type_: Any, **kw: Any) -> str:
        """A literal, without line breaks: they are an error within one (documented: -282)."""
        text = super().render_literal_value(value, type_, **kw)
        if not isinstance(value, str) or "\n" not in text:
            return text
        lines = "' || CHR(10) || '".join(text.split("\n"))
        return f"({lines})"

    def visit_null(self, expr: Any, place: str | None = None, **kw: Any) -> str:
        return f"NULL::{_TEXT_CAST}" if place == "item" else "NULL"

    def visit_true(self, expr: Any, **kw: Any) -> str:
        return "'t'::BOOLEAN"

    def visit_false(self, expr: Any, **kw: Any) -> str:
        return "'f'::BOOLEAN"

    def condition(self, element: Any, **kw: Any) -> str:
        """The text of a condition."""
        kw.pop("place", None)
        if isinstance(element, elements.True_ | elements.False_):
            return "1 = 1" if isinstance(element, elements.True_) else "1 = 0"
        if isinstance(element, elements.Null):
            return "NULL::BOOLEAN = 't'"
        if isinstance(element, elements.BindParameter):
            return f"{self.process(element, place='typed', **kw)} = 't'"
        return str(self.process(element, **kw))

    def _generate_delimited_and_list(self, clauses: Any, **kw: Any) -> str:
        kw.pop("place", None)
        if len(clauses) == 1 and isinstance(clauses[0], elements.True_ | elements.False_):
            return self.condition(clauses[0])
        return str(super()._generate_delimited_and_list(clauses, **kw))

    # -- conditions and operators -------------------------------------------------------------------------------------

    def _as_value(self, element: Any, text: str, place: str | None) -> str:
        """*text* of a condition, as a value if the place needs one."""
        if place is None or not is_condition(element):
            return text
        otherwise = "ELSE" if _never_null(element) else f"WHEN NOT ({text}) THEN"
        return f"CASE WHEN {text} THEN 't'::BOOLEAN {otherwise} 'f'::BOOLEAN END"

    def visit_binary(
        self, binary: Any, override_operator: Any = None, place: str | None = None, **kw: Any
    ) -> str:
        if binary.operator in ITEM_OPERATORS:
            return super().visit_binary(binary, override_operator=override_operator, **kw)
        sides = (binary.left, binary.right)
        untyped = all(_is_untyped(side) for side in sides)
        text = super().visit_binary(
            binary, override_operator=override_operator, place="typed" if untyped else "value", **kw
        )
        return self._as_value(binary, text, place)

    def visit_unary(self, unary: Any, place: str | None = None, **kw: Any) -> str:
        if is_condition(unary):
            return self._as_value(unary, super().visit_unary(unary, **kw), place)
        if unary.operator is operators.is_true and isinstance(
            unary.element, elements.True_ | elements.False_
        ):
            return self.condition(unary.element) if place is None else str(self.process(unary.element))
        if unary.operator:
            place = "typed" if isinstance(unary.element, elements.BindParameter) else "value"
        return super().visit_unary(unary, place=place, **kw)

    def visit_expression_clauselist(self, clauselist: Any, place: str | None = None, **kw: Any) -> str:
        if clauselist.operator is operators.add:
            return " + ".join(self._terms(*clauselist.clauses, place="value", **kw))
        if not isinstance(clauselist, elements.BooleanClauseList):
            return super().visit_expression_clauselist(clauselist, place="value", **kw)
        return self._as_value(clauselist, super().visit_expression_clauselist(clauselist, **kw), place)

    def visit_is__binary(self, binary: Any, operator: Any, **kw: Any) -> str:
        if isinstance(binary.right, elements.True_ | elements.False_):
            return f"{self.process(binary.left, **kw)} = {self.process(binary.right, **kw)}"
        return f"{self.process(binary.left, **kw)} IS {self.process(binary.right, **kw)}"

    def visit_is_not_binary(self, binary: Any, operator: Any, **kw: Any) -> str:
        if isinstance(binary.right, elements.True_ | elements.False_):
            return self.visit_is_distinct_from_binary(binary, operator, **kw)
        return f"{self.process(binary.left, **kw)} IS NOT {self.process(binary.right, **kw)}"

    def visit_is_distinct_from_binary(self, binary: Any, operator: Any, **kw: Any) -> str:
        if isinstance(binary.right, elements.Null):
            return f"{self.process(binary.left, **kw)} IS NOT NULL"
        return f"{self._decoded(binary, **kw)} = 1"

    def visit_is_not_distinct_from_binary(self, binary: Any, operator: Any, **kw: Any) -> str:
        if isinstance(binary.right, elements.Null):
            return f"{self.process(binary.left, **kw)} IS NULL"
        return f"{self._decoded(binary, **kw)} = 0"

    def _decoded(self, binary: Any, **kw: Any) -> str:
        """0 if both sides are equal or NULL, else 1. The first argument has the type, so it is not a parameter."""
        left, right = binary.left, binary.right
        if isinstance(left, elements.BindParameter):
            left, right = right, left
        return f"DECODE({self.process(left, **kw)}, {self.process(right, **kw)}, 0, 1)"

    def visit_mod_binary(self, binary: Any, operator: Any, **kw: Any) -> str:
        return self._called("MOD", binary, **kw)

    def visit_bitwise_and_op_binary(self, binary: Any, operator: Any, **kw: Any) -> str:
        return self._called("BITAND", binary, **kw)

    def visit_bitwise_or_op_binary(self, binary: Any, operator: Any, **kw: Any) -> str:
        return self._called("BITOR", binary, **kw)

    def visit_bitwise_xor_op_binary(self, binary: Any, operator: Any, **kw: Any) -> str:
        return self._called("BITXOR", binary, **kw)

    def visit_bitwise_not_op_unary_operator(self, element: Any, operator: Any, **kw: Any) -> str:
        return f"BITNOT({self.process(element.element, **kw)})"

    def visit_bitwise_lshift_op_binary(self, binary: Any, operator: Any, **kw: Any) -> str:
        return self._shifted("*", binary, **kw)

    def visit_bitwise_rshift_op_binary(self, binary: Any, operator: Any, **kw: Any) -> str:
        return self._shifted("/", binary, **kw)

    def _shifted(self, sign: str, binary: Any, **kw: Any) -> str:
        kw["place"] = "typed"
        left, right = self.process(binary.left, **kw), self.process(binary.right, **kw)
        return f"FLOOR({left} {sign} POW(2, {right}))::BIGINT"

    def _called(self, name: str, binary: Any, **kw: Any) -> str:
        return f"{name}({self.process(binary.left, **kw)}, {self.process(binary.right, **kw)})"

    def visit_add_binary(self, binary: Any, operator: Any, **kw: Any) -> str:
        return " + ".join(self._terms(binary.left, binary.right, **kw))

    def visit_sub_binary(self, binary: Any, operator: Any, **kw: Any) -> str:
        """``a - b``. Between two DATEs that is a number of days, which SQLAlchemy takes as an interval."""
        text = " - ".join(self._terms(binary.left, binary.right, **kw))
        both_dates = all(_affinity(side) is sqltypes.Date for side in (binary.left, binary.right))
        return f"({text}) UNITS DAY" if both_dates else text

    def _terms(self, *sides: Any, **kw: Any) -> list[str]:
        """The operands of a sum. A DATE takes days only, so an interval is added to it as a DATETIME."""
        has_interval = any(_affinity(side) is sqltypes.Interval for side in sides)
        texts = [
            (self._term(side, **kw), has_interval and _affinity(side) is sqltypes.Date) for side in sides
        ]
        return [f"EXTEND({text}, YEAR TO FRACTION(5))" if is_date else text for text, is_date in texts]

    def _term(self, side: Any, **kw: Any) -> str:
        if isinstance(side, elements.BindParameter) and _affinity(side) in _TEMPORAL:
            kw["place"] = "typed"
        return str(self.process(side, **kw))

    def visit_match_op_binary(self, binary: Any, operator: Any, **kw: Any) -> str:
        return self._matched("MATCHES", binary, **kw)

    def visit_not_match_op_binary(self, binary: Any, operator: Any, **kw: Any) -> str:
        return self._matched("NOT MATCHES", binary, **kw)

    def _matched(self, word: str, binary: Any, **kw: Any) -> str:
        text = f"{self.process(binary.left, **kw)} {word} {self.process(binary.right, **kw)}"
        escape = binary.modifiers.get("escape")
        if escape is not None:
            text += f" ESCAPE {self.render_literal_value(escape, sqltypes.STRINGTYPE)}"
        return text

    def visit_regexp_match_op_binary(self, binary: Any, operator: Any, **kw: Any) -> str:
        return self._regex("regex_match", binary.left, (binary.right,), binary, **kw)

    def visit_not_regexp_match_op_binary(self, binary: Any, operator: Any, **kw: Any) -> str:
        return f"NOT {self.visit_regexp_match_op_binary(binary, operator, **kw)}"

    def visit_regexp_replace_op_binary(self, binary: Any, operator: Any, **kw: Any) -> str:
        return self._regex("regex_replace", binary.left, binary.right.clauses, binary, **kw)

    def _regex(self, name: str, text: Any, patterns: Any, binary: Any, **kw: Any) -> str:
        """A call of the extension for regular expressions.

        Source: documented (Database Extensions Guide, "regex_match function"): copts 3 ignores case.
        """
        flags = binary.modifiers.get("flags")
        if flags not in (None, "i"):
            raise exc.CompileError(f"flags of a regular expression: expected 'i', got {flags!r}")
        arguments = [self.process(argument, **kw) for argument in (text, *patterns)]
        if flags:
            arguments += ["0", "3"] if name == "regex_replace" else ["3"]
        return f"{name}({', '.join(arguments)})"

    def visit_between_op_binary(self, binary: Any, operator: Any, **kw: Any) -> str:
        if binary.modifiers.get("symmetric"):
            raise exc.CompileError("BETWEEN SYMMETRIC: Informix lacks it")
        return str(super().visit_between_op_binary(binary, operator, **kw))

    def visit_not_between_op_binary(self, binary: Any, operator: Any, **kw: Any) -> str:
        if binary.modifiers.get("symmetric"):
            raise exc.CompileError("BETWEEN SYMMETRIC: Informix lacks it")
        return str(super().visit_not_between_op_binary(binary, operator, **kw))

    # -- IN and VALUES ------------------------------------------------------------------------------------------------

    @memoized_property
    def _tuples(self) -> dict[str, list[str]]:
        """The columns that each parameter of a tuple's IN is compared with."""
        return {}

    def visit_in_op_binary(self, binary: Any, operator: Any, **kw: Any) -> str:
        if isinstance(binary.left, elements.Tuple):
            return self._tuple_in(binary, **kw)
        return str(self._generate_generic_binary(binary, " IN ", **kw))

    def visit_not_in_op_binary(self, binary: Any, operator: Any, **kw: Any) -> str:
        if isinstance(binary.left, elements.Tuple):
            return f"NOT {self._tuple_in(binary, **kw)}"
        return str(self._generate_generic_binary(binary, " NOT IN ", **kw))

    def _tuple_in(self, binary: Any, **kw: Any) -> str:
        """IN of a tuple: Informix compares single values, so each tuple becomes a chain of AND."""
        if not isinstance(binary.right, elements.BindParameter):
            raise exc.CompileError("IN of a tuple: expected a list of tuples, got a query")
        name = self._truncate_bindparam(binary.right)
        self._tuples[name] = [self.process(column, **kw) for column in binary.left.clauses]
        return str(self.process(binary.right, **kw))

    def _tuples_compared(self, name: str, tuples: list[list[str]]) -> str:
        columns = self._tuples[name]
        chains = (
            " AND ".join(f"{column} = {value}" for column, value in zip(columns, values, strict=True))
            for values in tuples
        )
        return " OR ".join(f"({chain})" for chain in chains)

    def _literal_execute_expanding_parameter(self, name: str, parameter: Any, values: Any, **kw: Any) -> Any:
        update, text = super()._literal_execute_expanding_parameter(name, parameter, values, **kw)
        if name in self._tuples and values and not parameter.literal_execute:
            text = self._tuples_compared(name, [["?"] * len(value) for value in values])
        return update, text

    def _literal_execute_expanding_parameter_literal_binds(
        self, parameter: Any, values: Any, **kw: Any
    ) -> Any:
        name = self._truncate_bindparam(parameter)
        if name not in self._tuples or not values:
            return super()._literal_execute_expanding_parameter_literal_binds(parameter, values, **kw)
        types = parameter.type.types
        tuples = [
            [self.render_literal_value(part, type_) for part, type_ in zip(value, types, strict=True)]
            for value in values
        ]
        return (), self._tuples_compared(name, tuples)

    def visit_empty_set_op_expr(self, type_: Any, expand_op: Any, **kw: Any) -> str:
        """The text between the parentheses of an empty IN."""
        return self.visit_empty_set_expr(type_) if len(type_) == 1 else "1 = 0"

    def visit_empty_set_expr(self, element_types: Any, **kw: Any) -> str:
        columns = ", ".join(f"NULL::{self.cast_type(type_) or _TEXT_CAST}" for type_ in element_types)
        return f"SELECT {columns}{NO_TABLE} AND 1 = 0"

    def _render_values(self, element: Any, **kw: Any) -> str:
        """VALUES as a UNION ALL of rows, the only form of a table of constants."""
        kw.setdefault("literal_binds", element.literal_binds)
        kw["place"] = "item"
        rows = [elements.Tuple(*row, types=element._column_types) for rows in element._data for row in rows]
        selects = (", ".join(self.process(value, **kw) for value in row.clauses) for row in rows)
        return " UNION ALL ".join(f"SELECT {values}{NO_TABLE}" for values in selects)

    # -- CASE ---------------------------------------------------------------------------------------------------------

    def visit_case(self, clause: Any, place: str | None = None, **kw: Any) -> str:
        words = ["CASE"]
        if clause.value is not None:
            words.append(self.operand(clause.value, **kw))
        for condition, result in clause.whens:
            when = self.condition(condition, **kw) if clause.value is None else self.process(condition, **kw)
            words += ["WHEN", when, "THEN", self._result(result, **kw)]
        if clause.else_ is not None:
            words += ["ELSE", self._result(clause.else_, **kw)]
        return " ".join([*words, "END"])

    def _result(self, element: Any, **kw: Any) -> str:
        is_literal = isinstance(element, elements.BindParameter) and element.value is not None
        return str(self.process(element, place="item" if is_literal else "typed", **kw))

    def operand(self, element: Any, **kw: Any) -> str:
        is_parameter = isinstance(element, elements.BindParameter)
        return str(self.process(element, place="typed" if is_parameter else "value", **kw))
