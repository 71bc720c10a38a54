"""Built-in functions: kinds of arguments, the SQLite function, the result type. Never: the tree, operators.

Invariants:
1. A function is a row of `ROUTINES`: kinds of arguments, how many are required, and a builder.
2. Result types are documented where the SQL Syntax manual names one; the sizes of texts are assumed to be the widest
   that the arguments allow.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum, auto
from typing import Final, NamedTuple

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model import type_rules
from aioifx.server.sql.model.storage import TypeNumber, type_number
from aioifx.server.sql.model.type_rules import (
    BOOLEAN,
    DATE,
    FLOAT,
    INTEGER,
    LONG_TEXT,
    Family,
    datetime,
    decimal,
    family_of,
    is_national,
    plain,
    size_of,
    varchar,
)
from aioifx.server.sql.runtime import encryption
from aioifx.server.sql.sqlite.tree import Node, Operation, call, query_sql, sql
from aioifx.server.sql.translate.typed import Typed, cast, converted, number_of, text_of
from aioifx.sqltypes import SqlType, Unit


class ArgumentKind(Enum):
    """The kind of an argument."""

    TEXT = auto()
    NUMBER = auto()
    COUNT = auto()
    """An integer; other values are converted."""
    BITS = auto()
    """An integer of any width; no other type."""
    MOMENT = auto()
    """DATE or DATETIME; a text is a DATE."""
    SPAN = auto()
    """A number, DATE or DATETIME as it is."""


Builder = Callable[[Sequence[Typed]], Typed]


class Routine(NamedTuple):
    """One built-in function."""

    kinds: tuple[ArgumentKind, ...]
    required: int
    build: Builder
    counts_characters: bool = False
    """Whether the size of its result is a number of characters, which may have several bytes each."""


# --- Builders ---------------------------------------------------------------------------------------------------------


def _call_of(name: str, arguments: Sequence[Typed], *more: TypeNumber) -> Node:
    return call(name, *(each.sql for each in arguments), *more)


def _nullable(arguments: Sequence[Typed]) -> bool:
    return any(each.is_nullable for each in arguments)


def _fixed(name: str, type_: SqlType) -> Builder:
    """A function whose type does not depend on its arguments."""

    def build(arguments: Sequence[Typed]) -> Typed:
        return Typed(_call_of(name, arguments), type_, _nullable(arguments))

    return build


def _like_first(name: str) -> Builder:
    """A function of texts that returns the type of the first."""

    def build(arguments: Sequence[Typed]) -> Typed:
        type_ = arguments[0].known_type
        if family_of(type_) is not Family.TEXT:
            type_ = varchar(size_of(type_))
        return Typed(_call_of(name, arguments), plain(type_), _nullable(arguments))

    return build


def _shortened(name: str) -> Builder:
    """A function that returns part of a text."""

    def build(arguments: Sequence[Typed]) -> Typed:
        type_ = arguments[0].known_type
        return Typed(
            _call_of(name, arguments), varchar(size_of(type_), is_national(type_)), _nullable(arguments)
        )

    return build


def _spaces(arguments: Sequence[Typed]) -> Typed:
    """SPACE: the number is the size of the result."""
    length = arguments[0].constant
    size = length if isinstance(length, int) else type_rules.LVARCHAR_LIMIT
    return Typed(_call_of("ifx_space", arguments), varchar(size), _nullable(arguments))


def _padded(name: str) -> Builder:
    """LPAD and RPAD: the number is the size of the result."""

    def build(arguments: Sequence[Typed]) -> Typed:
        length = arguments[1].constant
        size = length if isinstance(length, int) else type_rules.LVARCHAR_LIMIT
        return Typed(
            _call_of(name, arguments),
            varchar(size, is_national(arguments[0].known_type)),
            _nullable(arguments),
        )

    return build


def _replaced(arguments: Sequence[Typed]) -> Typed:
    """REPLACE: the size of the text, unless the replacement may be longer than what it replaces."""
    source = arguments[0].known_type
    old, new = arguments[1], arguments[2] if len(arguments) > 2 else None
    shorter = new is None or (
        isinstance(old.constant, str)
        and isinstance(new.constant, str)
        and len(new.constant) <= len(old.constant)
        and len(new.constant.encode("utf-8", "replace")) <= len(old.constant.encode("utf-8", "replace"))
    )
    type_ = varchar(size_of(source) if shorter else type_rules.LVARCHAR_LIMIT, is_national(source))
    return Typed(_call_of("ifx_replace", arguments), type_, _nullable(arguments))


def _joined(arguments: Sequence[Typed]) -> Typed:
    """CONCAT."""
    left, right = arguments
    type_ = type_rules.concatenation(left.known_type, right.known_type)
    return Typed(Operation("||", left.sql, right.sql), type_, _nullable(arguments))


def _numeric(name: str) -> Builder:
    """ABS, CEIL, FLOOR: the number's own type, without a scale of its own."""

    def build(arguments: Sequence[Typed]) -> Typed:
        type_ = _result_number(arguments[0].known_type)
        return Typed(_call_of(name, arguments, type_number(type_)), type_, _nullable(arguments))

    return build


