from __future__ import annotations

import inspect
import re
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from aioifx.codecs.bson import decode_document
from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.settings import Settings
from aioifx.server.sql.model.storage import type_number
from aioifx.server.sql.runtime import sqlite_functions
from aioifx.server.sql.runtime.client_values import load, store
from aioifx.server.sql.runtime.dates import days_of
from aioifx.server.sql.runtime.sqlite_functions import (
    AGGREGATES,
    FUNCTIONS,
    WINDOW_AGGREGATES,
    complex_value,
    contains,
    gen_bson,
    register,
)
from aioifx.sqltypes import SqlType, Unit
from tests.server.sql import kinds
from tests.server.sql.kinds import (
    BIGINT,
    DATE,
    FLOAT,
    INTEGER,
    YEAR_TO_DAY,
    YEAR_TO_FRACTION_3,
    YEAR_TO_MINUTE,
    YEAR_TO_SECOND,
    char,
    decimal,
    interval,
    n,
    varchar,
)

DECIMAL = n(decimal())


@dataclass
class Database:
    """A SQLite connection with our functions, and the errors that they reported."""

    connection: sqlite3.Connection
    settings: Settings
    errors: list[SqlError] = field(default_factory=list)

    def row(self, expressions: str, *parameters: object) -> tuple[object, ...]:
        found: tuple[object, ...] = self.connection.execute(f"SELECT {expressions}", parameters).fetchone()
        return found

    def value(self, expression: str, *parameters: object) -> object:
        return self.row(expression, *parameters)[0]

    def error(self, expression: str, *parameters: object) -> int:
        """The SQLCODE of the one error that an expression ends with."""
        self.errors.clear()
        with pytest.raises(sqlite3.OperationalError):
            self.connection.execute(f"SELECT {expression}", parameters).fetchall()
        (error,) = self.errors
        return error.sqlcode


@pytest.fixture
def database() -> Iterator[Database]:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    made = Database(connection, kinds.settings())
    register(connection, made.settings, made.errors.append)
    yield made
    connection.close()


# --- the table ----------------------------------------------------------------------------------------------------


def test_the_docstring_names_every_function_and_no_other() -> None:
    documented = set(re.findall(r"ifx_[a-z0-9_]+", inspect.getdoc(sqlite_functions) or ""))
    registered = (
        {spec.name for spec in FUNCTIONS} | set(WINDOW_AGGREGATES) | set(AGGREGATES) | {"ifx_decimal"}
    )
    assert documented == registered


def test_no_name_and_number_of_arguments_appears_twice() -> None:
    keys = [(spec.name, spec.arguments) for spec in FUNCTIONS]
    assert len(keys) == len(set(keys))


@pytest.mark.parametrize("spec", FUNCTIONS, ids=lambda spec: f"{spec.name}/{spec.arguments}")
def test_every_function_takes_as_many_arguments_as_it_says(spec: sqlite_functions.FunctionSpec) -> None:
    given = 2 if spec.arguments < 0 else spec.arguments  # -1: any number
    count = given + spec.with_settings
    inspect.signature(spec.call).bind(*range(count))


_OF_NULL = {"ifx_raise", "ifx_dbinfo", "ifx_current", "ifx_regex_match", "ifx_regex_replace"}


@pytest.mark.parametrize(
    "spec",
    [spec for spec in FUNCTIONS if spec.arguments and spec.name not in _OF_NULL],
    ids=lambda spec: f"{spec.name}/{spec.arguments}",
)
def test_a_null_argument_gives_null(database: Database, spec: sqlite_functions.FunctionSpec) -> None:
    marks = ", ".join(["NULL", *(["1"] * (spec.arguments - 1))])
    assert database.value(f"{spec.name}({marks})") is None


# --- examples with results ------------------------------------------------------------------------------------------


def test_numbers(database: Database) -> None:
    assert database.row(
        f"ifx_div(7, 2, {DECIMAL}), ifx_div(7, 2, {n(FLOAT)}), ifx_mod(-7, 3, {n(INTEGER)}), "
        f"ifx_round('2.5', 0, {DECIMAL}), ifx_trunc('-2.7', 0, {DECIMAL})"
    ) == ("3.5", 3.5, -1, "3", "-2")


