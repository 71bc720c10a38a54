"""Connections and cursors of PEP 249: what they give, and what they cost in calls of the event loop."""

from __future__ import annotations

import asyncio
import copy
import gc
import sysconfig
import threading
import weakref
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from operator import length_hint
from types import MappingProxyType
from typing import Any

import pyarrow as pa
import pytest

import aioifx
from aioifx import dbapi
from aioifx.dbapi.loop_thread import Call
from tests.dbapi.conftest import SLOW, Host
from tests.template_strings import template


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Grows by one for each blocking call of the event loop."""
    made: list[object] = []
    run = Call[Any].run

    def counted(self: Call[Any], work: Any) -> Any:
        made.append(work)
        return run(self, work)

    monkeypatch.setattr(Call, "run", counted)
    return made


@pytest.fixture
def table(conn: dbapi.Connection) -> str:
    conn.cursor().execute("create temp table spot (id serial primary key, note varchar(20))")
    return "spot"


# -- execute and fetch ------------------------------------------------------------------------------------------------


def test_rows_are_tuples_and_a_query_of_one_block_is_one_call(
    conn: dbapi.Connection, calls: list[object]
) -> None:
    cursor = conn.cursor()
    assert cursor.description is None and cursor.rowcount == -1 and cursor.rownumber is None
    assert cursor.execute("select n, 'x' from number where n < ? order by n", (3,)) is cursor
    assert cursor.fetchone() == (0, "x") and type(cursor.fetchone()) is tuple
    assert cursor.rownumber == 2
    assert cursor.fetchall() == [(2, "x")] and cursor.fetchone() is None and cursor.fetchmany() == []
    assert cursor.rownumber == 3 and cursor.rowcount == -1
    cursor.close()
    assert len(calls) == 1


def test_a_large_result_is_read_by_blocks_and_one_block_is_in_memory(host: Host, calls: list[object]) -> None:
    query = "select a.n, b.n, 'some text to fill a block' from number a, number b where b.n < 5 order by 1, 2"
    with dbapi.connect(host.dsn, fetch_size=4096) as conn:
        cursor = conn.cursor().execute(query)
        del calls[:]
        before = conn.run(_round_trips)
        count, first = len([*cursor]), (0, 0, "some text to fill a block")
        fetches = conn.run(_round_trips) - before
        assert count == 1000 and fetches > 5
        assert len(calls) - 2 == fetches  # one for each further block, none for the end
        cursor.execute(query)
        del calls[:]
        assert len(cursor.fetchmany(990)) == 990
        assert [row[:2] for row in cursor] == [(n, m) for n in (198, 199) for m in range(5)]
        assert len(calls) == 1  # the last block was in memory
        cursor.execute(query)
        del calls[:]
        assert cursor.fetchone() == first
        assert 0 < length_hint(cursor._rows) < 200
        assert len(cursor.fetchall()) == 999 and len(calls) == 1


async def _round_trips(connection: aioifx.Connection[Any]) -> int:
    return connection.stats.round_trips


def test_fetchmany_takes_arraysize_or_a_size(conn: dbapi.Connection) -> None:
    cursor = conn.cursor().execute("select n from number order by n")
    assert cursor.arraysize == 1
    assert cursor.fetchmany() == [(0,)]
    cursor.arraysize = 3
    assert cursor.fetchmany() == [(1,), (2,), (3,)]
    assert cursor.fetchmany(2) == [(4,), (5,)] and cursor.fetchmany(0) == []
    with pytest.raises(dbapi.InterfaceError, match=r"^size: expected 0 or more, got -1$"):
        cursor.fetchmany(-1)
    with pytest.raises(dbapi.InterfaceError, match=r"^size: expected a whole number, got str$"):
        cursor.fetchmany("2")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    assert cursor.fetchone() == (6,)


def test_changes_have_a_rowcount_and_a_serial(conn: dbapi.Connection, table: str) -> None:
    cursor = conn.cursor()
    cursor.execute(f"insert into {table} values (0, ?)", ["a"])
    assert (cursor.rowcount, cursor.lastrowid, cursor.description) == (1, 1, None)
    cursor.executemany(f"insert into {table} values (0, ?)", [("b",), ("c",)])
    assert (cursor.rowcount, cursor.lastrowid) == (2, 3)
    cursor.execute(f"delete from {table}", None)
    assert cursor.rowcount == 3 and cursor.messages[0][0] is dbapi.Warning
    assert str(cursor.messages[0][1]) == "UPDATE or DELETE without WHERE"
    cursor.execute(f"select * from {table}")
    assert cursor.messages == [] and cursor.fetchall() == []


def test_named_values_time_limits_and_row_factories_are_those_of_the_client(conn: dbapi.Connection) -> None:
    cursor = conn.cursor(row_factory=aioifx.rows.dict_row)
    cursor.execute("select n from number where n in (:ids) order by n", named={"ids": [4, 2]}, timeout=30)
    assert cursor.fetchall() == [{"n": 2}, {"n": 4}]
    with pytest.raises(dbapi.InterfaceError, match=r"^timeout: "):
        cursor.execute("select n from number", timeout=-1)


def test_a_template_has_its_values(conn: dbapi.Connection) -> None:
    cursor = conn.cursor()
    query = template("select n from number where n in ({ids:list}) order by n", ids=[4, 2])
    assert cursor.execute(query).fetchall() == [(2,), (4,)]
    assert cursor.execute(query, None).fetchone() == (2,)
    with pytest.raises(dbapi.InterfaceError, match=r"^sql: a template has its values"):
        cursor.execute(query, (1,))
    with pytest.raises(dbapi.InterfaceError, match=r"^sql: expected a str, got Template"):
        cursor.executemany(query, [(1,)])


@pytest.mark.parametrize(
    ("sql", "parameters", "rows"),
    [
        ("select n from number where n = :n", {"n": 3}, [(3,)]),
        ("select n from number where n = :n or n = :n", {"n": 3, "unused": 4}, [(3,)]),
        ("select n from number where n in (:ns) order by n", {"ns": [4, 2]}, [(2,), (4,)]),
        ("select n from number where n = 3", {}, [(3,)]),
        ("select n from number where n = 3", {"unused": 4}, [(3,)]),
        ("select n::varchar(9) from shop:number where n = 3 and ':a' > '9' -- :b", {}, [("3",)]),
        ("select n {:a} from number where n = 3 /* :b */", {}, [(3,)]),
    ],
)
def test_a_mapping_has_the_values_of_names_as_in_sqlite3(
    conn: dbapi.Connection, sql: str, parameters: dict[str, Any], rows: list[Any]
) -> None:
    assert conn.cursor().execute(sql, parameters).fetchall() == rows


def test_a_mapping_that_lacks_a_value_is_an_error_that_names_it(conn: dbapi.Connection) -> None:
    cursor = conn.cursor()
    with pytest.raises(dbapi.ProgrammingError, match=r"^no value for parameter :n$"):
        cursor.execute("select n from number where n = :n", {"m": 3})
    for mapping in ({"n": 3}, MappingProxyType({"n": 3})):
        with pytest.raises(
            dbapi.InterfaceError, match=r"^parameters: expected a sequence, got \w+; pass a mapping as named="
        ):
            cursor.execute("select n from number where n = ?", mapping)
    with pytest.raises(dbapi.InterfaceError, match=r"^named: cannot be combined"):
        cursor.execute("select n from number where n = :n", {"n": 3}, named={"n": 3})
    assert cursor.execute("select n from number where n = :n", {"n": 3}).fetchone() == (3,)


@pytest.mark.parametrize(
    "rows",
    [[(), ()], [{}, {}], [[], {"surplus": 1}], iter([{}, ()])],
    ids=["tuples", "mappings", "both", "iterator"],
)
def test_executemany_without_parameters_takes_empty_rows(
    conn: dbapi.Connection, table: str, rows: Iterable[Any]
) -> None:
    cursor = conn.cursor()
    assert cursor.executemany(f"insert into {table} (note) values ('a')", rows).rowcount == 2
    wrong: Any
    for wrong in (["a"], [1], [(1,)], {}, "a"):
        with pytest.raises(dbapi.InterfaceError):
            cursor.executemany(f"insert into {table} (note) values ('a')", wrong)


def test_executemany_takes_mappings_if_the_statement_has_names(conn: dbapi.Connection, table: str) -> None:
    cursor = conn.cursor()
    insert = f"insert into {table} (note) values (:note)"
    notes: list[dict[str, Any]] = [{"note": "a", "unused": 0}, {"note": "b"}]
    assert cursor.executemany(insert, notes).rowcount == 2
    assert cursor.executemany(insert, ({"note": note} for note in "cd")).rowcount == 2
    assert cursor.executemany(insert, pa.table({"note": ["e"]})).rowcount == 1
    with pytest.raises(dbapi.ProgrammingError, match=r"^row 1: no value for parameter :note"):
        cursor.executemany(insert, [{"note": "f"}, {"n": "f"}])
    with pytest.raises(dbapi.InterfaceError, match=r"^row 0: expected a mapping, got tuple$"):
        cursor.executemany(insert, [("f",)])
    with pytest.raises(dbapi.InterfaceError, match=r"^rows: expected an iterable"):
        cursor.executemany(insert, {"note": "f"})


def test_arguments_have_the_names_of_pep_249(conn: dbapi.Connection, table: str) -> None:
    cursor = conn.cursor()
    notes = [("a",), ("b",)]
    cursor.executemany(
        operation=f"insert into {table} (note) values (?)",
        seq_of_parameters=notes,
        timeout=20,
        on_error="raise",
    )
    assert cursor.rowcount == 2
    cursor.execute(operation=f"select note from {table} where note > ?", parameters=("a",))
    assert cursor.fetchall() == [("b",)]


def test_without_a_result_fetches_raise(conn: dbapi.Connection, table: str) -> None:
    cursor = conn.cursor()
    for _ in range(2):
        for fetch in (cursor.fetchone, cursor.fetchmany, cursor.fetchall, cursor.nextset):
            with pytest.raises(dbapi.InterfaceError, match="the cursor has no result"):
                fetch()
        cursor.execute(f"insert into {table} values (0, 'a')")
    with pytest.raises(dbapi.ProgrammingError) as caught:
        cursor.execute("select * from nothing")
    assert isinstance(caught.value, aioifx.UndefinedTable) and caught.value.sqlcode == -206
    with pytest.raises(dbapi.InterfaceError, match="the cursor has no result"):
        cursor.fetchall()
    assert cursor.execute("select count(*) from number").fetchone() == (200,)


def test_a_cursor_that_scrolls(conn: dbapi.Connection) -> None:
    cursor = conn.cursor(scroll=True).execute("select n from number order by n")
    assert cursor.fetchone() == (0,)
    cursor.scroll(9)
    assert cursor.rownumber == 10 and cursor.fetchmany(2) == [(10,), (11,)]
    cursor.scroll(0, "absolute")
    assert cursor.fetchone() == (0,) and len(cursor.fetchall()) == 199
    with pytest.raises(IndexError):
        cursor.scroll(1000)
    cursor.close()
    with pytest.raises(dbapi.InterfaceError, match="forward-only"):
        conn.cursor().execute("select n from number").scroll(1)


def test_where_current_of_has_the_row_that_was_fetched(conn: dbapi.Connection, table: str) -> None:
    cursor, change = conn.cursor(), conn.cursor()
    cursor.executemany(f"insert into {table} values (0, ?)", [("a",), ("b",), ("c",)])
    conn.commit()
    cursor.execute(f"select note from {table} for update")
    for (note,) in cursor:
        if note == "b":
            change.execute(f"update {table} set note = 'found' where current of {cursor.name}")
    cursor.execute(f"select note from {table} order by id")
    assert cursor.fetchall() == [("a",), ("found",), ("c",)]


# -- routines ---------------------------------------------------------------------------------------------------------


def test_callproc_gives_results_as_rows(conn: dbapi.Connection) -> None:
    cursor = conn.cursor()
    assert cursor.callproc("shout", ("foo",)) == ["foo"]
    assert cursor.fetchall() == [("FOO",)] and cursor.nextset() is None  # type: ignore[func-returns-value]
    assert cursor.callproc("three", [5]) == [5]
    assert cursor.fetchall() == [(5, "row 0"), (6, "row 1"), (7, "row 2")]
    cursor.callproc("forget", ["foo"])
    assert cursor.description is None
    with pytest.raises(dbapi.InterfaceError, match=r"^routine: "):
        cursor.callproc("shout(); drop table number", ())


# -- executemany ------------------------------------------------------------------------------------------------------


def test_rows_that_raise_stop_iteration_end_the_call(conn: dbapi.Connection) -> None:
    class Rows:
        def __iter__(self) -> Iterator[tuple[int]]:
            raise StopIteration

    cursor = conn.cursor()
    cursor.execute("create temp table stopped (n integer)")
    with pytest.raises(dbapi.DataError, match=r"^the iterable raised StopIteration$"):
        cursor.executemany("insert into stopped values (?)", Rows())
    conn.ping()


def test_rows_of_an_executemany_may_come_from_another_connection(
    host: Host, conn: dbapi.Connection, table: str
) -> None:
    with dbapi.connect(host.dsn, fetch_size=4096) as source:
        rows = source.cursor().execute("select n + 1, 'some text' from number order by n")
        cursor = conn.cursor().executemany(f"insert into {table} values (?, ?)", rows)
    assert cursor.rowcount == 200
    assert cursor.execute(f"select count(*), max(id) from {table}").fetchone() == (200, 200)
    notes = ({"note": str(n)} for n in range(250))
    assert cursor.executemany(f"insert into {table} values (0, :note)", named=notes).rowcount == 250


def test_rows_are_iterated_in_the_callers_thread_and_what_they_raise_undoes_all(
    conn: dbapi.Connection, table: str
) -> None:
    conn.commit()
    conn.autocommit = True
    threads = set()

    def rows() -> Iterator[tuple[str]]:
        for n in range(300):
            threads.add(threading.current_thread())
            if n == 250:
                raise ValueError("no more")
            yield (str(n),)

    cursor = conn.cursor()
    with pytest.raises(ValueError, match="no more"):
        cursor.executemany(f"insert into {table} values (0, ?)", rows())
    assert threads == {threading.current_thread()}
    assert cursor.execute(f"select count(*) from {table}").fetchone() == (0,)
    for invalid in ("text", {"a": 1}, 5, None):
        with pytest.raises(dbapi.InterfaceError, match=r"^rows: expected"):
            cursor.executemany(f"insert into {table} values (0, ?)", invalid)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def test_collected_errors_are_messages(conn: dbapi.Connection, table: str) -> None:
    cursor = conn.cursor()
    rows = [(1, "a"), (1, "b"), (2, "c")]
    cursor.executemany(f"insert into {table} values (?, ?)", rows, on_error="collect")
    (kind, error), *_ = [entry for entry in cursor.messages if issubclass(entry[0], dbapi.Error)]
    assert kind is aioifx.UniqueViolation and isinstance(error, aioifx.Error) and cursor.rowcount == 2


# -- transactions -----------------------------------------------------------------------------------------------------


def test_changes_wait_for_a_commit(host: Host, conn: dbapi.Connection) -> None:
    cursor = conn.cursor()
    assert conn.autocommit is False and not conn.is_in_transaction()
    conn.commit()
    cursor.execute("create table ledger (n int)")
    assert conn.is_in_transaction()
    conn.commit()
    cursor.execute("insert into ledger values (1)")
    conn.rollback()
    assert cursor.execute("select count(*) from ledger").fetchone() == (0,)
    with pytest.raises(dbapi.InterfaceError, match="autocommit: cannot change in a transaction"):
        conn.autocommit = True
    conn.rollback()
    conn.autocommit = True
    assert conn.autocommit is True
    cursor.execute("insert into ledger values (2)")
    assert not conn.is_in_transaction()
    with dbapi.connect(host.dsn) as other:
        assert other.cursor().execute("select n from ledger").fetchall() == [(2,)]


def test_a_with_block_commits_or_rolls_back_and_closes(host: Host) -> None:
    with dbapi.connect(host.dsn) as conn:
        conn.cursor().execute("create table diary (n int)")
    assert conn.is_closed()
    with pytest.raises(LookupError), dbapi.connect(host.dsn) as conn, conn.cursor() as cursor:
        cursor.execute("insert into diary values (1)")
        raise LookupError
    assert conn.is_closed()
    with pytest.raises(dbapi.InterfaceError, match="the cursor is closed"):
        cursor.fetchone()
    with dbapi.connect(host.dsn) as conn:
        assert conn.cursor().execute("select count(*) from diary").fetchone() == (0,)
    with pytest.raises(LookupError), dbapi.connect(host.dsn) as conn:
        conn.terminate()
        raise LookupError


def test_a_with_block_whose_commit_fails_closes_the_connection(host: Host) -> None:
    with dbapi.connect(host.dsn) as conn:
        conn.cursor().execute("create table whole (n int primary key)")
        conn.cursor().execute("create table part (n int references whole)")
    with pytest.raises(dbapi.IntegrityError), dbapi.connect(host.dsn) as conn:
        conn.cursor().execute("insert into whole values (2)")  # begins the transaction
        conn.cursor().execute("set constraints all deferred")
        cursor = conn.cursor().execute("insert into part values (1)")
        assert cursor.rowcount == 1
    assert conn.is_closed()


# -- values and facts --------------------------------------------------------------------------------------------------


def test_large_values_come_inline(conn: dbapi.Connection) -> None:
    cursor = conn.cursor()
    cursor.execute("create temp table picture (data byte, note text, large blob, words clob)")
    row = (b"\0\1", "text", b"blob" * 10_000, "clob" * 10_000)
    cursor.execute("insert into picture values (?, ?, ?, ?)", row)
    cursor.execute("select * from picture")
    assert cursor.description is not None
    assert [column[1] for column in cursor.description] == [dbapi.BINARY, dbapi.STRING] * 2
    assert cursor.fetchall() == [row]


def test_facts_of_a_connection(conn: dbapi.Connection) -> None:
    assert (conn.database, conn.log_mode) == ("shop", "logged")
    assert conn.isolation == "committed_read"
    assert "IBM Informix" in conn.server_version or conn.server_version
    assert repr(conn).startswith("<Connection open shop at ")
    conn.ping()
    assert conn.run(aioifx.Connection.fetchval, "select count(*) from number") == 200
    assert conn.Error is dbapi.Error is aioifx.Error and conn.Warning is aioifx.Warning
    for thing in (conn, conn.cursor()):
        with pytest.raises(dbapi.InterfaceError, match="cannot be copied or pickled"):
            copy.copy(thing)


# -- threads ----------------------------------------------------------------------------------------------------------


def test_a_slow_call_names_its_caller(host: Host, caplog: pytest.LogCaptureFixture) -> None:
    with dbapi.connect(host.dsn, slow_query=0.000001) as conn:
        caplog.clear()
        conn.cursor().execute("select n from number where n = 1").fetchall()
        (slow,) = (record.getMessage() for record in caplog.records if "slow cursor" in record.getMessage())
    assert f", called at {__file__}:" in slow and " in test_a_slow_call_names_its_caller: " in slow


def test_threads_share_a_connection(conn: dbapi.Connection) -> None:
    def work(n: int) -> tuple[int, int]:
        cursor = conn.cursor()
        found = cursor.execute("select n from number where n = ?", (n,)).fetchone()
        assert found is not None
        return n, found[0]

    with ThreadPoolExecutor(8) as threads:
        assert [*threads.map(work, range(100))] == [(n, n) for n in range(100)]


def test_another_thread_can_cancel(host: Host, conn: dbapi.Connection) -> None:
    with ThreadPoolExecutor(1) as thread:
        running = thread.submit(conn.cursor().execute, SLOW)
        host.call(host.runs()).result(20)
        conn.cancel()
        with pytest.raises(aioifx.QueryCanceled):
            running.result(20)
    assert conn.cursor().execute("select count(*) from number").fetchone() == (200,)


# -- closing ----------------------------------------------------------------------------------------------------------


def test_a_closed_connection_refuses_all_but_closing(host: Host) -> None:
    conn = dbapi.connect(host.dsn)
    reading = conn.cursor().execute("select n from number")
    cursor = conn.cursor()
    conn.close()
    conn.close()
    conn.terminate()
    for use in (lambda: cursor.execute("select n from number"), conn.commit, conn.rollback, conn.ping):
        with pytest.raises(dbapi.Error):
            use()
    for one in (reading, cursor, reading):
        one.close()
    with pytest.raises(dbapi.InterfaceError, match="the cursor is closed"):
        reading.fetchall()


def test_a_cursor_with_rows_left_is_closed_at_the_server(conn: dbapi.Connection, calls: list[object]) -> None:
    with conn.cursor() as cursor:
        cursor.execute("select a.n, b.n from number a, number b")
        assert cursor.fetchone() is not None and repr(cursor) == "<Cursor fetching>"
    assert repr(cursor) == "<Cursor closed>" and len(calls) == 2
    for use in (cursor.fetchone, cursor.nextset, lambda: cursor.execute("select n from number")):
        with pytest.raises(dbapi.InterfaceError, match="the cursor is closed"):
            use()


def test_a_garbage_collected_connection_warns_and_is_closed(host: Host) -> None:
    conn = dbapi.connect(host.dsn)
    cursor = conn.cursor().execute("select n from number")
    reference = weakref.ref(conn)
    del conn
    assert reference() is not None and cursor.connection is reference()
    with pytest.warns(ResourceWarning, match=r"^<Connection open shop at .*> was not closed$"):
        del cursor
        gc.collect()
    assert reference() is None


def test_an_abandoned_cursor_is_closed_at_the_server(conn: dbapi.Connection) -> None:
    before = conn.run(_round_trips)
    cursor = conn.cursor().execute("select a.n, b.n from number a, number b")
    assert cursor.fetchone() is not None
    del cursor
    gc.collect()
    conn.ping()
    assert conn.run(_round_trips) == before + 5  # BEGIN, PREPARE, OPEN, CLOSE, the ping


def test_failures_leave_no_garbage(conn: dbapi.Connection) -> None:
    gc.collect()
    for _ in range(50):
        with pytest.raises(dbapi.ProgrammingError):
            conn.cursor().execute("select * from nothing")
    # In a free-threaded CPython 3.14, `asyncio.to_thread`, as in the server, leaves 23 objects of its last call.
    assert gc.collect() < (50 if sysconfig.get_config_var("Py_GIL_DISABLED") else 1)


async def test_within_an_event_loop_calls_block_and_work(host: Host) -> None:
    with dbapi.connect(host.dsn) as conn:
        ticks = asyncio.ensure_future(asyncio.sleep(0))
        assert conn.cursor().execute("select count(*) from number").fetchone() == (200,)
        assert not ticks.done()
        await ticks
