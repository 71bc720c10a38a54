from __future__ import annotations

import pytest

from aioifx.sqltypes import Value
from tests.server.sql.workbench import Workbench


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
