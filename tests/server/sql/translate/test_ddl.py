from __future__ import annotations

import pytest

from aioifx.server.catalog.catalog import empty_schema
from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model import plan
from aioifx.server.sql.model.schema import TableKind
from aioifx.server.sql.model.settings import Settings
from aioifx.server.sql.syntax.parser import parse
from aioifx.server.sql.translate.translate import translate
from aioifx.wire.opcodes import StatementType
from tests.server.sql.workbench import Workbench

# One column of each scalar type: what SQ_DESCRIBE tells as type code, encoded length and extended id.
SCALARS = [
    ("SMALLINT", 1, 2, 0),
    ("INT", 2, 4, 0),
    ("INTEGER", 2, 4, 0),
    ("BIGINT", 52, 8, 0),
    ("INT8", 17, 10, 0),
    ("SERIAL", 6, 4, 0),
    ("SERIAL8", 18, 10, 0),
    ("BIGSERIAL", 53, 8, 0),
    ("DECIMAL(8,2)", 5, 8 * 256 + 2, 0),
    ("DECIMAL(8)", 5, 8 * 256 + 255, 0),
    ("DECIMAL", 5, 16 * 256 + 255, 0),
    ("NUMERIC(5,0)", 5, 5 * 256, 0),
    ("MONEY", 8, 16 * 256 + 2, 0),
    ("MONEY(10)", 8, 10 * 256 + 2, 0),
    ("FLOAT", 3, 8, 0),
    ("DOUBLE PRECISION", 3, 8, 0),
    ("SMALLFLOAT", 4, 4, 0),
    ("CHAR", 0, 1, 0),
    ("CHAR(20)", 0, 20, 0),
    ("NCHAR(20)", 15, 20, 0),
    ("VARCHAR(50)", 13, 50, 0),
    ("VARCHAR(50,10)", 13, 10 * 256 + 50, 0),
    ("NVARCHAR(50)", 16, 50, 0),
    ("LVARCHAR", 40, 2048, 1),
    ("LVARCHAR(300)", 40, 300, 1),
    ("DATE", 7, 4, 0),
    ("DATETIME YEAR TO DAY", 10, 0x0804, 0),
    ("DATETIME YEAR TO SECOND", 10, 0x0E0A, 0),
    ("DATETIME YEAR TO FRACTION(5)", 10, 0x130F, 0),
    ("DATETIME HOUR TO MINUTE", 10, 0x0468, 0),
    ("INTERVAL DAY TO SECOND", 14, 0x084A, 0),
    ("INTERVAL YEAR(4) TO MONTH", 14, 0x0602, 0),
    ("BOOLEAN", 41, 1, 5),
]


@pytest.mark.parametrize(("declared", "code", "length", "extended"), SCALARS)
def test_a_column_is_described_as_it_was_declared(
    declared: str, code: int, length: int, extended: int
) -> None:
    bench = Workbench(f"CREATE TABLE t (c {declared})", f"CREATE TEMP TABLE x (c {declared} NOT NULL)")
    for table in ("t", "x"):
        (column,) = bench.plan(f"SELECT c FROM {table}").columns
        assert (column.type.code, column.type.length, column.type.extended_id) == (code, length, extended)
        names = {0: ("", ""), 1: ("informix", "lvarchar"), 5: ("informix", "boolean")}[extended]
        assert (column.type.owner, column.type.extended_name) == names
        assert column.nullable is (table == "t" and "SERIAL" not in declared)


def test_tables_are_numbered_from_100_and_no_number_is_used_twice() -> None:
    bench = Workbench(
        "CREATE TABLE a (k INT)", "CREATE TABLE b (k INT)", "DROP TABLE b", "CREATE TABLE c (k INT)"
    )
    assert (bench.table("a").tabid, bench.table("c").tabid) == (100, 102)