def test_division_by_zero(database: Database) -> None:
    assert database.error(f"ifx_div(1, 0, {DECIMAL})") == -1202


def test_text_that_is_not_a_number(database: Database) -> None:
    assert database.error(f"ifx_cast('x', {n(char(1))}, {n(INTEGER)})") == -1213


def test_matches_and_subscripts(database: Database) -> None:
    assert database.value("ifx_matches('systables', 's?s[t-v]a*')") == 1
    assert database.value("ifx_subscript('systables', 1, 3)") == "sys"


def test_dates_and_days(database: Database) -> None:
    later = database.value("ifx_date_add(ifx_mdy(2, 29, 2024), 365)")
    assert load(later, DATE) == date(2025, 2, 28)  # type: ignore[arg-type] # any stored value
    assert database.value("ifx_mdy(3, 1, 2024) - ifx_mdy(2, 1, 2024)") == 29


def test_a_month_later_there_is_no_such_day(database: Database) -> None:
    month = n(interval(Unit.MONTH, Unit.MONTH))
    moment = f"'2024-01-31 10:00', {n(YEAR_TO_MINUTE)}"
    assert database.error(f"ifx_datetime_add({moment}, ifx_units(1, {month}), {month})") == -1267


def test_a_second_before_midnight(database: Database) -> None:
    second = n(interval(Unit.SECOND, Unit.SECOND))
    extended = f"ifx_cast(ifx_mdy(5, 4, 2026), {n(DATE)}, {n(YEAR_TO_SECOND)})"
    earlier = database.value(f"ifx_datetime_sub({extended}, {n(YEAR_TO_SECOND)}, 100000, {second})")
    assert earlier == "2026-05-03 23:59:59"


def test_the_difference_of_two_datetimes(database: Database) -> None:
    minute = n(YEAR_TO_MINUTE)
    ticks = database.value(f"ifx_datetime_diff('2026-05-04 12:00', {minute}, '2026-05-01 06:30', {minute})")
    day_to_minute = interval(Unit.DAY, Unit.MINUTE, 8)
    assert database.value(f"ifx_text(?, {n(day_to_minute)})", ticks) == "3 05:30"
    assert load(ticks, day_to_minute) == timedelta(days=3, hours=5, minutes=30)  # type: ignore[arg-type] # see above


def test_strings_in_char_and_varchar(database: Database) -> None:
    settings = database.settings
    database.connection.execute("CREATE TABLE t (k INTEGER, c TEXT COLLATE RTRIM, v TEXT COLLATE RTRIM)")
    rows = [(1, "ab", "ab "), (10, "abcdefg", ""), (11, None, None)]
    for k, c, v in rows:
        values = (k, store(c, char(5), settings), store(v, varchar(5), settings))
        database.connection.execute("INSERT INTO t VALUES (?, ?, ?)", values)
    found = database.connection.execute("SELECT k, c, v, ifx_length(c) FROM t ORDER BY k").fetchall()
    result = [(k, load(c, char(5)), v, size) for k, c, v, size in found]
    assert result == [(1, "ab   ", "ab ", 2), (10, "abcde", "", 5), (11, None, None, None)]
    assert database.value("COUNT(*) FROM t WHERE c = 'ab'") == 1
    assert database.value("COUNT(*) FROM t WHERE v = 'ab'") == 1


def test_conditionals_need_no_function_of_ours(database: Database) -> None:
    assert database.row(
        f"ifnull(NULL, 5), CASE WHEN NULL IS NULL THEN 'n' ELSE 'x' END, 'a' || ifx_text(NULL, {n(char(1))})"
    ) == (5, "n", None)


# --- SQLite around the functions -----------------------------------------------------------------------------------


