from __future__ import annotations

import pytest

from aioifx.server.sql.model.schema import SequenceDef, TableKind
from aioifx.wire.opcodes import StatementType
from tests.server.sql.workbench import Workbench

HIGHEST = 2**63 - 1
BENCH = Workbench("CREATE TABLE t (k INT)", "CREATE SEQUENCE s", "CREATE SYNONYM y FOR s")


@pytest.mark.parametrize(
    ("options", "sequence"),
    [
        ("", SequenceDef(1, 1, 1, HIGHEST, False, 20, True)),
        ("INCREMENT BY -1", SequenceDef(-1, -1, -HIGHEST, -1, False, 20, True)),
        (
            "INCREMENT 5 START WITH 10 MAXVALUE 100 MINVALUE -10 CYCLE CACHE 5 NOORDER",
            SequenceDef(10, 5, -10, 100, True, 5, False),
        ),
        ("NOMAXVALUE NOMINVALUE NOCYCLE NOCACHE ORDER", SequenceDef(1, 1, 1, HIGHEST, False, 0, True)),
        ("MINVALUE 7", SequenceDef(7, 1, 7, HIGHEST, False, 20, True)),
    ],
)
def test_a_sequence_has_the_given_options_and_defaults(options: str, sequence: SequenceDef) -> None:
    bench = Workbench(f"CREATE SEQUENCE 'ledger'.s {options}")
    table = bench.table("s")
    assert (table.kind, table.owner, table.sequence) == (TableKind.SEQUENCE, "ledger", sequence)


@pytest.mark.parametrize(
    ("statement", "error"),
    [
        ("CREATE SEQUENCE x INCREMENT BY 0", (-8305, "")),
        ("CREATE SEQUENCE x MINVALUE 5 MAXVALUE 4", (-8304, "")),
        ("CREATE SEQUENCE x START WITH 6 MAXVALUE 5", (-8302, "")),
        ("CREATE SEQUENCE x START WITH 0", (-8302, "")),
        ("CREATE SEQUENCE x MAXVALUE 9223372036854775808", (-8302, "")),
        ("CREATE SEQUENCE x MAXVALUE 3 INCREMENT BY 3", (-8302, "")),
        ("CREATE SEQUENCE x CACHE 1", (-8302, "")),
        ("CREATE SEQUENCE x MAXVALUE 5 CYCLE CACHE 5", (-8302, "")),
        ("CREATE SEQUENCE s", (-8301, "s")),
        ("CREATE SEQUENCE t", (-310, "t")),
        ("CREATE TABLE s (k INT)", (-310, "s")),
        ("ALTER SEQUENCE s INCREMENT BY 0", (-8305, "")),
        ("ALTER SEQUENCE s RESTART WITH 0", (-8302, "")),
        ("ALTER SEQUENCE nope CYCLE", (-8300, "nope")),
        ("DROP SEQUENCE nope", (-8300, "nope")),
        ("DROP SEQUENCE t", (-8300, "t")),
        ("RENAME SEQUENCE nope TO u", (-8300, "nope")),
        ("RENAME SEQUENCE s TO t", (-310, "t")),
        ("SELECT k FROM s", (-206, "s")),
        ("SELECT nope.NEXTVAL FROM t", (-8300, "nope")),
        ("SELECT sysmaster:s.NEXTVAL FROM t", (-999, "NEXTVAL")),
        ("SELECT DISTINCT s.NEXTVAL FROM t", (-201, "")),
        ("SELECT k FROM t WHERE k = s.CURRVAL", (-201, "")),
        ("SELECT k FROM t ORDER BY s.NEXTVAL", (-201, "")),
        ("SELECT COUNT(*) FROM t GROUP BY s.NEXTVAL", (-201, "")),
        ("SELECT COUNT(*) FROM t HAVING s.NEXTVAL > 1", (-201, "")),
        ("SELECT MAX(s.NEXTVAL) FROM t", (-201, "")),
        ("SELECT ROW_NUMBER() OVER (ORDER BY s.NEXTVAL) FROM t", (-201, "")),
        ("SELECT s.NEXTVAL FROM t UNION SELECT 1 FROM t", (-201, "")),
        ("SELECT k FROM t WHERE k IN (SELECT s.NEXTVAL FROM t)", (-201, "")),
        ("SELECT n FROM (SELECT s.NEXTVAL n FROM t)", (-201, "")),
        ("CREATE VIEW v (n) AS SELECT s.NEXTVAL FROM t", (-201, "")),
        ("CREATE TABLE x (k INT CHECK (k > s.CURRVAL))", (-201, "")),
        ("UPDATE t SET k = 1 WHERE k = s.NEXTVAL", (-201, "")),
        ("SELECT CASE WHEN k = 1 THEN s.NEXTVAL END FROM t", (-999, "NEXTVAL")),
        ("SELECT NVL(k, s.CURRVAL) FROM t", (-999, "CURRVAL")),
        (
            "MERGE INTO t USING t u ON (t.k = u.k) WHEN NOT MATCHED THEN INSERT VALUES (s.NEXTVAL)",
            (-999, "NEXTVAL"),
        ),
        ("GRANT SELECT ON nope TO public", (-206, "nope")),
    ],
)
def test_errors_of_sequences_have_informix_codes(statement: str, error: tuple[int, str]) -> None:
    assert BENCH.error(statement)[:2] == error


