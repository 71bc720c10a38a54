"""The SQLite functions, aggregates and collation that translated SQL calls, all named ifx_*. Never: SQL text, a schema.

Arguments are in storage form (`storage.Form`). S, T, TA, TB, R are type numbers (`storage.type_number`), written as
integer literals; R is the type of the result. *text* is a text as ``ifx_text`` gives it, *number* an int, float or
decimal text (no cast is needed to mix them), *n* an int. NULL in gives NULL out unless said otherwise.

Conversion and comparison

    ifx_cast(v, S, T)           v of type S as type T; for casts, EXTEND (T a DATETIME), DATE(x), literals, operands
    ifx_assign(v, S, T)         the same by the rules of INSERT and UPDATE: STRING_TRUNCATE_ERROR gives -1279
    ifx_text(v, T)              text in full: CHAR with its blanks, DATE by DBDATE; for ``||`` and string functions
    ifx_compare(a, TA, b, TB)   -1, 0, 1: any two types by Informix's rules (numbers by value, text read as the other
                                side's type, trailing blanks ignored); write ``ifx_compare(..) < 0``. Where both sides
                                have one form, SQLite's operators do, with COLLATE ifx_decimal or RTRIM
    ifx_like(text, pattern[, escape])       1 or 0
    ifx_matches(text, pattern[, escape])    1 or 0
    ifx_regex_match(text, pattern[, n])     't' or 'f'; NULL text counts as '', other NULLs are -937
    ifx_regex_replace(text, pattern, text[, n[, n]])
    COLLATE ifx_decimal         order of decimal texts, also in MIN(x COLLATE ifx_decimal); equality needs none

Numbers: R decides how it is computed and checked. Integers: range, -1214 -1215 -1284. DECIMAL: 32 digits, half away
from zero, -1226. FLOAT: -1223. Division by zero: -1202

    ifx_add(number, number, R)  ifx_sub  ifx_mul  ifx_div  ifx_mod (sign of the dividend)
    ifx_chain(number, number, text ..)      these from left to right; each text is an operator with R, as in '+2'
    ifx_neg(number, R)  ifx_abs  ifx_ceil  ifx_floor
    ifx_round(number, n, R)  ifx_trunc      n may be negative
    ifx_pow(number, number)  ifx_root  ifx_atan2  ifx_sqrt(number)  ifx_exp  ifx_ln  ifx_log10
    ifx_sin(number)  ifx_cos  ifx_tan  ifx_asin  ifx_acos  ifx_atan         all of these give FLOAT
    ifx_degrees(number)  ifx_radians        FLOAT
    ifx_to_number(text)         TO_NUMBER: DECIMAL, without a currency symbol
    ifx_bitand(number, number)  ifx_bitor  ifx_bitxor  ifx_bitandnot  ifx_bitnot(number)    integers
    ifx_hex(number)             text: 0x and 8 or 16 digits

Strings: give CHAR operands through ifx_text where blanks count

    ifx_length(text)            bytes without trailing blanks
    ifx_char_length(text)       characters, blanks included
    ifx_octet_length(text)      bytes, blanks included
    ifx_upper(text)  ifx_lower  ifx_initcap  ifx_reverse
    ifx_trim(text[, c])  ifx_trim_leading  ifx_trim_trailing        TRIM with its one character
    ifx_ltrim(text[, set])  ifx_rtrim                               any character of the set
    ifx_lpad(text, n[, pad])  ifx_rpad
    ifx_replace(text, old[, new])           NULL for new counts as ''
    ifx_substr(text, n[, n])    SUBSTR: from 1, negative from the end
    ifx_substring(text, n[, n]) SUBSTRING(s FROM n FOR n): may begin before the text
    ifx_subscript(text, n, n)   c[n,n]: bytes; write c[n] as (n, n)
    ifx_left(text, n)  ifx_right  ifx_space(n)
    ifx_instr(text, part[, start[, nth]])   INTEGER, 0 when not found
    ifx_charindex(part, text[, start])      INTEGER, 0 when not found
    ifx_substring_index(text, part, n)      before the nth part, or after it from the end
    ifx_ascii(text)  ifx_chr(n)

Dates and times: d is a DATE, dt a DATE or DATETIME of type T, i an INTERVAL

    ifx_today()  ifx_current(T)             SYSDATE is ifx_current of YEAR TO FRACTION(5)
    ifx_mdy(number, number, number)         DATE; -1204 -1205 -1206
    ifx_date_add(d, number)  ifx_date_sub   DATE; DATE - DATE is SQLite's own ``-``
    ifx_datetime_add(dt, T, i, TI)  ifx_datetime_sub
                                DATETIME of type T (for a DATE: YEAR TO DAY); -1266 other family or lacking fields,
                                -1267 no such day or out of range
    ifx_datetime_diff(dt, TA, dt, TB)       MONTHS when both end at MONTH or YEAR, else TICKS; the last field is that
                                of TA (documented), or of TB if TA ends before DAY
    ifx_interval_add(i, i, R)  ifx_interval_sub  ifx_interval_mul(i, number, R)  ifx_interval_div  ifx_interval_neg(i)
                                one family (the translator refuses others by -1266); -1265 when R is too small
    ifx_units(number, R)        INTERVAL of type R; its first unit says what is counted
    ifx_year(dt, T)  ifx_month  ifx_day  ifx_weekday  ifx_quarter           INTEGER
    ifx_add_months(dt, T, number)  ifx_last_day(dt, T)  ifx_next_day(dt, T, text)       type T
    ifx_months_between(dt, TA, dt, TB)      DECIMAL
    ifx_round_date(dt, T[, text])  ifx_trunc_date                           type T
    ifx_to_char(v, T[, text])   text
    ifx_to_date(text, text, R)  DATE or DATETIME of type R; without a format use ifx_cast

Rows, collections and documents: T is a text, the definition of their type

    ifx_parts(parts, v ..)      the storage form of a row or of elements; *parts* are those before v
    ifx_complex(parts, T)       parts as a value of type T: -9978 for a NULL element; a SET loses duplicates
    ifx_field(v, n)             a field of a row, from 0
    ifx_cardinality(v)
    ifx_contains(v, T, element, TE)         1 or 0
    ifx_bson_get(v, text[, text])           BSON_GET; NULL if there is no such field
    ifx_bson_size(v, text)
    ifx_bson_value_int(v, text)  ifx_bson_value_bigint  ifx_bson_value_double  ifx_bson_value_varchar
    ifx_bson_value_lvarchar  ifx_bson_value_boolean  ifx_bson_value_date  ifx_bson_value_timestamp
    ifx_bson_value_objectid     NULL for a field of another kind
    ifx_gen_bson(T, names, row, keeps_nulls, has_id)    names: their storage form as elements

Session and errors

    ifx_encrypt(text, algorithm[, password[, hint]])  ifx_decrypt(text[, password])  ifx_get_hint(text)     text

    ifx_user()  ifx_dbservername()
    ifx_dbinfo(option[, argument])          -728 when unknown; utc_to_datetime gives DATETIME YEAR TO SECOND
    ifx_raise(sqlcode[, text])  the error of that number, with that name, whenever it is evaluated

Aggregates: COUNT, MIN and MAX are SQLite's own; all but the last three also serve OVER (..)

    ifx_sum(number)  ifx_avg    DECIMAL over integers and decimals, FLOAT over floats, NULL over no rows
    ifx_sum_interval(i)  ifx_avg_interval
    ifx_stdev(number)  ifx_variance         of a sample, 0 for one row
    ifx_range(number)
    ifx_collect(v)              the parts of a collection with the values of all rows
    ifx_single(v)               the value of the only row, NULL for none, -284 for more: for scalar subqueries

No function is needed for NVL (ifnull), NULLIF, COALESCE, CASE, DECODE (``CASE WHEN a IS b THEN ..``: IS holds for two
NULLs), ``||`` after ifx_text, comparisons of integers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final, Literal, NamedTuple, Protocol, TypeAlias

from aioifx.server.sql.complex_types import ComplexType
from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.settings import Settings
from aioifx.server.sql.model.storage import Stored, TypeNumber, numbered_type, type_number
from aioifx.server.sql.runtime import (
    aggregates,
    complex_values,
    date_parts,
    dbinfo,
    documents,
    encryption,
    intervals,
    numerics,
    patterns,
    regex,
    strings,
)
from aioifx.server.sql.runtime.aggregates import Aggregate, WindowAggregate
from aioifx.server.sql.runtime.casts import as_text, assigner, comparer, converter
from aioifx.server.sql.runtime.client_values import load
from aioifx.server.sql.runtime.complex_values import completed, parts_of
from aioifx.server.sql.runtime.decimals import compare_decimals
from aioifx.sqltypes import Value

Function: TypeAlias = Callable[..., Stored]
"""A function called with stored values, and with the session's settings as its first argument if needed."""

