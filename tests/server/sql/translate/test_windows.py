from __future__ import annotations

from decimal import Decimal

import pytest

from aioifx.sqltypes import Value
from tests.server.sql.workbench import EACH_TYPE, Workbench


@pytest.mark.parametrize(
    ("window", "values"),
    [
        ("ROW_NUMBER() OVER (ORDER BY n DESC)", [3, 2, 1]),
        ("RANK() OVER (ORDER BY g)", [1, 1, 3]),
        ("DENSE_RANK() OVER (ORDER BY g)", [1, 1, 2]),
        ("COUNT(*) OVER (PARTITION BY g)", [2, 2, 1]),
        ("SUM(n) OVER (PARTITION BY g)", [3, 3, 3]),
        ("SUM(n) OVER (ORDER BY n ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)", [1, 3, 6]),
        ("LAG(n, 1, 0) OVER (ORDER BY n)", [0, 1, 2]),
        ("LEAD(n) OVER (ORDER BY n)", [2, 3, None]),
        ("MAX(g) OVER ()", ["b", "b", "b"]),
    ],
)
def test_window_functions_see_their_partition(window: str, values: list[Value]) -> None:
    bench = Workbench("CREATE TABLE w (n INT, g CHAR(1))")
    for row in ("1, 'a'", "2, 'a'", "3, 'b'"):
        bench.run(f"INSERT INTO w VALUES ({row})")
    assert bench.rows(f"SELECT n, {window} FROM w ORDER BY n") == list(zip([1, 2, 3], values, strict=True))


@pytest.mark.parametrize("kind", ["INT", "FLOAT", "DECIMAL(8,2)", "MONEY(8,2)", "DECIMAL(8)", "DATE"])
def test_a_range_is_counted_from_the_key_of_the_row(kind: str) -> None:
    bench = Workbench(f"CREATE TABLE w (k {kind})")
    for number in (1, 2, 4, 10):
        bench.run(f"INSERT INTO w VALUES ({number})")
    counts = "SELECT k, COUNT(*) OVER (ORDER BY k {}) FROM w ORDER BY k"
    for direction in ("", "DESC"):
        frame = f"{direction} RANGE BETWEEN 2 PRECEDING AND 2 FOLLOWING"
        assert [row[1] for row in bench.rows(counts.format(frame))] == [2, 3, 2, 1]
    frame = "RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"
    assert [row[1] for row in bench.rows(counts.format(frame))] == [1, 2, 3, 4]


def test_a_range_has_offsets_for_numbers_and_dates_alone() -> None:
    bench = Workbench("CREATE TABLE w (k DATETIME YEAR TO SECOND)")
    assert bench.error("SELECT COUNT(*) OVER (ORDER BY k RANGE 1 PRECEDING) FROM w")[0] == -999


def test_an_offset_is_a_whole_number() -> None:
    # Documented: Guide to SQL: Syntax, OVER clause: "Literal integer".
    bench = Workbench("CREATE TABLE w (k FLOAT)")
    assert bench.error("SELECT COUNT(*) OVER (ORDER BY k RANGE 1.25 PRECEDING) FROM w")[0] == -201


def test_a_windows_function_must_be_one() -> None:
    assert Workbench().error("SELECT UPPER(tabname) OVER () FROM systables")[0] in (-201, -674)
    assert Workbench().error("SELECT tabid FROM systables WHERE ROW_NUMBER() OVER () = 1")[0] == -201


@pytest.mark.parametrize(
    ("kind", "ratios"),
    [
        ("INT", [Decimal("0.25"), Decimal("0.75"), None, None]),
        ("DECIMAL(8,2)", [Decimal("0.25"), Decimal("0.75"), None, None]),
        ("FLOAT", [0.25, 0.75, None, None]),
    ],
)
@pytest.mark.parametrize("name", ["RATIO_TO_REPORT", "RatioToReport"])
def test_a_ratio_is_that_of_a_value_to_the_sum_of_its_window(
    kind: str, ratios: list[Value], name: str
) -> None:
    bench = Workbench(f"CREATE TABLE w (k INT, g CHAR(1), n {kind})")
    for row in ("1, 'a', 2", "2, 'a', 6", "3, 'b', 0", "4, 'b', NULL"):
        bench.run(f"INSERT INTO w VALUES ({row})")
    text = f"SELECT {name}(n) OVER (PARTITION BY g) FROM w ORDER BY k"
    found = [row[0] for row in bench.rows(text)]
    assert found == ratios
    ((_, type_),) = bench.described(text)
    assert type_ == ("FLOAT" if kind == "FLOAT" else "DECIMAL(32)")


@pytest.mark.parametrize("operand", ["day", "at", "iv", "c", "ok"])
def test_a_ratio_of_anything_but_numbers_is_refused(operand: str) -> None:
    # Documented: RATIO_TO_REPORT function.
    bench = Workbench(*EACH_TYPE)
    assert bench.error(f"SELECT RATIO_TO_REPORT({operand}) OVER () FROM t")[0] == -25862


def test_a_ratio_needs_a_window() -> None:
    assert Workbench().error("SELECT RATIO_TO_REPORT(tabid) FROM systables")[0] == -674


@pytest.mark.parametrize(
    "call",
    ["RANK(1)", "ROW_NUMBER(n)", "NTILE()", "CUME_DIST(n)", "LAG()", "LEAD(n, 1, 2, 3)", "FIRST_VALUE(n, n)"],
)
def test_the_number_of_arguments_is_checked(call: str) -> None:
    bench = Workbench("CREATE TABLE w (n INT)")
    assert bench.error(f"SELECT {call} OVER (ORDER BY n) FROM w")[0] == -664