def test_decimals_are_ordered_and_grouped_by_value(database: Database) -> None:
    database.connection.execute("CREATE TABLE d (x TEXT COLLATE ifx_decimal)")
    for number in ("10", "9.5", "-1", "0.25", "9.50"):
        stored = store(Decimal(number), decimal(), database.settings)
        database.connection.execute("INSERT INTO d VALUES (?)", (stored,))
    ordered = [x for (x,) in database.connection.execute("SELECT DISTINCT x FROM d ORDER BY x")]
    assert ordered == ["-1", "0.25", "9.5", "10"]
    assert database.row("MIN(x), MAX(x), COUNT(DISTINCT x) FROM d") == ("-1", "10", 4)
    assert database.row("ifx_sum(x), ifx_avg(x), ifx_sum(DISTINCT x) FROM d") == ("28.25", "5.65", "18.75")
    assert database.value("COUNT(*) FROM d WHERE x > '9'") == 3


def test_aggregates_serve_windows_and_groups(database: Database) -> None:
    numbers = "(SELECT 1 AS x UNION ALL SELECT 2 UNION ALL SELECT 4)"
    moving = "ifx_sum(x) OVER (ORDER BY x ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)"
    found = database.connection.execute(f"SELECT {moving} FROM {numbers}").fetchall()
    assert found == [("1",), ("3",), ("6",)]
    assert database.row(f"ifx_stdev(x), ifx_range(x), ifx_avg_interval(x) FROM {numbers}")[1:] == ("3", 2)
    assert database.value(f"ifx_sum(x) FROM {numbers} WHERE x > 4") is None


def test_errors_of_aggregates_are_reported(database: Database) -> None:
    assert database.error("ifx_sum(x) FROM (SELECT 'abc' AS x)") == -1213
    assert database.error("ifx_single(x) FROM (SELECT 1 AS x UNION ALL SELECT 2)") == -284
    assert database.error("ifx_sum(x) FROM (SELECT '9e125' AS x UNION ALL SELECT '8e125')") == -1226
    assert database.value("ifx_single(x) FROM (SELECT 7 AS x)") == 7


def test_an_error_can_be_raised_in_sql(database: Database) -> None:
    assert database.error("ifx_raise(-284)") == -284
    assert database.error("CASE WHEN 1 THEN ifx_raise(-999, 'THIS') END") == -999
    assert database.errors[0].token == "THIS"
    assert database.value("CASE WHEN 0 THEN ifx_raise(-284) ELSE 1 END") == 1


def test_a_mistake_of_ours_is_an_internal_error_with_its_cause(database: Database) -> None:
    assert database.error("ifx_upper(5)") == -768
    assert isinstance(database.errors[0].__cause__, TypeError)


def test_settings_are_looked_at_whenever_a_function_runs(database: Database) -> None:
    ask = f"ifx_today(), ifx_current({n(YEAR_TO_FRACTION_3)}), ifx_text(0, {n(DATE)}), ifx_user()"
    today = days_of(date(2026, 5, 4))
    assert database.row(ask) == (today, "2026-05-04 12:34:56.789", "12/31/1899", "informix")
    database.settings.now = datetime(2026, 5, 5, 1)
    database.settings.dbdate = "Y4MD-"
    database.settings.user = "anna"
    assert database.row(ask) == (today + 1, "2026-05-05 01:00:00.000", "1899-12-31", "anna")


def test_assigning_and_casting_differ_in_strings_that_are_too_long(database: Database) -> None:
    database.settings.string_truncate_error = True
    types = f"{n(varchar(9))}, {n(char(3))}"
    assert database.value(f"ifx_cast('abcd', {types})") == "abc"
    assert database.error(f"ifx_assign('abcd', {types})") == -1279


@pytest.mark.parametrize(
    ("left", "left_type", "right", "right_type", "order"),
    [
        (2, INTEGER, "2.5", decimal(), -1),
        ("10", char(2), 9, INTEGER, 1),
        ("2026-05-04", YEAR_TO_DAY, "2026-05-04 00:00", YEAR_TO_MINUTE, 0),
        (None, INTEGER, 1, INTEGER, None),
    ],
)
def test_comparisons(
    database: Database,
    left: object,
    left_type: SqlType,
    right: object,
    right_type: SqlType,
    order: int | None,
) -> None:
    assert database.value(f"ifx_compare(?, {n(left_type)}, ?, {n(right_type)})", left, right) == order


