from __future__ import annotations

import contextlib
import threading
from collections.abc import AsyncIterator
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest

import aioifx
from aioifx.server.engine.engine import Engine
from aioifx.server.host.server import running
from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.settings import Settings
from aioifx.server.sqlite.databases import LogMode
from aioifx.wire.opcodes import StatementType
from tests.server.sql.kinds import error_of
from tests.server.talking import ServerCore, codes, error_from, query, run, run_all, server_core


@pytest.fixture
async def conn() -> AsyncIterator[aioifx.Connection]:
    """A client of a server of its own."""
    async with running() as dsn, aioifx.connect(dsn) as conn:
        yield conn


# -- statements --------------------------------------------------------------------------------------------------------


def test_rows_come_back_as_they_were_stored(engine: Engine) -> None:
    run(engine, "CREATE TABLE t (a INTEGER, b VARCHAR(20), c DECIMAL(8,2), d CHAR(4))")
    assert run(engine, "INSERT INTO t VALUES (?, ?, ?, ?)", 1, "one", Decimal("1.5"), "x").rows == 1
    run(engine, "INSERT INTO t VALUES (NULL, '', 2, NULL)")
    result = query(engine, "SELECT * FROM t ORDER BY a")
    assert result == [(None, "", Decimal("2.00"), None), (1, "one", Decimal("1.50"), "x   ")]


def test_a_cast_parameter_is_assigned_by_the_rules_of_its_column(engine: Engine) -> None:
    run(engine, "CREATE TABLE t (a SMALLINT, b VARCHAR(3), c CHAR(2))")
    run(engine, "INSERT INTO t (b, c) VALUES (?::VARCHAR(20), ?::CHAR(9))", "12345", "abc")
    assert query(engine, "SELECT * FROM t") == [(None, "123", "ab")]
    run(engine, "UPDATE t SET b = ?::VARCHAR(20)", "6789")
    assert query(engine, "SELECT b FROM t") == [("678",)]
    assert error_from(engine, "INSERT INTO t (a) VALUES (?::INTEGER)", 100_000).sqlcode == -1214


def test_a_statement_is_described_before_it_runs(engine: Engine) -> None:
    run(engine, "CREATE TABLE t (a INTEGER NOT NULL, b VARCHAR(20))")
    plan = engine.prepare("SELECT b, a + 1 AS n FROM t WHERE a = ?").plan
    assert plan.type is StatementType.SELECT
    result = [(column.name, str(column.type)) for column in plan.columns]
    assert result == [("b", "VARCHAR(20)"), ("n", "INTEGER")]
    assert len(plan.parameters) == 1
    assert [column.name for column in engine.prepare("INSERT INTO t VALUES (?, ?)").plan.columns] == [
        "a",
        "b",
    ]


def test_a_query_cannot_be_executed_without_a_cursor(engine: Engine) -> None:
    assert error_of_execution(engine, "SELECT tabid FROM systables").sqlcode == -260


def error_of_execution(engine: Engine, text: str) -> SqlError:
    with pytest.raises(SqlError) as raised:
        engine.execute(engine.prepare(text))
    return raised.value


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELEC a FROM t", (-201, 0, "")),
        ("SELECT a FROM missing", (-206, -111, "missing")),
        ("SELECT missing FROM t", (-217, 0, "missing")),
        ("INSERT INTO t VALUES (1)", (-236, 0, "")),
        ("INSERT INTO t VALUES (1, 5)", (-268, -100, "anna.pk_t")),
        ("INSERT INTO t VALUES (NULL, 5)", (-391, 0, "t.a")),
        ("UPDATE t SET a = 1 WHERE a = 2", (-268, -100, "anna.pk_t")),
        ("INSERT INTO t VALUES (3, 10)", (-239, -100, "ix_b")),
        ("UPDATE t SET b = 10 WHERE a = 2", (-346, -100, "ix_b")),
        ("INSERT INTO t VALUES (3, -1)", (-530, 0, "anna.ck_b")),
        ("INSERT INTO t VALUES ('x', 5)", (-1213, 0, "")),
        ("SELECT a / 0 FROM t", (-1202, 0, "")),
        ("INSERT INTO child VALUES (99)", (-691, -111, "anna.fk_child")),
        ("DELETE FROM t WHERE a = 1", (-692, 0, "anna.fk_child")),
        ("CREATE TABLE t (a INTEGER)", (-310, 0, "t")),
        ("CREATE UNIQUE INDEX u ON twins (a)", (-371, -100, "")),
        ("DROP TABLE missing", (-206, -111, "missing")),
    ],
)
@pytest.mark.parametrize("inside", [False, True])
def test_a_failing_statement_reports_its_error_and_changes_nothing(
    engine: Engine, text: str, expected: tuple[int, int, str], inside: bool
) -> None:
    run(
        engine,
        "CREATE TABLE t (a INTEGER NOT NULL PRIMARY KEY CONSTRAINT pk_t, b INTEGER CHECK (b > 0) CONSTRAINT ck_b)",
    )
    run(engine, "CREATE UNIQUE INDEX ix_b ON t (b)")
    run(engine, "CREATE TABLE child (p INTEGER REFERENCES t (a) CONSTRAINT fk_child)")
    run(engine, "CREATE TABLE twins (a INTEGER)")
    for each in (
        "t VALUES (1, 10)",
        "t VALUES (2, 20)",
        "child VALUES (1)",
        "twins VALUES (1)",
        "twins VALUES (1)",
    ):
        run(engine, f"INSERT INTO {each}")
    if inside:
        run_all(engine, "BEGIN WORK", "INSERT INTO t VALUES (7, 70)")
    before = [query(engine, f"SELECT * FROM {table}") for table in ("t", "child", "twins")]
    found = codes(error_from(engine, text))
    assert found[:2] == expected[:2]
    assert found[2].lower() == expected[2]
    assert [query(engine, f"SELECT * FROM {table}") for table in ("t", "child", "twins")] == before
    assert engine.is_in_transaction is inside


