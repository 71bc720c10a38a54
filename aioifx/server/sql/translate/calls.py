"""Calls: arguments of built-in functions; functions that inspect the syntax tree (NVL, DECODE). Never: operators."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final, Protocol

from aioifx.server.sql.builtin_types import SYSTEM_OWNER
from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.spl import SplRoutine, resolved
from aioifx.server.sql.model.type_rules import (
    BIGINT,
    DATE,
    INT8,
    INTEGER,
    LONG_TEXT,
    NUMERIC,
    Family,
    datetime,
    decimal,
    family_of,
    is_national,
    plain,
    size_of,
    varchar,
)
from aioifx.server.sql.runtime.strings import widest_character
from aioifx.server.sql.sqlite.tree import NULL, Case, Is, Logic, Node, call
from aioifx.server.sql.syntax import nodes
from aioifx.server.sql.translate import documents
from aioifx.server.sql.translate.builtins import CATALOG_ROUTINES, NOT_OF_OBJECTS, ROUTINES, ArgumentKind
from aioifx.server.sql.translate.complex_types import cardinality, require_ordered
from aioifx.server.sql.translate.large_objects import LENGTHS, SMART_ROUTINES
from aioifx.server.sql.translate.scopes import Context, Scope
from aioifx.server.sql.translate.sqlite_ddl import collated
from aioifx.server.sql.translate.typed import Typed, assigned, cast, comparison, number_of, text_of
from aioifx.sqltypes import SqlType, Unit

NO_VARIABLE: Final = -9752
"""The argument for an OUT or INOUT parameter is not a variable (documented by the text of its message)."""


class CallTranslator(Protocol):
    """A translator of arguments."""

    context: Context
    scope: Scope

    def value(self, node: nodes.Expression, hint: SqlType | None = None) -> Typed: ...

    def any_value(self, node: nodes.Expression, hint: SqlType | None = None) -> Typed: ...

    def typed(self, node: nodes.Expression, hint: SqlType | None = None) -> Typed: ...

    def conditional(self) -> CallTranslator: ...

    def pair(self, left: nodes.Expression, right: nodes.Expression) -> tuple[Typed, Typed]: ...

    def promoted(
        self, expressions: Sequence[nodes.Expression], hint: SqlType | None = None
    ) -> tuple[list[Typed], SqlType]: ...


def function_call(translator: CallTranslator, node: nodes.Call, hint: SqlType | None) -> Typed:
    """A call of a built-in function.

    Raises:
        SqlError: -674 no such routine, -664 wrong number of arguments.
    """
    if node.named or node.declares:
        return _routine(translator, node)
    smart = SMART_ROUTINES.get(node.name) if node.routine.owner == "" else None
    if smart is not None:
        return smart(translator, node)
    special = _SPECIAL.get(node.name)
    if special is not None and node.routine.owner == "":
        return special(translator.conditional(), node, hint)
    if node.name in documents.NAMES and node.routine.owner in ("", SYSTEM_OWNER):
        return documents.document_call(translator, node)
    routine = (None if node.routine.owner else ROUTINES.get(node.name)) or CATALOG_ROUTINES.get(node.name)
    if routine is None:
        return _routine(translator, node)
    if not routine.required <= len(node.arguments) <= len(routine.kinds):
        raise SqlError(-664, token=node.name, offset=node.offset)
    if node.name in LENGTHS and isinstance(node.arguments[0], nodes.Column):
        value = translator.any_value(node.arguments[0])
        if value.type is not None and family_of(value.type) is Family.SIMPLE_LARGE:
            return Typed(call("length", value.sql), INTEGER, value.is_nullable)
    if node.name in NOT_OF_OBJECTS:
        value = translator.any_value(node.arguments[0], LONG_TEXT)
        if value.type is not None and family_of(value.type) is Family.SMART_LARGE:
            raise SqlError(-999, token=f"{node.name.upper()} OF A LARGE OBJECT", offset=node.offset)
    pairs = zip(routine.kinds, node.arguments, strict=False)
    arguments = [_argument(translator, kind, argument) for kind, argument in pairs]
    result = routine.build(arguments)
    return _widened(result, translator.context.settings.code_set) if routine.counts_characters else result


def _widened(value: Typed, code_set: str) -> Typed:
    """A text whose size is its number of characters, with room for their bytes."""
    type_ = value.known_type
    return replace(value, type=varchar(size_of(type_) * widest_character(code_set), is_national(type_)))


def _routine(translator: CallTranslator, node: nodes.Call) -> Typed:
    """A function written in SPL, or else in Python.

    Raises:
        SqlError: -674, no routine with such arguments; -9700, several; -999, it has several results; -9752, it has
            OUT parameters, for which there are no variables.
    """
    if node.declares:  # which `local_variables` has called
        return _path(translator, node, None)
    context = translator.context
    context.need_database(node.routine)
    found = [each for each in context.schema.routines_named(node.name, node.routine.owner) if each.results]
    if not found:
        return _registered(translator, node)
    routine, values = resolved_call(
        translator.value, found, node.name, (*node.arguments, *node.named), node.offset
    )
    if routine.outputs:
        raise SqlError(NO_VARIABLE, token=node.name, offset=node.offset)
    if routine.result is None:
        raise SqlError(-999, token=node.name, offset=node.offset)
    function = "ifx_spl_not_variant" if routine.is_not_variant else "ifx_spl"
    return Typed(call(function, routine.procid, *given(routine, values)), routine.result)


def given(routine: SplRoutine, values: Mapping[str, Typed]) -> list[Node]:
    """The arguments of a call in SQLite, from those by the names of the parameters."""
    return [
        assigned(values[each.name], each.type) if each.name in values else call("ifx_default")
        for each in routine.parameters
    ]


def resolved_call(
    value: Callable[[nodes.Expression, SqlType | None], Typed],
    found: Sequence[SplRoutine],
    name: str,
    arguments: Sequence[nodes.Expression | nodes.NamedArgument],
    offset: int,
) -> tuple[SplRoutine, dict[str, Typed]]:
    """The routine that a call means, and its arguments by the names of the parameters.

    Raises:
        SqlError: -674, no routine with such arguments; -9700, several; -201, one by position after one by name.
    """
    named = [each.name for each in arguments if isinstance(each, nodes.NamedArgument)]
    positional = arguments[: len(arguments) - len(named)]
    for each in positional:
        if isinstance(each, nodes.NamedArgument):
            raise SqlError(-201, offset=each.offset)
    fitting = [routine for routine in found if routine.accepts(len(positional), named)]
    types = [
        None if len(fitting) == 1 or isinstance(each, nodes.Parameter) else value(each, None).type
        for each in positional
        if not isinstance(each, nodes.NamedArgument)
    ]
    routine = resolved(fitting, name, types, named, offset)
    of_name = {parameter.name: parameter.type for parameter in routine.parameters}
    values: dict[str, Typed] = {}
    for each, parameter in zip(positional, routine.parameters, strict=False):
        if not isinstance(each, nodes.NamedArgument):
            values[parameter.name] = value(each, parameter.type)
    for each in arguments[len(positional) :]:
        if isinstance(each, nodes.NamedArgument):
            values[each.name] = value(each.value, of_name[each.name])
    return routine, values


def _registered(translator: CallTranslator, node: nodes.Call) -> Typed:
    """A function written in Python.

    Raises:
        SqlError: -674, no routine with such arguments; -999, it has several results.
    """
    if node.name in _NOT_EXECUTED:
        raise SqlError(-999, token=node.name.upper(), offset=node.offset)
    routine = translator.context.settings.routines.find(node.name)
    if node.named:
        token = "NAMED ARGUMENT" if routine is not None else ""
        raise SqlError(-999 if token else -201, token=token, offset=node.named[0].offset)
    if routine is None or not routine.returns or len(node.arguments) != len(routine.params):
        raise SqlError(-674, token=node.name, offset=node.offset)
    if routine.result is None:
        raise SqlError(-999, token=node.name, offset=node.offset)
    pairs = zip(node.arguments, routine.params, strict=True)
    arguments = [assigned(translator.value(argument, type_), type_) for argument, (_, type_) in pairs]
    name = "ifx_routine" if routine.variant else "ifx_not_variant"
    return Typed(call(name, routine.name, *arguments), routine.result)


_NOT_EXECUTED: Final = frozenset("""regex_extract regex_split bson_update""".split())
"""Functions of Informix that are refused by name in expressions."""


def _argument(translator: CallTranslator, kind: ArgumentKind, node: nodes.Expression) -> Typed:
    value = translator.value(node, _HINTS[kind])
    if value.type is None:
        return Typed(NULL, _HINTS[kind])
    family = family_of(value.type)
    if family in _NO_ARGUMENTS:
        raise SqlError(-674, offset=node.offset)
    match kind:
        case ArgumentKind.TEXT:
            return Typed(text_of(value), value.type, value.is_nullable, value.constant)
        case ArgumentKind.NUMBER:
            value = number_of(value)
            family = family_of(value.known_type)
            if family not in NUMERIC:
                raise SqlError(-674, offset=node.offset)
            return value
        case ArgumentKind.COUNT:
            return (
                value if family is Family.INTEGER else Typed(cast(value, INTEGER), INTEGER, value.is_nullable)
            )
        case ArgumentKind.BITS if family is not Family.INTEGER:
            raise SqlError(-674, offset=node.offset)
        case ArgumentKind.MOMENT if family is Family.TEXT:
            return Typed(cast(value, DATE), DATE, value.is_nullable)
        case ArgumentKind.MOMENT if family not in (Family.DATE, Family.DATETIME):
            raise SqlError(-1260, offset=node.offset)
        case _:
            return value


_NO_ARGUMENTS: Final = (Family.ROW, Family.COLLECTION, Family.DOCUMENT)

_HINTS: Final = {
    ArgumentKind.TEXT: LONG_TEXT,
    ArgumentKind.NUMBER: decimal(),
    ArgumentKind.COUNT: INTEGER,
    ArgumentKind.BITS: INTEGER,
    ArgumentKind.MOMENT: DATE,
    ArgumentKind.SPAN: DATE,
}


# --- Functions that inspect the syntax tree ---------------------------------------------------------------------------


def _arguments(node: nodes.Call, least: int, most: int | None = None) -> tuple[nodes.Expression, ...]:
    count = len(node.arguments)
    if count < least or (most is not None and count > most):
        raise SqlError(-664, token=node.name, offset=node.offset)
    return node.arguments


def _first_known(translator: CallTranslator, node: nodes.Call, hint: SqlType | None) -> Typed:
    """NVL and COALESCE."""
    values, type_ = translator.promoted(_arguments(node, 2, 2 if node.name == "nvl" else None), hint)
    nullable = all(value.is_nullable for value in values)
    return Typed(call("coalesce", *(value.sql for value in values)), type_, nullable)


def _extreme(translator: CallTranslator, node: nodes.Call, hint: SqlType | None) -> Typed:
    """GREATEST and LEAST; NULL if one of the values is (documented)."""
    values, type_ = translator.promoted(_arguments(node, 2), hint)
    require_ordered(type_, node.offset)
    function = "max" if node.name == "greatest" else "min"
    return Typed(call(function, *(collated(value.sql, type_) for value in values)), type_)


def _nvl2(translator: CallTranslator, node: nodes.Call, hint: SqlType | None) -> Typed:
    test, *results = _arguments(node, 3, 3)
    values, type_ = translator.promoted(results, hint)
    is_known = Is(translator.typed(test).sql, is_negated=True)
    return Typed(Case(((is_known, values[0].sql),), values[1].sql), type_)


def _null_if(translator: CallTranslator, node: nodes.Call, hint: SqlType | None) -> Typed:
    left, right = _arguments(node, 2, 2)
    one, other = translator.pair(left, right)
    test = comparison(one, "=", other, node.offset)
    return Typed(Case(((test, NULL),), one.sql), plain(one.known_type))


def _decode(translator: CallTranslator, node: nodes.Call, hint: SqlType | None) -> Typed:
    """DECODE(e, v1, r1, .. [, else]), in which NULL equals NULL."""
    operand, *rest = _arguments(node, 3)
    tests, results = rest[: len(rest) // 2 * 2 : 2], rest[1::2]
    otherwise = rest[-1:] if len(rest) % 2 else []
    values, type_ = translator.promoted([*results, *otherwise], hint)
    branches = (
        (_decoded(translator, operand, test), value.sql) for test, value in zip(tests, values, strict=False)
    )
    return Typed(Case(tuple(branches), values[-1].sql if otherwise else None), type_)


def _decoded(translator: CallTranslator, operand: nodes.Expression, test: nodes.Expression) -> Node:
    one, other = translator.pair(operand, test)
    if other.type is None:
        return Is(one.sql)
    equal = comparison(one, "=", other, test.offset)
    if not other.is_nullable:
        return equal
    return Logic("OR", (equal, Logic("AND", (Is(one.sql), Is(other.sql)))))


_DBINFO_TYPES: Final = {
    "sqlca.sqlerrd1": INTEGER,
    "sqlca.sqlerrd2": INTEGER,
    "serial8": INT8,
    "bigserial": BIGINT,
    "sessionid": INTEGER,
    "dbname": varchar(128),
    "dbhostname": varchar(255),
    "dbspace": varchar(128),
    "version": varchar(255),
    "utc_current": INTEGER,
    "cdrsession": INTEGER,
    "get_tz": varchar(128),
    "utc_to_datetime": datetime(Unit.YEAR, Unit.SECOND),
}


def _dbinfo(translator: CallTranslator, node: nodes.Call, hint: SqlType | None) -> Typed:
    """DBINFO: its first argument must be a literal, because it determines the type."""
    option, *rest = _arguments(node, 1, 2)
    type_ = _DBINFO_TYPES.get(option.value.lower()) if isinstance(option, nodes.String) else None
    if type_ is None or not isinstance(option, nodes.String):
        raise SqlError(-728, offset=node.offset)
    arguments = (translator.typed(each, INTEGER).sql for each in rest)
    return Typed(call("ifx_dbinfo", option.value.lower(), *arguments), type_)


def _cardinality(translator: CallTranslator, node: nodes.Call, hint: SqlType | None) -> Typed:
    (argument,) = _arguments(node, 1, 1)
    return cardinality(translator.typed(argument), node.offset)


def _path(translator: CallTranslator, node: nodes.Call, hint: SqlType | None) -> Typed:
    """A call whose value is that of a source in FROM: SYS_CONNECT_BY_PATH is one, which `hierarchies` has made."""
    column = translator.scope.path(node.offset)
    if column is None:
        raise SqlError(-201, offset=node.offset)
    return Typed(column.sql, column.type, column.is_nullable)


_SPECIAL: Final[dict[str, Callable[[CallTranslator, nodes.Call, SqlType | None], Typed]]] = {
    "nvl": _first_known,
    "coalesce": _first_known,
    "greatest": _extreme,
    "least": _extreme,
    "nvl2": _nvl2,
    "nullif": _null_if,
    "decode": _decode,
    "dbinfo": _dbinfo,
    "cardinality": _cardinality,
    "sys_connect_by_path": _path,
}

_WITH_KEYWORDS: Final = frozenset({"trim", "extend", *nodes.AGGREGATES})
"""Functions that are not calls in the tree."""


def is_builtin(name: str) -> bool:
    """Whether a call of that name is one of a built-in function, so that no other function can have the name."""
    known = (SMART_ROUTINES, _SPECIAL, documents.NAMES, ROUTINES, CATALOG_ROUTINES, _WITH_KEYWORDS)
    return any(name in names for names in known)
