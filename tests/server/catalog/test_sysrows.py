from __future__ import annotations

import pytest

import aioifx
from aioifx.server import running
from aioifx.server.engine.engine import Engine
from aioifx.sqltypes import Row
from tests.server.sql.workbench import Workbench
from tests.server.talking import query, run

BENCH = Workbench(
    "CREATE TABLE p (a INT PRIMARY KEY CONSTRAINT pk_p, b CHAR(3))",
    "CREATE TABLE t (k SERIAL, n INT DEFAULT 5 NOT NULL CONSTRAINT nn, v VARCHAR(20,5), d DECIMAL(8,2),"
    " c CHAR(2) DEFAULT 'ab', day DATE DEFAULT TODAY, l LVARCHAR(300), ok BOOLEAN,"
    " at DATETIME YEAR TO SECOND, iv INTERVAL DAY TO SECOND, UNIQUE (v, n) CONSTRAINT uq,"
    " FOREIGN KEY (n) REFERENCES p ON DELETE CASCADE CONSTRAINT fk, CHECK (n > 0) CONSTRAINT ck)",
    "CREATE UNIQUE INDEX ix ON t (d DESC, c)",
    "CREATE VIEW w (m) AS SELECT n FROM t WHERE n > 1",
    "CREATE SYNONYM s FOR t",
    "CREATE PRIVATE SYNONYM ps FOR t",
)


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ("SELECT tabname, tabid, tabtype, ncols, nindexes FROM systables WHERE tabid >= 100",
         [("p", 100, "T", 2, 1), ("t", 101, "T", 10, 3), ("w", 102, "V", 1, 0), ("s", 103, "S", 0, 0),
          ("ps", 104, "P", 0, 0)]),
        ("SELECT UNIQUE owner FROM systables WHERE tabid > 99", [("ann" + 29 * " ",)]),
        ("SELECT colname, colno, coltype, collength, extended_id FROM syscolumns WHERE tabid = 101 ORDER BY colno",
         [("k", 1, 262, 4, 0), ("n", 2, 258, 4, 0), ("v", 3, 13, 5 * 256 + 20, 0), ("d", 4, 5, 2050, 0),
          ("c", 5, 0, 2, 0), ("day", 6, 7, 4, 0), ("l", 7, 40, 300, 1), ("ok", 8, 41, 1, 5), ("at", 9, 10, 0x0E0A, 0),
          ("iv", 10, 14, 0x084A, 0)]),
        ("SELECT idxname, idxtype, part1, part2, part3 FROM sysindexes WHERE tabid = 101 ORDER BY idxname DESC",
         [("ix", "U", -4, 5, 0), (" 101_4", "D", 2, 0, 0), (" 101_3", "U", 3, 2, 0)]),
        ("SELECT indexkeys::LVARCHAR, ikeyextractcolno(indexkeys, 0), informix.ikeyextractcolno(indexkeys, 2)"
         " FROM sysindices WHERE tabid = 101 ORDER BY idxname DESC",
         [("-4 [1], 5 [1]", -4, 0), ("2 [1]", 2, 0), ("3 [1], 2 [1]", 3, 0)]),
        ("SELECT colmin, colmax FROM syscolumns WHERE tabid = 101 AND colno = 1", [(None, None)]),
        ("SELECT tabid, colname FROM syscolumns WHERE colattr = 128", [(100, "a")]),
        ("SELECT constrid, constrname, constrtype, idxname FROM sysconstraints WHERE tabid = 101 ORDER BY 1",
         [(2, "nn", "N", None), (3, "uq", "U", " 101_3"), (4, "fk", "R", " 101_4"), (5, "ck", "C", None)]),
        ("SELECT constrid, primary, ptabid, delrule FROM sysreferences", [(4, 1, 100, "C")]),
        ("SELECT constrid, type, seqno, checktext FROM syschecks", [(5, "T", 0, "(n > 0)" + 25 * " ")]),
        ("SELECT * FROM syscoldepend ORDER BY constrid", [(2, 101, 2), (5, 101, 2)]),
        ("SELECT colno, type, TRIM(default), class FROM sysdefaults WHERE tabid = 101 ORDER BY colno",
         [(2, "L", "AAAAAA 5", "T"), (5, "L", "ab", "T"), (6, "T", None, "T")]),
        ("SELECT seqno, TRIM(viewtext) FROM sysviews WHERE tabid = 102",
         [(0, "CREATE VIEW w (m) AS SELECT n FROM t WHERE n > 1")]),
        ("SELECT btabid, btype, dtabid, dtype FROM sysdepend", [(101, "T", 102, "V")]),
        ("SELECT tabid, btabid FROM syssyntable ORDER BY 1", [(103, 101), (104, 101)]),
        ("SELECT TRIM(grantee), tabauth FROM systabauth WHERE tabid = 101", [("public", "su-idx---")]),
    ],
)  # fmt: skip
def test_a_table_is_in_the_catalog_with_all_that_belongs_to_it(query: str, rows: list[Row]) -> None:
    assert BENCH.rows(query) == rows


def test_a_dropped_table_leaves_no_row() -> None:
    bench = Workbench(
        "CREATE TABLE p (a INT PRIMARY KEY)",
        "CREATE TABLE t (k INT DEFAULT 1 REFERENCES p, CHECK (k > 0))",
        "DROP TABLE t",
        "DROP TABLE p",
    )
    for table in ("systables", "syscolumns", "sysindexes", "sysconstraints", "sysdefaults", "systabauth"):
        assert bench.rows(f"SELECT tabid FROM {table} WHERE tabid > 99") == []
    for table in ("sysreferences", "syschecks", "syscoldepend"):
        assert bench.rows(f"SELECT constrid FROM {table}") == []


