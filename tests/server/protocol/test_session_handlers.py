from __future__ import annotations

from decimal import Decimal

import pytest

from aioifx.server.sql.model.spl import Routine
from aioifx.server.sqlite.databases import LogMode
from aioifx.wire import requests, session_requests
from aioifx.wire.capabilities import SERVER_MASK
from aioifx.wire.completion import Done
from tests.server.talking import UTF_8, ServerCore, Talk, error_of, prepared, query, run_all, server_core

EIGHT_BYTES = bytes.fromhex("fffc7ffc3c8caa97")
SEVEN_BYTES = bytes.fromhex("fffc7ffc3c8c8a")


def test_capabilities_are_the_servers_and_layouts_follow_both_sides(core: ServerCore) -> None:
    talk = Talk(core.engine(""))
    assert talk.say(session_requests.Protocols(EIGHT_BYTES)).mask == SERVER_MASK
    assert not talk.conversation.capabilities.long_tuple
    assert not talk.conversation.capabilities.long_rowid
    assert talk.conversation.capabilities.long_text
    talk.say(session_requests.Protocols(SEVEN_BYTES))
    assert not talk.conversation.capabilities.long_text
    talk.say(session_requests.Protocols(EIGHT_BYTES + b"\x06"))
    assert talk.conversation.capabilities.long_rowid


@pytest.mark.parametrize("offer", [SEVEN_BYTES, EIGHT_BYTES, EIGHT_BYTES + b"\x06", b""])
def test_every_offer_can_be_worked_with(core: ServerCore, offer: bytes) -> None:
    talk = Talk(core.engine(""))
    talk.protocols(offer)
    talk.open_database()
    talk.command("CREATE TABLE t (a INTEGER, v VARCHAR(9), b BIGINT)")
    reply = talk.command("INSERT INTO t VALUES (1, 'x', 2)")
    assert reply.done is not None
    assert reply.done.rows == 1
    assert talk.select("SELECT a, v, b FROM t") == [(1, "x", 2)]
    assert error_of(talk.command("SELECT nothing"))[0] == -201


@pytest.mark.parametrize(
    ("log_mode", "warnings"), [(LogMode.LOGGED, 0x15), (LogMode.UNLOGGED, 0x14), (LogMode.ANSI, 0x17)]
)
def test_opening_a_database_tells_its_kind(log_mode: LogMode, warnings: int) -> None:
    with server_core(log_mode) as core:
        talk = Talk(core.engine(""))
        for reply in (talk.open_database("demo"), talk.command("DATABASE demo")):
            assert reply.error is None
            assert reply.done is not None
            assert reply.done.warnings == warnings
            assert reply.cost is not None


def test_a_created_database_is_open_and_tells_its_kind(talk: Talk) -> None:
    reply = talk.command("CREATE DATABASE shop WITH LOG")
    assert reply.done is not None
    assert reply.done.warnings == 0x15
    assert talk.select("SELECT DBINFO('dbname') FROM systables WHERE tabid = 1")[0][0].rstrip() == "shop"


def test_an_unknown_database_is_minus_329(talk: Talk) -> None:
    assert error_of(talk.open_database("nowhere")) == (-329, -111, "nowhere")
    assert error_of(talk.open_database("demo@elsewhere"))[0] == -908
    assert talk.open_database("demo@ol_test").error is None


def test_a_database_of_another_code_set_is_minus_23197(core: ServerCore) -> None:
    utf8 = Talk(core.engine("", database_locale="en_US.utf8"), UTF_8)
    assert error_of(utf8.open_database()) == (-23197, 0, "")
    assert error_of(utf8.command("DATABASE demo")) == (-23197, 0, "")
    assert Talk(core.engine("", database_locale="en_US.8859-1")).open_database().error is None


def test_a_client_without_db_locale_is_given_the_servers(core: ServerCore) -> None:
    core.databases.create("greek", LogMode.LOGGED, "anna", "el_GR.utf8")
    assert Talk(core.engine(""), UTF_8).open_database().error is None
    assert error_of(Talk(core.engine(""), UTF_8).open_database("greek")) == (-23197, 0, "")


def test_a_refused_database_leaves_the_open_one_as_it_is(core: ServerCore) -> None:
    core.databases.create("greek", LogMode.LOGGED, "anna", "el_GR.utf8")
    talk = Talk(core.engine())
    assert error_of(talk.command("DATABASE greek")) == (-23197, 0, "")
    assert talk.select("SELECT DBINFO('dbname') FROM systables WHERE tabid = 1")[0][0].rstrip() == "demo"