ErrorSink: TypeAlias = Callable[[SqlError], None]

_INTERNAL_ERROR: Final = -768


class FunctionSpec(NamedTuple):
    """One name and number of arguments, and the function for them."""

    name: str
    arguments: int
    call: Function
    with_settings: bool = False
    """Whether *call* takes the Settings as its first argument, before those of SQL."""
    deterministic: bool = True
    """Whether SQLite may call it once per statement for the same arguments. Settings do not change within one."""


Maker: TypeAlias = Callable[[], Value]
"""Creates an aggregate for a group; SQLite uses the methods of the object, not its type."""


class Connection(Protocol):
    """The part of `sqlite3.Connection` that is used here."""

    def create_function(
        self, name: str, narg: int, func: Function, /, *, deterministic: bool = False
    ) -> None:
        """Register a function for SQL."""

    def create_aggregate(self, name: str, n_arg: int, aggregate_class: Maker, /) -> None:
        """Register an aggregate for SQL."""

    def create_window_function(self, name: str, num_params: Literal[1], aggregate_class: Maker, /) -> None:
        """Register an aggregate that also supports OVER (..)."""

    def create_collation(self, name: str, callback: Callable[[str, str], int], /) -> None:
        """Register a collation."""


def register(connection: Connection, settings: Settings, on_error: ErrorSink) -> None:
    """Register every name of this module on a SQLite connection.

    Args:
        settings: read whenever a function runs; the session changes them between statements.
        on_error: called with each error before SQLite replaces it with an error without a reason.
    """
    for spec in FUNCTIONS:
        call = partial(spec.call, settings) if spec.with_settings else spec.call
        connection.create_function(
            spec.name, spec.arguments, guarded(call, on_error), deterministic=spec.deterministic
        )
    connection.create_function("ifx_undoing", 0, lambda: False)  # `row_changes` replaces it
    for name, window in WINDOW_AGGREGATES.items():
        connection.create_window_function(name, 1, partial(_GuardedWindow, window, on_error))
    for name, aggregate in AGGREGATES.items():
        connection.create_aggregate(name, 1, partial(_Guarded, aggregate, on_error))
    connection.create_collation("ifx_decimal", compare_decimals)


