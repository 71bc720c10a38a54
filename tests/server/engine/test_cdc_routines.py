"""The routines of syscdcv1, and the errors that they return."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from aioifx.server.sqlite.databases import LogMode
from tests.server.engine.capturing import TABLE, Capturing, captured_core, insert
from tests.server.talking import ServerCore, error_from, query, run_all


@pytest.fixture
def core() -> Iterator[ServerCore]:
    with captured_core() as (made, writer):
        run_all(writer, "CREATE VIEW w AS SELECT a FROM t", "CREATE TABLE u (s SET(INTEGER NOT NULL))")
        made.databases.create("plain", LogMode.UNLOGGED, "anna")
        yield made


@pytest.fixture
def client(core: ServerCore) -> Capturing:
    made = Capturing(core)
    made.open()
    return made


@pytest.mark.parametrize(
    ("values", "result"),
    [
        (("aioifx", 1, 5, 1, 1, 1), -83718),
        (("aioifx", 0, 5, 0, 1, 1), -83720),
        (("aioifx", 0, 5, 1, 2, 1), -83702),
        (("aioifx", 0, 5, 1, 1, 2), -83702),
        (("aioifx", 0, None, 1, 1, 1), -83712),
    ],
)
def test_a_session_is_not_opened_with_wrong_arguments(
    client: Capturing, values: tuple[int | str | None, ...], result: int
) -> None:
    assert client.call("cdc_opensess", *values) == result


def test_sessions_have_numbers_of_their_own(core: ServerCore, client: Capturing) -> None:
    other = Capturing(core)
    assert other.open() != client.session
    assert other.call("cdc_closesess", client.session) == -83708
    ((number, timeout, status),) = client.select(
        f"SELECT sessid, timeout, status FROM syscdcsess WHERE sessid = {client.session}"
    )
    assert (number, timeout, status) == (client.session, 0, 0)
    other.engine.close()
    assert client.select("SELECT sessid FROM syscdcsess") == [(client.session,)]
    client.close()
    assert client.select("SELECT sessid FROM syscdcsess") == []
    for routine in ("cdc_closesess", "cdc_deactivatesess", "cdc_recboundary"):
        assert client.call(routine, client.session) == -83708


def test_a_server_may_have_one_name_only(core: ServerCore) -> None:
    core.registry.accepts_any_name = False
    client = Capturing(core)
    assert client.call("cdc_opensess", "other", 0, 5, 1, 1, 1) == -83717
    assert client.open() > 0


def test_only_informix_may_open_sessions_of_some_servers(core: ServerCore) -> None:
    core.registry.quirks = {"cdc-informix-only"}
    assert Capturing(core, user="anna").open() == -83708
    assert Capturing(core).open() > 0


@pytest.mark.parametrize(
    ("name", "result"),
    [
        ("nowhere:anna.t", -83703),
        ("anna.t", -83703),
        ("plain:anna.t", -83704),
        ("demo:anna.nothing", -83705),
        ("demo:bert.t", -83705),
        ("demo:anna.w", -83706),
        ("demo:informix.systables", -83706),
        ("demo:t", 0),
        (' demo:"anna".T ', 0),
        (None, -83712),
    ],
)
def test_full_row_logging_needs_a_table_with_a_log(client: Capturing, name: str | None, result: int) -> None:
    assert client.call("cdc_set_fullrowlogging", name, 1) == result


@pytest.mark.parametrize(
    ("zero", "name", "columns", "result"),
    [
        (1, TABLE, "a", -83718),
        (0, "demo:anna.nothing", "a", -83705),
        (0, "demo:anna.u", "s", -83706),
        (0, TABLE, "a,b", -83707),
        (0, TABLE, "", -83707),
        (0, TABLE, "a, x", -83706),
        (0, TABLE, None, -83712),
        (0, TABLE, " A , v", 0),
    ],
)
def test_a_capture_needs_columns_that_can_be_captured(
    client: Capturing, zero: int, name: str, columns: str | None, result: int
) -> None:
    for table in (TABLE, "demo:anna.u"):
        assert client.call("cdc_set_fullrowlogging", table, 1) == 0
    assert client.call("cdc_startcapture", client.session, zero, name, columns, 1) == result


def test_captures_begin_and_end_once(client: Capturing) -> None:
    start = ("cdc_startcapture", client.session, 0, TABLE, "a", 7)
    assert client.call(*start) == -83706  # without full-row logging
    client.capture()
    assert client.call(*start) == -83710
    columns = "dbname, tabname, owner, userdata, fixedbytes, numfixed, fixedcols, numvar, varcols"
    ((*texts, varcols),) = client.select(f"SELECT {columns} FROM syscdctabs")
    assert [*texts, varcols] == ["demo", "t", f"{'anna':32}", 7, 4, 1, "a", 1, "v"]
    assert client.call("cdc_set_fullrowlogging", TABLE, 0) == -83710
    assert client.call("cdc_endcapture", client.session, 1, TABLE) == -83718
    assert client.call("cdc_endcapture", client.session, 0, TABLE) == 0
    assert client.call("cdc_endcapture", client.session, 0, TABLE) == -83711
    assert client.call("cdc_set_fullrowlogging", TABLE, 2) == -83718
    assert client.call("cdc_set_fullrowlogging", TABLE, 0) == 0
    assert client.select("SELECT * FROM syscdctabs") == []


def test_a_session_is_activated_once(client: Capturing) -> None:
    assert client.call("cdc_activatesess", client.session, -1) == -83718
    assert client.call("cdc_activatesess", client.session, 0) == 0
    assert client.select("SELECT status FROM syscdcsess") == [(1,)]
    assert client.call("cdc_activatesess", client.session, 0) == -83715
    assert client.call("cdc_deactivatesess", client.session) == 0
    assert client.call("cdc_activatesess", client.session, 0) == 0


def test_errors_have_texts(client: Capturing) -> None:
    assert client.call("cdc_errortext", "CDC_E_LSN") == "There are no data at the log sequence number."
    assert client.call("cdc_errortext", "CDC_E_NOTHING") is None


def test_routines_are_called_from_another_database(core: ServerCore) -> None:
    engine = core.engine()
    ((number,),) = query(engine, "EXECUTE FUNCTION syscdcv1:informix.cdc_opensess('aioifx', 0, 1, 1, 1, 0)")
    assert isinstance(number, int)
    assert query(engine, f"EXECUTE FUNCTION syscdcv1:informix.cdc_closesess({number})") == [(0,)]
    assert error_from(engine, f"EXECUTE FUNCTION cdc_closesess({number})").sqlcode == -674


def test_full_row_logging_outlasts_sessions_and_servers(tmp_path: Path) -> None:
    with captured_core(directory=tmp_path) as (core, _):
        client = Capturing(core)
        client.open()
        client.capture()
        client.engine.close()
    with captured_core(directory=tmp_path) as (core, writer):
        assert error_from(writer, "DROP TABLE t").sqlcode == -19816
        client = Capturing(core)
        client.open()
        assert client.call("cdc_startcapture", client.session, 0, TABLE, "a", 1) == 0
        client.engine.close()
        writer.close_database()
        run_all(core.engine(""), "DROP DATABASE demo", "CREATE DATABASE demo WITH LOG")
        run_all(core.engine(), "CREATE TABLE t (a INTEGER)", "DROP TABLE t")


@pytest.mark.parametrize(
    "change",
    [
        "ALTER TABLE t ADD (b INTEGER)",
        "ALTER TABLE t ADD CONSTRAINT UNIQUE (a)",
        "DROP TABLE t",
        "RENAME TABLE t TO z",
        "RENAME COLUMN t.a TO z",
    ],
)
def test_a_table_with_full_row_logging_keeps_its_form(
    core: ServerCore, client: Capturing, change: str
) -> None:
    client.capture()
    engine = core.engine()
    error = error_from(engine, change)
    assert (error.sqlcode, error.token) == (-19816, "t")
    run_all(engine, "CREATE INDEX i ON t (a)", "DROP VIEW w", "CREATE TABLE z (a INTEGER)", "DROP TABLE z")
    assert client.call("cdc_endcapture", client.session, 0, TABLE) == 0
    assert error_from(engine, change).sqlcode == -19816
    assert client.call("cdc_set_fullrowlogging", TABLE, 0) == 0
    run_all(engine, change)


def test_full_row_logging_waits_for_the_statement_that_writes(core: ServerCore, client: Capturing) -> None:
    writer = core.engine()
    run_all(writer, "BEGIN WORK", "CREATE TABLE z (a INTEGER)")  # keeps the latch
    core.databases.find("demo").busy_timeout = 0
    with pytest.raises(AssertionError, match="-244"):
        client.call("cdc_set_fullrowlogging", TABLE, 1)
    run_all(writer, "INSERT INTO t VALUES (1, 'x', NULL)", "COMMIT WORK")
    assert client.call("cdc_set_fullrowlogging", TABLE, 1) == 0
    insert(writer, 2)
    assert core.databases.changes.end > 1 << 32