def test_the_wrong_number_of_values_is_minus_254(engine: Engine) -> None:
    run(engine, "CREATE TABLE t (a INTEGER)")
    assert error_from(engine, "INSERT INTO t VALUES (?)").sqlcode == -254
    assert error_from(engine, "SELECT a FROM t WHERE a = ?", 1, 2).sqlcode == -254


def test_current_is_the_same_throughout_a_statement(core: ServerCore) -> None:
    times = iter(datetime(2026, 5, 4, 12, 0, second) for second in range(60))
    entry = core.registry.register("anna")
    engine = Engine(core.databases, core.registry, entry, Settings(user="anna"), clock=lambda: next(times))
    engine.open_database("demo")
    text = "SELECT CURRENT YEAR TO SECOND, CURRENT YEAR TO SECOND FROM systables WHERE tabid < 4"
    rows = query(engine, text)
    assert len({value for row in rows for value in row}) == 1
    assert query(engine, text) != rows
    engine.close()


# -- databases ---------------------------------------------------------------------------------------------------------


def test_sysmaster_shows_databases_and_sessions(engine: Engine, core: ServerCore) -> None:
    core.engine("", user="bert")
    result = query(engine, "SELECT name, is_logging FROM sysmaster:sysdatabases ORDER BY name")
    assert result == [("demo", 1), ("sysadmin", 1), ("syscdcv1", 1), ("sysmaster", 1)]
    users = query(engine, "SELECT username FROM sysmaster:syssessions ORDER BY sid")
    assert [user.rstrip() for (user,) in users] == ["anna", "bert"]


def test_sysmaster_tells_the_locale_of_a_database(core: ServerCore) -> None:
    text = "SELECT dbs_collate FROM sysmaster:sysdbslocale WHERE dbs_dbsname = 'demo'"
    [(locale,)] = query(core.engine(), text)
    assert locale.rstrip() == "en_US.819"


def test_values_are_bound_as_the_schema_is_now(engine: Engine) -> None:
    run_all(engine, "CREATE TABLE t (a INTEGER)", "INSERT INTO t VALUES (1)")
    statement = engine.prepare("DELETE FROM t WHERE a = ?")
    assert engine.execute(statement, (1,)).rows == 1
    run_all(engine, "ALTER TABLE t MODIFY (a VARCHAR(5))", "INSERT INTO t VALUES ('x')")
    assert engine.execute(statement, ("x",)).rows == 1


def test_another_database_can_be_read(engine: Engine, core: ServerCore) -> None:
    run_all(engine, "CREATE DATABASE shop WITH LOG", "CREATE TABLE t (a INTEGER)", "INSERT INTO t VALUES (5)")
    run(engine, "DATABASE demo")
    assert query(engine, "SELECT a FROM shop:t") == [(5,)]
    statement = engine.prepare("SELECT a FROM shop:t")
    other = core.engine("shop")
    run(other, "INSERT INTO t VALUES (6)")
    cursor = engine.open(statement)
    assert engine.fetch(cursor, 10)[0] == [(5,), (6,)]


# -- cursors -----------------------------------------------------------------------------------------------------------


def test_open_cursors_do_not_disturb_each_other(filled: Engine) -> None:
    up = filled.open(filled.prepare("SELECT a FROM t ORDER BY a"))
    assert filled.fetch(up, 2)[0] == [(1,), (2,)]
    down = filled.open(filled.prepare("SELECT a FROM t ORDER BY a DESC"))
    assert filled.fetch(down, 2)[0] == [(10,), (9,)]
    assert filled.fetch(up, 2)[0] == [(3,), (4,)]
    run(filled, "DELETE FROM t")
    assert filled.fetch(up, 100) == ([(5,), (6,), (7,), (8,), (9,), (10,)], True)
    assert filled.fetch(down, 1)[0] == [(8,)]


def test_an_open_cursor_does_not_hide_what_others_commit(core: ServerCore, filled: Engine) -> None:
    cursor = filled.open(filled.prepare("SELECT a FROM t ORDER BY a"))
    filled.fetch(cursor, 1)
    other = core.engine()
    run_all(other, "INSERT INTO t VALUES (11, 0)", "CREATE TABLE late (a INTEGER)")
    assert query(filled, "SELECT COUNT(*) FROM t") == [(Decimal(11),)]
    assert query(filled, "SELECT a FROM late") == []


def test_the_end_of_a_transaction_releases_all_but_hold_cursors(filled: Engine) -> None:
    run(filled, "BEGIN WORK")
    plain = filled.open(filled.prepare("SELECT a FROM t ORDER BY a"))
    held = filled.open(filled.prepare("SELECT a FROM t ORDER BY a"), hold=True)
    filled.fetch(held, 1)
    run(filled, "COMMIT WORK")
    assert plain.is_released
    assert not held.is_released
    assert filled.fetch(held, 2) == ([(2,), (3,)], False)


def test_a_scroll_cursor_is_a_snapshot(filled: Engine) -> None:
    cursor = filled.open(filled.prepare("SELECT a FROM t ORDER BY a"), scroll=True)
    run(filled, "DELETE FROM t")
    assert cursor.count == 10
    assert [cursor.row(n) for n in (10, 1, 11)] == [(10,), (1,), None]
    assert error_of(filled.open, filled.prepare("SELECT a FROM t FOR UPDATE"), scroll=True) == -526