def test_create_table_as_has_the_columns_and_rows_of_its_query() -> None:
    bench = Workbench("CREATE TABLE t (k SERIAL, g CHAR(3) NOT NULL)", "INSERT INTO t VALUES (0, 'a')")
    bench.run("INSERT INTO t VALUES (0, 'b')")
    assert bench.run("CREATE TABLE u LOCK MODE ROW EXTENT SIZE 64 AS SELECT * FROM t WHERE k > ?", 1) == 1
    made = bench.table("u")
    assert (made.is_temp, made.lock_level, made.first_extent) == (False, "R", 64)
    assert [column.is_nullable for column in made.columns] == [False, True]
    bench.run("INSERT INTO u (g) VALUES (NULL)")
    assert bench.rows("SELECT * FROM u ORDER BY k") == [(2, "b  "), (3, None)]


def test_select_into_makes_a_permanent_table() -> None:
    bench = Workbench(
        "CREATE TABLE t (k INT NOT NULL)", "INSERT INTO t VALUES (1)", "INSERT INTO t VALUES (2)"
    )
    assert bench.run("SELECT k FROM t WHERE k > ? INTO RAW u IN dbs1 LOCK MODE ROW", 1) == 1
    assert bench.plan("SELECT k FROM t INTO v").type is StatementType.SELECT_INTO_TEMP
    assert (bench.table("u").is_temp, bench.table("u").lock_level) == (False, "R")
    assert bench.rows("SELECT k FROM u") == [(2,)]
    assert bench.rows("SELECT COUNT(*) FROM systables WHERE tabname = 'u'") == [(1,)]


def test_create_table_as_takes_a_list_of_columns_and_casts() -> None:
    bench = Workbench("CREATE TABLE t (k INT, p DECIMAL(8,2))", "INSERT INTO t VALUES (1, 2.5)")
    assert bench.run("CREATE STANDARD TABLE u (twice::INT8) AS SELECT k, p * 2 AS twice FROM t") == 1
    assert bench.described("SELECT * FROM u") == [("twice", "INT8")]
    assert bench.rows("SELECT * FROM u") == [(5,)]
    assert bench.run("CREATE TABLE IF NOT EXISTS u AS SELECT k FROM t") == 0


@pytest.mark.parametrize(
    ("text", "sqlcode"),
    [
        ("CREATE TABLE t AS SELECT k FROM t", -310),
        ("CREATE TABLE u AS SELECT k + 1 FROM t", -249),
        ("CREATE TABLE u AS SELECT k, k FROM t", -328),
        ("CREATE TABLE u (a) AS SELECT k FROM t", -217),
        ("CREATE TABLE u (k) AS SELECT k FROM v", -206),
        ("SELECT k FROM t INTO t", -310),
        ("SELECT k + 1 FROM t INTO u", -249),
    ],
)
def test_create_table_as_is_refused_with_its_reason(text: str, sqlcode: int) -> None:
    assert Workbench("CREATE TABLE t (k INT)").error(text)[0] == sqlcode


def test_a_temporary_table_is_the_sessions_own() -> None:
    bench = Workbench("CREATE TEMP TABLE t (k INT) WITH NO LOG", "INSERT INTO t VALUES (1)")
    assert bench.rows("SELECT k FROM t") == [(1,)]
    assert bench.rows("SELECT tabid FROM systables WHERE tabname = 't'") == []
    bench.run("DROP TABLE t")
    assert bench.error("SELECT k FROM t")[0] == -206


