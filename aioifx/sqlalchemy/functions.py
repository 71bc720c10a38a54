"""Functions as Informix's SQL, and EXTRACT, windows, FILTER and values of JSON. Never: operators.

Source: documented (Guide to SQL: Syntax, "Expression"): CURRENT, TODAY, USER and SYSDATE are words; SUBSTR, CHR and
CEIL have these names; DBINFO takes a literal; there is no EXTRACT and FILTER, and before 12.10 no GREATEST and LEAST.
"""

# pyright: reportUnknownMemberType=false, reportUnknownParameterType=false, reportMissingParameterType=false
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false, reportIncompatibleMethodOverride=false
# mypy: disable-error-code="no-untyped-call, no-any-return, override"
# SQLAlchemy's compilers are annotated in part.

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from sqlalchemy import exc
from sqlalchemy import types as sqltypes
from sqlalchemy.sql import elements, operators

from aioifx.sqlalchemy.expressions import ITEM_OPERATORS, ExpressionCompiler

_FIELDS: Final = {
    "year": "YEAR({0})",
    "month": "MONTH({0})",
    "day": "DAY({0})",
    "hour": "EXTEND({0}, HOUR TO HOUR)::CHAR(2)::INTEGER",
    "minute": "EXTEND({0}, MINUTE TO MINUTE)::CHAR(2)::INTEGER",
    "second": "EXTEND({0}, SECOND TO SECOND)::CHAR(2)::INTEGER",
    "quarter": "TRUNC((MONTH({0}) + 2) / 3)",
    "dow": "WEEKDAY({0})",
    "doy": "(DATE({0}) - MDY(1, 1, YEAR({0})) + 1)",
}
"""The fields of EXTRACT. `dow` counts from Sunday, which is 0."""

_CURRENT: Final = "CURRENT YEAR TO FRACTION(5)"
_WORDS: Final = {
    "current_date": "TODAY",
    "current_time": "CURRENT HOUR TO FRACTION(5)",
    "current_timestamp": _CURRENT,
    "current_user": "USER",
    "localtime": "CURRENT HOUR TO FRACTION(5)",
    "localtimestamp": _CURRENT,
    "now": _CURRENT,
    "session_user": "USER",
    "sysdate": "SYSDATE",
    "today": "TODAY",
    "user": "USER",
}
"""Functions without arguments that are keywords of Informix."""

_DOCUMENT_VALUES: Final = (
    (sqltypes.Boolean, "BSON_VALUE_BOOLEAN({0})"),
    (sqltypes.Integer, "BSON_VALUE_BIGINT({0})"),
    (sqltypes.Float, "BSON_VALUE_DOUBLE({0})"),
    (sqltypes.Numeric, "CAST(BSON_VALUE_DOUBLE({0}) AS {1})"),
    (sqltypes.String, "BSON_VALUE_LVARCHAR({0})"),
)
"""The function that reads a value of each type from a document."""

_RENAMED: Final = {
    "ceiling": "CEIL",
    "char": "CHR",
    "stddev_samp": "STDEV",
    "substring": "SUBSTR",
    "var_samp": "VARIANCE",
}
"""Other names of functions. STDEV and VARIANCE are those of a sample (documented)."""