def test_a_scroll_cursor_has_no_collections(engine: Engine) -> None:
    run(engine, "CREATE TABLE t (a INTEGER, s SET(INTEGER NOT NULL), r ROW(l LIST(INTEGER NOT NULL)))")
    for columns in ("a, s", "r.l"):
        statement = engine.prepare(f"SELECT {columns} FROM t")
        assert error_of(engine.open, statement, scroll=True) == -9605
        engine.close_cursor(engine.open(statement))
    engine.close_cursor(engine.open(engine.prepare("SELECT a, r FROM t WHERE 1 IN s"), scroll=True))


def test_where_current_of_refers_to_the_row_fetched_last(filled: Engine) -> None:
    run(filled, "BEGIN WORK")
    cursor = filled.open(filled.prepare("SELECT a FROM t WHERE a < 4 FOR UPDATE"), name="c")
    assert error_from(filled, "UPDATE t SET b = 1 WHERE CURRENT OF c").sqlcode == -266
    filled.fetch(cursor, 1)
    filled.fetch(cursor, 1)
    assert run(filled, "UPDATE t SET b = 1 WHERE CURRENT OF c").rows == 1
    filled.fetch(cursor, 1)
    assert run(filled, "DELETE FROM t WHERE CURRENT OF c").rows == 1
    run(filled, "COMMIT WORK")
    assert query(filled, "SELECT a, b FROM t WHERE a < 4 ORDER BY a") == [(1, 0), (2, 1)]


def test_where_current_of_needs_a_cursor_for_update(filled: Engine) -> None:
    assert error_from(filled, "DELETE FROM t WHERE CURRENT OF nobody").sqlcode == -507
    cursor = filled.open(filled.prepare("SELECT a FROM t"), name="plain")
    filled.fetch(cursor, 1)
    assert error_from(filled, "DELETE FROM t WHERE CURRENT OF plain").sqlcode == -290
    cursor = filled.open(filled.prepare("SELECT a, b FROM t FOR UPDATE OF b"), name="some")
    filled.fetch(cursor, 1)
    assert codes(error_from(filled, "UPDATE t SET a = 0 WHERE CURRENT OF some")) == (-364, 0, "a")


def test_an_error_in_a_later_row_is_raised_when_that_row_is_fetched(filled: Engine) -> None:
    cursor = filled.open(filled.prepare("SELECT 10 / (a - 5) FROM t"))
    assert len(filled.fetch(cursor, 2)[0]) == 2
    assert error_of(filled.fetch, cursor, 3) == -1202
    assert query(filled, "SELECT COUNT(*) FROM t") == [(Decimal(10),)]


def test_a_long_query_can_be_interrupted(filled: Engine) -> None:
    text = "SELECT COUNT(*) FROM t a, t b, t c, t d, t e, t f, t g, t h, t i, t j"
    done = threading.Event()

    def interrupt() -> None:
        while not done.is_set():
            filled.interrupt()

    thread = threading.Thread(target=interrupt)
    thread.start()
    try:
        error = error_from(filled, text)
    finally:
        done.set()
        thread.join()
    assert codes(error) == (-213, -157, "")
    with contextlib.suppress(SqlError):
        query(
            filled, "SELECT 1 FROM t"
        )  # hit by an interrupt that came too late for the long one, if one did
    assert query(filled, "SELECT COUNT(*) FROM t") == [(Decimal(10),)]


# -- ANSI --------------------------------------------------------------------------------------------------------------


def test_in_an_ansi_database_only_commit_commits() -> None:
    with server_core(LogMode.ANSI) as core:
        one, two = core.engine(), core.engine()
        run_all(one, "CREATE TABLE t (a INTEGER)", "INSERT INTO t VALUES (1)")
        assert error_from(one, "BEGIN WORK").sqlcode == -535
        run(one, "COMMIT WORK")
        assert query(two, "SELECT a FROM anna.t") == [(1,)]
        assert error_from(one, "INSERT INTO t VALUES (2)").isamcode == -113  # REPEATABLE READ is the default
        run(two, "ROLLBACK WORK")
        run_all(one, "INSERT INTO t VALUES (2)", "ROLLBACK WORK")
        assert query(two, "SELECT a FROM anna.t") == [(1,)]
        assert error_from(one, "UPDATE t SET a = 9 WHERE a = 5").isamcode == -113  # REPEATABLE READ
        run(two, "COMMIT WORK")
        assert run(one, "UPDATE t SET a = 9 WHERE a = 5").rows == 0


# -- end to end: a client's requests, the replies, and the described types ---------------------------------------------


DUAL = "FROM sysmaster:sysdual"


Told = list[tuple[str, str]]


async def answered(conn: aioifx.Connection, text: str) -> tuple[list[tuple[object, ...]], Told]:
    async with await conn.prepare(text) as statement:
        rows = [tuple(row) for row in await statement.fetch()]
        return rows, [(column.name, str(column.type)) for column in statement.columns]


async def refused(conn: aioifx.Connection, text: str) -> tuple[int, int, int]:
    with pytest.raises(aioifx.DatabaseError) as raised:
        await conn.fetch(text)
    error = raised.value
    return error.sqlcode, error.isamcode, error.offset


