from __future__ import annotations

from decimal import Decimal

import pytest

from aioifx.server.databases import LogMode
from aioifx.wire import requests
from aioifx.wire.dialect import SERVER_MASK
from aioifx.wire.replies import Done
from tests.server.talking import (
    UTF_8,
    House,
    Talk,
    error_of,
    house,
    prepared,
    query,
    run,
)

EIGHT_BYTES = bytes.fromhex("fffc7ffc3c8caa97")
SEVEN_BYTES = bytes.fromhex("fffc7ffc3c8c8a")


def test_capabilities_are_the_servers_and_layouts_follow_both_sides(home: House) -> None:
    talk = Talk(home.engine(""))
    assert talk.say(requests.Protocols(EIGHT_BYTES)).mask == SERVER_MASK
    assert not talk.conversation.dialect.long_tuple
    assert not talk.conversation.dialect.long_rowid
    assert talk.conversation.dialect.long_text
    talk.say(requests.Protocols(SEVEN_BYTES))
    assert not talk.conversation.dialect.long_offsets
    assert not talk.conversation.dialect.long_text
    talk.say(requests.Protocols(EIGHT_BYTES + b"\x06"))
    assert talk.conversation.dialect.long_rowid


@pytest.mark.parametrize("offer", [SEVEN_BYTES, EIGHT_BYTES, EIGHT_BYTES + b"\x06", b""])
def test_every_offer_can_be_worked_with(home: House, offer: bytes) -> None:
    talk = Talk(home.engine(""))
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
    with house(log_mode) as home:
        talk = Talk(home.engine(""))
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


def test_a_database_of_another_code_set_is_minus_23197(home: House) -> None:
    assert error_of(Talk(home.engine(""), UTF_8, database_locale="en_US.utf8").open_database()) == (
        -23197,
        0,
        "",
    )
    assert Talk(home.engine(""), database_locale="en_US.8859-1").open_database().error is None
    assert Talk(home.engine(""), UTF_8).open_database().error is None


def test_the_server_lists_its_databases_and_its_version(talk: Talk) -> None:
    assert talk.say(requests.DbList()).names == ("demo", "sysmaster")
    version = talk.say(requests.Version()).version
    assert version is not None
    assert "Informix" in version
    assert "Version" in version


def test_goodbye_rolls_back_and_is_answered_without_an_end(home: House, item: Talk) -> None:
    item.say(requests.Begin())
    item.command("DELETE FROM item")
    assert item.conversation.answer([[requests.Exit()]]) == b"\x00\x38"
    assert item.conversation.ended
    assert len(query(home.engine(), "SELECT id FROM item")) == 5


def test_a_closed_database_finds_nothing(talk: Talk) -> None:
    assert talk.say(requests.DbClose()).error is None
    assert talk.say(*prepared("SELECT tabid FROM systables")).error is not None


def test_transactions_by_message_and_by_text_tell_their_state(item: Talk) -> None:
    for begin, commit in (
        (lambda: item.say(requests.Begin()), lambda: item.say(requests.Commit())),
        (lambda: item.command("BEGIN WORK"), lambda: item.command("COMMIT WORK")),
    ):
        begun, committed = begin(), commit()
        assert begun.transaction is not None
        assert (begun.transaction.level, begun.transaction.previous) == (1, 0)
        assert committed.transaction is not None
        assert (committed.transaction.level, committed.transaction.previous) == (0, 1)
        assert (begun.done, committed.done) == (Done(), Done())


def test_rollback_by_message(item: Talk) -> None:
    item.say(requests.Begin())
    item.command("DELETE FROM item")
    item.say(requests.Rollback())
    assert item.select("SELECT COUNT(*) FROM item") == [(Decimal(5),)]
    assert error_of(item.say(requests.Rollback()))[0] == -255
    assert error_of(item.say(requests.Commit()))[0] == -255


def test_savepoints_by_message(item: Talk) -> None:
    item.say(requests.Begin())
    item.say(requests.SetSavepoint(b"One"))
    item.command("DELETE FROM item WHERE id = 1")
    item.say(requests.RollbackSavepoint(b"one"))
    item.command("DELETE FROM item WHERE id = 2")
    assert item.say(requests.ReleaseSavepoint(b"ONE")).error is None
    item.say(requests.Commit())
    assert item.select("SELECT id FROM item ORDER BY id") == [(1,), (3,), (4,), (5,)]


def test_settings_of_the_session_are_kept(home: House, item: Talk) -> None:
    other = home.engine()
    item.command("SET LOCK MODE TO WAIT 1")
    run(other, "BEGIN WORK")
    run(other, "DELETE FROM item WHERE id = 1")
    assert error_of(item.command("DELETE FROM item WHERE id = 2")) == (-244, -154, "item")
