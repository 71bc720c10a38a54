from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

import pytest

from aioifx.sqltypes import TypeCode
from aioifx.wire import requests
from aioifx.wire.completion import Done, Serials, ServerError
from aioifx.wire.fields import BindEntry
from aioifx.wire.replies import Reply
from tests.server.talking import UTF_8, ServerCore, Talk, bound, commanded, error_of, prepared, query


def test_prepare_is_answered_by_description_done_and_cost(item: Talk) -> None:
    reply = item.say(*prepared("SELECT id, name FROM item WHERE id > ?"))
    assert reply.description is not None
    assert reply.description.statement_type == 2
    assert [(column.name, column.start) for column in reply.description.columns] == [("id", 0), ("name", 4)]
    assert reply.description.row_size == 4 + 21
    assert reply.done == Done()
    assert reply.cost is not None
    assert reply.serials is None


def test_preparing_an_insert_tells_serials_that_mean_nothing_yet(core: ServerCore, item: Talk) -> None:
    reply = item.say(*prepared("INSERT INTO item VALUES (0, ?)"))
    assert reply.serials == Serials(0, 0)
    assert len(query(core.engine(), "SELECT id FROM item")) == 5


@pytest.mark.parametrize(
    ("text", "warnings"),
    [
        ("DELETE FROM item", 0x08),
        ("UPDATE item SET name = 'x'", 0x08),
        ("DELETE FROM item WHERE id = 1", 0),
        ("SELECT id FROM item", 0),
    ],
)
def test_changes_of_all_rows_come_with_a_warning(item: Talk, text: str, warnings: int) -> None:
    reply = item.say(*prepared(text))
    assert reply.done is not None
    assert reply.done.warnings == warnings


def test_ids_count_from_zero_and_are_used_again(item: Talk) -> None:
    assert [item.prepare("SELECT id FROM item") for _ in range(3)] == [0, 1, 2]
    item.say(requests.Id(1), requests.Release())
    assert item.prepare("SELECT id FROM item") == 1
    assert item.prepare("SELECT id FROM item") == 3


@pytest.mark.parametrize("statement_id", [0, 7, -1])
def test_an_unknown_id_is_minus_258_and_the_session_goes_on(item: Talk, statement_id: int) -> None:
    assert error_of(item.say(requests.Id(statement_id), requests.Execute())) == (-258, 0, "")
    assert item.select("SELECT id FROM item WHERE id = 1") == [(1,)]


def test_a_message_for_no_statement_is_minus_258(item: Talk) -> None:
    assert error_of(item.say(requests.Execute())) == (-258, 0, "")


def test_a_prepared_insert_is_executed_again_and_again(item: Talk) -> None:
    statement_id = item.prepare("INSERT INTO item VALUES (0, ?)")
    for serial, name in ((6, "bag"), (7, None)):
        reply = item.say(requests.Id(statement_id), bound(name), requests.Execute())
        assert reply.done == Done(0, 1, serial, serial)
        assert reply.serials == Serials(0, 0)
    assert item.select("SELECT name FROM item WHERE id > 5 ORDER BY id") == [("bag",), (None,)]


def test_bound_values_stay_until_others_come(item: Talk) -> None:
    statement_id = item.prepare("INSERT INTO item VALUES (0, ?)")
    item.say(requests.Id(statement_id), bound("bag"))
    for _ in range(2):
        item.say(requests.Id(statement_id), requests.Execute())
    assert item.select("SELECT COUNT(*) FROM item WHERE name = 'bag'") == [(Decimal(2),)]


def test_big_serial_numbers_come_in_their_own_message(talk: Talk) -> None:
    talk.command("CREATE TABLE b (k BIGSERIAL(100), v INTEGER)")
    talk.command("CREATE TABLE e (k SERIAL8(200), v INTEGER)")
    assert talk.command("INSERT INTO b VALUES (0, 1)").serials == Serials(0, 100)
    assert talk.command("INSERT INTO e VALUES (0, 1)").serials == Serials(200, 0)


SERIALS = [
    ("SERIAL", lambda number: ((0, 0), number)),
    ("SERIAL8", lambda number: ((number, 0), 0)),
    ("BIGSERIAL", lambda number: ((0, number), 0)),
]