def test_statements_have_their_own_types() -> None:
    bench = Workbench("CREATE SEQUENCE s")
    assert bench.plan("CREATE SEQUENCE u").type is StatementType.CREATE_SEQUENCE
    assert bench.plan("CREATE SEQUENCE IF NOT EXISTS s").type is StatementType.CREATE_SEQUENCE
    assert bench.plan("ALTER SEQUENCE s CYCLE").type is StatementType.ALTER_SEQUENCE
    assert bench.plan("RENAME SEQUENCE s TO u").type is StatementType.RENAME_SEQUENCE
    assert bench.plan("DROP SEQUENCE IF EXISTS nope").type is StatementType.DROP_SEQUENCE


def test_altering_keeps_what_is_not_named() -> None:
    bench = Workbench(
        "CREATE SEQUENCE s START WITH 10 MAXVALUE 100", "ALTER SEQUENCE s INCREMENT BY 5 CACHE 7 CYCLE"
    )
    assert bench.table("s").sequence == SequenceDef(10, 5, 1, 100, True, 7, True)
    bench.run("ALTER SEQUENCE s RESTART WITH 50 NOMAXVALUE NOMINVALUE NOCYCLE NOORDER")
    assert bench.table("s").sequence == SequenceDef(10, 5, 1, HIGHEST, False, 7, False, 50, 1)
    bench.run("ALTER SEQUENCE s RESTART")
    restarted = bench.table("s").sequence
    assert restarted is not None
    assert (restarted.first, restarted.epoch) == (10, 2)


def test_the_catalog_shows_a_sequence() -> None:
    bench = Workbench(
        "CREATE SEQUENCE s INCREMENT BY 2 MAXVALUE 9 CYCLE NOCACHE", "ALTER SEQUENCE s RESTART WITH 3"
    )
    assert bench.rows("SELECT tabname, tabtype FROM systables WHERE tabid = 100") == [("s", "Q")]
    columns = "tabid, start_val, inc_val, max_val, min_val, cycle, restart_val, cache, order"
    assert bench.rows(f"SELECT {columns} FROM syssequences") == [(100, 1, 2, 9, 1, "1", 3, 0, "1")]
    bench.run("RENAME SEQUENCE s TO u")
    assert bench.rows("SELECT tabname FROM systables WHERE tabid = 100") == [("u",)]
    bench.run("DROP SEQUENCE u")
    assert bench.rows("SELECT COUNT(*) FROM syssequences") == [(0,)]


def test_synonyms_go_with_their_sequence() -> None:
    bench = Workbench("CREATE SEQUENCE s", "CREATE SYNONYM y FOR s", "DROP SEQUENCE s")
    assert bench.schema.table("y") is None


def test_numbers_are_described_as_int8() -> None:
    found = BENCH.described("SELECT s.NEXTVAL, y.CURRVAL + 1, s.CURRVAL AS c FROM t")
    assert found == [("nextval", "INT8"), ("(expression)", "INT8"), ("c", "INT8")]