@pytest.mark.parametrize(
    ("items", "row", "types"),
    [
        ("7/2, 7/2::FLOAT, MOD(-7,3), ROUND(2.5), TRUNC(-2.7)", (Decimal("3.5"), 3.5, -1, Decimal(3), Decimal(-2)),
         ["DECIMAL(32)", "FLOAT", "INTEGER", "DECIMAL(32)", "DECIMAL(32)"]),
        ("\"it's\", 'it''s'", ("it's", "it's"), ["CHAR(4)", "CHAR(4)"]),
        ("MDY(2,29,2024) + 365, MDY(3,1,2024) - MDY(2,1,2024)", (date(2025, 2, 28), 29), ["DATE", "INTEGER"]),
        ("EXTEND(MDY(5,4,2026), YEAR TO SECOND) - INTERVAL(1) SECOND TO SECOND", (datetime(2026, 5, 3, 23, 59, 59),),
         ["DATETIME YEAR TO SECOND"]),
        ("DATETIME(2026-05-04 12:00) YEAR TO MINUTE - DATETIME(2026-05-01 06:30) YEAR TO MINUTE",
         (timedelta(days=3, hours=5, minutes=30),), ["INTERVAL DAY(8) TO MINUTE"]),
        ("NVL(NULL::INT, 5), DECODE(NULL::INT, NULL, 'n', 'x'), 'a' || NULL::CHAR(1)", (5, "n", None),
         ["INTEGER", "CHAR(1)", "VARCHAR(2)"]),
    ],
)  # fmt: skip
async def test_expressions_have_informixs_values_and_types(
    conn: aioifx.Connection, items: str, row: tuple[object, ...], types: list[str]
) -> None:
    rows, described = await answered(conn, f"SELECT {items} {DUAL}")
    assert rows == [row]
    assert [type_ for _, type_ in described] == types


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("SELECT 1/0 FROM systables WHERE tabid = 1", (-1202, 0, 0)),
        ("SELECT 'x'::INT FROM systables WHERE tabid = 1", (-1213, 0, 0)),
        (f"SELECT DATETIME(2024-01-31 10:00) YEAR TO MINUTE + 1 UNITS MONTH {DUAL}", (-1267, 0, 0)),
        ("SELECT * FROM nowhere", (-206, -111, 15)),
        ("SELECT 1", (-201, 0, 9)),
    ],
)
async def test_what_has_no_answer_is_refused_by_number_and_place(
    conn: aioifx.Connection, text: str, error: tuple[int, int, int]
) -> None:
    assert await refused(conn, text) == error
    assert await conn.fetchval(f"SELECT 1 {DUAL}") == 1


@pytest.mark.parametrize(
    ("call", "parameters", "value", "type_"),
    [
        ("LPAD('é', 3, 'ü')", (), "üüé", "VARCHAR(12)"),
        ("LPAD(?::VARCHAR(20), 5, ?)", ("é", "日"), "日日日日é", "VARCHAR(20)"),
        ("RPAD(?::VARCHAR(20), 100, '日')", ("a",), "a" + 99 * "日", "LVARCHAR(400)"),
        ("REPLACE('aa', 'a', 'é')", (), "éé", "LVARCHAR(32739)"),
        ("UPPER('ɐé')", (), "ɐÉ", "CHAR(4)"),
        ("ASCII('é')", (), 0xC3, "INTEGER"),
        ("ASCII(?::CHAR(1))", ("A",), 65, "INTEGER"),
        ("CHARINDEX('日', 'a日', ?)", (1,), 2, "INTEGER"),
        ("SUBSTRING_INDEX(?::VARCHAR(20), '日', ?)", ("a日b日c", -1), "c", "VARCHAR(20)"),
        ("TO_CHAR(?::DECIMAL(8,2), ?)", (Decimal("-1234.5"), "-#,###.&&"), "-1,234.50", "VARCHAR(255)"),
        ("TO_NUMBER(?)", ("$12.50",), Decimal("12.5"), "DECIMAL(32)"),
        ("ROUND(DEGREES(?), 1)", (1.0,), 57.3, "FLOAT"),
        ("TRUNC(RADIANS(90), 2)", (), 1.57, "FLOAT"),
    ],
)
async def test_functions_take_literals_and_parameters_in_utf8(
    call: str, parameters: tuple[object, ...], value: object, type_: str
) -> None:
    utf8 = "en_US.utf8"
    async with (
        running(db_locale=utf8) as dsn,
        aioifx.connect(dsn, client_locale=utf8, db_locale=utf8) as conn,
    ):
        assert await conn.fetchval(f"SELECT {call} {DUAL}", *parameters) == value
        async with await conn.prepare(f"SELECT {call} {DUAL}") as statement:
            assert [tuple(row) for row in await statement.fetch(*parameters)] == [(value,)]
            assert str(statement.columns[0].type) == type_


async def test_the_catalog_is_read_as_on_any_server(conn: aioifx.Connection) -> None:
    rows, described = await answered(conn, "SELECT SKIP 1 FIRST 2 tabname FROM systables ORDER BY tabid")
    assert rows == [("syscolumns",), ("sysindices",)]
    assert described == [("tabname", "VARCHAR(128)")]
    matching = "SELECT tabname[1,3] FROM systables WHERE tabname MATCHES 's?s[t-v]a*' AND tabid = 1"
    assert await answered(conn, matching) == ([("sys",)], [("tabname", "VARCHAR(3)")])


async def test_double_quotes_delimit_names_if_the_client_asks_for_it() -> None:
    async with running() as dsn, aioifx.connect(dsn, environment={"DELIMIDENT": "Y"}) as conn:
        assert await refused(conn, f"SELECT \"it's\", 'it''s' {DUAL}") == (-217, 0, 8)


