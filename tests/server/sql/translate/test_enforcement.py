from __future__ import annotations

import pytest

from tests.server.sql.workbench import Workbench


@pytest.mark.parametrize(
    ("row", "sqlcode"),
    [
        ("(1, 'a')", None),
        ("(1, 'a  ')", None),
        ("(1, 'b')", -525),
        ("(NULL, 'b')", None),
        ("(1, NULL)", None),
    ],
)
def test_existing_rows_need_a_parent_only_if_all_of_their_key_is_there(row: str, sqlcode: int | None) -> None:
    stores = Workbench(
        "CREATE TABLE p (a INT, b CHAR(3), PRIMARY KEY (a, b))",
        "INSERT INTO p VALUES (1, 'a')",
        "CREATE TABLE t (x INT, y CHAR(3))",
        f"INSERT INTO t VALUES {row}",
    )
    add = "ALTER TABLE t ADD CONSTRAINT FOREIGN KEY (x, y) REFERENCES p CONSTRAINT fk"
    if sqlcode is None:
        stores.run(add)
    else:
        assert stores.error(add) == (sqlcode, "ann.fk", 0)


def test_existing_rows_satisfy_a_check_that_is_unknown() -> None:
    stores = Workbench("CREATE TABLE t (x INT)", "INSERT INTO t VALUES (NULL)")
    stores.run("ALTER TABLE t ADD CONSTRAINT CHECK (x > 0)")
    stores.run("RENAME COLUMN t.x TO y")
    stores.run("INSERT INTO t VALUES (1)")
    assert stores.error("ALTER TABLE t ADD CONSTRAINT CHECK (y > 1) CONSTRAINT c") == (-530, "ann.c", 0)


@pytest.mark.parametrize("change", ["DROP CONSTRAINT nn", "MODIFY (a INT)"])
def test_a_unique_index_takes_one_null_of_a_column_that_was_not_null(change: str) -> None:
    stores = Workbench("CREATE TABLE t (a INT NOT NULL CONSTRAINT nn, b INT, UNIQUE (a, b) CONSTRAINT u)")
    stores.run(f"ALTER TABLE t {change}")
    assert stores.run("INSERT INTO t VALUES (NULL, 1)") == 1
    assert stores.run("INSERT INTO t VALUES (NULL, 2)") == 1
    assert stores.error("INSERT INTO t VALUES (NULL, 1)") == (-268, "ann.u", 0)