@pytest.mark.parametrize(("sqltype", "reported"), SERIALS)
def test_the_last_serial_number_comes_with_every_kind_of_insert(
    talk: Talk, sqltype: str, reported: Callable[[int], tuple[tuple[int, int], int]]
) -> None:
    talk.command(f"CREATE TABLE t (k {sqltype}, v INTEGER)")

    def numbers_in(reply: Reply) -> tuple[tuple[int, int], int]:
        assert reply.error is None, reply.error
        assert reply.serials is not None
        assert reply.done is not None
        return (reply.serials.serial8, reply.serials.bigserial), reply.done.serial

    for values, number in (("0, 1", 1), ("40, 1", 40), ("0, 1", 41), ("7, 1", 7), ("0, 1", 42)):
        assert numbers_in(talk.command(f"INSERT INTO t VALUES ({values})")) == reported(number)
    assert numbers_in(talk.command("INSERT INTO t (v) VALUES (1)")) == reported(43)
    statement_id = talk.prepare("INSERT INTO t VALUES (?, ?)")
    for given, number in ((0, 44), (50, 50), (0, 51)):
        reply = talk.say(requests.Id(statement_id), bound(given, 1), requests.Execute())
        assert numbers_in(reply) == reported(number)
    reply = talk.command("INSERT INTO t SELECT 0, tabid FROM systables WHERE tabid <= 3")
    assert numbers_in(reply) == reported(54)
    assert reply.done is not None
    assert reply.done.rows == 3
    assert numbers_in(
        talk.command("INSERT INTO t SELECT 0, tabid FROM systables WHERE tabid < 0")
    ) == reported(0)


def test_a_failed_insert_uses_its_number_up(talk: Talk) -> None:
    talk.command("CREATE TABLE t (k SERIAL, v INTEGER UNIQUE)")
    assert talk.command("INSERT INTO t VALUES (0, 1)").error is None
    assert error_of(talk.command("INSERT INTO t VALUES (0, 1)"))[0] == -268
    done = talk.command("INSERT INTO t VALUES (0, 2)").done
    assert done is not None
    assert done.serial == 3


def test_commands_run_at_once_and_leave_no_statement(item: Talk) -> None:
    reply = item.command("UPDATE item SET name = 'x' WHERE id < 3")
    assert reply.description is not None
    assert reply.description.statement_type == 4
    assert reply.done is not None
    assert (reply.done.rows, len(reply.dones)) == (2, 1)
    assert error_of(item.command("INSERT INTO item VALUES (1, 'x')"))[0] == -268
    assert error_of(item.command("SELECT id FROM item"))[0] == -260
    assert item.prepare("SELECT id FROM item") == 0


def test_a_command_without_execute_runs_at_the_end_of_its_group(item: Talk) -> None:
    text = requests.Command(0, b"DELETE FROM item WHERE id = 1")
    assert item.say(text, requests.Describe()).dones == [Done(0, 1)]
    reply = item.say(text, requests.Describe(), *commanded("DELETE FROM item WHERE id = 2"))
    assert [done.rows for done in reply.dones] == [0, 1]


def test_several_commands_make_one_group(item: Talk) -> None:
    reply = item.say(
        *commanded("INSERT INTO item VALUES (0, 'a');"), *commanded("INSERT INTO item VALUES (0, 'b');")
    )
    assert [done.serial for done in reply.dones] == [6, 7]


def test_parameters_are_described(item: Talk) -> None:
    statement_id = item.prepare("SELECT id FROM item WHERE name = ? AND id > ?")
    types = item.say(requests.Id(statement_id), requests.DescribeInput()).parameters
    assert types is not None
    assert [sqltype.size is not None for sqltype in types] == [True, False]
    statement_id = item.prepare("SELECT id FROM item")
    assert item.say(requests.Id(statement_id), requests.DescribeInput()).parameters == ()


def test_too_many_statements_are_refused(core: ServerCore) -> None:
    talk = Talk(core.engine(), statement_limit=2)
    for _ in range(2):
        talk.prepare("SELECT tabid FROM systables")
    assert error_of(talk.say(*prepared("SELECT tabid FROM systables"))) == (-257, 0, "")


def test_a_value_that_cannot_be_converted_is_minus_415(item: Talk) -> None:
    statement_id = item.prepare("INSERT INTO item VALUES (0, ?)")
    broken = BindEntry(TypeCode.DECIMAL, b"", b"", 0, 2, b"\xc1\xff")
    reply = item.say(requests.Id(statement_id), requests.Bind((broken,)), requests.Execute())
    assert error_of(reply)[0] == -415


def test_text_that_is_invalid_in_the_clients_code_set_is_an_error(core: ServerCore) -> None:
    talk = Talk(core.engine(), UTF_8)
    sql = requests.Prepare(0, b"SELECT '\xff' FROM systables")
    assert error_of(talk.say(sql, requests.Describe())) == (-23103, 0, "")


def test_the_error_offset_travels(item: Talk) -> None:
    reply = item.say(*prepared("SELECT nothing FROM item"))
    assert reply.error == ServerError(-217, 0, 8, "nothing")