class FunctionCompiler(ExpressionCompiler):
    """Compiles functions."""

    def visit_function(self, func: Any, place: str | None = None, **kw: Any) -> str:
        return super().visit_function(func, place="value" if place in (None, "value") else "typed", **kw)

    def visit_frame_clause(self, frameclause: Any, place: str | None = None, **kw: Any) -> str:
        return super().visit_frame_clause(frameclause, **{**kw, "literal_execute": True})

    def _format_frame_clause(self, range_: Any, **kw: Any) -> Any:
        """The frame of a window in SQLAlchemy 2.0."""
        kw.pop("place", None)
        return super()._format_frame_clause(range_, **{**kw, "literal_execute": True})  # type: ignore[misc]

    def function_argspec(self, func: Any, **kw: Any) -> str:
        kw.pop("add_to_result_map", None)
        return super().function_argspec(func, **kw)

    def visit_funcfilter(self, funcfilter: Any, **kw: Any) -> str:
        """An aggregate of the rows that fulfil a condition: the others count as NULL, which aggregates ignore."""
        func = funcfilter.func
        arguments = list(func.clauses)
        if not arguments or getattr(arguments[0], "name", None) == "*":
            arguments = [elements.literal_column("1")]
        kw.pop("place", None)
        chosen: Any = elements.Case((funcfilter.criterion, arguments[0]))
        distinct = (
            isinstance(arguments[0], elements.UnaryExpression)
            and arguments[0].operator is operators.distinct_op
        )
        if distinct:
            chosen = elements.Case((funcfilter.criterion, arguments[0].element))
        others = "".join(f", {self.process(argument, **kw)}" for argument in arguments[1:])
        return f"{func.name}({'DISTINCT ' if distinct else ''}{self.process(chosen, **kw)}{others})"

    def visit_concat_func(self, func: Any, **kw: Any) -> str:
        return f"({' || '.join(self.process(argument, **kw) for argument in func.clauses)})"

    def visit_aggregate_strings_func(self, fn: Any, **kw: Any) -> str:
        raise exc.CompileError("aggregate_strings(): Informix has no aggregate that joins strings")

    def visit_dbinfo_func(self, func: Any, **kw: Any) -> str:
        """DBINFO, whose first argument is a literal."""
        return f"DBINFO{self.function_argspec(func, **{**kw, 'literal_binds': True})}"

    def visit_greatest_func(self, func: Any, **kw: Any) -> str:
        return self._extreme(">=", func, **kw)

    def visit_least_func(self, func: Any, **kw: Any) -> str:
        return self._extreme("<=", func, **kw)

    def _extreme(self, sign: str, func: Any, **kw: Any) -> str:
        """The greatest or the least argument, or NULL if one is NULL."""
        kw["place"] = "typed"
        first, *others = [self.process(argument, **kw) for argument in func.clauses]
        for other in others:
            first = f"CASE WHEN {first} {sign} {other} THEN {first} WHEN NOT ({first} {sign} {other}) THEN {other} END"
        return first

    def visit_extract(self, extract: Any, place: str | None = None, **kw: Any) -> str:
        if extract.field not in _FIELDS:
            raise exc.CompileError(f"EXTRACT: expected {', '.join(_FIELDS)}, got {extract.field}")
        return _FIELDS[extract.field].format(self.operand(extract.expr, **kw))

    # -- JSON ---------------------------------------------------------------------------------------------------------

    def visit_json_getitem_op_binary(self, binary: Any, operator: Any, **kw: Any) -> str:
        """A value of a document.

        Source: documented (Guide to SQL: Syntax, "BSON_VALUE_LVARCHAR function" and its kind).
        """
        for type_, text in _DOCUMENT_VALUES:
            if isinstance(binary.type, type_):
                column, path = self._path_of(binary, **kw)
                arguments = f"{column}::BSON, {' || '.join(path)}"
                return text.format(arguments, self.cast_type(binary.type))
        raise exc.CompileError("JSON: expected as_string(), as_integer() or another type for a value")

    def visit_json_path_getitem_op_binary(self, binary: Any, operator: Any, **kw: Any) -> str:
        return self.visit_json_getitem_op_binary(binary, operator, **kw)

    def _path_of(self, element: Any, **kw: Any) -> tuple[str, list[str]]:
        """The document, and the parts of the path to a value of it."""
        if not isinstance(element, elements.BinaryExpression) or element.operator not in ITEM_OPERATORS:
            return self.process(element, **kw), []
        column, path = self._path_of(element.left, **kw)
        return column, [*path, *(["'.'"] if path else []), self.process(element.right, **kw)]

    def visit_sequence(self, sequence: Any, **kw: Any) -> str:
        return f"{self.preparer.format_sequence(sequence)}.NEXTVAL"


def _word(text: str) -> Callable[..., str]:
    def visit(compiler: FunctionCompiler, func: Any, **kw: Any) -> str:
        return text

    return visit


def _renamed(name: str) -> Callable[..., str]:
    def visit(compiler: FunctionCompiler, func: Any, **kw: Any) -> str:
        return f"{name}{compiler.function_argspec(func, **kw)}"

    return visit


# SQLAlchemy looks for a method with the function's name.
for _name, _text in _WORDS.items():
    setattr(FunctionCompiler, f"visit_{_name}_func", _word(_text))
for _name, _text in _RENAMED.items():
    setattr(FunctionCompiler, f"visit_{_name}_func", _renamed(_text))