def guarded(call: Callable[..., Stored], on_error: ErrorSink) -> Function:
    """The function, with its errors reported to *on_error*, because SQLite only reports that it failed."""

    def run(*arguments: Value) -> Stored:
        try:
            return call(*arguments)
        except SqlError as error:
            on_error(error)
            raise
        except Exception as error:
            raise _internal(error, on_error) from error

    return run


def _internal(error: Exception, on_error: ErrorSink) -> SqlError:
    """The error for an internal error in a function, which must not end the session or reach the client."""
    raised = SqlError(_INTERNAL_ERROR)
    raised.__cause__ = error
    on_error(raised)
    return raised


class _Guarded:
    """An aggregate whose errors are reported."""

    def __init__(self, make: Callable[[], Aggregate], on_error: ErrorSink) -> None:
        aggregate = make()
        self.step = guarded(aggregate.step, on_error)
        self.finalize = guarded(aggregate.finalize, on_error)


class _GuardedWindow:
    """The same for an aggregate that supports windows."""

    def __init__(self, make: Callable[[], WindowAggregate], on_error: ErrorSink) -> None:
        aggregate = make()
        self.step = guarded(aggregate.step, on_error)
        self.inverse = guarded(aggregate.inverse, on_error)
        self.value = guarded(aggregate.value, on_error)
        self.finalize = guarded(aggregate.finalize, on_error)


