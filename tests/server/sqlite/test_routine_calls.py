from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from datetime import date
from decimal import Decimal
from typing import Any

import pytest

import aioifx
from aioifx.errors import DatabaseError
from aioifx.server import Routine, ServerOptions, running, serve
from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.settings import Settings
from aioifx.server.sqlite.routine_calls import called
from aioifx.wire import requests
from aioifx.wire.completion import Done
from tests.server.talking import ServerCore, Talk, bound, codes, error_of, query, run


def register(
    core: ServerCore, name: str, params: list[str], returns: list[str], function: Callable[..., Any]
) -> None:
    named = [(f"p{number}", type_) for number, type_ in enumerate(params)]
    core.databases.routines.add(Routine(name, named, returns, function))


@pytest.mark.parametrize(
    ("returns", "result", "rows"),
    [
        (["INT"], 3, [(3,)]),
        (["INT"], None, [(None,)]),
        (["VARCHAR(9)"], "abc", [("abc",)]),
        (["INT", "CHAR(3)"], (1, "a"), [(1, "a")]),
        (["INT"], [1, 2], [(1,), (2,)]),
        (["INT"], [(1,), (None,)], [(1,), (None,)]),
        (["INT", "DATE"], iter([(1, date(1900, 1, 1))]), [(1, 1)]),
        (["DECIMAL(4,1)"], (Decimal("1.25"),), [("1.3",)]),
        (["INT"], [], []),
        ([], "ignored", []),
    ],
)
def test_a_value_a_tuple_or_an_iterable_of_them_makes_the_rows(
    returns: list[str], result: object, rows: list[tuple[object, ...]]
) -> None:
    assert called(Routine("f", [], returns, lambda: result), (), Settings()).fetchmany(99) == rows


@pytest.mark.parametrize("result", [(1,), 1, None, [(1, 2), (3, 4, 5)]])
def test_a_row_of_another_width_than_registered_is_an_error(result: object) -> None:
    with pytest.raises(SqlError) as caught:
        called(Routine("f", [], ["INT", "INT"], lambda: result), (), Settings()).fetchmany(99)
    assert caught.value.sqlcode == -655


def test_arguments_arrive_as_python_values() -> None:
    seen: list[object] = []
    params = [("a", "DECIMAL(8,2)"), ("b", "CHAR(4)"), ("c", "DATE"), ("d", "BOOLEAN"), ("e", "INT")]
    called(
        Routine("p", params, [], lambda *given: seen.extend(given)), ("1.5", "ab", 1, "t", None), Settings()
    )
    assert seen == [Decimal("1.50"), "ab  ", date(1900, 1, 1), True, None]


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (DatabaseError("no more stock", sqlcode=-746), (-746, 0, "no more stock")),
        (DatabaseError("no more stock"), (-746, 0, "no more stock")),
        (DatabaseError("", sqlcode=-268, isamcode=-100, token="ann.u1"), (-268, -100, "ann.u1")),
        (DatabaseError("locked", sqlcode=-244, isamcode=-107), (-244, -107, "")),
        (SqlError(-271, -154, "t"), (-271, -154, "t")),
    ],
)
def test_an_error_that_a_routine_raises_reaches_the_client(
    core: ServerCore, error: Exception, expected: tuple[int, int, str]
) -> None:
    def fail(n: int) -> int:
        raise error

    register(core, "fail", ["INT"], ["INT"], fail)
    engine = core.engine()
    for text in ("EXECUTE FUNCTION fail(1)", "SELECT fail(tabid) FROM systables"):
        with pytest.raises(SqlError) as caught:
            query(engine, text)
        assert codes(caught.value) == expected


