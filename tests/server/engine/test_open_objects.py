from __future__ import annotations

from pathlib import Path

import pytest

from aioifx.codecs.large_objects import Locator
from aioifx.server.engine.engine import Engine
from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.runtime.large_objects import locator_of, object_number
from aioifx.server.sqlite.databases import LogMode
from tests.server.talking import ServerCore, error_from, query, run, run_all, server_core

READ, READ_WRITE, WRITE, APPEND = 4, 8, 2, 1
TABLE = "CREATE TABLE t (k INT, b BLOB, c CLOB) PUT b IN (s1), c IN (s2)"


def made(engine: Engine, data: bytes) -> Locator:
    """The locator of a new object of this session."""
    number = engine.objects.create()
    descriptor = engine.objects.open(number, READ_WRITE)
    assert engine.objects.write(descriptor, data) == len(data)
    engine.objects.close(descriptor)
    return locator_of(number)


def content(engine: Engine, locator: Locator | None) -> bytes | None:
    if locator is None:
        return None
    descriptor = engine.objects.open(object_number(locator), READ)
    data = engine.objects.read(descriptor, 1_000_000)
    engine.objects.close(descriptor)
    return data


def contents(engine: Engine, sql: str = "SELECT b FROM t ORDER BY k") -> list[bytes | None]:
    return [content(engine, locator) for (locator,) in query(engine, sql)]


def stored(engine: Engine) -> int:
    """Number of objects in the file."""
    (count,) = engine._state.current.connection.execute("SELECT count(*) FROM ifx_objects").fetchone()
    return int(count)


def refusal(engine: Engine, call: str, *arguments: int | bytes) -> int:
    with pytest.raises(SqlError) as caught:
        getattr(engine.objects, call)(*arguments)
    return caught.value.sqlcode


@pytest.fixture
def table(engine: Engine) -> Engine:
    run(engine, TABLE)
    return engine


# -- descriptors -------------------------------------------------------------------------------------------------------


def test_a_position_moves_with_reads_writes_and_seeks(table: Engine) -> None:
    objects = table.objects
    descriptor = objects.open(objects.create(), READ_WRITE)
    assert objects.write(descriptor, b"0123456789") == 10
    assert (objects.tell(descriptor), objects.size(descriptor)) == (10, 10)
    assert [objects.seek(descriptor, *to) for to in ((2, 0), (3, 1), (-1, 2), (-2, 1))] == [2, 5, 9, 7]
    assert objects.read(descriptor, 2) == b"78"
    assert objects.tell(descriptor) == 9
    assert objects.read(descriptor, 100) == b"9"
    assert objects.read(descriptor, 100) == b""
    objects.seek(descriptor, 12, 0)
    objects.write(descriptor, b"!")
    objects.truncate(descriptor, 13)
    objects.seek(descriptor, 9, 0)
    assert objects.read(descriptor, 100) == b"9\0\0!"
    assert refusal(table, "seek", descriptor, -1, 0) == -9810
    assert refusal(table, "seek", descriptor, 0, 7) == -9810
    assert refusal(table, "truncate", descriptor, -1) == -9810


def test_the_lowest_free_descriptor_is_given(table: Engine) -> None:
    objects = table.objects
    number = objects.create()
    assert [objects.open(number, READ) for _ in range(3)] == [1, 2, 3]
    objects.close(2)
    assert [objects.open(number, READ) for _ in range(2)] == [2, 4]


def test_a_mode_allows_reads_or_writes(table: Engine) -> None:
    objects = table.objects
    number = objects.create()
    reader, writer, appender = (objects.open(number, mode) for mode in (READ, WRITE, WRITE | APPEND))
    assert refusal(table, "write", reader, b"x") == -9810
    assert refusal(table, "truncate", reader, 0) == -9810
    objects.write(writer, b"abc")
    assert refusal(table, "read", writer, 1) == -9810
    objects.write(appender, b"def")
    assert objects.read(reader, 10) == b"abcdef"
    for mode in (16, 2048, APPEND, READ | APPEND):  # the first two are JDBC's
        opened = objects.open(number, mode)
        assert objects.read(opened, 2) == b"ab"
        assert refusal(table, "write", opened, b"x") == -9810


@pytest.mark.parametrize(
    ("call", "arguments"),
    [("close", (9,)), ("size", (9,)), ("tell", (-1,)), ("seek", (9, 0, 0)), ("read", (9, 1)), ("write", (9, b"x")),
     ("truncate", (9, 0)), ("open", (12345, READ))],
)  # fmt: skip
def test_a_bad_descriptor_or_object_is_refused(
    table: Engine, call: str, arguments: tuple[int | bytes, ...]
) -> None:
    assert refusal(table, call, *arguments) == -9810