def _result_number(type_: SqlType) -> SqlType:
    match family_of(type_):
        case Family.INTEGER:
            return type_rules.wider_integer(type_, INTEGER)
        case Family.FLOAT:
            return FLOAT
        case _:
            return decimal()


def _remainder(arguments: Sequence[Typed]) -> Typed:
    """MOD: an integer type; the fractions of its arguments are ignored (documented).

    assumed: INT8 if an argument is not an integer, since any remainder fits into it.
    """
    left, right = arguments
    whole = family_of(left.known_type) is Family.INTEGER and family_of(right.known_type) is Family.INTEGER
    type_ = type_rules.wider_integer(left.known_type, right.known_type) if whole else type_rules.INT8
    return Typed(call("ifx_mod", left.sql, right.sql, type_number(type_)), type_, _nullable(arguments))


def _rounded(name: str) -> Builder:
    """ROUND and TRUNC: of numbers to digits, of DATE and DATETIME to a unit."""

    def build(arguments: Sequence[Typed]) -> Typed:
        first, rest = arguments[0], arguments[1:]
        type_ = first.known_type
        if family_of(type_) in (Family.DATE, Family.DATETIME):
            value = call(f"{name}_date", first.sql, type_number(type_), *(each.sql for each in rest))
            return Typed(value, type_, _nullable(arguments))
        first = number_of(first)
        result = _result_number(first.known_type)
        digits = cast(rest[0], INTEGER) if rest else 0
        return Typed(call(name, first.sql, digits, type_number(result)), result, _nullable(arguments))

    return build


def _part(name: str) -> Builder:
    """YEAR, MONTH, DAY, WEEKDAY, QUARTER."""

    def build(arguments: Sequence[Typed]) -> Typed:
        (moment,) = arguments
        return Typed(call(name, moment.sql, type_number(moment.known_type)), INTEGER, moment.is_nullable)

    return build


def _moved(name: str) -> Builder:
    """ADD_MONTHS, LAST_DAY, NEXT_DAY: the type of the first argument."""

    def build(arguments: Sequence[Typed]) -> Typed:
        moment, rest = arguments[0], arguments[1:]
        value = call(name, moment.sql, type_number(moment.known_type), *(each.sql for each in rest))
        return Typed(value, moment.known_type, _nullable(arguments))

    return build


def _months_between(arguments: Sequence[Typed]) -> Typed:
    left, right = arguments
    numbers = type_number(left.known_type), type_number(right.known_type)
    value = call("ifx_months_between", left.sql, numbers[0], right.sql, numbers[1])
    return Typed(value, decimal(), _nullable(arguments))


def _date(arguments: Sequence[Typed]) -> Typed:
    (value,) = arguments
    return Typed(cast(value, DATE), DATE, value.is_nullable)


def _to_char(arguments: Sequence[Typed]) -> Typed:
    value, rest = arguments[0], arguments[1:]
    text = call("ifx_to_char", value.sql, type_number(value.known_type), *(text_of(each) for each in rest))
    # Assumed: 255 bytes, and -881 for a longer result, as for other functions of text; no error for a long mask.
    return Typed(text, varchar(255), _nullable(arguments))