async def test_a_serial_and_texts_with_blanks(conn: aioifx.Connection) -> None:
    await conn.execute("CREATE TEMP TABLE t (k SERIAL, c CHAR(5), v VARCHAR(5))")
    serials = []
    for values in ("0, 'ab', 'ab '", "10, 'abcdefg', ''", "0, NULL, NULL"):
        serials.append((await conn.execute(f"INSERT INTO t VALUES ({values})")).serial)
    assert serials == [1, 10, 11]
    rows, described = await answered(conn, "SELECT k, c, v, LENGTH(c) FROM t ORDER BY k")
    assert rows == [(1, "ab   ", "ab ", 2), (10, "abcde", "", 5), (11, None, None, None)]
    assert described[:3] == [("k", "SERIAL"), ("c", "CHAR(5)"), ("v", "VARCHAR(5)")]
    assert await conn.fetchval(f"SELECT DBINFO('sqlca.sqlerrd1') {DUAL}") == 11
    assert await conn.fetchval("SELECT COUNT(*) FROM t WHERE c = 'ab'") == 1
    assert await conn.fetchval("SELECT COUNT(*) FROM t WHERE v = 'ab'") == 1
    with pytest.raises(aioifx.DatabaseError) as raised:
        await conn.execute("INSERT INTO t VALUES (0, 'a')")
    assert raised.value.sqlcode == -236


async def test_an_old_outer_join_keeps_rows_without_a_partner(conn: aioifx.Connection) -> None:
    for text in ("CREATE TABLE a (k INT)", "CREATE TABLE b (k INT, x INT)"):
        await conn.execute(text)
    await conn.executemany("INSERT INTO a VALUES (?)", [(1,), (2,)])
    await conn.executemany("INSERT INTO b VALUES (?, ?)", [(1, 9), (2, 3)])
    rows, _ = await answered(conn, "SELECT a.k, b.x FROM a, OUTER b WHERE a.k = b.k AND b.x > 5")
    assert sorted(rows) == [(1, 9), (2, None)]


async def test_transactions_begin_once_and_end_once(conn: aioifx.Connection) -> None:
    for text, sqlcode in (
        ("BEGIN WORK", 0),
        ("BEGIN WORK", -535),
        ("COMMIT WORK", 0),
        ("COMMIT WORK", -255),
        ("ROLLBACK WORK", -255),
    ):
        try:
            await conn.execute(text)
        except aioifx.DatabaseError as error:
            assert error.sqlcode == sqlcode, text
        else:
            assert sqlcode == 0, text


async def test_a_key_that_is_there_names_its_constraint(conn: aioifx.Connection) -> None:
    await conn.execute("CREATE TABLE t (k INT PRIMARY KEY CONSTRAINT pk_t)")
    await conn.execute("INSERT INTO t (k) VALUES (?)", 1)
    with pytest.raises(aioifx.DatabaseError) as raised:
        await conn.execute("INSERT INTO t (k) VALUES (?)", 1)
    assert (raised.value.sqlcode, raised.value.isamcode) == (-268, -100)
    assert "informix.pk_t" in str(raised.value)


async def test_texts_are_cut_by_the_bytes_of_the_databases_code_set() -> None:
    utf8 = "en_US.utf8"
    async with (
        running(db_locale=utf8) as dsn,
        aioifx.connect(dsn, client_locale=utf8, db_locale=utf8) as conn,
    ):
        await conn.execute("CREATE TABLE t (c CHAR(5), v VARCHAR(5))")
        await conn.execute("INSERT INTO t VALUES ('éééé', '日本語')")
        assert await answered(conn, "SELECT c, v, LENGTH(c), 'é' x FROM t") == (
            [("éé ", "日", 4, "é")],
            [("c", "CHAR(5)"), ("v", "VARCHAR(5)"), ("(expression)", "INTEGER"), ("x", "CHAR(2)")],
        )


async def test_rollback_leaves_temporary_tables_with_no_log_alone(dsn: str) -> None:
    async with aioifx.connect(dsn) as conn:
        await conn.execute("CREATE TEMP TABLE a (k INTEGER, v CHAR(3)) WITH NO LOG")
        await conn.execute("CREATE TEMP TABLE b (k INTEGER)")
        for table in ("a (k)", "b"):
            await conn.execute(f"INSERT INTO {table} VALUES (1)")
        work = conn.transaction()
        await work.start()
        for table in ("a (k)", "b"):
            await conn.execute(f"INSERT INTO {table} VALUES (2)")
            await conn.execute(f"DELETE FROM {table[0]} WHERE k = 1")
        await work.rollback()
        assert [row[0] for row in await conn.fetch("SELECT k FROM a")] == [2]
        assert [row[0] for row in await conn.fetch("SELECT k FROM b")] == [1]


async def test_a_parent_in_its_own_table_is_still_referenced(dsn: str) -> None:
    async with aioifx.connect(dsn) as conn:
        await conn.execute("CREATE TABLE s (k INTEGER PRIMARY KEY, p INTEGER REFERENCES s CONSTRAINT fk_s)")
        await conn.execute("INSERT INTO s VALUES (1, 1)")
        await conn.execute("INSERT INTO s VALUES (2, 1)")
        assert await refused(conn, "DELETE FROM s WHERE k = 1") == (-692, 0, 0)
        assert await refused(conn, "INSERT INTO s VALUES (3, 9)") == (-691, -111, 0)