def test_a_descriptor_outlives_its_transaction_but_not_its_object(table: Engine) -> None:
    run(table, "BEGIN WORK")
    number = table.objects.create()
    descriptor = table.objects.open(number, READ_WRITE)
    table.objects.write(descriptor, b"kept")
    run(table, "COMMIT WORK")
    assert table.objects.seek(descriptor, 0, 0) == 0
    assert table.objects.read(descriptor, 9) == b"kept"
    run(table, "BEGIN WORK")
    table.objects.write(descriptor, b" undone")
    lost = table.objects.open(table.objects.create(), READ_WRITE)
    run(table, "ROLLBACK WORK")
    assert table.objects.size(descriptor) == 4
    assert refusal(table, "size", lost) == -9810


# -- references --------------------------------------------------------------------------------------------------------


def test_locators_are_stored_and_read(table: Engine) -> None:
    run(table, "INSERT INTO t VALUES (1, ?, ?)", made(table, b"abc"), made(table, b"text"))
    run(table, "INSERT INTO t VALUES (2, ?, NULL)", made(table, b""))
    run(table, "INSERT INTO t (k) VALUES (3)")
    assert contents(table) == [b"abc", b"", None]
    assert contents(table, "SELECT c FROM t ORDER BY k") == [b"text", None, None]
    assert query(table, "SELECT k FROM t WHERE b IS NULL") == [(3,)]


@pytest.mark.parametrize(
    ("statements", "objects"),
    [
        (["DELETE FROM t"], 0),
        (["TRUNCATE t"], 0),
        (["DROP TABLE t"], 0),
        (["UPDATE t SET b = NULL"], 0),
        (["UPDATE t SET k = 5"], 2),
        (["DELETE FROM t WHERE k = 1"], 1),
        (["INSERT INTO t (k, b) SELECT k, b FROM t", "DELETE FROM t WHERE k = 1"], 1),
        (["UPDATE t SET b = (SELECT b FROM t WHERE k = 2) WHERE k = 1"], 1),
        (["CREATE TABLE u (b BLOB)", "INSERT INTO u SELECT b FROM t", "DELETE FROM t"], 2),
        (["SELECT b FROM t INTO TEMP u", "DELETE FROM t"], 2),
        (["SELECT b FROM t INTO TEMP u", "DELETE FROM t", "DROP TABLE u"], 0),
        (["CREATE TEMP TABLE u (b BLOB)", "INSERT INTO u SELECT b FROM t", "DELETE FROM t", "DELETE FROM u"], 0),
        (["BEGIN WORK", "DELETE FROM t", "ROLLBACK WORK"], 2),
        (["BEGIN WORK", "DELETE FROM t", "COMMIT WORK"], 0),
        (["ALTER TABLE t DROP (b)"], 0),
        (["ALTER TABLE t DROP (c)", "DELETE FROM t"], 0),
        (["ALTER TABLE t ADD (d BLOB BEFORE k)", "UPDATE t SET d = b", "UPDATE t SET b = NULL"], 2),
        (["ALTER TABLE t ADD (d BLOB)", "UPDATE t SET d = b", "DELETE FROM t"], 0),
        (["RENAME COLUMN t.b TO bb", "UPDATE t SET bb = NULL"], 0),
        (["RENAME COLUMN t.b TO bb", "ALTER TABLE t DROP (bb)"], 0),
        (["RENAME TABLE t TO tt", "DELETE FROM tt WHERE k = 2"], 1),
        (["ALTER TABLE t ADD (d INT)", "ALTER TABLE t MODIFY (d CHAR(3))", "DELETE FROM t"], 0),
    ],
)  # fmt: skip
def test_an_object_is_deleted_with_its_last_reference(
    engine: Engine, statements: list[str], objects: int
) -> None:
    run(engine, TABLE)
    for key in (1, 2):
        locator = made(engine, b"value")
        run(engine, "INSERT INTO t (k, b) VALUES (?, ?)", key, locator)
        engine.objects.release(object_number(locator))
    assert stored(engine) == 2
    for statement in statements:
        run(engine, statement)
    assert stored(engine) == objects


def test_a_deleted_parent_releases_the_objects_of_its_children(engine: Engine) -> None:
    run(engine, "CREATE TABLE p (k INT PRIMARY KEY)")
    run(engine, "CREATE TABLE t (k INT REFERENCES p ON DELETE CASCADE, b BLOB)")
    run(engine, "INSERT INTO p VALUES (1)")
    locator = made(engine, b"child")
    run(engine, "INSERT INTO t VALUES (1, ?)", locator)
    engine.objects.release(object_number(locator))
    run(engine, "DELETE FROM p")
    assert stored(engine) == 0