def test_a_created_database_has_the_clients_db_locale(core: ServerCore) -> None:
    assert Talk(core.engine("", database_locale="el_GR.utf8")).command("CREATE DATABASE greek").error is None
    assert Talk(core.engine("")).command("CREATE DATABASE plain").error is None
    rows = Talk(core.engine("sysmaster")).select("SELECT dbs_dbsname, dbs_collate FROM sysdbslocale")
    locales = {name.rstrip(): locale.rstrip() for name, locale in rows}
    assert locales == {
        "demo": "en_US.819",
        "greek": "el_GR.57372",
        "plain": "en_US.819",
        "sysadmin": "en_US.819",
        "syscdcv1": "en_US.57372",
        "sysmaster": "en_US.819",
    }


def test_the_server_lists_its_databases_and_its_version(talk: Talk) -> None:
    assert talk.say(session_requests.DbList()).names == ("demo", "sysadmin", "syscdcv1", "sysmaster")
    version = talk.say(session_requests.Version()).version
    assert version is not None
    assert "Informix" in version
    assert "Version" in version


def test_exit_rolls_back_and_is_answered_without_an_end(core: ServerCore, item: Talk) -> None:
    item.say(session_requests.Begin())
    item.command("DELETE FROM item")
    assert item.conversation.answer([[session_requests.Exit()]]) == b"\x00\x38"
    assert item.conversation.has_ended
    assert len(query(core.engine(), "SELECT id FROM item")) == 5


def test_a_closed_database_finds_nothing(talk: Talk) -> None:
    assert talk.say(session_requests.DbClose()).error is None
    assert talk.say(*prepared("SELECT tabid FROM systables")).error is not None


def test_transactions_by_message_and_by_text_tell_their_state(item: Talk) -> None:
    for begin, commit in (
        (lambda: item.say(session_requests.Begin()), lambda: item.say(session_requests.Commit())),
        (lambda: item.command("BEGIN WORK"), lambda: item.command("COMMIT WORK")),
    ):
        begun, committed = begin(), commit()
        assert begun.transaction is not None
        assert (begun.transaction.level, begun.transaction.previous) == (1, 0)
        assert committed.transaction is not None
        assert (committed.transaction.level, committed.transaction.previous) == (0, 1)
        assert (begun.done, committed.done) == (Done(), Done())


def test_rollback_by_message(item: Talk) -> None:
    item.say(session_requests.Begin())
    item.command("DELETE FROM item")
    item.say(session_requests.Rollback())
    assert item.select("SELECT COUNT(*) FROM item") == [(Decimal(5),)]
    assert error_of(item.say(session_requests.Rollback()))[0] == -255
    assert error_of(item.say(session_requests.Commit()))[0] == -255


def test_savepoints_by_message(item: Talk) -> None:
    item.say(session_requests.Begin())
    item.say(session_requests.SetSavepoint(b"One"))
    item.command("DELETE FROM item WHERE id = 1")
    item.say(session_requests.RollbackSavepoint(b"one"))
    item.command("DELETE FROM item WHERE id = 2")
    assert item.say(session_requests.ReleaseSavepoint(b"ONE")).error is None
    item.say(session_requests.Commit())
    assert item.select("SELECT id FROM item ORDER BY id") == [(1,), (3,), (4,), (5,)]


def test_savepoints_by_text(item: Talk) -> None:
    for text in (
        "BEGIN WORK",
        "SAVEPOINT one UNIQUE",
        "DELETE FROM item WHERE id = 1",
        "SAVEPOINT two",
        "DELETE FROM item WHERE id = 2",
        "ROLLBACK WORK TO SAVEPOINT two",
        "DELETE FROM item WHERE id = 3",
        "RELEASE SAVEPOINT two",
        "DELETE FROM item WHERE id = 4",
    ):
        assert item.command(text).error is None
    assert error_of(item.command("ROLLBACK TO SAVEPOINT two")) == (-278, 0, "two")
    assert error_of(item.command("SAVEPOINT one")) == (-743, 0, "one")
    item.command("COMMIT WORK")
    assert item.select("SELECT id FROM item ORDER BY id") == [(2,), (5,)]
    item.command("BEGIN WORK")
    item.command("SAVEPOINT one")
    item.command("DELETE FROM item")
    assert item.command("ROLLBACK TO SAVEPOINT").error is None
    item.command("COMMIT WORK")
    assert item.select("SELECT id FROM item ORDER BY id") == [(2,), (5,)]