# --- conversion and comparison --------------------------------------------------------------------------------------


def _cast(settings: Settings, value: Value, source: TypeNumber, target: TypeNumber) -> Stored:
    return None if value is None else converter(source, target)(value, settings)


def _assign(settings: Settings, value: Value, source: TypeNumber, target: TypeNumber) -> Stored:
    return None if value is None else assigner(source, target)(value, settings)


def _text(settings: Settings, value: Value, number: TypeNumber) -> Stored:
    return as_text(value, numbered_type(number), settings)


def _compare(
    settings: Settings, left: Value, left_type: TypeNumber, right: Value, right_type: TypeNumber
) -> Stored:
    if left is None or right is None:
        return None
    return comparer(left_type, right_type)(left, right, settings)


# --- rows, collections, documents ------------------------------------------------------------------------------------


def _type_of(definition: str) -> ComplexType:
    type_ = numbered_type(definition)
    assert isinstance(type_, ComplexType)
    return type_


def complex_value(parts: str | None, definition: str) -> Stored:
    """``ifx_complex``: parts as a value of a type."""
    return None if parts is None else completed(parts_of(parts), _type_of(definition))


def contains(
    settings: Settings, collection: str | None, definition: str, element: Value, number: TypeNumber
) -> Stored:
    """``ifx_contains``: whether a collection has an element, compared by the rules of their types."""
    if collection is None or element is None:
        return None
    compare = comparer(type_number(_type_of(definition).element), number)
    return any(compare(part, element, settings) == 0 for part in parts_of(collection))


def gen_bson(
    settings: Settings,
    definition: str | None,
    names: str | None,
    row: str | None,
    keeps_nulls: int,
    has_id: int,
) -> Stored:
    """``ifx_gen_bson``: a row as a document."""
    if definition is None or names is None or row is None:
        return None
    pairs = zip(parts_of(row), _type_of(definition).parts, strict=True)
    values = [load(part, type_, settings.code_set) for part, type_ in pairs]
    fields = [str(name) for name in parts_of(names)]
    return documents.generated(fields, values, keeps_nulls=bool(keeps_nulls), has_id=bool(has_id))


def _and_not(left: int, right: int) -> int:
    return left & ~right


def _raise(sqlcode: int, token: str = "") -> Stored:
    raise SqlError(sqlcode, token=token)


# --- the tables -----------------------------------------------------------------------------------------------------


def _specs(name: str, call: Function, *counts: int, with_settings: bool = False) -> tuple[FunctionSpec, ...]:
    return tuple(FunctionSpec(name, count, call, with_settings) for count in counts)