async def test_a_plain_scan_of_systables_is_in_the_order_of_tabid(dsn: str) -> None:
    async with aioifx.connect(dsn) as conn:
        await conn.execute("CREATE TABLE aaa (k INTEGER)")
        names = [
            row[0] for row in await conn.fetch("SELECT tabname FROM systables WHERE tabid < 4 OR tabid > 99")
        ]
        assert names == ["systables", "syscolumns", "sysindices", "aaa"]


async def test_a_join_takes_no_notice_of_trailing_blanks(dsn: str) -> None:
    # Enough rows for SQLite to think of an index of its own, which lost half of them.
    async with aioifx.connect(dsn) as conn:
        await conn.execute("CREATE TABLE x (c CHAR(6))")
        await conn.execute("CREATE TABLE y (v VARCHAR(6))")
        await conn.executemany("INSERT INTO x VALUES (?)", [(f"k{i}",) for i in range(200)])
        await conn.executemany("INSERT INTO y VALUES (?)", [(f"k{i}" + " " * (i % 3),) for i in range(200)])
        assert await conn.fetchval("SELECT COUNT(*) FROM x, y WHERE x.c = y.v") == 200


# -- sequences ---------------------------------------------------------------------------------------------------------


async def test_a_sequence_gives_one_number_a_row(conn: aioifx.Connection) -> None:
    await conn.execute("CREATE SEQUENCE s")
    await conn.execute("CREATE TABLE t (a INT8, b INT8, c VARCHAR(10))")
    text = "SELECT s.CURRVAL, s.NEXTVAL, s.NEXTVAL + 10, tabid FROM systables WHERE tabid <= ?"
    assert [tuple(row) for row in await conn.fetch(text, 2)] == [(1, 1, 11, 1), (2, 2, 12, 2)]
    async with await conn.prepare(text) as statement:
        assert [tuple(row) for row in await statement.fetch(1)] == [(3, 3, 13, 1)]
        assert [tuple(row) for row in await statement.fetch(1)] == [(4, 4, 14, 1)]
        assert [str(column.type) for column in statement.columns] == ["INT8", "INT8", "INT8", "SERIAL"]
    await conn.execute("INSERT INTO t VALUES (s.NEXTVAL, s.CURRVAL, ?)", "x")
    await conn.executemany("INSERT INTO t VALUES (s.NEXTVAL, ?, ?)", [(1, "y"), (2, "z")])
    await conn.execute("INSERT INTO t (a, b) SELECT s.NEXTVAL, s.NEXTVAL FROM systables WHERE tabid <= ?", 2)
    await conn.execute("SELECT s.NEXTVAL AS n FROM t INTO TEMP u")
    result = [tuple(row) for row in await conn.fetch("SELECT a, b FROM t")]
    assert result == [(5, 5), (6, 1), (7, 2), (8, 8), (9, 9)]
    assert [row[0] for row in await conn.fetch("SELECT n FROM u")] == [10, 11, 12, 13, 14]
    done = await conn.execute("UPDATE t SET a = s.NEXTVAL, b = s.CURRVAL WHERE c IS NOT NULL")
    assert done.rowcount == 3
    numbers = await conn.fetch("SELECT a, b FROM t WHERE c IS NOT NULL")
    assert [tuple(row) for row in numbers] == [(15, 15), (16, 16), (17, 17)]
    assert await conn.fetchval(f"SELECT s.CURRVAL {DUAL}") == 17


async def test_a_cursor_keeps_its_numbers_while_other_statements_take_some(conn: aioifx.Connection) -> None:
    await conn.execute("CREATE SEQUENCE s")
    async with conn.transaction():
        seen: list[int] = []
        async for row in conn.stream("SELECT s.NEXTVAL AS n FROM systables WHERE tabid <= 4"):
            seen.append(row[0])
            seen.append(await conn.fetchval(f"SELECT s.NEXTVAL {DUAL}"))
    assert len(set(seen)) == 8
    assert seen[::2] == sorted(seen[::2])


async def test_numbers_are_each_sessions_own_and_no_rollback_takes_them_back() -> None:
    async with running() as dsn, aioifx.connect(dsn) as one, aioifx.connect(dsn) as other:
        await one.execute("CREATE SEQUENCE s MAXVALUE 4")
        with pytest.raises(aioifx.DatabaseError) as raised:
            await one.fetchval(f"SELECT s.CURRVAL {DUAL}")
        assert raised.value.sqlcode == -8315
        async with one.transaction() as transaction:
            assert await one.fetchval(f"SELECT s.NEXTVAL {DUAL}") == 1
            await transaction.rollback()
        assert await other.fetchval(f"SELECT s.NEXTVAL {DUAL}") == 2
        assert await one.fetchval(f"SELECT s.CURRVAL {DUAL}") == 1
        assert await one.fetchval(f"SELECT s.NEXTVAL {DUAL}") == 3
        assert await other.fetchval(f"SELECT s.NEXTVAL {DUAL}") == 4
        with pytest.raises(aioifx.DatabaseError) as raised:
            await one.fetchval(f"SELECT s.NEXTVAL {DUAL}")
        assert (raised.value.sqlcode, raised.value.token) == (-8313, "s")
        await one.execute("ALTER SEQUENCE s RESTART WITH 2")
        assert await other.fetchval(f"SELECT s.NEXTVAL {DUAL}") == 2


def test_a_rolled_back_sequence_leaves_no_numbers(engine: Engine) -> None:
    run_all(engine, "BEGIN WORK", "CREATE SEQUENCE s")
    assert query(engine, "SELECT s.NEXTVAL FROM systables WHERE tabid <= 2") == [(1,), (2,)]
    run_all(engine, "ROLLBACK WORK", "CREATE SEQUENCE s")
    assert query(engine, "SELECT s.NEXTVAL FROM systables WHERE tabid = 1") == [(1,)]