async def test_a_rowsize_is_a_smallint_also_of_a_view_of_long_rows() -> None:
    seed = "CREATE TABLE t (a CHAR(32767)); CREATE VIEW w (a, b) AS SELECT x.a, y.a FROM t x, t y"
    async with running(seed=seed) as dsn, aioifx.connect(dsn) as conn:
        sizes = "SELECT tabname, rowsize FROM systables WHERE tabid >= 100"
        assert [*await conn.fetch(sizes)] == [("t", 32767), ("w", 32767)]


def test_a_constraint_has_the_owner_that_it_was_given() -> None:
    bench = Workbench('CREATE TABLE t (k INT PRIMARY KEY CONSTRAINT "ledger".pk_t, n INT CHECK (n > 0))')
    found = bench.rows("SELECT constrname, TRIM(owner) FROM sysconstraints ORDER BY constrid")
    assert found == [("pk_t", "ledger"), ("c100_2", "ann")]


def test_large_objects_have_their_lengths_and_spaces_in_the_catalog() -> None:
    stores = Workbench("CREATE TABLE t (a BYTE IN TABLE, b TEXT IN photos NOT NULL, c INT)")
    columns = "SELECT coltype, collength, extended_id FROM syscolumns WHERE tabid = 100 ORDER BY colno"
    assert stores.rows(columns) == [(11, 56, 0), (256 + 12, 56, 0), (2, 4, 0)]
    spaces = "SELECT spacename, type, colno FROM sysblobs WHERE tabid = 100 ORDER BY colno"
    assert stores.rows(spaces) == [("rootdbs", "M", 1), ("photos", "M", 2)]
    stores.run("DROP TABLE t")
    assert stores.rows("SELECT colno FROM sysblobs") == []


def test_the_catalog_shows_the_lock_mode_and_the_extents_of_a_table() -> None:
    stores = Workbench(
        "CREATE TABLE a (n INT) EXTENT SIZE 64 NEXT SIZE 32 LOCK MODE ROW", "CREATE TABLE b (n INT)"
    )
    storage = "SELECT tabname, locklevel, fextsize, nextsize FROM systables WHERE tabid >= 100"
    assert stores.rows(storage) == [("a", "R", 64, 32), ("b", "P", 16, 16)]
    stores.run("ALTER TABLE a LOCK MODE (PAGE)")
    stores.run("ALTER TABLE b LOCK MODE (ROW), ADD m INT")
    assert stores.rows(storage) == [("a", "P", 64, 32), ("b", "R", 16, 16)]
    dbspace = "SELECT DBINFO('dbspace', partnum) FROM systables WHERE tabid >= 100"
    assert stores.rows(dbspace) == [("rootdbs",), ("rootdbs",)]


def test_the_default_of_a_boolean_is_plain_text() -> None:
    stores = Workbench("CREATE TABLE t (a BOOLEAN DEFAULT 't', b INT DEFAULT 1)")
    assert stores.rows("SELECT TRIM(default) FROM sysdefaults ORDER BY colno") == [("t",), ("AAAAAA 1",)]


def test_a_routine_is_in_the_system_catalog(engine: Engine) -> None:
    text = "CREATE DBA FUNCTION f(a INT, b CHAR(3)) RETURNING DATE AS d, INT; RETURN TODAY, 1; END FUNCTION"
    text += " DOCUMENT 'about f'"
    run(engine, text)
    columns = "procname, mode, numargs, isproc, langid, paramtypes, variant"
    assert query(engine, f"SELECT {columns} FROM sysprocedures") == [
        ("f", "D", 2, "f", 2, "integer,char(3)", True)
    ]
    assert query(engine, "SELECT datakey, seqno, TRIM(data) FROM sysprocbody ORDER BY 1") == [
        ("D", 1, "about f"),
        ("T", 1, text),
    ]
    columns = "paramid, paramname, paramtype, paramlen, paramattr"
    assert query(engine, f"SELECT {columns} FROM sysproccolumns ORDER BY paramid") == [
        (1, "a", 2, 4, 1),
        (2, "b", 0, 3, 1),
        (3, "d", 7, 4, 3),
        (4, None, 2, 4, 3),
    ]
    assert query(engine, "SELECT COUNT(*) FROM sysprocauth") == [(0,)]
    run(engine, "DROP FUNCTION f")
    for table in ("sysprocedures", "sysprocbody", "sysproccolumns"):
        assert query(engine, f"SELECT COUNT(*) FROM {table}") == [(0,)]


def test_a_long_text_is_in_pieces(engine: Engine) -> None:
    text = f"CREATE PROCEDURE p() TRACE '{'x' * 300}'; END PROCEDURE"
    run(engine, text)
    pieces = query(engine, "SELECT seqno, data FROM sysprocbody WHERE datakey = 'T' ORDER BY seqno")
    assert [number for number, _ in pieces] == [1, 2]
    assert "".join(str(data) for _, data in pieces).rstrip() == text
    assert query(engine, "SELECT TRIM(grantee), procauth FROM sysprocauth") == [("public", "e")]
