from __future__ import annotations

import pytest

from tests.server.sql.workbench import Workbench

COLUMNS = (
    "SELECT t.tabname, c.colname, c.coltype, c.collength FROM systables t, syscolumns c"
    " WHERE c.tabid = t.tabid AND t.tabname IN ({}) ORDER BY t.tabid, c.colno"
)
STARTED = "SELECT targettid, viotid, diatid, maxrows FROM sysviolations"


@pytest.fixture
def bench() -> Workbench:
    return Workbench("CREATE TABLE t (k SERIAL PRIMARY KEY, n VARCHAR(9) DEFAULT 'x' NOT NULL, b BIGSERIAL)")


def test_the_tables_have_the_documented_columns(bench: Workbench) -> None:
    bench.run("START VIOLATIONS TABLE FOR t")
    assert bench.rows(COLUMNS.format("'t_vio', 't_dia'")) == [
        ("t_vio", "k", 2, 4),
        ("t_vio", "n", 13, 9),
        ("t_vio", "b", 52, 8),
        ("t_vio", "informix_tupleid", 262, 4),
        ("t_vio", "informix_optype", 0, 1),
        ("t_vio", "informix_recowner", 0, 32),
        ("t_dia", "informix_tupleid", 2, 4),
        ("t_dia", "objtype", 0, 1),
        ("t_dia", "objowner", 0, 32),
        ("t_dia", "objname", 13, 128),
    ]
    assert bench.rows(STARTED) == [(100, 101, 102, None)]
    bench.run("INSERT INTO t_vio VALUES (1, NULL, 2, 0, 'I', 'bob')")
    bench.run("INSERT INTO t_dia VALUES (1, 'C', 'bob', 'n100_2')")
    assert bench.rows("SELECT n, informix_tupleid FROM t_vio") == [(None, 1)]


def test_the_tables_stay_when_they_are_stopped(bench: Workbench) -> None:
    bench.run("START VIOLATIONS TABLE FOR ann.t USING v, d MAX ROWS 50")
    assert bench.rows(STARTED) == [(100, 101, 102, 50)]
    bench.run("STOP VIOLATIONS TABLE FOR t")
    assert bench.rows(STARTED) == []
    bench.run("ALTER TABLE t ADD c INT")
    bench.run("ALTER TABLE v ADD c INT")
    bench.run("DROP TABLE d")
    assert bench.error("STOP VIOLATIONS TABLE FOR t") == (-896, "t", 27)
    bench.run("START VIOLATIONS TABLE FOR t")
    assert bench.rows("SELECT COUNT(*) FROM sysviolations") == [(1,)]


def test_a_table_is_dropped_with_its_violations_tables(bench: Workbench) -> None:
    bench.run("START VIOLATIONS TABLE FOR t")
    assert bench.error("DROP TABLE t RESTRICT") == (-886, "t", 12)
    bench.run("DROP TABLE t")
    assert bench.rows("SELECT COUNT(*) FROM systables WHERE tabid >= 100") == [(0,)]
    assert bench.rows("SELECT COUNT(*) FROM sysviolations") == [(0,)]


def test_a_column_may_have_the_name_of_an_added_one() -> None:
    bench = Workbench(
        "CREATE TABLE t (informix_optype INT, informix_optype1 INT)", "START VIOLATIONS TABLE FOR t"
    )
    assert [column.name for column in bench.table("t_vio").columns] == [
        "informix_optype", "informix_optype1", "informix_tupleid", "informix_optype2", "informix_recowner"
    ]  # fmt: skip


def test_no_name_is_left_for_an_added_column() -> None:
    digits = ", ".join(f"informix_optype{digit} INT" for digit in ("", *range(1, 10)))
    bench = Workbench(f"CREATE TABLE t ({digits})")
    assert bench.error("START VIOLATIONS TABLE FOR t")[:2] == (-895, "t")


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("START VIOLATIONS TABLE FOR t", (-895, "t", 28)),
        ("START VIOLATIONS TABLE FOR t_vio", (-895, "t_vio", 28)),
        ("START VIOLATIONS TABLE FOR u USING t, d", (-895, "u", 28)),
        ("START VIOLATIONS TABLE FOR u USING d, d", (-895, "u", 28)),
        ("START VIOLATIONS TABLE FOR temporary", (-895, "temporary", 28)),
        ("START VIOLATIONS TABLE FOR systables", (-511, "systables", 28)),
        ("START VIOLATIONS TABLE FOR nowhere", (-206, "nowhere", 28)),
        ("ALTER TABLE t ADD c INT", (-898, "t", 13)),
        ("ALTER TABLE t DROP n", (-898, "t", 13)),
        ("ALTER TABLE t MODIFY n CHAR(9)", (-898, "t", 13)),
        ("RENAME COLUMN t.n TO m", (-898, "t", 15)),
        ("ALTER TABLE t_dia ADD c INT", (-897, "t_dia", 13)),
        ("DROP TABLE t_vio", (-897, "t_vio", 12)),
        ("CREATE TRIGGER g INSERT ON t_vio BEFORE (DELETE FROM u)", (-897, "t_vio", 28)),
        ("CREATE UNIQUE INDEX i ON t_dia (objname) FILTERING", (-897, "t_dia", 26)),
        ("SET INDEXES v_index FILTERING", (-897, "t_vio", 0)),
        ("SET INDEXES FOR t_vio FILTERING WITH ERROR", (-897, "t_vio", 0)),
        ("START VIOLATIONS TABLE FOR u MAX ROWS 0", (-895, "u", 28)),
        ("START VIOLATIONS TABLE FOR u MAX ROWS 2147483648", (-895, "u", 28)),
    ],
)
def test_what_violations_tables_prevent_is_refused(
    bench: Workbench, text: str, error: tuple[int, str, int]
) -> None:
    for statement in (
        "CREATE TABLE u (a INT)",
        "CREATE TEMP TABLE temporary (a INT)",
        "START VIOLATIONS TABLE FOR t",
        "CREATE UNIQUE INDEX v_index ON t_vio (informix_tupleid)",
    ):
        bench.run(statement)
    assert bench.error(text) == error


def test_constraints_may_change_beside_violations_tables(bench: Workbench) -> None:
    bench.run("START VIOLATIONS TABLE FOR t")
    bench.run("ALTER TABLE t ADD CONSTRAINT UNIQUE (n)")
    bench.run("CREATE INDEX i ON t_vio (k)")
    assert bench.rows(STARTED) == [(100, 101, 102, None)]