@pytest.mark.parametrize(("log_mode", "sqlcode"), [(LogMode.LOGGED, -255), (LogMode.UNLOGGED, -256)])
def test_savepoints_need_a_transaction(log_mode: LogMode, sqlcode: int) -> None:
    with server_core(log_mode) as core:
        talk = Talk(core.engine())
        for message in (
            session_requests.SetSavepoint(b"s"),
            session_requests.RollbackSavepoint(b"s"),
            session_requests.ReleaseSavepoint(b"s"),
        ):
            assert error_of(talk.say(message))[0] == sqlcode
        for text in ("SAVEPOINT s", "ROLLBACK TO SAVEPOINT s", "RELEASE SAVEPOINT s"):
            assert error_of(talk.command(text))[0] == sqlcode


def test_unknown_savepoints_are_minus_278_and_the_transaction_goes_on(item: Talk) -> None:
    item.say(session_requests.Begin())
    for message in (session_requests.RollbackSavepoint(b"s"), session_requests.ReleaseSavepoint(b"s")):
        assert error_of(item.say(message)) == (-278, 0, "s")
    item.command("DELETE FROM item WHERE id > 1")
    item.say(session_requests.Commit())
    assert item.select("SELECT id FROM item") == [(1,)]


def test_cursors_stay_open_when_a_savepoint_undoes_what_they_read(item: Talk) -> None:
    item.say(session_requests.Begin())
    item.say(session_requests.SetSavepoint(b"s"))
    item.command("UPDATE item SET name = 'new'")
    statement_id = item.prepare("SELECT name FROM item ORDER BY id")
    item.say(requests.Id(statement_id), requests.Open())
    row = requests.Fetch(1)
    assert item.say(requests.Id(statement_id), row).rows == [("new",)]
    item.say(session_requests.RollbackSavepoint(b"s"))
    assert item.say(requests.Id(statement_id), row).rows == [("new",)]
    assert item.select("SELECT name FROM item WHERE id = 1") == [("pen",)]


@pytest.mark.parametrize(
    ("text", "level"),
    [
        ("SET ISOLATION TO DIRTY READ", "DIRTY READ"),
        ("SET ISOLATION DIRTY READ WITH WARNING", "DIRTY READ"),
        ("SET ISOLATION TO COMMITTED READ", "COMMITTED READ"),
        ("SET ISOLATION TO COMMITTED READ LAST COMMITTED", "COMMITTED READ LAST COMMITTED"),
        ("SET ISOLATION COMMITTED READ LAST COMMITTED RETAIN UPDATE LOCKS", "COMMITTED READ LAST COMMITTED"),
        ("SET ISOLATION TO CURSOR STABILITY RETAIN UPDATE LOCKS", "CURSOR STABILITY"),
        ("SET ISOLATION TO REPEATABLE READ", "REPEATABLE READ"),
    ],
)
def test_set_isolation_holds_for_the_session(core: ServerCore, text: str, level: str) -> None:
    engine = core.engine()
    talk = Talk(engine)
    assert engine.isolation.value == "COMMITTED READ"
    assert talk.command(text).error is None
    for end in ("BEGIN WORK", "COMMIT WORK", "DATABASE sysmaster", "CLOSE DATABASE"):
        assert engine.isolation.value == level
        assert talk.command(end).error is None
    assert engine.isolation.value == level


@pytest.mark.parametrize(
    ("text", "seconds"), [("NOT WAIT", 0), ("WAIT", None), ("WAIT 17", 17), ("WAIT 0", 0)]
)
def test_set_lock_mode_holds_for_the_session(core: ServerCore, text: str, seconds: float | None) -> None:
    engine = core.engine()
    talk = Talk(engine)
    talk.command("SET LOCK MODE TO WAIT 5")
    assert talk.command(f"SET LOCK MODE TO {text}").error is None
    talk.command("DATABASE sysmaster")
    assert engine.defaults.lock_wait == seconds


