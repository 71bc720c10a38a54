from __future__ import annotations

import pytest

from aioifx.server.sql.model.plan import Unload
from aioifx.server.sql.model.schema import TableKind
from aioifx.wire.opcodes import StatementType
from tests.server.sql.workbench import Workbench

USING = "USING (DATAFILES ('DISK:f'))"


@pytest.fixture
def bench() -> Workbench:
    return Workbench(
        "CREATE TABLE t (k SERIAL, name VARCHAR(9) DEFAULT 'none' NOT NULL)",
        f"CREATE EXTERNAL TABLE x SAMEAS t {USING}",
    )


def test_the_catalog_has_the_table_and_its_files(bench: Workbench) -> None:
    table = bench.table("x")
    assert (table.kind, table.external is not None) == (TableKind.EXTERNAL, True)
    assert [column.name for column in table.columns] == ["k", "name"]
    assert bench.rows("SELECT tabtype FROM systables WHERE tabname = 'x'") == [("E",)]
    assert bench.rows("SELECT fmttype, flddelim, ndfiles FROM sysexternal") == [("D", "|   ", 1)]
    assert bench.rows("SELECT TRIM(dfentry) FROM sysextdfiles") == [("DISK:f",)]
    bench.run("DROP TABLE x")
    assert bench.rows("SELECT COUNT(*) FROM sysexternal") == [(0,)]
    assert bench.rows("SELECT COUNT(*) FROM sysextdfiles") == [(0,)]


def test_a_query_names_the_tables_to_read_before_it_runs(bench: Workbench) -> None:
    bench.run("CREATE VIEW v AS SELECT name FROM x")
    assert bench.plan("SELECT * FROM v").refresh == {bench.table("x")}
    assert bench.plan("SELECT * FROM t").refresh == frozenset()


def test_rows_of_a_query_are_unloaded(bench: Workbench) -> None:
    plan = bench.plan("INSERT INTO x (k) SELECT k FROM t WHERE k > ?")
    assert isinstance(plan.action, Unload)
    assert (plan.type, len(plan.parameters), plan.refresh) == (StatementType.INSERT, 1, frozenset())
    assert [column.name for column in plan.columns] == ["k"]
    assert [each.name for each in plan.action.query.tables] == ["t"]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("INSERT INTO x VALUES (1, 'a')", (-999, "INSERT VALUES of an external table", 1)),
        ("INSERT INTO x (k, nothing) SELECT k, name FROM t", (-217, "nothing", 19)),
        ("INSERT INTO x (k, k) SELECT k, name FROM t", (-681, "k", 19)),
        ("INSERT INTO x SELECT k FROM t", (-236, "", 0)),
        ("UPDATE x SET name = ''", (-999, "a change of an external table", 8)),
        ("DELETE FROM x", (-999, "a change of an external table", 13)),
        ("ALTER TABLE x ADD c INT", (-999, "a change of an external table", 13)),
        ("CREATE INDEX i ON x (k)", (-999, "a change of an external table", 19)),
        ("SELECT k FROM x FOR UPDATE", (-511, "x", 21)),
        (f"CREATE EXTERNAL TABLE x (a INT) {USING}", (-310, "x", 23)),
        (f"CREATE EXTERNAL TABLE y (a TEXT) {USING}", (-999, "TEXT of an external table", 1)),
        (f"CREATE EXTERNAL TABLE y SAMEAS nothing {USING}", (-206, "nothing", 32)),
    ],
)
def test_what_an_external_table_cannot_do_is_refused(
    bench: Workbench, text: str, error: tuple[int, str, int]
) -> None:
    assert bench.error(text) == error


def test_a_table_that_is_there_is_left_alone(bench: Workbench) -> None:
    bench.run(f"CREATE EXTERNAL TABLE IF NOT EXISTS x (a INT) {USING}")
    assert [column.name for column in bench.table("x").columns] == ["k", "name"]