def test_a_sequence_goes_on_where_a_stopped_server_left_it(tmp_path: Path) -> None:
    with server_core(directory=tmp_path) as core:
        engine = core.engine()
        run(engine, "CREATE SEQUENCE s")
        assert query(engine, "SELECT s.NEXTVAL FROM systables WHERE tabid <= 2") == [(1,), (2,)]
    with server_core(directory=tmp_path) as core:
        assert query(core.engine(), "SELECT s.NEXTVAL FROM systables WHERE tabid = 1") == [(3,)]


def test_rights_on_a_sequence_are_accepted(engine: Engine) -> None:
    run(engine, "CREATE SEQUENCE s")
    assert run(engine, "GRANT SELECT ON s TO public").rows == 0
    assert run(engine, "REVOKE ALL ON s FROM public").rows == 0


# -- views -------------------------------------------------------------------------------------------------------------


async def test_rows_are_written_through_a_simple_view(conn: aioifx.Connection) -> None:
    await conn.execute("CREATE TABLE t (k SERIAL PRIMARY KEY, n INTEGER, c CHAR(5))")
    await conn.execute("CREATE VIEW v (i, num, name) AS SELECT k, n, c FROM t WHERE n > 10 WITH CHECK OPTION")
    assert (await conn.execute("INSERT INTO v VALUES (0, ?, ?)", 11, "a")).serial == 1
    await conn.executemany("INSERT INTO v (num, name) VALUES (?, ?)", [(12, "b"), (13, "c")])
    with pytest.raises(aioifx.DataError) as raised:
        await conn.executemany("INSERT INTO v (num, name) VALUES (?, ?)", [(14, "d"), (9, "e")])
    assert (raised.value.sqlcode, raised.value.row_index) == (-385, 1)
    async with await conn.prepare("UPDATE v SET num = ? WHERE name = ?") as statement:
        assert (await statement.execute(20, "b")).rowcount == 1
        assert (await statement.execute(20, "z")).rowcount == 0
        with pytest.raises(aioifx.DataError) as raised:
            await statement.execute(1, "b")
        assert raised.value.sqlcode == -385
    async with conn.transaction():
        await conn.execute("UPDATE v SET name = 'q' WHERE i = ?", 1)
        assert len((await conn.execute("UPDATE v SET name = name")).warnings) == 1
        await conn.execute("INSERT INTO v SELECT 0, num + ?, name FROM v WHERE i = 1", 100)
        await conn.execute("DELETE FROM v WHERE num = 13")
    rows = await conn.fetch("SELECT num, name FROM v ORDER BY num")
    assert [tuple(row) for row in rows] == [(11, "q    "), (20, "b    "), (111, "q    ")]


# -- names and unions --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "parameters", "rows"),
    [
        ("SELECT t.k, u.n FROM t, OUTER 'anna'.u WHERE t.k = u.k AND u.n > ? ORDER BY 1", (5,), [(1, None), (2, 9)]),
        ("SELECT FIRST ? k FROM t UNION ALL SELECT SKIP ? FIRST 1 k + 10 FROM t", (1, 1), [(1,), (12,)]),
        ("SELECT k FROM (SELECT FIRST ? k FROM t UNION SELECT LIMIT 1 n FROM u) ORDER BY 1", (2,),
         [(1,), (2,), (3,)]),
        ("SELECT indexkeys FROM sysindices WHERE idxname = ?", ("ix_t",), [("-1 [1]",)]),
        ("SELECT schema_coltypename(coltype, extended_id) FROM syscolumns WHERE colname = ?", ("n",), [("bigint",)]),
    ],
)  # fmt: skip
async def test_owners_unions_and_the_catalog_take_parameters(
    text: str, parameters: tuple[object, ...], rows: list[tuple[object, ...]]
) -> None:
    async with running(user="anna", password="x") as dsn, aioifx.connect(dsn, password="x") as conn:
        await conn.execute('CREATE TABLE t (k INTEGER PRIMARY KEY CONSTRAINT "bert".pk_t)')
        await conn.execute("CREATE TABLE u (k INTEGER, n BIGINT)")
        await conn.execute("CREATE INDEX ix_t ON t (k DESC)")
        await conn.executemany("INSERT INTO t VALUES (?)", [(1,), (2,)])
        await conn.executemany("INSERT INTO u VALUES (?, ?)", [(1, 3), (2, 9)])
        assert [tuple(row) for row in await conn.fetch(text, *parameters)] == rows
        async with await conn.prepare(text) as statement:
            assert [tuple(row) for row in await statement.fetch(*parameters)] == rows
        with pytest.raises(aioifx.IntegrityError) as raised:
            await conn.execute("INSERT INTO t VALUES (?)", 1)
        assert (raised.value.sqlcode, raised.value.token) == (-268, "bert.pk_t")