@pytest.mark.parametrize(
    ("text", "sqlcode", "token"),
    [
        ("CREATE TABLE t (k INT)", -310, "t"),
        ("CREATE TABLE v (k INT)", -310, "v"),
        ("CREATE TABLE systables (k INT)", -310, "systables"),
        ("CREATE TEMP TABLE x (k INT)", -958, "x"),
        ("DROP TABLE nowhere", -206, "nowhere"),
        ("DROP TABLE v", -206, "v"),
        ("DROP TABLE systables", -511, "systables"),
        ("CREATE INDEX i ON t (n)", -316, "i"),
        ("CREATE INDEX j ON t (k)", -350, ""),
        ("CREATE INDEX j ON nowhere (k)", -206, "nowhere"),
        ("CREATE INDEX j ON t (nope)", -217, "nope"),
        ("CREATE UNIQUE INDEX j ON t (n)", -371, ""),
        ("CREATE INDEX j ON systables (tabid)", -511, "systables"),
        ("DROP INDEX nope", -319, "nope"),
        ("CREATE VIEW t AS SELECT k FROM t", -310, "t"),
        ("CREATE VIEW w AS SELECT k + 1 FROM t", -249, ""),
        ("CREATE VIEW w (a, b) AS SELECT k FROM t", -236, ""),
        ("CREATE VIEW w AS SELECT k FROM x", -206, "x"),
        ("CREATE VIEW w AS SELECT nope FROM t", -217, "nope"),
        ("CREATE VIEW w AS SELECT FIRST 1 k FROM t", -944, ""),
        ("CREATE VIEW w AS SELECT k FROM t UNION SELECT FIRST 1 k FROM t", -944, ""),
        ("DROP VIEW t", -206, "t"),
        ("DROP VIEW nowhere", -206, "nowhere"),
        ("CREATE SYNONYM t FOR v", -310, "t"),
        ("CREATE SYNONYM s2 FOR nowhere", -206, "nowhere"),
        ("DROP SYNONYM nope", -218, "nope"),
        ("RENAME TABLE nowhere TO u", -206, "nowhere"),
        ("RENAME TABLE t TO v", -310, "v"),
        ("RENAME INDEX nope TO j", -319, "nope"),
        ("DROP PROCEDURE p", -674, "p"),
    ],
)
def test_an_invalid_definition_is_refused_with_its_reason(text: str, sqlcode: int, token: str) -> None:
    bench = Workbench(
        "CREATE TABLE t (k INT, n INT)",
        "INSERT INTO t VALUES (1, 1)",
        "INSERT INTO t VALUES (2, 1)",
        "CREATE INDEX i ON t (k)",
        "CREATE VIEW v AS SELECT k FROM t",
        "CREATE TEMP TABLE x (k INT)",
    )
    assert bench.error(text)[:2] == (sqlcode, token)


@pytest.mark.parametrize(
    "text",
    [
        "CREATE TABLE IF NOT EXISTS t (k INT)",
        "DROP TABLE IF EXISTS nowhere",
        "DROP VIEW IF EXISTS nowhere",
        "DROP INDEX IF EXISTS nowhere",
        "CREATE INDEX IF NOT EXISTS i ON t (k)",
    ],
)
def test_if_exists_suppresses_the_error(text: str) -> None:
    bench = Workbench("CREATE TABLE t (k INT)", "CREATE INDEX i ON t (k)")
    assert bench.plan(text).action == plan.Nothing()


def test_indexes_come_and_go_and_change_their_names() -> None:
    bench = Workbench("CREATE TABLE t (k INT, n INT)", "CREATE UNIQUE INDEX i ON t (k DESC, n)")
    (index,) = bench.table("t").indexes
    found = (index.is_unique, [(part.column, part.is_descending) for part in index.parts])
    assert found == (True, [("k", True), ("n", False)])
    bench.run("RENAME INDEX i TO j")
    bench.run("INSERT INTO t VALUES (1, 1)")
    assert bench.error("INSERT INTO t VALUES (1, 1)") == (-239, "j", 0)
    bench.run("DROP INDEX j")
    assert bench.run("INSERT INTO t VALUES (1, 1)") == 1


def test_a_dropped_table_frees_its_children() -> None:
    bench = Workbench(
        "CREATE TABLE p (k INT PRIMARY KEY)",
        "CREATE TABLE c (k INT REFERENCES p, n INT UNIQUE)",
        "INSERT INTO p VALUES (1)",
        "INSERT INTO c VALUES (1, 1)",
        "DROP TABLE p",
    )
    assert bench.run("INSERT INTO c VALUES (99, 2)") == 1
    assert bench.table("c").foreign_keys == ()
    assert bench.error("INSERT INTO c VALUES (99, 2)")[0] == -268


def test_a_view_keeps_its_text_and_columns() -> None:
    bench = Workbench(
        "CREATE TABLE t (k INT NOT NULL, d DECIMAL(8,2))", "CREATE VIEW v (a, b) AS SELECT k, d * 2 FROM t"
    )
    view = bench.table("v")
    assert (view.kind, view.view) == (TableKind.VIEW, "CREATE VIEW v (a, b) AS SELECT k, d * 2 FROM t")
    found = [(column.name, str(column.type)) for column in view.columns]
    assert found == [("a", "INTEGER"), ("b", "DECIMAL(32)")]
    bench.run("DROP VIEW v")
    assert bench.error("SELECT * FROM v")[0] == -206