def _to_date(arguments: Sequence[Typed]) -> Typed:
    type_ = datetime(Unit.YEAR, Unit.FRACTION, 5)
    if len(arguments) == 1:
        return converted(converted(arguments[0], datetime(Unit.YEAR, Unit.SECOND)), type_)
    moment = call("ifx_to_date", arguments[0].sql, arguments[1].sql, type_number(type_))
    return Typed(moment, type_, _nullable(arguments))


def _root(arguments: Sequence[Typed]) -> Typed:
    """ROOT(x [, n]): the square root by default."""
    power = arguments[1].sql if len(arguments) > 1 else 2
    return Typed(call("ifx_root", arguments[0].sql, power), FLOAT, _nullable(arguments))


def _bits(name: str) -> Builder:
    """BITAND and similar: the widest of their integer types."""

    def build(arguments: Sequence[Typed]) -> Typed:
        type_ = arguments[0].known_type
        for argument in arguments:
            type_ = type_rules.wider_integer(type_, argument.known_type)
        return Typed(_call_of(name, arguments), type_, _nullable(arguments))

    return build


def _encrypted(name: str, algorithm: str) -> Builder:
    """ENCRYPT_AES and ENCRYPT_TDES: the documented size, with room for the hint of the session."""

    def build(arguments: Sequence[Typed]) -> Typed:
        require_extra(name)
        type_ = arguments[0].known_type
        size = encryption.encrypted_size(size_of(type_), algorithm, has_hint=True)
        value = call("ifx_encrypt", arguments[0].sql, algorithm, *(each.sql for each in arguments[1:]))
        return Typed(value, varchar(size, is_national(type_)))

    return build


def _decrypted(name: str) -> Builder:
    """DECRYPT_CHAR, and DECRYPT_BINARY, which is the same for a text (documented)."""

    def build(arguments: Sequence[Typed]) -> Typed:
        require_extra(name)
        return _shortened("ifx_decrypt")(arguments)

    return build


def _hint(arguments: Sequence[Typed]) -> Typed:
    require_extra("gethint")
    return Typed(_call_of("ifx_get_hint", arguments), varchar(32))


def require_extra(name: str) -> None:
    """Raise SqlError -999 if the package that encrypts is not installed."""
    if encryption.EXTRA:
        raise SqlError(-999, token=f"{name.upper()} without aioifx[{encryption.EXTRA}]")


# --- The table --------------------------------------------------------------------------------------------------------

_TEXT, _NUMBER, _COUNT, _MOMENT, _SPAN = (
    ArgumentKind.TEXT,
    ArgumentKind.NUMBER,
    ArgumentKind.COUNT,
    ArgumentKind.MOMENT,
    ArgumentKind.SPAN,
)

