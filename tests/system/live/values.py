"""Facts that the embedded server assumes of servers: values and expressions. Never: what the client needs."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from aioifx.sqltypes import IntervalYM
from aioifx.verify.check import ANY_ERROR, ONE_ROW, Check, Step, fails, gives, refused, rows, sql_check

VALUES: Final[tuple[Check, ...]] = (
    sql_check(
        "integer-cast-cuts",
        "A conversion of a decimal to an integer cuts, and does not round.",
        "server/sql/runtime/numerics.py: whole",
        gives("2.7::INT", 2),
        gives("(-2.7)::INT", -2),
        gives("2.5::SMALLINT", 2),
    ),
    sql_check(
        "maths-domain",
        "A mathematical function outside its domain fails with -1226.",
        "server/sql/runtime/numerics.py: _MATHS_DOMAIN",
        refused("SQRT(-1)", -1226),
        refused("LOGN(-1)", -1226),
        refused("ACOS(2)", -1226),
    ),
    sql_check(
        "mod-of-decimals",
        "MOD of numbers with fractions is an INT8.",
        "server/sql/translate/builtins.py: _remainder",
        gives("MOD(7.5, 2)", 1, type="INT8"),
        gives("MOD(-7, 2)", -1, type="INTEGER"),
    ),
    sql_check(
        "sum-of-integers",
        "SUM of integers is a DECIMAL of scale 0.",
        "server/sql/translate/arithmetic.py: aggregated",
        Step("SELECT SUM(a) FROM vfy_sum", (), [(3,)], types=("DECIMAL(32,0)",)),
        setup=(
            "CREATE TEMP TABLE vfy_sum (a INT)",
            "INSERT INTO vfy_sum VALUES (1)",
            "INSERT INTO vfy_sum VALUES (2)",
        ),
    ),
    sql_check(
        "number-masks",
        "TO_CHAR pads with the mask's symbols, and rounds halves away from zero.",
        "server/sql/runtime/datetime_formats.py",
        gives("TO_CHAR(0.125, '&&&.&&')", "000.13"),
        gives("TO_CHAR(-2.345, '-##.##')", "- 2.35"),
        gives("TO_CHAR(12.5, '*##.##')", "*12.50"),
        gives("TO_CHAR(1234.5, '###,###.##')", "  1,234.50"),
    ),
    sql_check(
        "row-limits-refuse-negatives",
        "A negative or NULL number of rows in FIRST or SKIP fails with -415.",
        "server/sql/runtime/sqlite_extras.py: count",
        fails("SELECT FIRST ? tabid FROM informix.systables", -415, -1),
        fails("SELECT SKIP ? tabid FROM informix.systables", -415, -1),
        fails("SELECT FIRST ? tabid FROM informix.systables", -415, None),
    ),
    sql_check(
        "serial-overflow",
        "A SERIAL8 or BIGSERIAL beyond its largest number fails as an INT8 or BIGINT does.",
        "server/sqlite/counters.py: _LIMITS",
        fails("INSERT INTO vfy_big VALUES (0, 2)", -1284),
        setup=(
            "CREATE TEMP TABLE vfy_big (a BIGSERIAL, b INT)",
            "INSERT INTO vfy_big VALUES (9223372036854775807, 1)",
        ),
    ),
    sql_check(
        "text-functions-count-characters",
        "SUBSTR and LPAD count characters; LENGTH, OCTET_LENGTH and subscripts count bytes.",
        "server/sql/runtime/strings.py",
        gives("SUBSTR('\u00e9a', 2, 1)", "a"),
        gives("LPAD('\u00e9', 3, '*')", "**\u00e9"),
        gives("CHAR_LENGTH('\u00e9a')", 2),
    ),
    sql_check(
        "substr-out-of-range",
        "SUBSTR gives NULL for a start before the first character, and for a count below 1.",
        "server/sql/runtime/strings.py: substr",
        gives("SUBSTR('abc', -5, 2)", None),
        gives("SUBSTR('abc', 1, 0)", None),
        gives("SUBSTR('abc', 0, 2)", "ab"),
    ),
    sql_check(
        "substring-index-without-delimiter",
        "An empty delimiter never occurs for SUBSTRING_INDEX.",
        "server/sql/runtime/strings.py: substring_index",
        gives("SUBSTRING_INDEX('a.b.c', '', 1)", "a.b.c"),
    ),
    sql_check(
        "ascii-of-wide-characters",
        "ASCII of a character with several bytes is its first byte.",
        "server/sql/runtime/strings.py: ascii_code",
        gives("CASE WHEN ASCII('\u00e9') IN (195, 233) THEN 1 ELSE 0 END", 1),  # in UTF-8 and 8859-1
    ),
    sql_check(
        "text-function-sizes",
        "The result of a function of texts is as wide as its arguments allow.",
        "server/sql/translate/builtins.py",
        gives("UPPER('abc') || 'x'", "ABCx", type="VARCHAR(4)"),
        gives("LPAD('x', 5)", "    x", type="VARCHAR(5)"),
        gives("'abc' || 5", "abc5", type="VARCHAR(14)"),
        single_byte=True,  # LPAD counts characters, the size of a VARCHAR is in bytes
    ),
    sql_check(
        "escape-of-one-character",
        "An ESCAPE that is not one character fails with -201.",
        "server/sql/runtime/patterns.py: _checked",
        refused("CASE WHEN 'abc' LIKE 'a%' ESCAPE 'xy' THEN 1 END", -201),
    ),
    sql_check(
        "like-ignores-padding",
        "LIKE and MATCHES compare a CHAR without its trailing blanks.",
        "server/sql/translate/typed.py: unpadded_text_of",
        rows("SELECT a FROM vfy_like WHERE c LIKE 'x'", (1,)),
        rows("SELECT a FROM vfy_like WHERE c MATCHES 'x'", (1,)),
        setup=("CREATE TEMP TABLE vfy_like (a INT, c CHAR(5))", "INSERT INTO vfy_like VALUES (1, 'x')"),
    ),
    sql_check(
        "boolean-texts",
        "A text is a BOOLEAN only as t or f; any other fails with -1260.",
        "server/sql/runtime/casts.py: _text_to_boolean",
        gives("'t'::BOOLEAN", True),
        refused("'T'::BOOLEAN", -1260),
        refused("'1'::BOOLEAN", -1260),
    ),
    sql_check(
        "literal-text-limit",
        "A quoted text has at most 32767 bytes; a longer one fails with -280.",
        "server/sql/translate/expressions.py: Expressions.any_value",
        gives(f"LENGTH('{'x' * 32767}')", 32767),
        refused(f"LENGTH('{'x' * 32768}')", -280),
    ),
    sql_check(
        "interval-text",
        "An INTERVAL as a text has no blanks before its leading field, and one sign.",
        "server/sql/runtime/intervals.py: format_interval",
        gives("INTERVAL(3 05:30) DAY TO MINUTE::CHAR(12)", "3 05:30     "),
        gives("INTERVAL(-5-03) YEAR TO MONTH::CHAR(8)", "-5-03   "),
        gives("INTERVAL(.123) FRACTION TO FRACTION(3)::CHAR(6)", ".123  "),
    ),
    sql_check(
        "datetime-difference-type",
        "The difference of DATETIMEs has 8 digits for DAY and smaller units, 9 for YEAR and MONTH.",
        "server/sql/model/type_rules.py: _distance",
        gives(
            "DATETIME(2026-01-31) YEAR TO DAY - DATETIME(2025-01-31) YEAR TO DAY",
            timedelta(days=365),
            type="INTERVAL DAY(8) TO DAY",
        ),
        gives(
            "DATETIME(2026-01) YEAR TO MONTH - DATETIME(2025-03) YEAR TO MONTH",
            IntervalYM(months=10),
            type="INTERVAL YEAR(9) TO MONTH",
        ),
    ),
    sql_check(
        "datetime-does-not-wrap",
        "A time of day does not wrap at midnight; the sum fails with -1267.",
        "server/sql/runtime/datetimes.py: _back",
        refused("DATETIME(23:00) HOUR TO MINUTE + 2 UNITS HOUR", -1267),
    ),
    sql_check(
        "datetime-without-fraction",
        "A text without FRACTION is a DATETIME YEAR TO FRACTION.",
        "server/sql/runtime/datetimes.py: parse_datetime",
        gives(
            "'2000-01-03 00:00:00'::DATETIME YEAR TO FRACTION(5)",
            datetime(2000, 1, 3),
            type="DATETIME YEAR TO FRACTION(5)",
        ),
    ),
    sql_check(
        "interval-leads-datetime",
        "An INTERVAL whose leading field the DATETIME lacks is refused with -1266.",
        "server/sql/runtime/datetimes.py: check_fields",
        refused("DATETIME(23:00) HOUR TO MINUTE + INTERVAL(1) DAY TO DAY", -1266),
    ),
    sql_check(
        "unknown-date-part",
        "An invalid weekday or date part fails with -1277.",
        "server/sql/runtime/date_parts.py: _BAD_NAME",
        refused("NEXT_DAY(TODAY, 'xxx')", -1277),
        refused("TRUNC(CURRENT, 'qq')", -1277),
    ),
    sql_check(
        "parameter-beside-operator",
        "A ? beside a number has its type; beside a DATE, days; beside a DATETIME, an INTERVAL.",
        "server/sql/translate/expressions.py: Expressions._exact",
        rows("SELECT a + ?, MDY(1, 31, 2026) + ? - MDY(1, 31, 2026) FROM vfy_beside", (3, 2), params=(2, 2)),
        rows(
            "SELECT (DATETIME(2026-01-31 10:00) YEAR TO MINUTE + ?) - DATETIME(2026-01-31 10:00) YEAR TO MINUTE "
            "FROM vfy_beside",
            (timedelta(hours=1),),
            params=(timedelta(hours=1),),
        ),
        setup=("CREATE TEMP TABLE vfy_beside (a INT)", "INSERT INTO vfy_beside VALUES (1)"),
    ),
    sql_check(
        "parameter-is-null",
        "? IS NULL is refused with -201, as is every ? without a type.",
        "server/sql/translate/conditions.py: _is_null",
        fails("SELECT tabid FROM informix.systables WHERE ? IS NULL", -201, 1),
    ),
    sql_check(
        "boolean-expressions-as-conditions",
        "A CASE or a cast of type BOOLEAN is a condition by itself.",
        "server/sql/syntax/expressions.py: BooleanValue",
        rows(f"SELECT 5 {ONE_ROW} AND ('t'::BOOLEAN)", (5,)),
        rows(f"SELECT 5 {ONE_ROW} AND CASE WHEN tabid = 1 THEN 't'::BOOLEAN ELSE 'f'::BOOLEAN END", (5,)),
    ),
    sql_check(
        "syntax-error-offset",
        "The offset of -201 is the beginning of the offending token.",
        "server/sql/syntax/token_stream.py",
        fails("SELECT tabid FRM informix.systables", -201, offset=18),
        fails("SELECT tabid, FROM informix.systables", -201, offset=15),
    ),
    sql_check(
        "token-error-offset",
        "The offset of a malformed token is its beginning.",
        "server/sql/syntax/tokens.py",
        fails("SELECT 'abc FROM informix.systables", -282, offset=8),
        fails("SELECT ` FROM informix.systables", -202, offset=8),
    ),
    sql_check(
        "number-before-name",
        "A number and a name without a blank between them are refused with -203 or -204.",
        "server/sql/syntax/tokens.py: _number",
        refused("12abc", -203),
        refused("1.5abc", -204),
    ),
    sql_check(
        "size-out-of-range",
        "A size that a type does not allow fails with the code of the type.",
        "server/sql/syntax/types.py",
        fails("CREATE TEMP TABLE vfy_size (a CHAR(40000))", -235),
        fails("CREATE TEMP TABLE vfy_size (a VARCHAR(300))", -650),
        fails("CREATE TEMP TABLE vfy_size (a VARCHAR(10,20))", -651),
        fails("CREATE TEMP TABLE vfy_size (a LVARCHAR(40000))", -650),
        fails("CREATE TEMP TABLE vfy_size (a DECIMAL(40,2))", -201),
        fails("CREATE TEMP TABLE vfy_size (a DECIMAL(4,5))", -366),
    ),
    sql_check(
        "number-length",
        "A number of more than 255 characters is refused.",
        "server/sql/syntax/tokens.py: NUMBER_SIZE",
        refused("1" * 256, ANY_ERROR),
    ),
)
