"""How a call executes a statement: COMMAND or PREPARE, rows counted or made, values found."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

import aioifx
from aioifx import rows
from aioifx.client.execution.execute import call_of
from aioifx.client.execution.result import ExecuteResult
from aioifx.errors import DatabaseError, InterfaceError, NotNullViolation, UndefinedRoutine, UniqueViolation
from aioifx.server import Routine, running
from aioifx.testing.messages import (
    ANSI,
    EOT,
    described,
    done,
    error,
    executed,
    insert_done,
    takes,
)
from aioifx.testing.script import (
    BEGIN,
    COMMAND,
    COMMIT,
    NO_REPLY,
    PREPARE,
    ROLLBACK,
    Chunking,
    Delayed,
    Exchange,
    fetching,
    release,
    select_ints,
)
from aioifx.wire.opcodes import StatementType
from tests.scripted import CHUNKINGS, INTEGER, cancel_at, played, talking

commit_of_jdbc = b"\0\x13" + EOT
NO_ROWS = error(100) + EOT


@pytest.mark.parametrize("chunks", CHUNKINGS, ids=lambda chunks: chunks.__name__)
@pytest.mark.parametrize(
    ("file", "case", "sql"),
    [
        ("select", "dml_insert", "insert into t values (1,'a')"),
        ("select", "dml_update", "update t set a=1 where b=2"),
        ("select", "dml_delete", "delete from t where b=2"),
        ("select", "ddl_create", "create temp table x (a int)"),
        ("transactions", "isolation_1", "set isolation to dirty read"),
        ("transactions", "isolation_4", "set isolation to repeatable read"),
    ],
)
async def test_a_statement_without_rows_and_parameters_is_one_round_trip(
    file: str, case: str, sql: str, chunks: Chunking
) -> None:
    async with talking(played(file, case), chunks=chunks) as (conn, _):
        result = await conn.execute(sql)
        assert result.rowcount == (1 if case.startswith("dml") else 0)
        assert conn.stats.round_trips == 1


@pytest.mark.parametrize(
    ("case", "sql", "kind", "sqlcode"),
    [
        ("appendisam", "insert into exec_err_268 values(1)", UniqueViolation, -268),
        ("exec_391_stmt", "insert into exec_err_391 values(null)", NotNullViolation, -391),
    ],
)
async def test_a_failure_has_all_codes_and_is_not_followed_by_a_commit(
    case: str, sql: str, kind: type[UniqueViolation], sqlcode: int
) -> None:
    """A deliberate difference: JDBC commits after a failed statement in autocommit mode; no transaction can be open."""
    script = [turn for turn in played("errors", case) if turn[0] != commit_of_jdbc]
    async with talking(script) as (conn, _):
        with pytest.raises(kind, match="u100_1") as caught:
            await conn.execute(sql)
        assert (caught.value.sqlcode, caught.value.isamcode, caught.value.sqlstate) == (
            sqlcode,
            -100,
            "23000",
        )
        assert (caught.value.token, caught.value.sql, caught.value.row_index) == ("u100_1", sql, None)


async def test_an_error_of_a_routine_in_c_has_its_own_sqlstate_and_text() -> None:
    async with talking(
        [*played("errors15", "command_937"), (COMMAND, executed(0, StatementType.DELETE, 2))]
    ) as (conn, _):
        with pytest.raises(DatabaseError, match=r"boom text \(SQLCODE -937\)") as caught:
            await conn.execute("delete from fail")
        assert (caught.value.sqlcode, caught.value.sqlstate) == (-937, "U0001")
        assert caught.value.connection_usable
        assert (await conn.execute("delete from t")).rowcount == 2


async def test_an_error_without_a_token_is_read_to_its_end() -> None:
    async with talking(played("errors15", "command_368")[:1]) as (conn, _):
        with pytest.raises(DatabaseError) as caught:
            await conn.execute("delete from fail")
        assert (caught.value.sqlcode, caught.value.offset, caught.value.token) == (-368, 7, "")


async def test_what_a_routine_warns_of_is_a_warning_of_the_result() -> None:
    async with talking(played("errors15", "command_0")) as (conn, _):
        result = await conn.execute("delete from fail")
    assert [(str(warning), warning.sqlstate) for warning in result.warnings] == [("warn text", "01U01")]


async def test_finding_no_rows_is_not_an_error() -> None:
    async with talking(played("errors15", "command_100")[:1]) as (conn, _):
        assert (await conn.execute("delete from fail")).rowcount == 0


async def test_no_rows_for_one_execution_does_not_end_an_executemany() -> None:
    warning = error(0, sqlstate="01U01", text="warn") + EOT
    one = done(1) + EOT
    async with talking(
        [
            (PREPARE, described(0, kind=StatementType.DELETE)),
            ("Id(0) DescribeInput", takes(INTEGER)),
            BEGIN,
            ("Id(0) Bind Execute", one),
            ("Id(0) Bind Execute", NO_ROWS),
            ("Id(0) Bind Execute", warning),
            ("Id(0) Bind Execute", warning),
            ("Id(0) Bind Execute", one),
            COMMIT,
            release(0),
        ]
    ) as (conn, _):
        result = await conn.executemany("delete from t where a = ?", [(n,) for n in range(5)])
    assert result.rowcount == 2
    assert [str(warning) for warning in result.warnings] == ["warn"]


@pytest.mark.parametrize(
    ("bits", "sqlstates"),
    [
        (1, ["01004"]),
        (2, ["01003"]),
        (4, ["01I09"]),
        (8, ["01I07"]),
        (16, ["01I06"]),
        (32, ["01I11"]),
        (64, []),
        (128, []),
    ],
)
async def test_warnings_come_with_the_result(bits: int, sqlstates: list[str]) -> None:
    script = played("errors", "getsqlwarnings")
    turn = script[bits.bit_length() - 1]
    async with talking(turn) as (conn, _):
        result = await conn.execute("update warnme set a=1")
        assert [warning.sqlstate for warning in result.warnings] == sqlstates
        assert all(str(warning) for warning in result.warnings)


@pytest.mark.parametrize("sql", ["  -- note\n INSERT into t values (1)", "{ x } insert into t values (1)"])
async def test_comments_in_front_do_not_hide_what_it_is(sql: str) -> None:
    async with talking((COMMAND, executed(0, StatementType.INSERT, 1))) as (conn, peer):
        await conn.execute(sql)
        assert peer.statements == [sql.encode()]  # the text itself is the server's


@pytest.mark.parametrize(
    "sql", ["execute procedure p()", "database stores", "update statistics", "begin work"]
)
async def test_a_statement_that_may_return_rows_is_prepared(sql: str) -> None:
    script: list[Exchange] = [
        (PREPARE, described(0, kind=StatementType.EXECUTE_ROUTINE)),
        ("Id(0) Execute", done() + EOT),
        release(0),
    ]
    if sql.startswith("update"):
        script = [(COMMAND, executed(0, 30))]
    async with talking(script) as (conn, _):
        await conn.execute(sql)


async def test_serials_are_taken_from_where_the_server_puts_them() -> None:
    describe = described(0, kind=StatementType.INSERT).removesuffix(done() + EOT)
    for tail, serial in (
        (done(1, serial=5), 5),
        (insert_done(6, 0) + done(1), 6),
        (insert_done(0, 7) + done(1), 7),
        (insert_done(0, 0) + done(1), None),
    ):
        async with talking((COMMAND, describe + tail + EOT)) as (conn, _):
            assert (await conn.execute("insert into t values (0)")).serial == serial


async def test_what_an_update_leaves_in_the_serial_is_not_ours() -> None:
    async with talking(
        (COMMAND, executed(0, StatementType.UPDATE)[:-2] + done(1, serial=9, rowid=257) + EOT)
    ) as (conn, _):
        result = await conn.execute("update t set a = 1")
        assert (result.serial, result.rowid) == (None, 257)


async def test_an_answer_without_a_description_is_read_all_the_same() -> None:
    async with talking((COMMAND, done(2) + EOT)) as (conn, _):
        assert (await conn.execute("delete from t where a = 1")).rowcount == 2


# -- ANSI databases ---------------------------------------------------------------------------------------------------


async def test_an_ansi_database_is_committed_after_a_failure_too() -> None:
    """Or what the failed statement has locked would stay locked."""
    nothing_to_commit: Exchange = ("Commit", error(-255) + EOT)
    async with talking(
        (COMMAND, error(-268, -100) + EOT),
        COMMIT,
        (PREPARE, described(2, kind=StatementType.INSERT)),
        ("Id(2) DescribeInput", takes(INTEGER)),
        ("Id(2) Bind(1) Execute", error(-268, -100) + EOT),
        release(2),
        nothing_to_commit,
        warnings=ANSI,
    ) as (conn, _):
        with pytest.raises(UniqueViolation):
            await conn.execute("insert into t values(1)")
        with pytest.raises(UniqueViolation):
            await conn.execute("insert into t values(?)", 1)


async def test_a_cancelled_statement_of_an_ansi_database_is_committed_by_the_next_call() -> None:
    """It may have been done; a ROLLBACK of what comes next must not undo it."""
    held = Delayed(done(1) + EOT)
    async with talking((COMMAND, held), COMMIT, ROLLBACK, warnings=ANSI) as (conn, _):
        await cancel_at(held, conn.execute("insert into t values(1)"))
        held.release()
        transaction = conn.transaction()
        await transaction.start()
        await transaction.rollback()


async def test_a_failure_inside_of_a_transaction_is_not_committed() -> None:
    async with talking((COMMAND, error(-268, -100) + EOT), ROLLBACK, warnings=ANSI) as (conn, _):
        with pytest.raises(UniqueViolation):
            async with conn.transaction():
                await conn.execute("insert into t values(1)")


# -- rows that are none -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [None, 5, "ab", b"ab", {"a": 1}, range], ids=repr)
async def test_rows_that_cannot_be_iterated_are_refused_before_anything_is_sent(rows: Any) -> None:
    async with talking((PREPARE, described(2, kind=StatementType.DELETE)), release(2)) as (conn, peer):
        for call in (conn.executemany, conn.cursor().executemany):
            with pytest.raises(
                InterfaceError, match=f"rows: expected an iterable .* got {type(rows).__name__}"
            ):
                await call("delete from t", rows)
        assert peer.groups == []
        async with await conn.prepare("delete from t") as statement:
            with pytest.raises(InterfaceError, match="rows: expected"):
                await statement.executemany(rows)


# -- routines ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("chunks", CHUNKINGS, ids=lambda chunks: chunks.__name__)
async def test_a_routine_is_called_as_jdbc_calls_it(chunks: Chunking) -> None:
    rows = played("callable", "call_escape_proc_rows")
    # A deliberate difference: the rows of a routine end with an empty reply.
    fetches = [isinstance(request, bytes) and b"\0\x09" in request[-12:] for request, _ in rows]
    rows.insert(fetches.index(True) + 1, (fetching(2, 4096), done() + EOT))
    async with talking(rows, chunks=chunks, fetch_size=4096) as (conn, _):
        assert await conn.call("f_int", 5) == [(99,)]
    async with talking(played("callable", "call_escape_procedure"), chunks=chunks) as (conn, _):
        assert await conn.call("p_noret", 5) == []


@pytest.mark.parametrize(
    ("routine", "args", "named", "sql", "params"),
    [
        ("p", (), None, "execute procedure p()", ()),
        ("owner.p", (1, "x"), None, "execute procedure owner.p(?, ?)", (1, "x")),
        ("p", (), {"b": 2, "a": 1}, "execute procedure p(b = ?, a = ?)", (2, 1)),
        ("p", (), {}, "execute procedure p()", ()),
    ],
)
def test_arguments_go_by_position_or_by_name(
    routine: str, args: tuple[Any, ...], named: dict[str, Any] | None, sql: str, params: tuple[Any, ...]
) -> None:
    assert call_of(routine, args, named) == (sql, params)


@pytest.mark.parametrize(
    ("routine", "args", "named", "message"),
    [
        ("p", (1,), {"a": 1}, "cannot be combined with"),
        ("p()", (), None, "routine: expected .*, got 'p\\(\\)'"),
        ("p; drop table t", (), None, "routine: "),
        ("p", (), {"a = 1, b": 1}, "named: "),
        (5, (), None, "routine: expected a str"),
    ],
)
async def test_a_call_that_makes_no_sense_is_not_sent(
    routine: Any, args: tuple[Any, ...], named: dict[str, Any] | None, message: str
) -> None:
    async with talking() as (conn, _):
        with pytest.raises(InterfaceError, match=message):
            await conn.call(routine, *args, named=named)
        assert conn.stats.round_trips == 0


async def test_routines_of_a_server_are_called_and_what_they_raise_arrives() -> None:
    def split(text: str, mark: str) -> Iterator[tuple[int, str]]:
        yield from enumerate(text.split(mark), 1)

    def refuse(reason: str) -> None:
        raise DatabaseError(reason, sqlcode=-746)

    routines = [
        Routine("split", [("text", "VARCHAR(60)"), ("mark", "CHAR(1)")], ["INTEGER", "VARCHAR(60)"], split),
        Routine("refuse", [("reason", "VARCHAR(60)")], [], refuse),
    ]
    async with running("shop", routines=routines) as dsn, aioifx.connect(dsn) as conn:
        for _ in range(2):  # the second time from the cache
            assert await conn.call("split", "a-b", "-") == [(1, "a"), (2, "b")]
        assert await conn.call("split", named={"mark": "+", "text": "x"}, row_factory=rows.tuple_row) == [
            (1, "x")
        ]
        with pytest.raises(DatabaseError, match="not today") as caught:
            await conn.call("refuse", "not today")
        assert caught.value.sqlcode == -746
        with pytest.raises(UndefinedRoutine):
            await conn.call("nothing_of_the_kind")
        assert await conn.call("informix.split", "z", "-") == [(1, "z")]


# -- named parameters -------------------------------------------------------------------------------------------------


async def test_named_values_go_where_their_names_are() -> None:
    async with running("shop") as dsn, aioifx.connect(dsn) as conn:
        await conn.execute("create temp table t (a int, b varchar(20))")
        insert = "insert into t values (:a, :b)"
        assert (await conn.execute(insert, named={"a": 1, "b": "one"})).rowcount == 1
        assert (await conn.execute(insert, named={"b": "two", "a": 2})).rowcount == 1
        query = "select b from t where a = :1 or b = ':1'"
        assert await conn.fetchval(query, named=[2]) == "two"
        assert await conn.fetch("select a from t where a >= :x and a <= :x", named={"x": 1}) == [(1,)]
        assert (await conn.fetchrow(query, named={1: 1})) == ("one",)
        assert [row async for row in conn.stream("select a from t where a > :n", named={"n": 0})] == [
            (1,),
            (2,),
        ]


async def test_every_mapping_of_a_cursor_executes_the_statement_prepared_for_the_first() -> None:
    async with running("shop") as dsn, aioifx.connect(dsn) as conn:
        query = "select tabname from systables where tabid = :id"
        assert await (await conn.cursor().execute(query, {"id": 1})).fetchall() == [("systables",)]
        before = conn.stats.round_trips
        assert await (await conn.cursor().execute(query, {"id": 2, "other": 0})).fetchall() == [
            ("syscolumns",)
        ]
        assert conn.stats.round_trips == before + 1


@pytest.mark.parametrize("named", [{}, {"b": 1}, {"a": 1, "b": 2}, 5])
async def test_named_values_that_do_not_fit_are_not_sent(named: Any) -> None:
    async with talking() as (conn, _):
        with pytest.raises(InterfaceError):
            await conn.fetch("select c1 from t where a = :a", named=named)
        with pytest.raises(InterfaceError, match="cannot be combined with"):
            await conn.fetch("select c1 from t where a = :a", 1, named={"a": 1})
        assert conn.stats.round_trips == 0


async def test_an_error_of_a_value_has_the_column_that_it_is_stored_into() -> None:
    async with running("shop") as dsn, aioifx.connect(dsn) as conn:
        await conn.execute("create temp table t (a int, b varchar(3))")
        for sql in (
            "insert into t (a, b) values (?, ?)",
            "update t set a = ?, b = ?",
            "update t set a = ?, b = ? where a = 1",
        ):
            with pytest.raises(aioifx.DataError) as caught:
                await conn.execute(sql, 1, "long")
            assert caught.value.column == "b"


# -- the statement in an error ----------------------------------------------------------------------------------------

DATES = "insert into born (name, day) values (?, ?)"
NAMED_DATES = "insert into born (name, day) values (:who, :day)"


@pytest.mark.parametrize(
    ("call", "sql", "place"),
    [
        (lambda conn: conn.execute(DATES, "anna", 1.5), DATES, "parameter 2: "),
        (lambda conn: conn.fetch(DATES, "anna", 1.5), DATES, "parameter 2: "),
        (lambda conn: conn.cursor().execute(DATES, ("anna", 1.5)), DATES, "parameter 2: "),
        (lambda conn: conn.executemany(DATES, [("anna", 1.5)]), DATES, "row 0, parameter 2: "),
        (
            lambda conn: conn.execute(NAMED_DATES, named={"who": "anna", "day": 1.5}),
            DATES,
            "parameter :day: ",
        ),
        (lambda conn: conn.fetch(NAMED_DATES, named={"who": "anna", "day": 1.5}), DATES, "parameter :day: "),
    ],
)
async def test_a_value_that_does_not_fit_names_statement_parameter_and_column(
    call: Any, sql: str, place: str
) -> None:
    async with running("d") as dsn, aioifx.connect(dsn) as conn:
        await conn.execute("create table born (name varchar(20), day date)")
        for _ in range(2):  # prepared, and from the cache
            with pytest.raises(aioifx.DataError) as caught:
                await call(conn)
            error = caught.value
            assert str(error).startswith(place)
            assert (error.sql, error.parameter, error.column) == (sql, 2, "day")
        assert await conn.fetchval("select count(*) from born") == 0


async def test_a_value_of_a_list_that_does_not_fit_names_its_parameter() -> None:
    async with running("d") as dsn, aioifx.connect(dsn) as conn:
        await conn.execute("create table born (name varchar(20), day date)")
        with pytest.raises(aioifx.Error, match="parameter :days: ") as caught:
            await conn.fetch("select name from born where day in (:days)", named={"days": [None, object()]})
        assert isinstance(caught.value, aioifx.DatabaseError)
        assert caught.value.parameter == 2


@pytest.mark.parametrize(
    "call",
    [
        lambda conn: conn.execute("delete from t where a = 1"),
        lambda conn: conn.execute("delete from t where a = ?", 1),
        lambda conn: conn.fetch("select c1 from t"),
        lambda conn: conn.prepare("select c1 from t"),
    ],
)
async def test_a_timeout_has_its_statement(call: Any) -> None:
    async with talking((None, NO_REPLY), command_timeout=0.01, cancel_timeout=0.01) as (conn, _):
        with pytest.raises(aioifx.QueryTimeout) as caught:
            await call(conn)
        assert caught.value.sql in (
            "delete from t where a = 1",
            "delete from t where a = ?",
            "select c1 from t",
        )
        await conn._session.channel.wait_closed()


WRONG: dict[str, Any] = {
    "row_factory": lambda conn, cursor: conn.fetch("select n from t", row_factory=7),
    "named": lambda conn, cursor: conn.call("r", named=7),
    "columns": lambda conn, cursor: conn.load("t", [(1,)], columns=7),
    "format": lambda conn, cursor: conn.load("t", ["1|"], format=7),
    "block": lambda conn, cursor: conn.load("t", [(1,)], block="x"),
    "progress": lambda conn, cursor: conn.load("t", [(1,)], progress=7),
    "size": lambda conn, cursor: cursor.fetchmany("x"),
    "value": lambda conn, cursor: cursor.scroll(1.5),
    "number": lambda conn, cursor: cursor.fetch_absolute("x"),
    "offset": lambda conn, cursor: cursor.fetch_relative("x"),
    "sql": lambda conn, cursor: anext(conn.stream(7)),
    "query": lambda conn, cursor: conn.unload(7, [].append),
    "dbdate": lambda conn, cursor: conn.load("t", ["1|"], format="unload", dbdate=[]),
    "dbdate of values": lambda conn, cursor: conn.load("t", [(1,)], dbdate=7),
    "prefetch": lambda conn, cursor: anext(conn.stream("select n from t", prefetch="no")),
    "row_factory of a stream": lambda conn, cursor: anext(conn.stream("select n from t", row_factory=[])),
    "row_factory of a cursor": lambda conn, cursor: _called(conn.cursor, scroll=True, row_factory=7),
    "row_factory of a statement": lambda conn, cursor: conn.prepare("select n from t", row_factory=7),
    "scroll": lambda conn, cursor: _called(conn.cursor, scroll="no"),
    "hold": lambda conn, cursor: _called(conn.cursor, hold="no"),
    "timeout": lambda conn, cursor: conn.fetch("select n from t", timeout=10**400),
    "timeout of close": lambda conn, cursor: conn.close(timeout="x"),
}
MUST: dict[str, str] = {
    "query": "sql: expected",
    "encoding, NUL": "encoding: unknown text encoding",
    "timeout": "timeout: expected a number of seconds",
    "timeout of close": "timeout: expected a number of seconds",
}


@pytest.mark.parametrize(
    ("factory", "message"),
    [
        (dict, "expected a function of the columns, got the class dict; use aioifx.rows.dict_row"),
        (tuple, "expected a function of the columns, got the class tuple; use aioifx.rows.tuple_row"),
        (
            aioifx.Record,
            "expected a function of the columns, got the class Record; use aioifx.rows.record_row",
        ),
        (list, "expected it to return a function of a row, got list"),
        (len, "expected it to return a function of a row, got int"),
    ],
)
async def test_a_row_class_is_not_a_row_factory(factory: Any, message: str) -> None:
    sql = "select tabname from systables"
    expected = f"^row_factory: {message}$"
    async with running("d") as dsn, aioifx.connect(dsn) as conn:
        for scroll in (False, True):
            with pytest.raises(InterfaceError, match=expected):
                async with conn.cursor(scroll=scroll, row_factory=factory) as cursor:
                    await cursor.execute(sql)
        with pytest.raises(InterfaceError, match=expected):
            await conn.fetch(sql, row_factory=factory)
        with pytest.raises(InterfaceError, match=expected):
            await anext(conn.stream(sql, row_factory=factory))
        with pytest.raises(InterfaceError, match=expected):
            async with aioifx.connect(dsn, row_factory=factory) as other:
                await other.fetch(sql)
        assert await conn.fetchval("select count(*) from systables where tabid = 1") == 1


async def _called(function: Any, **options: Any) -> Any:
    return function(**options)


async def test_a_fetchmany_may_ask_for_more_than_a_list_can_hold() -> None:
    async with running("d") as dsn, aioifx.connect(dsn) as conn, conn.cursor() as cursor:
        await cursor.execute("select tabid from systables where tabid = 1")
        assert len(await cursor.fetchmany(2**80)) == 1


def test_a_policy_with_a_nul_is_unknown() -> None:
    with pytest.raises(InterfaceError, match=r"^encoding_errors: unknown error handler"):
        aioifx.ConnectOptions(host="h", server="s", user="u", db_locale="en_US.utf8", encoding_errors="a\0b")


@pytest.mark.parametrize(("name", "call"), WRONG.items(), ids=WRONG)
async def test_an_argument_of_a_wrong_type_is_an_interface_error(name: str, call: Any) -> None:
    async with running("d") as dsn, aioifx.connect(dsn) as conn:
        await conn.execute("create table t (n integer)")
        async with conn.cursor(scroll=True) as cursor:
            await cursor.execute("select n from t")
            must = MUST.get(name, f"{re.split(', | of ', name)[0]}: expected")
            with pytest.raises(InterfaceError, match=f"^{must}"):
                await call(conn, cursor)
        assert await conn.fetchval("select count(*) from t") == 0


async def test_an_execution_without_done_changes_nothing_that_is_known() -> None:
    async with talking((COMMAND, EOT), select_ints(1, 5)) as (conn, _):
        assert await conn.execute("update t set a = 1") == ExecuteResult()
        assert await conn.fetch("select c1 from t") == [(5,)]


@pytest.mark.parametrize("count", [100, 101, 2000])
async def test_a_hundred_warnings_of_routines_are_kept(count: int) -> None:
    warning = error(0, sqlstate="01U01", text="warn")
    async with talking((COMMAND, warning * count + done(1) + EOT)) as (conn, _):
        found = (await conn.execute("update t set a = f()")).warnings
        assert [str(one) for one in found[:100]] == ["warn"] * 100
        assert [str(one) for one in found[100:]] == (
            [f"{count - 100} more warnings were left out"] * (count > 100)
        )