ROUTINES: Final[dict[str, Routine]] = {
    "upper": Routine((_TEXT,), 1, _like_first("ifx_upper")),
    "lower": Routine((_TEXT,), 1, _like_first("ifx_lower")),
    "initcap": Routine((_TEXT,), 1, _like_first("ifx_initcap")),
    "reverse": Routine((_TEXT,), 1, _like_first("ifx_reverse")),
    "length": Routine((_TEXT,), 1, _fixed("ifx_length", INTEGER)),
    "len": Routine((_TEXT,), 1, _fixed("ifx_length", INTEGER)),
    "char_length": Routine((_TEXT,), 1, _fixed("ifx_char_length", INTEGER)),
    "character_length": Routine((_TEXT,), 1, _fixed("ifx_char_length", INTEGER)),
    "octet_length": Routine((_TEXT,), 1, _fixed("ifx_octet_length", INTEGER)),
    "ltrim": Routine((_TEXT, _TEXT), 1, _shortened("ifx_ltrim")),
    "rtrim": Routine((_TEXT, _TEXT), 1, _shortened("ifx_rtrim")),
    "lpad": Routine((_TEXT, _COUNT, _TEXT), 2, _padded("ifx_lpad"), counts_characters=True),
    "rpad": Routine((_TEXT, _COUNT, _TEXT), 2, _padded("ifx_rpad"), counts_characters=True),
    "replace": Routine((_TEXT, _TEXT, _TEXT), 2, _replaced),
    "substr": Routine((_TEXT, _COUNT, _COUNT), 2, _shortened("ifx_substr")),
    "substring": Routine((_TEXT, _COUNT, _COUNT), 2, _shortened("ifx_substring")),
    "left": Routine((_TEXT, _COUNT), 2, _shortened("ifx_left")),
    "right": Routine((_TEXT, _COUNT), 2, _shortened("ifx_right")),
    "concat": Routine((_TEXT, _TEXT), 2, _joined),
    "space": Routine((_COUNT,), 1, _spaces),
    "instr": Routine((_TEXT, _TEXT, _COUNT, _COUNT), 2, _fixed("ifx_instr", INTEGER)),
    "charindex": Routine((_TEXT, _TEXT, _COUNT), 2, _fixed("ifx_charindex", INTEGER)),
    "substring_index": Routine((_TEXT, _TEXT, _COUNT), 3, _like_first("ifx_substring_index")),
    "ascii": Routine((_TEXT,), 1, _fixed("ifx_ascii", INTEGER)),
    "chr": Routine((_COUNT,), 1, _fixed("ifx_chr", varchar(1))),
    "hex": Routine((_NUMBER,), 1, _fixed("ifx_hex", varchar(18))),
    "abs": Routine((_NUMBER,), 1, _numeric("ifx_abs")),
    "ceil": Routine((_NUMBER,), 1, _numeric("ifx_ceil")),
    "floor": Routine((_NUMBER,), 1, _numeric("ifx_floor")),
    "mod": Routine((_NUMBER, _NUMBER), 2, _remainder),
    "round": Routine((_SPAN, _SPAN), 1, _rounded("ifx_round")),
    "trunc": Routine((_SPAN, _SPAN), 1, _rounded("ifx_trunc")),
    "pow": Routine((_NUMBER, _NUMBER), 2, _fixed("ifx_pow", FLOAT)),
    "power": Routine((_NUMBER, _NUMBER), 2, _fixed("ifx_pow", FLOAT)),
    "root": Routine((_NUMBER, _NUMBER), 1, _root),
    "atan2": Routine((_NUMBER, _NUMBER), 2, _fixed("ifx_atan2", FLOAT)),
    "bitand": Routine((ArgumentKind.BITS, ArgumentKind.BITS), 2, _bits("ifx_bitand")),
    "bitor": Routine((ArgumentKind.BITS, ArgumentKind.BITS), 2, _bits("ifx_bitor")),
    "bitxor": Routine((ArgumentKind.BITS, ArgumentKind.BITS), 2, _bits("ifx_bitxor")),
    "bitandnot": Routine((ArgumentKind.BITS, ArgumentKind.BITS), 2, _bits("ifx_bitandnot")),
    "bitnot": Routine((ArgumentKind.BITS,), 1, _bits("ifx_bitnot")),
    "year": Routine((_MOMENT,), 1, _part("ifx_year")),
    "month": Routine((_MOMENT,), 1, _part("ifx_month")),
    "day": Routine((_MOMENT,), 1, _part("ifx_day")),
    "weekday": Routine((_MOMENT,), 1, _part("ifx_weekday")),
    "quarter": Routine((_MOMENT,), 1, _part("ifx_quarter")),
    "mdy": Routine((_COUNT, _COUNT, _COUNT), 3, _fixed("ifx_mdy", DATE)),
    "date": Routine((_SPAN,), 1, _date),
    "add_months": Routine((_MOMENT, _COUNT), 2, _moved("ifx_add_months")),
    "last_day": Routine((_MOMENT,), 1, _moved("ifx_last_day")),
    "next_day": Routine((_MOMENT, _TEXT), 2, _moved("ifx_next_day")),
    "months_between": Routine((_MOMENT, _MOMENT), 2, _months_between),
    "to_char": Routine((_SPAN, _TEXT), 1, _to_char),
    "to_number": Routine((_TEXT,), 1, _fixed("ifx_to_number", decimal())),
    "to_date": Routine((_TEXT, _TEXT), 1, _to_date),
    "regex_match": Routine((_TEXT, _TEXT, _COUNT), 2, _fixed("ifx_regex_match", BOOLEAN)),
    "regex_replace": Routine(
        (_TEXT, _TEXT, _TEXT, _COUNT, _COUNT), 3, _fixed("ifx_regex_replace", LONG_TEXT)
    ),
    "encrypt_aes": Routine((_TEXT, _TEXT, _TEXT), 1, _encrypted("encrypt_aes", "A")),
    "encrypt_tdes": Routine((_TEXT, _TEXT, _TEXT), 1, _encrypted("encrypt_tdes", "T")),
    "decrypt_char": Routine((_TEXT, _TEXT), 1, _decrypted("decrypt_char")),
    "decrypt_binary": Routine((_TEXT, _TEXT), 1, _decrypted("decrypt_binary")),
    "gethint": Routine((_TEXT,), 1, _hint),
    "logn": Routine((_NUMBER,), 1, _fixed("ifx_ln", FLOAT)),
} | {
    name: Routine((_NUMBER,), 1, _fixed(f"ifx_{name}", FLOAT))
    for name in "sqrt exp ln log10 sin cos tan asin acos atan degrees radians".split()
}