FUNCTIONS: Final[tuple[FunctionSpec, ...]] = (
    FunctionSpec("ifx_cast", 3, _cast, True),
    FunctionSpec("ifx_assign", 3, _assign, True),
    FunctionSpec("ifx_text", 2, _text, True),
    FunctionSpec("ifx_compare", 4, _compare, True),
    *_specs("ifx_regex_match", regex.regex_match, 2, 3, with_settings=True),
    *_specs("ifx_regex_replace", regex.regex_replace, 3, 4, 5, with_settings=True),
    *_specs("ifx_like", patterns.like, 2, 3),
    *_specs("ifx_matches", patterns.matches, 2, 3),
    # arithmetic
    FunctionSpec("ifx_add", 3, numerics.add),
    FunctionSpec("ifx_sub", 3, numerics.subtract),
    FunctionSpec("ifx_mul", 3, numerics.multiply),
    FunctionSpec("ifx_div", 3, numerics.divide),
    FunctionSpec("ifx_chain", -1, numerics.chain),
    FunctionSpec("ifx_mod", 3, numerics.remainder),
    FunctionSpec("ifx_neg", 2, numerics.negate),
    FunctionSpec("ifx_abs", 2, numerics.absolute),
    FunctionSpec("ifx_round", 3, numerics.round_number),
    FunctionSpec("ifx_trunc", 3, numerics.truncate_number),
    FunctionSpec("ifx_ceil", 2, numerics.ceiling),
    FunctionSpec("ifx_floor", 2, numerics.floor),
    FunctionSpec("ifx_pow", 2, numerics.maths(math.pow)),
    FunctionSpec("ifx_root", 2, numerics.maths(numerics.root)),
    FunctionSpec("ifx_ln", 1, numerics.maths(math.log)),
    *(
        FunctionSpec(f"ifx_{name}", 1, numerics.maths(getattr(math, name)))
        for name in "sqrt exp log10 sin cos tan asin acos atan degrees radians".split()
    ),
    FunctionSpec("ifx_atan2", 2, numerics.maths(math.atan2)),
    FunctionSpec("ifx_to_number", 1, numerics.to_number),
    FunctionSpec("ifx_bitand", 2, numerics.bits(int.__and__)),
    FunctionSpec("ifx_bitor", 2, numerics.bits(int.__or__)),
    FunctionSpec("ifx_bitxor", 2, numerics.bits(int.__xor__)),
    FunctionSpec("ifx_bitandnot", 2, numerics.bits(_and_not)),
    FunctionSpec("ifx_bitnot", 1, numerics.bits(int.__invert__)),
    FunctionSpec("ifx_hex", 1, numerics.hexadecimal),
    # strings
    FunctionSpec("ifx_ascii", 1, strings.ascii_code, True),
    FunctionSpec("ifx_chr", 1, strings.character, True),
    FunctionSpec("ifx_length", 1, strings.length, True),
    FunctionSpec("ifx_char_length", 1, strings.char_length),
    FunctionSpec("ifx_octet_length", 1, strings.octet_length, True),
    FunctionSpec("ifx_upper", 1, strings.upper),
    FunctionSpec("ifx_lower", 1, strings.lower),
    FunctionSpec("ifx_initcap", 1, strings.initcap),
    FunctionSpec("ifx_reverse", 1, strings.reverse),
    *_specs("ifx_trim", strings.trim, 1, 2),
    *_specs("ifx_trim_leading", strings.trim_leading, 1, 2),
    *_specs("ifx_trim_trailing", strings.trim_trailing, 1, 2),
    *_specs("ifx_ltrim", strings.trim_leading, 1, 2),
    *_specs("ifx_rtrim", strings.trim_trailing, 1, 2),
    *_specs("ifx_lpad", strings.pad_left, 2, 3),
    *_specs("ifx_rpad", strings.pad_right, 2, 3),
    *_specs("ifx_replace", strings.replace, 2, 3),
    *_specs("ifx_substr", strings.substr, 2, 3),
    FunctionSpec("ifx_substring", 2, strings.substring),
    FunctionSpec("ifx_substring", 3, strings.substring_for),
    FunctionSpec("ifx_subscript", 3, strings.subscript, True),
    FunctionSpec("ifx_left", 2, strings.left),
    FunctionSpec("ifx_right", 2, strings.right),
    FunctionSpec("ifx_space", 1, strings.space),
    *_specs("ifx_instr", strings.instr, 2, 3, 4),
    *_specs("ifx_charindex", strings.charindex, 2, 3),
    FunctionSpec("ifx_substring_index", 3, strings.substring_index),
    # dates and times
    FunctionSpec("ifx_today", 0, date_parts.today, True),
    FunctionSpec("ifx_current", 1, date_parts.current, True),
    FunctionSpec("ifx_mdy", 3, date_parts.mdy),
    FunctionSpec("ifx_date_add", 2, date_parts.add_days),
    FunctionSpec("ifx_date_sub", 2, date_parts.subtract_days),
    FunctionSpec("ifx_datetime_add", 4, date_parts.add_interval, True),
    FunctionSpec("ifx_datetime_sub", 4, date_parts.subtract_interval, True),
    FunctionSpec("ifx_datetime_diff", 4, date_parts.difference, True),
    FunctionSpec("ifx_interval_add", 3, intervals.add_intervals),
    FunctionSpec("ifx_interval_sub", 3, intervals.subtract_intervals),
    FunctionSpec("ifx_interval_mul", 3, intervals.multiply_interval),
    FunctionSpec("ifx_interval_div", 3, intervals.divide_interval),
    FunctionSpec("ifx_interval_neg", 1, intervals.negate_interval),
    FunctionSpec("ifx_units", 2, intervals.units),
    FunctionSpec("ifx_year", 2, date_parts.year, True),
    FunctionSpec("ifx_month", 2, date_parts.month, True),
    FunctionSpec("ifx_day", 2, date_parts.day, True),
    FunctionSpec("ifx_weekday", 2, date_parts.weekday, True),
    FunctionSpec("ifx_quarter", 2, date_parts.quarter, True),
    FunctionSpec("ifx_add_months", 3, date_parts.add_months, True),
    FunctionSpec("ifx_last_day", 2, date_parts.last_day, True),
    FunctionSpec("ifx_next_day", 3, date_parts.next_day, True),
    FunctionSpec("ifx_months_between", 4, date_parts.months_between, True),
    *_specs("ifx_round_date", date_parts.round_date, 2, 3, with_settings=True),
    *_specs("ifx_trunc_date", date_parts.truncate_date, 2, 3, with_settings=True),
    FunctionSpec("ifx_to_char", 2, _text, True),
    FunctionSpec("ifx_to_char", 3, date_parts.to_char, True),
    FunctionSpec("ifx_to_date", 3, date_parts.to_date, True),
    # rows, collections, documents
    FunctionSpec("ifx_parts", -1, complex_values.appended),
    FunctionSpec("ifx_complex", 2, complex_value),
    FunctionSpec("ifx_field", 2, complex_values.field),
    FunctionSpec("ifx_cardinality", 1, complex_values.cardinality),
    FunctionSpec("ifx_contains", 4, contains, True),
    *_specs("ifx_bson_get", documents.get, 2, 3),
    FunctionSpec("ifx_bson_size", 2, documents.size),
    *(
        FunctionSpec(f"ifx_{name}", 2, documents.value_function(accept))
        for name, accept in documents.VALUE_FUNCTIONS.items()
    ),
    FunctionSpec("ifx_gen_bson", 5, gen_bson, True, deterministic=False),
    # session
    FunctionSpec("ifx_user", 0, dbinfo.user, True),
    FunctionSpec("ifx_dbservername", 0, dbinfo.server_name, True),
    FunctionSpec("ifx_dbinfo", 1, dbinfo.dbinfo, True, deterministic=False),
    FunctionSpec("ifx_dbinfo", 2, dbinfo.dbinfo_about, True, deterministic=False),
    *(FunctionSpec("ifx_encrypt", count, encryption.encrypt, True, False) for count in (2, 3, 4)),
    *(FunctionSpec("ifx_decrypt", count, encryption.decrypt, True, False) for count in (1, 2)),
    FunctionSpec("ifx_get_hint", 1, encryption.get_hint, True),
    FunctionSpec("ifx_raise", 1, _raise, deterministic=False),
    FunctionSpec("ifx_raise", 2, _raise, deterministic=False),
)
"""All functions."""

WINDOW_AGGREGATES: Final[Mapping[str, Callable[[], WindowAggregate]]] = {
    "ifx_sum": aggregates.Sum,
    "ifx_avg": aggregates.Average,
    "ifx_sum_interval": aggregates.IntervalSum,
    "ifx_avg_interval": aggregates.IntervalAverage,
    "ifx_stdev": aggregates.StandardDeviation,
    "ifx_variance": aggregates.Variance,
}

AGGREGATES: Final[Mapping[str, Callable[[], Aggregate]]] = {
    "ifx_range": aggregates.RangeAggregate,
    "ifx_single": aggregates.Single,
    "ifx_collect": aggregates.Collection,
}