async def test_minus_937_reaches_the_client_with_its_sqlstate_and_text() -> None:
    """As of a routine in C (documented: mi_db_error_raise)."""

    def fail(n: int) -> int:
        raise DatabaseError("no more stock", sqlcode=-937, sqlstate="U0042")

    fails = Routine("fail", [("n", "INT")], ["INT"], fail)
    async with running(routines=[fails]) as dsn, aioifx.connect(dsn) as conn:
        for text in ("EXECUTE FUNCTION fail(1)", "SELECT fail(tabid) FROM systables"):
            with pytest.raises(DatabaseError, match=r": no more stock \(SQLCODE -937\)$") as caught:
                await conn.fetch(text)
            assert (caught.value.sqlcode, caught.value.sqlstate) == (-937, "U0042")
        assert await conn.fetchval("SELECT COUNT(*) FROM systables WHERE tabid = 1") == 1


def test_a_defect_of_a_routine_is_logged_and_reported_as_internal(
    core: ServerCore, caplog: pytest.LogCaptureFixture
) -> None:
    register(core, "broken", [], ["INT"], lambda: {"a": 1}["nothing"])
    engine = core.engine()
    with caplog.at_level(logging.ERROR, "aioifx.server"), pytest.raises(SqlError) as caught:
        query(engine, "EXECUTE FUNCTION broken()")
    assert caught.value.sqlcode == -768
    assert "routine broken failed" in caplog.text
    assert "KeyError" in caplog.text


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), asyncio.CancelledError()], ids=repr)
async def test_a_routine_cannot_end_the_server(error: BaseException) -> None:
    def end() -> int:
        raise error

    async with running(routines=[Routine("end_all", [], ["INT"], end)]) as dsn, aioifx.connect(dsn) as conn:
        for text in (
            "EXECUTE FUNCTION end_all()",
            "SELECT end_all() FROM systables WHERE tabid = 1",
            "SELECT tabid FROM systables WHERE tabid = end_all()",
        ):
            with pytest.raises(aioifx.DatabaseError, match=r"SQLCODE -768"):
                await conn.fetch(text)
        async with aioifx.connect(dsn) as other:
            assert await other.fetchval("SELECT tabid FROM systables WHERE tabid = 1") == 1


def test_a_result_that_its_type_cannot_hold_is_an_error(core: ServerCore) -> None:
    register(core, "wide", [], ["SMALLINT"], lambda: 40_000)
    with pytest.raises(SqlError) as caught:
        query(core.engine(), "EXECUTE FUNCTION wide()")
    assert caught.value.sqlcode == -1214


def test_rows_come_from_a_generator_only_as_they_are_fetched(core: ServerCore) -> None:
    given: list[int] = []
    closed: list[bool] = []

    def endless() -> Iterator[int]:
        try:
            while True:
                given.append(len(given))
                yield given[-1]
        finally:
            closed.append(True)

    register(core, "endless", [], ["INT"], endless)
    engine = core.engine()
    run(engine, "CREATE TABLE t (k INTEGER)")
    cursor = engine.open(engine.prepare("EXECUTE FUNCTION endless()"))
    assert given == [0]
    assert engine.fetch(cursor, 3) == ([(0,), (1,), (2,)], False)
    run(engine, "INSERT INTO t VALUES (1)")  # settles what reads from SQLite, which this does not
    assert engine.fetch(cursor, 2) == ([(3,), (4,)], False)
    assert len(given) == 6
    engine.close_cursor(cursor)
    assert closed == [True]


def test_a_scroll_cursor_has_the_rows_of_a_routine_by_number(core: ServerCore) -> None:
    register(core, "some", [], ["INT"], lambda: range(5))
    engine = core.engine()
    cursor = engine.open(engine.prepare("EXECUTE FUNCTION some()"), scroll=True)
    assert (cursor.count, cursor.row(5), cursor.row(1)) == (5, (4,), (0,))


def test_a_procedure_with_results_is_not_executed_without_a_cursor(core: ServerCore) -> None:
    register(core, "f", [], ["INT"], lambda: 1)
    with pytest.raises(SqlError) as caught:
        run(core.engine(), "EXECUTE PROCEDURE f()")
    assert caught.value.sqlcode == -260