def test_an_open_object_is_deleted_when_it_is_closed(core: ServerCore, table: Engine) -> None:
    locator = made(table, b"open")
    run(table, "INSERT INTO t (k, b) VALUES (1, ?)", locator)
    table.objects.release(object_number(locator))
    other = core.engine()
    descriptor = other.objects.open(object_number(locator), READ)
    run(table, "DELETE FROM t")
    assert stored(table) == 1
    assert other.objects.read(descriptor, 9) == b"open"
    other.objects.close(descriptor)
    assert stored(table) == 0


def test_what_was_created_and_not_stored_ends_with_the_session(core: ServerCore, table: Engine) -> None:
    other = core.engine()
    made(other, b"forgotten")
    descriptor = other.objects.open(object_number(made(other, b"open")), READ)
    run(other, "SELECT 1 AS n FROM systables WHERE tabid = 1 INTO TEMP u")
    assert stored(table) == 2
    assert other.objects.read(descriptor, 9) == b"open"
    other.close_database()
    assert stored(table) == 0


def test_a_temporary_tables_objects_end_with_the_session(core: ServerCore, table: Engine) -> None:
    run(table, "INSERT INTO t (k, b) VALUES (1, ?)", made(table, b"shared"))
    other = core.engine()
    run_all(other, "CREATE TEMP TABLE u (b BLOB)", "INSERT INTO u SELECT b FROM t")
    run(other, "INSERT INTO u VALUES (?)", made(other, b"own"))
    other.close_database()
    assert stored(table) == 1
    assert contents(table) == [b"shared"]


def test_what_a_lost_process_left_is_deleted_later(tmp_path: Path) -> None:
    with server_core(directory=tmp_path) as core:
        engine = core.engine()
        run(engine, TABLE)
        run(engine, "INSERT INTO t (k, b) VALUES (1, ?)", made(engine, b"kept"))
        made(engine, b"lost")
        engine._state.current.objects._created.clear()
        assert stored(engine) == 2
    with server_core(directory=tmp_path) as core:
        engine = core.engine()
        assert stored(engine) == 1
        assert contents(engine) == [b"kept"]


def test_deleting_waits_for_another_sessions_transaction(core: ServerCore, table: Engine) -> None:
    other = core.engine()
    descriptor = table.objects.open(table.objects.create(), READ)
    table.objects.release(table.objects._open[descriptor].number)
    run(table, "CREATE TABLE u (a INT)")
    run_all(other, "BEGIN WORK", "CREATE TABLE v (a INT)")
    table.objects.close(descriptor)
    assert stored(table) == 1
    run(other, "COMMIT WORK")
    run(table, "INSERT INTO u VALUES (2)")
    assert stored(table) == 0


def test_an_object_that_does_not_exist_is_not_stored(core: ServerCore, table: Engine) -> None:
    assert error_from(table, "INSERT INTO t (k, b) VALUES (1, ?)", locator_of(12345)).sqlcode == -9810
    run(table, "BEGIN WORK")
    locator = made(table, b"undone")
    run(table, "ROLLBACK WORK")
    assert error_from(table, "INSERT INTO t (k, b) VALUES (1, ?)", locator).sqlcode == -9810
    assert query(table, "SELECT COUNT(*) FROM t") == [(0,)]


# -- casts and copies --------------------------------------------------------------------------------------------------


def test_byte_and_text_are_cast_to_blob_and_clob(table: Engine) -> None:
    run(table, "CREATE TABLE s (b BYTE, x TEXT)")
    run(table, "INSERT INTO s VALUES (?, ?)", b"\x00\xff", b"text")
    run(table, "INSERT INTO s VALUES (NULL, NULL)")
    run(table, "INSERT INTO t SELECT 1, b::BLOB, x::CLOB FROM s WHERE b IS NOT NULL")
    run(table, "INSERT INTO t (k, b) VALUES (2, (SELECT b::BLOB FROM s WHERE x IS NULL))")
    assert contents(table) == [b"\x00\xff", None]
    assert contents(table, "SELECT c FROM t ORDER BY k") == [b"text", None]
    assert stored(table) == 2
    assert error_from(table, "SELECT b::BLOB FROM s").sqlcode == -999
    for sql in (
        "SELECT b::CLOB FROM s",
        "SELECT b::BYTE FROM t",
        "SELECT c::LVARCHAR FROM t",
        "SELECT 'a'::CLOB FROM s",
    ):
        assert error_from(table, sql).sqlcode == -9634