NOT_OF_OBJECTS: Final = frozenset(
    """encrypt_aes encrypt_tdes decrypt_char decrypt_binary gethint regex_match regex_replace""".split()
)
"""Functions whose first argument may be a BLOB or CLOB in Informix, and is refused here by name."""


def _routine_types(attributes: str) -> Builder:
    """The types of a routine's parameters or results, with commas between them."""

    def build(arguments: Sequence[Typed]) -> Typed:
        rows = query_sql(
            'SELECT * FROM main."sysproccolumns" WHERE procid = {} AND paramattr IN ({}) ORDER BY paramid',
            arguments[0].sql,
            attributes,
        )
        text = "group_concat(ifx_type_text(paramtype, paramxid, paramlen), ',')"
        return Typed(sql("({})", query_sql("SELECT {} FROM ({})", text, rows)), varchar(255))

    return build


CATALOG_ROUTINES: Final[dict[str, Routine]] = {
    "get_data_type": Routine((_COUNT, _COUNT, _COUNT), 3, _fixed("ifx_jdbc_type", INTEGER)),
    "schema_coltypename": Routine((_COUNT, _COUNT), 2, _fixed("ifx_type_name", varchar(40))),
    "schema_precision": Routine((_COUNT, _COUNT, _COUNT), 3, _fixed("ifx_type_precision", INTEGER)),
    "schema_numscale": Routine((_COUNT, _COUNT), 2, _fixed("ifx_type_scale", INTEGER)),
    "schema_numprecradix": Routine((_COUNT,), 1, _fixed("ifx_type_radix", INTEGER)),
    "schema_isnullable": Routine((_COUNT,), 1, _fixed("ifx_is_nullable", INTEGER)),
    "schema_nullable": Routine((_COUNT,), 1, _fixed("ifx_nullable_word", varchar(3))),
    "schema_datetype": Routine((_COUNT, _COUNT), 2, _fixed("ifx_date_type", INTEGER)),
    "schema_charlen": Routine((_COUNT, _COUNT, _COUNT), 3, _fixed("ifx_char_octets", INTEGER)),
    "schema_isautoincr": Routine((_COUNT,), 1, _fixed("ifx_increments_word", varchar(3))),
    "schema_bufflen": Routine((_COUNT, _COUNT), 2, _fixed("ifx_type_bytes", INTEGER)),
    "ifx_param_types": Routine((_COUNT,), 1, _routine_types("1, 2, 4")),
    "ifx_ret_types": Routine((_COUNT,), 1, _routine_types("3, 5")),
    "ikeyextractcolno": Routine((_TEXT, _COUNT), 2, _fixed("ifx_key_column", INTEGER)),
    "get_default_value": Routine(
        (_COUNT, _COUNT, _COUNT, _TEXT), 4, _fixed("ifx_default_text", varchar(254))
    ),
}
"""Routines of every database, owner informix, that JDBC and tools call (observed: their queries)."""