@pytest.mark.parametrize(
    ("text", "level", "read_only"),
    [
        ("READ ONLY", "COMMITTED READ", True),
        ("READ WRITE", "COMMITTED READ", False),
        ("ISOLATION LEVEL READ UNCOMMITTED", "DIRTY READ", False),
        ("ISOLATION LEVEL READ COMMITTED", "COMMITTED READ", False),
        ("READ ONLY, ISOLATION LEVEL REPEATABLE READ", "REPEATABLE READ", True),
        ("ISOLATION LEVEL SERIALIZABLE, READ ONLY", "REPEATABLE READ", True),
    ],
)
def test_set_transaction_holds_for_one_transaction(
    core: ServerCore, item: Talk, text: str, level: str, read_only: bool
) -> None:
    engine = core.engine()
    talk = Talk(engine)
    talk.command("SET ISOLATION TO COMMITTED READ")
    talk.command("BEGIN WORK")
    assert talk.command(f"SET TRANSACTION {text}").error is None
    assert (engine.isolation.value, engine.is_read_only) == (level, read_only)
    assert error_of(talk.command("SET TRANSACTION READ WRITE"))[0] == -877
    for change in (
        "DELETE FROM item",
        "INSERT INTO item VALUES (0, 'x')",
        "UPDATE item SET name = 'y'",
        "CREATE TABLE u (a INTEGER)",
    ):
        error = talk.command(change).error
        assert (error.sqlcode if error else 0) == (-878 if read_only else 0)
    assert talk.command("CREATE TEMP TABLE w (a INTEGER)").error is None
    assert error_of(talk.command("SET TRANSACTION READ WRITE"))[0] == -876
    talk.command("ROLLBACK WORK")
    assert (engine.isolation.value, engine.is_read_only) == ("COMMITTED READ", False)
    assert talk.command("DELETE FROM item").error is None


def test_set_transaction_needs_a_transaction(talk: Talk) -> None:
    assert error_of(talk.command("SET TRANSACTION READ ONLY"))[0] == -255


LEFT_BEHIND = (
    "SELECT id FROM item", "SELECT id FROM item FOR UPDATE", "SELECT id FROM item INTO TEMP x",
    "INSERT INTO item VALUES (0, 'x')", "INSERT INTO item VALUES (?, ?)", "UPDATE item SET name = 'x'",
    "DELETE FROM item WHERE id = 1", "DELETE FROM item WHERE CURRENT OF c", "CREATE TABLE u (a INTEGER)",
    "DROP TABLE item", "LOCK TABLE item IN SHARE MODE", "UPDATE STATISTICS", "EXECUTE PROCEDURE noted()",
    "EXECUTE FUNCTION given()", "BEGIN WORK", "COMMIT WORK", "SAVEPOINT s", "SET TRANSACTION READ ONLY",
)  # fmt: skip


@pytest.mark.parametrize("leave", ["CLOSE DATABASE", "DATABASE sysmaster", None])
def test_statements_prepared_before_the_database_was_left_end_in_errors_of_sql(
    core: ServerCore, item: Talk, leave: str | None
) -> None:
    core.databases.routines.add(Routine("noted", [], [], lambda: None))
    core.databases.routines.add(Routine("given", [], ["INT"], lambda: 1))
    behind = [(item.prepare(text), item.columns, text) for text in LEFT_BEHIND]
    first, columns, _ = behind[0]
    item.columns = columns
    item.say(requests.Id(first), requests.Hold(), requests.Open(), requests.Fetch(1))
    reply = item.command(leave) if leave else item.say(session_requests.DbClose())
    assert reply.error is None
    assert error_of(item.say(requests.Id(first), requests.Fetch(4096)))[0] in (-259, -267)
    for statement_id, columns, text in behind:
        item.columns = columns
        for message in (requests.Execute(), requests.Open(), requests.Fetch(4096), requests.Put(0, ())):
            reply = item.say(requests.Id(statement_id), message)
            if text.startswith(("SELECT id", "INSERT", "UPDATE item", "DELETE", "DROP", "LOCK")):
                assert reply.error is not None
            if reply.error is not None:
                assert reply.error.sqlcode not in (0, -768)
        item.say(session_requests.Rollback())
    assert item.command("DATABASE demo").error is None
    assert item.say(requests.Id(behind[5][0]), requests.Execute()).done == Done(0, 5)
    assert item.select("SELECT COUNT(*) FROM item WHERE name = 'x'") == [(Decimal(5),)]


def test_settings_of_the_session_are_kept(core: ServerCore, item: Talk) -> None:
    other = core.engine()
    item.command("SET LOCK MODE TO WAIT 1")
    run_all(other, "BEGIN WORK", "UPDATE item SET name = 'x' WHERE id = 1")
    assert error_of(item.command("DELETE FROM item WHERE id = 1")) == (-243, -154, "item")
