from __future__ import annotations

import pytest

from aioifx.server.engine.engine import Engine
from aioifx.server.sqlite.databases import WriteRefusal
from tests.server.talking import ServerCore, codes, error_from, query, run, run_all

SECONDARY = [
    ("INSERT INTO t VALUES (1, 1)", -271, "t"),
    ("UPDATE t SET b = 1", -346, "t"),
    ("DELETE FROM t", -240, "t"),
    ("CREATE TABLE x (a INTEGER)", -261, "x"),
    ("CREATE TABLE x AS SELECT a FROM t", -261, "x"),
    ("SELECT a FROM t INTO x", -261, "x"),
    ("CREATE INDEX i ON t (a)", -212, "t"),
    ("CREATE VIEW v AS SELECT a FROM t", -271, "v"),
    ("ALTER TABLE t ADD (c INTEGER)", -346, "t"),
    ("RENAME COLUMN t.a TO c", -346, "t"),
    ("DROP TABLE t", -240, "t"),
    ("TRUNCATE TABLE t", -240, "t"),
    ("CREATE TEMP TABLE x (a INTEGER)", -229, "x"),
    ("SELECT a FROM t INTO TEMP x", -229, "x"),
    ("CREATE DATABASE x", -330, ""),
    ("DROP DATABASE demo", -330, ""),
    ("GRANT SELECT ON t TO PUBLIC", -271, ""),
    ("REVOKE SELECT ON t FROM PUBLIC", -240, ""),
    ("UPDATE STATISTICS", -346, ""),
]
FULL = [
    ("INSERT INTO t VALUES (1, 1)", -271, "t"),
    ("INSERT INTO t SELECT a, b FROM t", -271, "t"),
    ("CREATE TABLE x (a INTEGER)", -261, "x"),
    ("CREATE INDEX i ON t (a)", -212, "t"),
    ("CREATE TEMP TABLE x (a INTEGER)", -229, "x"),
    ("SELECT a FROM t INTO TEMP x", -229, "x"),
    ("CREATE DATABASE x", -330, ""),
]


@pytest.mark.parametrize(
    ("refusal", "text", "sqlcode", "token"),
    [
        *((WriteRefusal.SECONDARY, *case) for case in SECONDARY),
        *((WriteRefusal.DISK_FULL, *case) for case in FULL),
    ],
)
def test_a_write_is_refused(
    core: ServerCore, filled: Engine, refusal: WriteRefusal, text: str, sqlcode: int, token: str
) -> None:
    core.databases.refusal = refusal
    assert codes(error_from(filled, text)) == (sqlcode, int(refusal), token)
    assert query(filled, "SELECT COUNT(*), SUM(b) FROM t") == [(10, 0)]
    core.databases.refusal = None
    assert query(filled, "SELECT COUNT(*) FROM t") == [(10,)]


def test_numbers_of_sequences_are_refused(core: ServerCore, filled: Engine) -> None:
    run(filled, "CREATE SEQUENCE s")
    assert query(filled, "SELECT FIRST 1 s.NEXTVAL FROM t") == [(1,)]
    core.databases.refusal = WriteRefusal.SECONDARY
    assert codes(error_from(filled, "SELECT FIRST 1 s.NEXTVAL FROM t")) == (-346, -140, "")
    assert query(filled, "SELECT FIRST 1 s.CURRVAL FROM t") == [(1,)]


def test_rows_of_an_insert_cursor_are_refused(core: ServerCore, filled: Engine) -> None:
    statement = filled.prepare("INSERT INTO t VALUES (?, ?)")
    core.databases.refusal = WriteRefusal.SECONDARY
    with pytest.raises(Exception, match=r"SQLCODE -271, ISAM -140"):
        filled.insert_rows(statement, [(1, 1)])


@pytest.mark.parametrize("refusal", list(WriteRefusal))
def test_reads_and_transactions_are_not_refused(
    core: ServerCore, filled: Engine, refusal: WriteRefusal
) -> None:
    core.databases.refusal = refusal
    for text in ("BEGIN WORK", "SET ISOLATION TO DIRTY READ", "COMMIT WORK", "SET LOCK MODE TO WAIT 3"):
        run(filled, text)
    assert len(query(filled, "SELECT a FROM t")) == 10


def test_a_secondary_server_has_temporary_tables_without_logs(core: ServerCore, filled: Engine) -> None:
    core.databases.refusal = WriteRefusal.SECONDARY
    run_all(filled, "CREATE TEMP TABLE x (a INTEGER) WITH NO LOG", "CREATE INDEX i ON x (a)")
    run_all(filled, "INSERT INTO x SELECT a FROM t", "UPDATE x SET a = 0 WHERE a < 3")
    run(filled, "DELETE FROM x WHERE a = 0")
    assert query(filled, "SELECT COUNT(*) FROM x") == [(8,)]
    run(filled, "DROP TABLE x")


def test_with_a_full_disk_rows_are_changed_in_place(core: ServerCore, filled: Engine) -> None:
    core.databases.refusal = WriteRefusal.DISK_FULL
    run_all(filled, "UPDATE t SET b = 1 WHERE a < 3", "DELETE FROM t WHERE a = 1")
    assert query(filled, "SELECT COUNT(*), SUM(b) FROM t") == [(9, 1)]
