"""IBM's JDBC driver against the embedded server: what it sends and accepts is the best reference there is."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

import aioifx.server
from aioifx import parse_dsn
from aioifx.server import Routine, Server, ServerOptions
from tests.injection import eventually
from tests.server.protocol.test_session import NUMBERS, SLOW
from tests.system.interop.jdbc import Ask, Fields, JdbcError, cells, failing, url_of

pytestmark = [pytest.mark.interop, pytest.mark.exhaustive, pytest.mark.timeout(300)]


async def test_it_connects_and_learns_the_version(ask: Ask, conn: str) -> None:
    [[version]] = await ask("version", conn)
    assert version
    assert await ask("valid", conn) == [["true"]]


# Column type; how the value is set; the value; what getString must give back.
SCALARS: list[tuple[str, str, str, str]] = [
    ("SMALLINT", "short", "-32767", "-32767"),
    ("SMALLINT", "short", "32767", "32767"),
    ("INTEGER", "int", "-2147483647", "-2147483647"),
    ("INTEGER", "int", "2147483647", "2147483647"),
    ("INT8", "long", "-9223372036854775807", "-9223372036854775807"),
    ("BIGINT", "long", "9223372036854775807", "9223372036854775807"),
    ("SMALLFLOAT", "float", "1.5", "1.5"),
    ("FLOAT", "double", "-2.25", "-2.25"),
    ("DECIMAL(10,2)", "decimal", "-12345678.90", "-12345678.90"),
    ("DECIMAL(32)", "decimal", "1234567890.0987654321", "1234567890.0987654321"),
    ("MONEY(16,2)", "decimal", "19.99", "19.99"),
    ("CHAR(10)", "string", "Grüße", "Grüße     "),
    ("NCHAR(6)", "string", "nch", "nch   "),
    ("VARCHAR(20)", "string", "", ""),
    ("VARCHAR(20)", "string", "a\tb\\c", "a\tb\\c"),
    ("NVARCHAR(20)", "string", "señal", "señal"),
    ("LVARCHAR(500)", "string", "x" * 400, "x" * 400),
    ("BOOLEAN", "boolean", "true", "t"),
    ("BOOLEAN", "boolean", "false", "f"),
    ("DATE", "date", "2026-06-20", "2026-06-20"),
    ("DATE", "date", "1850-01-31", "1850-01-31"),
    ("DATETIME YEAR TO SECOND", "timestamp", "2026-06-20 12:34:56", "2026-06-20 12:34:56"),
    ("DATETIME YEAR TO FRACTION(5)", "timestamp", "2026-06-20 12:34:56.12345", "2026-06-20 12:34:56.12345"),
    ("DATETIME HOUR TO SECOND", "time", "23:59:01", "23:59:01"),
    ("INTERVAL DAY TO SECOND", "string", "3 04:05:06", " 3 04:05:06"),
    ("INTERVAL YEAR TO MONTH", "string", "5-03", "   5-03"),
]


@pytest.mark.parametrize(("sqltype", "setter", "value", "expected"), SCALARS)
async def test_a_value_that_it_binds_comes_back(
    ask: Ask, conn: str, sqltype: str, setter: str, value: str, expected: str
) -> None:
    await ask("update", conn, f"CREATE TABLE t (k INTEGER, v {sqltype}, tail SMALLINT)")
    await ask("prepare", conn, "p", "INSERT INTO t VALUES (?, ?, ?)")
    await ask("set", "p", 1, "int", 1)
    await ask("set", "p", 2, setter, value)
    await ask("set", "p", 3, "short", 7)
    assert await ask("run", "p") == [["1"]]
    await ask("set", "p", 1, "int", 2)
    await ask("set", "p", 2, "null", 12)
    assert await ask("run", "p") == [["1"]]
    await ask("release", "p")
    rows = cells(await ask("query", conn, "SELECT k, v, tail FROM t ORDER BY k"))
    assert [(k, (v or "").strip() if "INTERVAL" in sqltype else v, tail) for k, v, tail in rows] == [
        ("1", expected.strip() if "INTERVAL" in sqltype else expected, "7"),
        ("2", "" if "INTERVAL" in sqltype else None, "7"),
    ]
    if "INTERVAL" in sqltype:
        assert rows[1][1] is None


async def test_literals_of_every_type_arrive_as_meant(ask: Ask, conn: str) -> None:
    await ask(
        "update",
        conn,
        "CREATE TABLE t (a SERIAL, b DECIMAL(8,4), c DATE, d DATETIME HOUR TO MINUTE,"
        " e INTERVAL HOUR(3) TO SECOND, f BOOLEAN)",
    )
    await ask(
        "update",
        conn,
        "INSERT INTO t VALUES (0, -123.45, MDY(2,29,2024), DATETIME(23:59) HOUR TO MINUTE,"
        " INTERVAL(-100:00:01) HOUR(3) TO SECOND, 't')",
    )
    [row] = cells(await ask("query", conn, "SELECT a, b, c, d, e, f FROM t"))
    result = [value and value.strip() for value in row]
    assert result == ["1", "-123.4500", "2024-02-29", "23:59", "-100:00:01", "t"]


@pytest.mark.parametrize(
    ("sqltype", "literal", "text"),
    [
        ("DATETIME HOUR TO SECOND", "DATETIME(00:00:00) HOUR TO SECOND", "00:00:00"),
        ("DATETIME HOUR TO SECOND", "DATETIME(00:00:05) HOUR TO SECOND", "00:00:05"),
        ("DATETIME HOUR TO FRACTION(3)", "DATETIME(00:00:00.005) HOUR TO FRACTION(3)", "00:00:00.005"),
        ("DATETIME YEAR TO SECOND", "DATETIME(0001-01-01 00:00:00) YEAR TO SECOND", "0001-01-01 00:00:00"),
        ("DATETIME YEAR TO SECOND", "DATETIME(0099-12-31 23:59:59) YEAR TO SECOND", "0099-12-31 23:59:59"),
        ("INTERVAL DAY TO SECOND", "INTERVAL(0 00:00:00) DAY TO SECOND", "0 00:00:00"),
        ("INTERVAL DAY TO SECOND", "INTERVAL(0 00:00:07) DAY TO SECOND", "0 00:00:07"),
    ],
)
async def test_values_that_begin_with_zero_digits_arrive_as_meant(
    ask: Ask, conn: str, sqltype: str, literal: str, text: str
) -> None:
    """Their base-100 form leaves the pairs of zeros out in front, and says so in its exponent."""
    await ask("update", conn, f"CREATE TABLE t (v {sqltype}, tail SMALLINT)")
    await ask("update", conn, f"INSERT INTO t VALUES ({literal}, 7)")
    [[value, tail]] = cells(await ask("query", conn, "SELECT v, tail FROM t"))
    assert value is not None
    assert (value.strip(), tail) == (text, "7")


async def test_rows_of_many_fetches_arrive_once_and_in_order(ask: Ask, conn: str) -> None:
    await ask("update", conn, "CREATE TABLE t (k INTEGER, v VARCHAR(50))")
    await ask("prepare", conn, "p", "INSERT INTO t VALUES (?, ?)")
    for k in range(1000):
        await ask("set", "p", 1, "int", k)
        await ask("set", "p", 2, "string", f"row {k}")
        await ask("add", "p")
    [counts] = await ask("batch", "p")
    assert counts == ["1"] * 1000
    await ask("release", "p")
    rows = cells(await ask("query", conn, "SELECT k, v FROM t ORDER BY k"))
    assert rows == [[str(k), f"row {k}"] for k in range(1000)]


async def test_two_result_sets_are_read_alternately(ask: Ask, conn: str) -> None:
    await ask("update", conn, "CREATE TABLE t (k INTEGER)")
    for k in (1, 2):
        await ask("update", conn, f"INSERT INTO t VALUES ({k})")
    await ask("open", conn, "up", "SELECT k FROM t ORDER BY k")
    await ask("open", conn, "down", "SELECT k FROM t ORDER BY k DESC")
    seen = [await ask("next", name) for name in ("up", "down", "up", "down", "up", "down")]
    assert seen == [[["1"]], [["2"]], [["2"]], [["1"]], [["off"]], [["off"]]]


async def test_a_prepared_query_runs_again_with_other_values(ask: Ask, conn: str) -> None:
    await ask("update", conn, "CREATE TABLE t (k INTEGER, v VARCHAR(9))")
    for k, v in ((1, "one"), (2, "two")):
        await ask("update", conn, f"INSERT INTO t VALUES ({k}, '{v}')")
    await ask("prepare", conn, "p", "SELECT v FROM t WHERE k = ?")
    for k, found in ((2, [["two"]]), (1, [["one"]]), (3, [])):
        await ask("set", "p", 1, "int", k)
        assert cells(await ask("select", "p")) == found
    await ask("release", "p")


@pytest.fixture
async def calls(ask: Ask) -> AsyncIterator[list[str]]:
    """A connection ``r`` to a server with routines; what they note."""
    noted: list[str] = []

    def fail(text: str) -> None:
        raise aioifx.DatabaseError(text)

    routines = (
        Routine("twice", [("n", "INT")], ["INT"], lambda n: n * 2),
        Routine("upto", [("n", "INT")], ["INT", "VARCHAR(9)"], lambda n: ((i, f"n{i}") for i in range(n))),
        Routine("note", [("text", "VARCHAR(20)")], [], noted.append),
        Routine("fail", [("text", "LVARCHAR")], [], fail),
    )
    async with aioifx.server.running(routines=routines) as dsn:
        await ask("connect", "r", url_of(dsn))
        yield noted
        await ask("close", "r")


@pytest.mark.parametrize(
    ("verb", "sql", "rows"),
    [
        ("call", "{call twice(?)}", [["6"]]),
        ("call", "{call upto(?)}", [["0", "n0"], ["1", "n1"], ["2", "n2"]]),
        ("prepare", "execute function twice(?)", [["6"]]),
        ("prepare", "execute procedure upto(n = ?)", [["0", "n0"], ["1", "n1"], ["2", "n2"]]),
        ("prepare", "select twice(?) from systables where tabid = twice(1)", [["6"]]),
    ],
)
async def test_functions_are_called_for_their_rows(
    ask: Ask, calls: list[str], verb: str, sql: str, rows: list[Fields]
) -> None:
    await ask(verb, "r", "s", sql)
    for _ in range(2):
        await ask("set", "s", 1, "int", 3)
        assert cells(await ask("select", "s")) == rows
    await ask("release", "s")


async def test_outputs_are_registered_parameters(ask: Ask, calls: list[str]) -> None:
    body = "LET size = LENGTH(text); LET text = text || '!';"
    await ask(
        "execute", "r", f"CREATE PROCEDURE measure(OUT size INT, INOUT text VARCHAR(20)) {body} END PROCEDURE"
    )
    await ask("call", "r", "first", "{call measure(?, ?)}")
    await ask("call", "r", "second", "{call measure(?, ?)}")
    wanted = "1:INTEGER", "2:VARCHAR"
    for statement, text, values in (
        ("first", "abc", ["3", "abc!"]),
        ("first", "", ["0", "!"]),
        ("second", "other", ["5", "other!"]),
        ("first", None, [None, None]),
        ("second", "again", ["5", "again!"]),
    ):
        await ask("set", statement, 2, "string", text)
        assert await ask("outs", statement, *wanted) == [values]
    await ask("release", "first")
    await ask("release", "second")


async def test_outputs_of_types(ask: Ask, calls: list[str]) -> None:
    types = {
        "SMALLINT": ("7", "SMALLINT", "7"), "BIGINT": ("12345678901", "BIGINT", "12345678901"),
        "DECIMAL(10,2)": ("-12.50", "DECIMAL", "-12.5"), "DATE": ("MDY(12, 31, 2025)", "DATE", "2025-12-31"),
        "DATETIME YEAR TO SECOND": ("'2025-12-31 10:11:12'", "TIMESTAMP", "2025-12-31 10:11:12.0"),
        "CHAR(5)": ("'ab'", "CHAR", "ab   "), "LVARCHAR(100)": ("'long'", "VARCHAR", "long"),
        "FLOAT": ("1.5", "DOUBLE", "1.5"), "BOOLEAN": ("'t'", "BOOLEAN", "t"),
    }  # fmt: skip
    names = [f"p{number}" for number in range(len(types))]
    declared = ", ".join(f"OUT {name} {sql}" for name, sql in zip(names, types, strict=True))
    lets = " ".join(
        f"LET {name} = {value};" for name, (value, _, _) in zip(names, types.values(), strict=True)
    )
    await ask("execute", "r", f"CREATE PROCEDURE types({declared}) {lets} END PROCEDURE")
    await ask("call", "r", "s", f"{{call types({', '.join('?' * len(types))})}}")
    wanted = [f"{number}:{name}" for number, (_, name, _) in enumerate(types.values(), start=1)]
    assert await ask("outs", "s", *wanted) == [[shown for _, _, shown in types.values()]]
    await ask("release", "s")


async def test_outputs_are_a_row_of_a_call_with_literals(ask: Ask, calls: list[str]) -> None:
    body = "LET size = LENGTH(text); LET text = text || '!';"
    await ask(
        "execute", "r", f"CREATE PROCEDURE p(OUT size INT, INOUT text VARCHAR(20)) {body} END PROCEDURE"
    )
    await ask("call", "r", "s", "{call p(NULL, ?)}")
    await ask("set", "s", 1, "string", "abc")
    assert cells(await ask("select", "s")) == [["3", "abc!"]]
    await ask("release", "s")


async def test_procedures_are_called_for_what_they_do(ask: Ask, calls: list[str]) -> None:
    await ask("call", "r", "s", "{call note(?)}")
    await ask("set", "s", 1, "string", "from JDBC")
    await ask("run", "s")
    await ask("release", "s")
    await ask("execute", "r", "execute procedure note('as text')")
    assert calls == ["from JDBC", "as text"]
    assert cells(await ask("query", "r", "execute function twice(21)")) == [["42"]]
    error = await failing(ask, "update", "r", "execute procedure fail('sold out')")
    assert error.code == -746
    assert "sold out" in str(error)
    assert (await failing(ask, "update", "r", "execute procedure nothing()")).code == -674


async def test_routines_in_spl_are_created_called_and_described(ask: Ask, conn: str) -> None:
    await ask("update", conn, "create table t (k int)")
    await ask(
        "update",
        conn,
        "create procedure fill(n int, first int default 1) define i int; for i = first to n"
        " insert into t values (i); end for; end procedure",
    )
    await ask(
        "update",
        conn,
        "create function upto(n int) returning int as k, varchar(9) as name; define i int;"
        " foreach select k into i from t where k <= n order by k return i, 'n' || i with resume; end foreach;"
        " end function",
    )
    await ask("call", conn, "s", "{call fill(?)}")
    await ask("set", "s", 1, "int", 4)
    await ask("run", "s")
    await ask("release", "s")
    await ask("call", conn, "s", "{call upto(?)}")
    for _ in range(2):
        await ask("set", "s", 1, "int", 2)
        assert cells(await ask("select", "s")) == [["1", "n1"], ["2", "n2"]]
    await ask("release", "s")
    await ask("update", conn, "create procedure fail() raise exception -746, 0, 'sold out'; end procedure")
    with pytest.raises(JdbcError, match="sold out") as caught:
        await ask("update", conn, "execute procedure fail()")
    assert caught.value.code == -746
    found = {row[2]: row[7] for row in cells(await ask("procedures", conn, "%"))}
    assert found == {"fail": "1", "fill": "1", "upto": "2"}
    columns = cells(await ask("procedure columns", conn, "upto"))
    # Name, kind (1 a parameter, 3 a column of results) and the number of its type in java.sql.Types.
    assert [row[3:6] for row in columns] == [["n", "1", "4"], ["k", "3", "4"], ["name", "3", "12"]]


async def test_commit_keeps_and_rollback_undoes(ask: Ask, conn: str) -> None:
    await ask("update", conn, "CREATE TABLE t (k INTEGER)")
    await ask("autocommit", conn, "false")
    await ask("update", conn, "INSERT INTO t VALUES (1)")
    await ask("commit", conn)
    await ask("update", conn, "INSERT INTO t VALUES (2)")
    await ask("rollback", conn)
    await ask("autocommit", conn, "true")
    assert cells(await ask("query", conn, "SELECT k FROM t")) == [["1"]]


async def test_savepoints_keep_what_came_before_them(ask: Ask, conn: str) -> None:
    await ask("update", conn, "CREATE TABLE t (k INTEGER)")
    await ask("autocommit", conn, "false")
    await ask("update", conn, "INSERT INTO t VALUES (1)")
    await ask("savepoint", conn, "sp1")
    await ask("update", conn, "INSERT INTO t VALUES (2)")
    await ask("savepoint", conn, "sp2")
    await ask("update", conn, "INSERT INTO t VALUES (3)")
    await ask("back", conn, "sp2")
    await ask("update", conn, "INSERT INTO t VALUES (4)")
    await ask("forget", conn, "sp2")
    await ask("commit", conn)
    await ask("savepoint", conn, "sp3")
    await ask("update", conn, "DELETE FROM t")
    await ask("back", conn, "sp3")
    await ask("commit", conn)
    await ask("autocommit", conn, "true")
    assert cells(await ask("query", conn, "SELECT k FROM t ORDER BY k")) == [["1"], ["2"], ["4"]]


async def test_a_statement_older_than_its_table_is_prepared_again(ask: Ask, conn: str) -> None:
    await ask("update", conn, "CREATE TABLE t (k INTEGER)")
    await ask("update", conn, "INSERT INTO t VALUES (7)")
    for verb, sql in (("select", "SELECT * FROM t"), ("run", "INSERT INTO t VALUES (8)")):
        await ask("prepare", conn, "p", sql)
        await ask("update", conn, "ALTER TABLE t MODIFY (k CHAR(4))")
        assert (await failing(ask, verb, "p")).code == -710
        await ask("release", "p")
        await ask("prepare", conn, "p", sql)
        await ask(verb, "p")
        await ask("release", "p")
        await ask("update", conn, "ALTER TABLE t MODIFY (k INTEGER)")
    assert cells(await ask("query", conn, "SELECT k FROM t ORDER BY k")) == [["7"], ["8"]]


async def test_a_scroll_cursor_moves_both_ways(ask: Ask, conn: str) -> None:
    await ask("update", conn, "CREATE TABLE t (k INTEGER)")
    for k in range(1, 6):
        await ask("update", conn, f"INSERT INTO t VALUES ({k})")
    moves = await ask(
        "scroll", conn, "SELECT k FROM t ORDER BY k", "last", "first", "next", "4", "previous", "9"
    )
    assert moves == [
        ["last", "5"], ["first", "1"], ["next", "2"], ["4", "4"], ["previous", "3"], ["9", "off"],
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("SELEC 1", -201),
        ("SELECT * FROM missing", -206),
        ("SELECT missing FROM t", -217),
        ("INSERT INTO t VALUES (1, 'b')", -268),
        ("INSERT INTO t VALUES (NULL, 'b')", -703),
        ("INSERT INTO t VALUES (2, NULL)", -391),
        ("INSERT INTO t VALUES (2)", -236),
        ("INSERT INTO t VALUES ('x', 'y')", -1213),
        ("UPDATE t SET k = 'x'", -1213),
        ("CREATE TABLE t (a INT)", -310),
    ],
)
async def test_errors_have_informix_codes(ask: Ask, conn: str, sql: str, code: int) -> None:
    await ask("update", conn, "CREATE TABLE t (k INTEGER PRIMARY KEY CONSTRAINT pk_t, v CHAR(3) NOT NULL)")
    await ask("update", conn, "INSERT INTO t VALUES (1, 'a')")
    assert (await failing(ask, "query" if sql.startswith("SEL") else "update", conn, sql)).code == code
    assert cells(await ask("query", conn, "SELECT k FROM t")) == [["1"]]


async def test_a_failed_row_of_a_batch_leaves_the_others(ask: Ask, conn: str) -> None:
    await ask("update", conn, "CREATE TABLE t (k INTEGER PRIMARY KEY)")
    await ask("prepare", conn, "p", "INSERT INTO t VALUES (?)")
    for k in (1, 2, 1, 3):
        await ask("set", "p", 1, "int", k)
        await ask("add", "p")
    assert (await failing(ask, "batch", "p")).code == -268
    await ask("release", "p")
    # The first error ends the answer of a group and drops what follows in it (assumed for several executions).
    assert cells(await ask("query", conn, "SELECT k FROM t ORDER BY k")) == [["1"], ["2"]]


async def test_a_wrong_password_and_an_unknown_database_have_different_errors(ask: Ask) -> None:
    async with aioifx.server.running(user="app", password="right") as dsn:
        assert (await failing(ask, "connect", "x", url_of(dsn))).code == -951
    async with aioifx.server.running() as dsn:
        url = url_of(dsn).replace(f"/{parse_dsn(dsn).database}:", "/nowhere:")
        assert (await failing(ask, "connect", "x", url)).code == -329


async def test_it_reads_the_catalog(ask: Ask, conn: str) -> None:
    await ask(
        "update", conn, "CREATE TABLE thing (k INTEGER PRIMARY KEY, v VARCHAR(20), d DECIMAL(8,2) NOT NULL)"
    )
    tables = cells(await ask("tables", conn, "thing"))
    assert [row[2] for row in tables] == ["thing"]
    columns = cells(await ask("columns", conn, "thing"))
    assert [(row[3], row[5]) for row in columns] == [("k", "integer"), ("v", "varchar"), ("d", "decimal")]
    assert [row[3] for row in cells(await ask("keys", conn, "thing"))] == ["k"]


async def test_utf8_and_other_ways_to_close_work(ask: Ask, server: str) -> None:
    locale = {"CLIENT_LOCALE": "en_US.utf8", "DB_LOCALE": "en_US.utf8"}
    async with aioifx.server.running(db_locale="en_US.utf8") as dsn:
        await ask("connect", "u", url_of(dsn, **locale, OPTOFC="1", IFX_AUTOFREE="1"))
        await ask("update", "u", "CREATE TABLE t (v VARCHAR(40))")
        await ask("prepare", "u", "p", "INSERT INTO t VALUES (?)")
        await ask("set", "p", 1, "string", "Ελλάδα €")
        await ask("run", "p")
        await ask("release", "p")
        assert cells(await ask("query", "u", "SELECT v FROM t")) == [["Ελλάδα €"]]
        await ask("close", "u")


async def test_an_insert_cursor_puts_rows(ask: Ask, server: str) -> None:
    await ask("connect", "p", url_of(server, IFX_USEPUT="1"))
    await ask("update", "p", "CREATE TABLE t (k INTEGER, v VARCHAR(9), d DECIMAL(10,2))")
    await ask("prepare", "p", "s", "INSERT INTO t VALUES (?, ?, ?)")
    for k in range(5):
        await ask("set", "s", 1, "int", k)
        await ask("set", "s", 2, "string", f"v{k}")
        await ask("set", "s", 3, "decimal", f"{k}.50")
        await ask("add", "s")
    await ask("batch", "s")
    await ask("release", "s")
    rows = cells(await ask("query", "p", "SELECT k, v, d FROM t ORDER BY k"))
    assert rows == [[str(k), f"v{k}", f"{k}.50"] for k in range(5)]
    await ask("close", "p")


# -- interrupts --------------------------------------------------------------------------------------------------------


@pytest.fixture
async def slow(ask: Ask) -> AsyncIterator[Server]:
    """A server with a table that makes a query slow, and two connections to it, ``a`` and ``b``."""
    async with aioifx.server.serve(ServerOptions(seed=NUMBERS)) as server:
        await ask("connect", "a", url_of(server.dsn))
        await ask("connect", "b", url_of(server.dsn))
        yield server
        await ask("close", "a")
        await ask("close", "b")


async def test_cancel_ends_a_slow_query(ask: Ask, slow: Server) -> None:
    await ask("start", "a", "s", 0, SLOW)
    await eventually(lambda: slow.stats.sessions[0].running)
    await ask("cancel", "s")
    assert (await failing(ask, "finish", "s")).code == -213
    assert slow.stats.interrupts == 1
    assert cells(await ask("query", "a", "SELECT COUNT(*) FROM n")) == [["128"]]


async def test_cancel_ends_a_change_and_spares_the_transaction(ask: Ask, slow: Server) -> None:
    await ask("update", "a", "CREATE TABLE t (a INTEGER)")
    await ask("autocommit", "a", "false")
    await ask("update", "a", "INSERT INTO t VALUES (7)")
    await ask("start", "a", "s", 0, "INSERT INTO t SELECT w.a FROM n w, n x, n y, n z")
    await eventually(lambda: slow.stats.sessions[0].running)
    await ask("cancel", "s")
    assert (await failing(ask, "finish", "s")).code == -213
    await ask("commit", "a")
    assert cells(await ask("query", "b", "SELECT a FROM t")) == [["7"]]


async def test_cancel_ends_a_wait_for_a_lock(ask: Ask, slow: Server) -> None:
    await ask("autocommit", "a", "false")
    await ask("update", "a", "UPDATE n SET a = 1")
    await ask("execute", "b", "SET LOCK MODE TO WAIT")
    await ask("start", "b", "s", 0, "UPDATE n SET a = 2")
    await eventually(lambda: slow.stats.sessions[1].waiting)
    await ask("cancel", "s")
    assert (await failing(ask, "finish", "s")).code == -213
    await ask("rollback", "a")
    assert await ask("update", "b", "UPDATE n SET a = 3") == [["128"]]


async def test_a_query_time_out_is_such_an_interrupt(ask: Ask, slow: Server) -> None:
    await ask("start", "a", "s", 1, SLOW)
    with pytest.raises(JdbcError) as caught:
        await ask("finish", "s")
    # The driver's own number for a -213 after its time-out.
    assert (caught.value.kind, caught.value.code) == ("!timeout", -80505)
    assert slow.stats.interrupts == 1
    assert cells(await ask("query", "a", "SELECT COUNT(*) FROM n")) == [["128"]]


async def test_cancel_with_nothing_running_hits_the_next_statement(ask: Ask, slow: Server) -> None:
    await ask("start", "a", "s", 0, "SELECT COUNT(*) FROM n")
    assert await ask("finish", "s") == [["128"]]
    await ask("cancel", "s")
    await eventually(lambda: slow.stats.interrupts)
    assert (await failing(ask, "query", "a", "SELECT COUNT(*) FROM n")).code == -213
    assert cells(await ask("query", "a", "SELECT COUNT(*) FROM n")) == [["128"]]


@pytest.mark.parametrize("columns", ["k INTEGER UNIQUE, v INTEGER", "k INTEGER UNIQUE, v VARCHAR(9)"])
async def test_an_insert_cursor_stops_at_the_first_row_that_fails_and_is_used_again(
    ask: Ask, server: str, columns: str
) -> None:
    await ask("connect", "p", url_of(server, IFX_USEPUT="1"))
    await ask("update", "p", f"CREATE TABLE t ({columns})")
    await ask("prepare", "p", "s", "INSERT INTO t VALUES (?, ?)")
    for batch in ([1, 2], [3, 4, 1, 5]):
        for k in batch:
            await ask("set", "s", 1, "int", k)
            await ask("set", "s", 2, "string", str(k))
            await ask("add", "s")
        if 1 in batch[1:]:
            assert (await failing(ask, "batch", "s")).code == -268
        else:
            await ask("batch", "s")
    await ask("release", "s")  # JDBC commits here what came before the error
    rows = cells(await ask("query", "p", "SELECT k FROM t ORDER BY k"))
    assert rows == [["1"], ["2"], ["3"], ["4"]]
    await ask("close", "p")