def test_several_rows_where_one_value_is_meant_are_an_error_and_none_is_null(core: ServerCore) -> None:
    register(core, "upto", ["INT"], ["INT"], range)
    engine = core.engine()
    found = query(engine, "SELECT upto(tabid - 1) FROM systables WHERE tabid <= 2 ORDER BY tabid")
    assert found == [(None,), (0,)]
    with pytest.raises(SqlError) as caught:
        query(engine, "SELECT upto(tabid) FROM systables WHERE tabid = 3")
    assert caught.value.sqlcode == -686


def test_a_routine_that_is_replaced_or_dropped_takes_effect_at_once(core: ServerCore) -> None:
    register(core, "f", [], ["INT"], lambda: 1)
    engine = core.engine()
    statement = engine.prepare("EXECUTE FUNCTION f()")
    register(core, "f", [], ["INT"], lambda: 2)
    assert engine.fetch(engine.open(statement), 9) == ([(2,)], True)
    register(core, "f", [], ["CHAR(1)"], lambda: "x")
    with pytest.raises(SqlError) as caught:
        engine.open(statement)
    assert caught.value.sqlcode == -710
    run(engine, "DROP FUNCTION f")
    with pytest.raises(SqlError) as caught:
        engine.open(statement)
    assert caught.value.sqlcode == -674


def test_jdbcs_callable_statements_are_answered_in_messages(core: ServerCore, talk: Talk) -> None:
    noted: list[int] = []
    register(core, "f_int", ["INT"], ["INT"], lambda n: [n, n + 1])
    register(core, "p_noret", ["INT"], [], noted.append)
    statement_id = talk.prepare("execute function f_int(?)")
    assert [(column.name, str(column.type)) for column in talk.columns] == [("(expression)", "INTEGER")]
    reply = talk.say(requests.Id(statement_id), requests.DescribeInput())
    assert reply.parameters is not None
    assert [str(type_) for type_ in reply.parameters] == ["INTEGER"]
    reply = talk.say(
        requests.Id(statement_id),
        requests.CurName(b"_ifxc0"),
        bound(99),
        requests.Open(),
        requests.Id(statement_id),
        requests.Fetch(4096),
    )
    assert (reply.rows, reply.done) == ([(99,), (100,)], Done(0, 2))
    statement_id = talk.prepare("execute procedure p_noret(?)")
    reply = talk.say(requests.Id(statement_id), bound(5), requests.Execute())
    assert (reply.done, noted) == (Done(0, 0), [5])
    assert error_of(talk.command("execute procedure p_noret('x')"))[0] == -1213


async def test_a_running_server_takes_routines_at_its_start_and_later() -> None:
    options = ServerOptions(routines=(Routine("one", [], ["INT"], lambda: 1),))
    async with serve(options) as server, aioifx.connect(server.dsn) as conn:
        server.register("twice", [("n", "INT")], ["INT"], lambda n: 2 * n)
        assert await conn.fetchval("EXECUTE FUNCTION twice(?)", 21) == 42
        assert await conn.fetchval("SELECT twice(one()) FROM sysmaster:sysdual") == 2


async def test_a_seed_may_call_what_running_was_given() -> None:
    noted: list[str] = []
    routine = Routine("note", [("text", "VARCHAR(20)")], [], noted.append)
    async with running(seed="EXECUTE PROCEDURE note('seeded')", routines=[routine]):
        assert noted == ["seeded"]


async def test_a_functional_index_serves_every_session() -> None:
    folded = Routine("folded", [("name", "VARCHAR(20)")], ["VARCHAR(20)"], str.casefold, variant=False)
    async with running(routines=[folded]) as dsn, aioifx.connect(dsn) as one, aioifx.connect(dsn) as two:
        await one.execute("CREATE TABLE person (name VARCHAR(20))")
        await one.execute("CREATE UNIQUE INDEX by_name ON person (folded(name))")
        await two.execute("INSERT INTO person VALUES ('Ann')")
        with pytest.raises(aioifx.UniqueViolation):
            await one.execute("INSERT INTO person VALUES ('ANN')")
        assert await one.fetch("SELECT name FROM person WHERE folded(name) = 'ann'") == [("Ann",)]