def test_a_view_may_stand_on_a_view() -> None:
    bench = Workbench(
        "CREATE TABLE t (k INT)",
        "INSERT INTO t VALUES (3)",
        "CREATE VIEW v AS SELECT k FROM t",
        "CREATE VIEW w (n) AS SELECT k + 1 FROM v",
    )
    assert bench.rows("SELECT n FROM w") == [(4,)]


def test_views_and_synonyms_end_with_the_table_that_they_read() -> None:
    bench = Workbench(
        "CREATE TABLE t (k INT)",
        "CREATE TABLE u (k INT)",
        "CREATE VIEW v AS SELECT k FROM t",
        "CREATE VIEW w AS SELECT k FROM v",
        "CREATE VIEW x AS SELECT k FROM u",
        "CREATE SYNONYM s FOR v",
    )
    assert bench.error("DROP TABLE t RESTRICT") == (-886, "t", 12)
    bench.run("DROP TABLE t")
    assert bench.rows("SELECT tabname FROM systables WHERE tabid > 99") == [("u",), ("x",)]
    bench.run("DROP VIEW x")
    assert bench.rows("SELECT k FROM u") == []


def test_a_renamed_table_keeps_rows_keys_and_children() -> None:
    bench = Workbench(
        "CREATE TABLE p (k INT PRIMARY KEY CONSTRAINT pk)",
        "CREATE TABLE c (k INT REFERENCES p)",
        "INSERT INTO p VALUES (1)",
        "RENAME TABLE p TO q",
    )
    assert bench.rows("SELECT k FROM q") == [(1,)]
    assert bench.error("INSERT INTO q VALUES (1)") == (-268, "ann.pk", 0)
    assert bench.run("INSERT INTO c VALUES (1)") == 1
    assert bench.error("SELECT k FROM p")[0] == -206


def test_definitions_need_a_database() -> None:
    for text in ("CREATE TABLE t (k INT)", "SELECT * FROM t", "INSERT INTO t VALUES (1)", "DROP TABLE t"):
        with pytest.raises(SqlError, match="-349"):
            translate(parse(text), empty_schema(), Settings())


def test_a_renamed_constraint_has_its_new_name_in_errors_and_in_the_catalog() -> None:
    bench = Workbench(
        "CREATE TABLE t (k INT UNIQUE CONSTRAINT u, m INT CHECK (m > 0) CONSTRAINT c, n INT NOT NULL CONSTRAINT n)"
    )
    for old, new in (("u", "u2"), ("ann.c", "c2"), ("n", "n2")):
        bench.run(f"RENAME CONSTRAINT {old} TO {new}")
    bench.run("INSERT INTO t VALUES (1, 1, 1)")
    assert bench.error("INSERT INTO t VALUES (1, 1, 1)") == (-268, "ann.u2", 0)
    assert bench.error("INSERT INTO t VALUES (2, 0, 1)") == (-530, "ann.c2", 0)
    names = "SELECT name FROM sysobjstate WHERE objtype = 'C' ORDER BY name"
    assert bench.rows(names) == [("c2",), ("n2",), ("u2",)]
    bench.run("ALTER TABLE t DROP CONSTRAINT (c2, u2)")
    assert bench.run("INSERT INTO t VALUES (1, 0, 1)") == 1
    assert bench.error("RENAME CONSTRAINT c2 TO c3") == (-623, "c2", 19)
    bench.run("ALTER TABLE t ADD CONSTRAINT CHECK (m < 9) CONSTRAINT c4")
    assert bench.error("RENAME CONSTRAINT c4 TO n2") == (-743, "n2", 25)


def test_a_referenced_table_is_not_dropped_with_restrict() -> None:
    bench = Workbench("CREATE TABLE p (k INT PRIMARY KEY)", "CREATE TABLE c (r INT REFERENCES p)")
    assert bench.error("DROP TABLE p RESTRICT") == (-886, "p", 12)
    bench.run("DROP TABLE c RESTRICT")
    bench.run("DROP TABLE p RESTRICT")