# -- limits ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "sqlcode"),
    [
        pytest.param(
            f"SELECT {','.join(['n'] * 32768)} FROM t", -528, id="columns", marks=pytest.mark.exhaustive
        ),
        pytest.param(f"SELECT {','.join(['n'] * 3000)} FROM t", -999, id="columns served"),
        pytest.param(f"SELECT {','.join(['t.*'] * 667)} FROM t", -999, id="starred columns"),
        pytest.param(f"CREATE TABLE w ({','.join(f'c{n} INT' for n in range(5000))})", -999, id="table"),
        pytest.param(f"SELECT COUNT(*) FROM {','.join(f't t{n}' for n in range(70))}", -999, id="tables"),
        pytest.param(f"SELECT NVL({','.join(['n'] * 3)}) FROM t", -664, id="arguments"),
        pytest.param(f"SELECT COALESCE({','.join(['n'] * 1001)}) FROM t", -999, id="arguments served"),
        pytest.param(f"SELECT n AS {'a' * 40_000} FROM t", -253, id="label"),
        pytest.param(f"SELECT n FROM {'a' * 100_000}", -253, id="name"),
        pytest.param(f"SELECT n FROM t WHERE v = '{'x' * 40_000}'", -280, id="literal"),
        pytest.param(f"INSERT INTO t (v) VALUES ('{'x' * 3_000_000}')", -280, id="literal of 3 MB"),
        pytest.param(
            "SELECT REPLACE(LPAD('x', 32000, 'x'), 'x', LPAD('y', 32000, 'y')) FROM t", -881, id="1 GB"
        ),
        pytest.param("SELECT LPAD('x', 32000) || LPAD('x', 32000) FROM t", -881, id="concatenation"),
        pytest.param("SELECT LPAD('x', 2000000000) FROM t", -881, id="padding"),
    ],
)
async def test_what_is_beyond_a_limit_is_refused_by_number(
    text: str, sqlcode: int, caplog: pytest.LogCaptureFixture
) -> None:
    async with running() as dsn, aioifx.connect(dsn) as conn:
        await conn.execute("CREATE TABLE t (n INTEGER, v LVARCHAR(300), w VARCHAR(10))")
        await conn.execute("INSERT INTO t VALUES (1, 'x', 'y')")
        assert (await refused(conn, text))[0] == sqlcode
        assert await conn.fetchval("SELECT n FROM t") == 1
    assert "Traceback" not in caplog.text


@pytest.mark.exhaustive
async def test_what_is_within_the_limits_is_done(conn: aioifx.Connection) -> None:
    await conn.execute("CREATE TABLE t (n INTEGER, v LVARCHAR(32000))")
    assert (await conn.execute("INSERT INTO t VALUES (?, ?)", 1, "x" * 32000)).rowcount == 1
    assert await conn.fetchval(f"SELECT n FROM t WHERE n = ?{' AND n = 1' * 10_000}", 1) == 1
    assert await conn.fetchval(f"SELECT n FROM t WHERE n = 1{' OR n = 2' * 1_100}") == 1
    assert await conn.fetchval(f"SELECT n FROM t WHERE n IN ({','.join(['2'] * 1_100)}, 1)") == 1
    assert len(await conn.fetchrow(f"SELECT {','.join(['n'] * 1998)} FROM t") or ()) == 1998
    assert await conn.fetchval(f"SELECT LENGTH(v) FROM t WHERE v = '{'x' * 32000}'") == 32000


# -- SET EXPLAIN ON AVOID_EXECUTE --------------------------------------------------------------------------------------


def test_queries_and_changes_can_be_kept_from_running(engine: Engine) -> None:
    run_all(engine, "CREATE TABLE t (a INTEGER)", "INSERT INTO t VALUES (1)")
    run_all(engine, "SET EXPLAIN ON AVOID_EXECUTE", "SET EXPLAIN FILE TO 'plan.out'")
    insert = engine.prepare("INSERT INTO t VALUES (?)")
    assert engine.insert_rows(insert, [(2,), (3,)]).rows == 0
    assert run(engine, "INSERT INTO t VALUES (2)").rows == 0
    assert run(engine, "UPDATE t SET a = a + 1").rows == run(engine, "DELETE FROM t").rows == 0
    assert run(engine, "SELECT a FROM t INTO TEMP copied").rows == 0
    assert query(engine, "SELECT COUNT(*) FROM t") == []
    run_all(engine, "SET EXPLAIN ON")
    assert query(engine, "SELECT a FROM t") == [(1,)]
    assert error_from(engine, "SELECT a FROM copied").sqlcode == -206


def test_definitions_and_routines_run_where_changes_do_not(engine: Engine) -> None:
    run_all(engine, "CREATE TABLE t (a INTEGER)", "INSERT INTO t VALUES (1)")
    run(
        engine,
        """CREATE FUNCTION added(n INTEGER) RETURNING INTEGER, INTEGER;
               DEFINE seen, found INTEGER;
               INSERT INTO t VALUES (n);
               SELECT a INTO found FROM t;
               LET seen = (SELECT COUNT(*) FROM t) + n;
               RETURN seen, found;
           END FUNCTION""",
    )
    run_all(engine, "SET EXPLAIN ON AVOID_EXECUTE", "CREATE TABLE u (a INTEGER)")
    assert query(engine, "EXECUTE FUNCTION added(5)") == [(6, None)]
    run_all(engine, "TRUNCATE TABLE t", "SET EXPLAIN OFF")
    assert query(engine, "SELECT a FROM t") == query(engine, "SELECT a FROM u") == []


def test_a_cursor_of_a_query_that_does_not_run_is_a_cursor(engine: Engine) -> None:
    run_all(engine, "CREATE TABLE t (a INTEGER)", "INSERT INTO t VALUES (1)", "SET EXPLAIN ON AVOID_EXECUTE")
    with pytest.raises(SqlError) as raised:
        engine.open(engine.prepare("SELECT a FROM t FOR UPDATE"), scroll=True)
    assert raised.value.sqlcode == -526
    cursor = engine.open(engine.prepare("SELECT a FROM t"), scroll=True)
    assert engine.fetch(cursor, 1) == ([], True)