def test_a_failed_statement_leaves_no_object(table: Engine) -> None:
    run(table, "CREATE TABLE s (k INT, b BYTE)")
    run(table, "INSERT INTO s VALUES (1, ?)", b"one")
    run(table, "INSERT INTO s VALUES (2, ?)", b"two")
    run(table, "CREATE UNIQUE INDEX i ON t (k)")
    assert error_from(table, "INSERT INTO t (k, b) SELECT 7, b::BLOB FROM s").sqlcode == -239
    assert stored(table) == 0
    run(table, "BEGIN WORK")
    assert error_from(table, "INSERT INTO t (k, b) SELECT 7, b::BLOB FROM s").sqlcode == -239
    run(table, "COMMIT WORK")
    assert stored(table) == 0


def test_locopy_makes_an_object_of_its_own(table: Engine) -> None:
    run(table, "INSERT INTO t (k, b) VALUES (1, ?)", made(table, b"first"))
    run(table, "INSERT INTO t (k, b) SELECT 2, LOCOPY(b) FROM t")
    run(table, "INSERT INTO t (k, b) SELECT 3, LOCOPY(b, 't', 'b') FROM t WHERE k = 9")
    [first] = query(table, "SELECT b FROM t WHERE k = 1")
    descriptor = table.objects.open(object_number(first[0]), READ_WRITE)
    table.objects.write(descriptor, b"F")
    assert contents(table) == [b"First", b"first"]


@pytest.mark.parametrize("log_mode", [LogMode.UNLOGGED, LogMode.ANSI])
def test_other_databases_have_large_objects_too(log_mode: LogMode) -> None:
    with server_core(log_mode) as core:
        engine = core.engine()
        run(engine, TABLE)
        run(engine, "INSERT INTO t (k, b) VALUES (1, ?)", made(engine, b"abc"))
        if log_mode is LogMode.ANSI:
            run(engine, "COMMIT WORK")
        assert contents(engine) == [b"abc"]


# -- in SQL ------------------------------------------------------------------------------------------------------------


def test_sql_opens_moves_and_closes_a_descriptor(table: Engine) -> None:
    run(table, "INSERT INTO t VALUES (1, ?, NULL)", made(table, b"0123456789"))
    run(table, "INSERT INTO t VALUES (2, NULL, NULL)")
    rows = query(table, "SELECT k, ifx_lo_open(b, 4) FROM t ORDER BY k")
    assert rows == [(1, 1), (2, None)]
    one = "FROM sysmaster:sysdual"
    assert query(table, f"SELECT ifx_lo_seek(1, -3, 2), ifx_lo_tell(1) {one}") == [(7, 7)]
    assert table.objects.read(1, 9) == b"789"
    assert query(table, f"SELECT ifx_lo_close(1) {one}") == [(0,)]
    assert error_from(table, f"SELECT ifx_lo_close(1) {one}").sqlcode == -9810
    assert error_from(table, f"SELECT ifx_lo_tell(1) {one}").sqlcode == -9810


def test_an_object_that_sql_closes_last_is_deleted_after_a_later_change(table: Engine) -> None:
    run(table, "INSERT INTO t VALUES (1, ?, NULL)", made(table, b"ab"))
    table.objects.release(object_number(query(table, "SELECT b FROM t")[0][0]))
    assert query(table, "SELECT ifx_lo_open(b, 4) FROM t") == [(1,)]
    run(table, "DELETE FROM t")
    assert stored(table) == 1
    assert query(table, "SELECT ifx_lo_close(1) FROM sysmaster:sysdual") == [(0,)]
    run(table, "INSERT INTO t VALUES (2, NULL, NULL)")
    assert stored(table) == 0


@pytest.mark.parametrize(
    ("call", "error"),
    [
        ("ifx_lo_open(b)", (-674, "ifx_lo_open")),
        ("ifx_lo_open(k, 4)", (-674, "ifx_lo_open")),
        ("ifx_lo_tell('1')", (-674, "ifx_lo_tell")),
        ("ifx_lo_read(1, 10)", (-999, "IFX_LO_READ")),
        ("ifx_lo_stat(1)", (-999, "IFX_LO_STAT")),
    ],
)
def test_sql_refuses_other_arguments_and_routines(table: Engine, call: str, error: tuple[int, str]) -> None:
    raised = error_from(table, f"SELECT {call} FROM t")
    assert (raised.sqlcode, raised.token) == error
