from __future__ import annotations

import pytest

from tests.server.sql.workbench import Workbench


@pytest.fixture
def stores() -> Workbench:
    return Workbench(
        "CREATE TABLE t (k SERIAL PRIMARY KEY, a VARCHAR(10) NOT NULL, n INT DEFAULT 7)",
        "CREATE TABLE s (k INT, a CHAR(3), n INT)",
        "INSERT INTO t (a, n) VALUES ('one', 1)",
        "INSERT INTO t (a, n) VALUES ('two', 2)",
        "INSERT INTO s VALUES (2, 'TWO', 5)",
        "INSERT INTO s VALUES (9, 'new', 6)",
    )


def test_matched_rows_are_updated_and_others_inserted(stores: Workbench) -> None:
    merge = (
        "MERGE INTO t USING s ON (t.k = s.k) WHEN MATCHED THEN UPDATE SET t.a = s.a, n = t.n + s.n"
        " WHEN NOT MATCHED THEN INSERT (k, a) VALUES (s.k, s.a)"
    )
    assert stores.run(merge) == 2
    assert stores.rows("SELECT * FROM t ORDER BY k") == [(1, "one", 1), (2, "TWO", 7), (9, "new", 7)]


def test_only_matched_rows_are_touched_without_an_insert(stores: Workbench) -> None:
    assert stores.run("MERGE INTO t x USING s y ON x.k = y.k WHEN MATCHED THEN UPDATE SET x.n = 0") == 1
    assert stores.rows("SELECT k, n FROM t ORDER BY k") == [(1, 1), (2, 0)]


def test_only_new_rows_are_inserted_without_an_update_with_serial_numbers(stores: Workbench) -> None:
    assert stores.run("MERGE INTO t USING s ON t.k = s.k WHEN NOT MATCHED THEN INSERT (a) VALUES (s.a)") == 1
    assert stores.rows("SELECT * FROM t ORDER BY k") == [(1, "one", 1), (2, "two", 2), (3, "new", 7)]


def test_matched_rows_are_deleted(stores: Workbench) -> None:
    merge = (
        "MERGE INTO t USING (SELECT k FROM s WHERE a = '{}' OR k > 1) d ON t.k = d.k WHEN MATCHED THEN DELETE"
    )
    assert stores.run(merge) == 1
    assert stores.rows("SELECT k FROM t") == [(1,)]


def test_parameters_are_allowed_everywhere(stores: Workbench) -> None:
    merge = (
        "MERGE INTO t USING s ON t.k = s.k AND s.n > ? WHEN MATCHED THEN UPDATE SET n = ?"
        " WHEN NOT MATCHED THEN INSERT (a, n) VALUES (?, 3)"
    )
    assert stores.run(merge, 4, 100, "ins") == 2
    assert stores.rows("SELECT a, n FROM t ORDER BY k") == [("one", 1), ("two", 100), ("ins", 3)]


def test_a_row_that_is_matched_twice_is_an_error_and_changes_nothing(stores: Workbench) -> None:
    stores.run("INSERT INTO s VALUES (2, 'dup', 5)")
    assert stores.error("MERGE INTO t USING s ON t.k = s.k WHEN MATCHED THEN UPDATE SET n = s.n")[0] == -284
    assert stores.rows("SELECT n FROM t ORDER BY k") == [(1,), (2,)]


@pytest.mark.parametrize(
    ("clause", "error"),
    [
        ("WHEN MATCHED THEN UPDATE SET k = 3", -232),
        ("WHEN MATCHED THEN UPDATE SET nope = 3", -217),
        ("WHEN NOT MATCHED THEN INSERT (a, n) VALUES (s.a)", -236),
        ("WHEN NOT MATCHED THEN INSERT (n) VALUES (s.n)", -391),
        ("WHEN NOT MATCHED THEN INSERT (a) VALUES (t.a)", -522),
        ("WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (a) VALUES (s.a)", -999),
    ],
)
def test_an_invalid_merge_is_refused_with_its_reason(stores: Workbench, clause: str, error: int) -> None:
    assert stores.error(f"MERGE INTO t USING s ON t.k = s.k {clause}")[0] == error