def test_integers_do_not_turn_into_floats(database: Database) -> None:
    assert database.error(f"ifx_add({2**63 - 1}, 1, {n(BIGINT)})") == -1284
    assert database.error(f"ifx_mul({2**62}, 2, {n(BIGINT)})") == -1284
    assert database.error(f"ifx_add({2**31 - 1}, 1, {n(INTEGER)})") == -1215
    assert database.value(f"ifx_sub({2**63 - 1}, 1, {n(BIGINT)})") == 2**63 - 2


def test_a_sample_of_the_rest(database: Database) -> None:
    assert database.row(
        "ifx_like('Ab', 'A%'), ifx_like('Ab', 'a%'), ifx_lpad('7', 3, '0'), ifx_replace('banana', 'an'), "
        "ifx_substr('abc', -2), ifx_substring('abcde', 0, 2), ifx_instr('banana', 'an', 3), ifx_trim('xax', 'x'), "
        "ifx_hex(255), ifx_bitandnot(12, 10), ifx_sqrt('6.25'), ifx_octet_length('a ')"
    ) == (1, 0, "007", "ba", "bc", "a", 4, "a", "0x000000FF", 4, 2.5, 2)


def test_months_and_formats(database: Database) -> None:
    second = n(YEAR_TO_SECOND)
    assert database.row(
        f"ifx_add_months('2024-01-31 10:00:00', {second}, 1), ifx_year('2024-01-31 10:00:00', {second}), "
        f"ifx_to_char('2024-01-31 10:00:00', {second}, '%d %b %H:%M'), "
        f"ifx_to_date('31.01.2024', '%d.%m.%Y', {second}), ifx_to_char(5, {n(INTEGER)})"
    ) == ("2024-02-29 10:00:00", 2024, "31 Jan 10:00", "2024-01-31 00:00:00", "5")
    assert database.error("ifx_dbinfo('weather')") == -728
    assert database.value("ifx_dbinfo('version', 'major')") == "15"


def test_parts_become_a_value_of_a_type() -> None:
    assert complex_value("[1,2,1]", "SET(integer not null)") == "[1,2]"
    assert complex_value("[1,2,1]", "LIST(integer not null)") == "[1,2,1]"
    assert complex_value(None, "LIST(integer not null)") is None
    with pytest.raises(SqlError) as raised:
        complex_value("[null]", "LIST(integer not null)")
    assert raised.value.sqlcode == -9978


@pytest.mark.parametrize(
    ("collection", "definition", "element", "kind", "expected"),
    [
        ("[1,2]", "SET(integer not null)", 2, kinds.INTEGER, True),
        ("[1,2]", "SET(integer not null)", "2.5", kinds.decimal(), False),
        ("[1,2]", "SET(integer not null)", "2", kinds.varchar(1), True),
        ('["a"]', "LIST(varchar(5) not null)", "a ", kinds.char(2), True),
        ('["1.5"]', "LIST(decimal(5,2) not null)", 1.5, kinds.FLOAT, True),
        ('["[1,2]"]', "LIST(SET(integer not null) not null)", "SET{2,1}", kinds.varchar(9), True),
        ("[]", "SET(integer not null)", 2, kinds.INTEGER, False),
        (None, "SET(integer not null)", 2, kinds.INTEGER, None),
        ("[1]", "SET(integer not null)", None, kinds.INTEGER, None),
    ],
)
def test_elements_are_compared_by_the_rules_of_their_types(
    collection: str | None, definition: str, element: Any, kind: Any, expected: bool | None
) -> None:
    assert contains(kinds.settings(), collection, definition, element, type_number(kind)) is expected


def test_a_row_becomes_a_document() -> None:
    made = gen_bson(kinds.settings(), "ROW(a integer,b decimal(5,2))", '["x","y"]', '[1,"2.5"]', 0, 0)
    assert decode_document(bytes.fromhex(str(made))) == {"x": 1, "y": 2.5}
    assert gen_bson(kinds.settings(), "ROW(a integer)", '["x"]', None, 0, 0) is None
