from __future__ import annotations

import pytest

from aioifx.server.sql.model.plan import Nothing, Plan, Query
from aioifx.wire.opcodes import StatementType
from tests.server.sql.trees import composed
from tests.server.sql.workbench import Workbench


def test_only_a_query_returns_rows() -> None:
    assert Plan(StatementType.SELECT, Query(composed("SELECT 1"))).returns_rows
    assert not Plan(StatementType.GRANT, Nothing()).returns_rows


# Numbers of sqlstype.h; 2, 6, 32 to 36 and 45 have been seen on the wire.
@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("SELECT tabid FROM systables", 2),
        ("(SELECT tabid FROM systables) UNION SELECT 1 FROM systables", 2),
        ("SELECT k FROM t INTO TEMP x", 3),
        ("UPDATE t SET k = 1 WHERE k = 2", 4),
        ("DELETE FROM t WHERE k = 2", 5),
        ("INSERT INTO t VALUES (1)", 6),
        ("UPDATE t SET k = 1 WHERE CURRENT OF c", 7),
        ("DELETE FROM t WHERE CURRENT OF c", 8),
        ("LOCK TABLE t IN SHARE MODE", 10),
        ("UNLOCK TABLE t", 11),
        ("CREATE DATABASE d", 12),
        ("DROP DATABASE d", 13),
        ("CREATE TABLE u (k INT)", 14),
        ("DROP TABLE t", 15),
        ("CREATE INDEX i ON t (k)", 16),
        ("GRANT SELECT ON t TO PUBLIC", 18),
        ("REVOKE SELECT ON t FROM PUBLIC", 19),
        ("RENAME TABLE t TO u", 20),
        ("RENAME COLUMN t.k TO l", 21),
        ("ALTER TABLE t ADD (l INT)", 29),
        ("UPDATE STATISTICS", 30),
        ("CLOSE DATABASE", 31),
        ("DELETE FROM t", 32),
        ("UPDATE t SET k = 1", 33),
        ("BEGIN WORK", 34),
        ("COMMIT WORK", 35),
        ("ROLLBACK WORK", 36),
        ("SAVEPOINT s", 37),
        ("CREATE VIEW v AS SELECT k FROM t", 40),
        ("CREATE SYNONYM s FOR t", 43),
        ("CREATE TEMP TABLE x (k INT)", 45),
        ("SET LOCK MODE TO WAIT 3", 46),
        ("SET ISOLATION TO DIRTY READ", 48),
        ("SET EXPLAIN ON", 50),
        ("DATABASE d", 1),
        ("TRUNCATE TABLE t", 122),
    ],
)
def test_each_statement_has_its_number(text: str, number: int) -> None:
    assert Workbench("CREATE TABLE t (k INT)").plan(text).type == number
