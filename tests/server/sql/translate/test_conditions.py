from __future__ import annotations

from datetime import date, datetime, timedelta
from decimal import Decimal

import pytest

from aioifx.sqltypes import Value
from tests.server.sql.workbench import EACH_TYPE, Workbench

BENCH = Workbench(*EACH_TYPE)


@pytest.mark.parametrize(
    "condition",
    [
        "k = 1 AND s = 2 AND b = 3 AND d = 4.5 AND f = 0.5 AND m = 9.99",
        "c = 'ab' AND c = 'ab   ' AND v = 'xyz' AND v <> 'xy'",
        "day = '05/04/2026' AND day = MDY(5,4,2026) AND day < '05/05/2026'",
        "at > '2026-05-04 00:00:00' AND at > day AND at < CURRENT",
        "iv > INTERVAL(25:00) HOUR TO MINUTE AND ok = 't'",
        "d > k AND d < b + 2 AND k < d AND f < d AND s + f = 2.5",
        "d IN (4.5, 6) AND k IN (1, 2) AND c IN ('ab') AND day IN (MDY(5,4,2026))",
        "k NOT IN (2, 3) AND d NOT IN (1)",
        "d BETWEEN 4 AND 5 AND c BETWEEN 'a' AND 'b' AND NOT k BETWEEN 2 AND 3 AND k NOT BETWEEN 2 AND 3",
        "c LIKE 'a%' AND v LIKE '_yz' AND v NOT LIKE 'Xyz' AND v MATCHES 'x*' AND v MATCHES '[a-x]??'",
        "k IS NOT NULL AND NOT d IS NULL",
        "b = '3' AND d = '4.50' AND k <= 1.0 AND k > 0.9",
        "k IN (SELECT tabid FROM systables) AND d IN (SELECT 4.5 FROM sysmaster:sysdual)",
        "k < ALL (SELECT tabid FROM systables WHERE tabid > 1) AND k = ANY (SELECT tabid FROM systables)",
        "d > SOME (SELECT tabid FROM systables)",
        "EXISTS (SELECT 1 FROM systables WHERE tabid = t.b) AND NOT EXISTS (SELECT 1 FROM t u WHERE u.k = t.k + 9)",
        "(k = 5 OR c = 'ab') AND NOT (k = 1 AND s = 1)",
        "c || 'x' = 'ab   x' AND c[1,1] = 'a' AND v[2] = 'y'",
        "LENGTH(c) = 2 AND k = 1",
        "ok AND k = 1",
        "k = (SELECT COUNT(*) FROM systables WHERE tabid = 1)",
    ],
)
def test_a_condition_holds_for_the_full_row_and_never_for_nulls(condition: str) -> None:
    assert BENCH.rows(f"SELECT k FROM t WHERE {condition}") == [(1,)]


@pytest.mark.parametrize(
    ("condition", "sqlcode"),
    [
        ("k = 'x'", -1213),
        ("day = 'soon'", -1218),
        ("iv = 5", -1260),
        ("k", -201),
        ("k + 1", -201),
        ("? = ?", -201),
        ("? IS NULL", -201),
        ("COUNT(*) = 1", -201),
        ("k IN (SELECT tabid, tabname FROM systables)", -201),
        ("c[0,2] = 'a'", -306),
        ("c[2,9] = 'a'", -306),
        ("k[1] = 1", -999),
    ],
)
def test_an_invalid_condition_is_refused_with_its_reason(condition: str, sqlcode: int) -> None:
    assert BENCH.error(f"SELECT k FROM t WHERE {condition}")[0] == sqlcode


@pytest.mark.parametrize(
    ("condition", "value", "found"),
    [
        ("?::INT IS NOT NULL", 1, True),
        ("k = ?", 1, True),
        ("k = ?", "1", True),
        ("k = ?", Decimal("1.5"), False),
        ("k < ?", Decimal("1.5"), True),
        ("k = ?", 2**70, False),
        ("d = ?", Decimal("4.500"), True),
        ("d = ?", Decimal("4.501"), False),
        ("d > ?", 4, True),
        ("c = ?", "ab", True),
        ("c = ?", "abcdefgh", False),
        ("day = ?", date(2026, 5, 4), True),
        ("day = ?", "05/04/2026", True),
        ("at = ?", datetime(2026, 5, 4, 10, 11, 12), True),
        ("at = ?", datetime(2026, 5, 4, 10, 11, 12, 5000), False),
        ("at < ?", datetime(2026, 5, 4, 10, 11, 12, 5000), True),
        ("iv = ?", timedelta(1, 7384), True),
        ("ok = ?", True, True),
        ("f = ?", 0.5, True),
        ("? = k", 1, True),
        ("? BETWEEN k AND b", 2, True),
        ("? IN (k, b)", 3, True),
        ("? > ALL (SELECT tabid FROM systables WHERE tabid < 3)", 3, True),
        ("k + ? = 3", 2, True),
        ("v LIKE ?", "x%", True),
        ("c = ?", None, False),
    ],
)
def test_a_parameter_is_compared_with_all_that_it_has(condition: str, value: Value, found: bool) -> None:
    assert bool(BENCH.rows(f"SELECT k FROM t WHERE k = 1 AND {condition}", value)) is found


def test_an_unknown_comparison_makes_any_and_all_unknown() -> None:
    nulls = "(SELECT d FROM t)"  # 4.5 and NULL
    assert BENCH.rows(f"SELECT k FROM t WHERE k = 1 AND 9 > ALL {nulls}") == []
    assert BENCH.rows(f"SELECT k FROM t WHERE k = 1 AND NOT 9 > ALL {nulls}") == []
    assert BENCH.rows(f"SELECT k FROM t WHERE k = 1 AND NOT 1 > ALL {nulls}") == [(1,)]
    assert BENCH.rows(f"SELECT k FROM t WHERE k = 1 AND 9 > ANY {nulls}") == [(1,)]
    assert BENCH.rows(f"SELECT k FROM t WHERE k = 1 AND NOT 1 > ANY {nulls}") == []
