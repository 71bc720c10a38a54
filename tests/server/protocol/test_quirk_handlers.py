from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import pytest

from aioifx.server.protocol.quirks import Quirk
from aioifx.sqltypes import SqlType, TypeCode
from aioifx.wire import requests, session_requests
from aioifx.wire.completion import Done, TransactionState
from aioifx.wire.fields import BindEntry
from aioifx.wire.opcodes import Op
from aioifx.wire.requests import Request
from tests.server.talking import ITEMS, ServerCore, Talk, commanded, error_of, prepared, server_core

Talking = Callable[..., Talk]

ZERO = BindEntry(TypeCode.INTEGER, b"", b"", 0, 0, bytes(4))

ALL = "SELECT id, name FROM item ORDER BY id"


@pytest.fixture
def talking() -> Iterator[Talking]:
    with server_core() as core:
        yield lambda *quirks: _with_items(core, *quirks)


def _with_items(core: ServerCore, *quirks: Quirk) -> Talk:
    talk = Talk(core.engine(), quirks=quirks)
    talk.protocols()
    talk.command("CREATE TABLE item (id INTEGER, name VARCHAR(20))")
    for item in ITEMS:
        assert talk.command(f"INSERT INTO item VALUES ({item[0]}, '{item[1]}')").error is None
    return talk


def opened(statement_id: int, size: int = 4096) -> list[Request]:
    return [
        requests.Id(statement_id),
        requests.CurName(b"c"),
        requests.Open(),
        requests.Id(statement_id),
        requests.Fetch(size),
    ]


def error(talk: Talk, *messages: Request) -> int:
    reply = talk.say(*messages)
    return 0 if reply.error is None else reply.error.sqlcode


def test_a_cursor_is_closed_once(talking: Talking) -> None:
    talk = talking(Quirk.ERROR_ON_CLOSE)
    statement_id = talk.prepare(ALL)
    talk.say(*opened(statement_id))
    close = requests.Id(statement_id), requests.Close()
    assert [error(talk, *close), error(talk, *close)] == [0, -259]


def test_a_statement_whose_cursor_was_closed_with_its_last_row_is_released_with_an_error(
    talking: Talking,
) -> None:
    talk = talking(Quirk.ERROR_ON_RELEASE)
    statement_id = talk.prepare(ALL)
    release = requests.Id(statement_id), requests.Release()
    talk.say(*opened(statement_id))
    assert [error(talk, *release), error(talk, *release)] == [0, -258]
    talk.say(session_requests.Info(((b"OPTOFC", b"1"),)))
    talk.say(*opened(talk.prepare(ALL)))
    assert [error(talk, *release), error(talk, *release)] == [-404, -258]


def test_autofree_is_ignored(talking: Talking) -> None:
    for quirks, after in (((), -258), ((Quirk.NO_AUTOFREE,), 0)):
        talk = talking(*quirks)
        statement_id = talk.prepare(ALL)
        talk.say(requests.Id(statement_id), requests.AutoFree(), *opened(statement_id)[1:])
        talk.say(requests.Id(statement_id), requests.Close())
        assert error(talk, requests.Id(statement_id), requests.Close()) == after


@pytest.mark.parametrize(
    ("quirks", "reply"),
    [
        ((), b"\0\x38"),
        ((Quirk.SILENT_EXIT,), b""),
        ((Quirk.EXIT_BY_EOT,), b"\0\x0c"),
        ((Quirk.TRANSACTION_STATES,), b"\0\x63\0\2\0\0\0\0\0\x38"),
    ],
)
def test_a_session_ends(talking: Talking, quirks: tuple[Quirk, ...], reply: bytes) -> None:
    talk = talking(*quirks)
    assert talk.conversation.answer([[session_requests.Exit()]]) == reply
    assert talk.conversation.has_ended


@pytest.mark.parametrize(
    ("quirks", "size", "expected"),
    [
        ((), 4096, [(5, Done(0, 5))]),
        ((Quirk.STANDARD_BLOCKS,), 40, [(5, Done(0, 5))]),
        ((Quirk.LARGE_BLOCKS,), 40, [(5, Done(0, 5))]),
        ((Quirk.ROW_BY_ROW,), 4096, [(1, None)] * 4 + [(1, Done(0, 5))]),
        ((Quirk.ROW_BY_ROW, Quirk.DONE_WITH_EACH_BLOCK), 4096, [(1, Done())] * 4 + [(1, Done(0, 5))]),
        ((Quirk.ROW_BY_ROW, Quirk.COUNT_WITH_EACH_BLOCK), 4096, [(1, Done(0, count)) for count in range(1, 6)]),
        ((Quirk.SEPARATE_END,), 4096, [(5, None), (0, Done(0, 5))]),
        ((Quirk.ERROR_100,), 4096, [(5, 100)]),
        ((Quirk.ERROR_100, Quirk.SEPARATE_END), 4096, [(5, None), (0, 100)]),
    ],
)  # fmt: skip
def test_rows_come_in_other_blocks(
    talking: Talking, quirks: tuple[Quirk, ...], size: int, expected: list[object]
) -> None:
    talk = talking(*quirks)
    statement_id = talk.prepare(ALL)
    reply = talk.say(*opened(statement_id, size))
    rows, blocks = list(reply.rows), [(len(reply.rows), reply.done or (reply.no_rows and 100))]
    while len(blocks) < len(expected):
        reply = talk.say(requests.Id(statement_id), requests.Fetch(size))
        rows += reply.rows
        blocks.append((len(reply.rows), reply.done or (reply.no_rows and 100)))
    assert blocks == expected
    assert rows == ITEMS


@pytest.mark.parametrize("quirks", [(), (Quirk.SEPARATE_RET_TYPE,)])
def test_types_of_rows_have_a_request_of_their_own(talking: Talking, quirks: tuple[Quirk, ...]) -> None:
    talk = talking(*quirks)
    types = requests.RetType(1, (SqlType(TypeCode.INTEGER, 4), SqlType(TypeCode.VARCHAR, 20)))
    name, opens, fetch = opened(1)[1:3], requests.Id, requests.Fetch(4096)
    for sql, bound in ((ALL, ()), ("SELECT id, name FROM item WHERE id > ?", (requests.Bind((ZERO,)),))):
        number = talk.prepare(sql)
        together = [opens(number), name[0], *bound, name[1], opens(number), types, fetch]
        refused = bool(quirks) and not bound
        assert error(talk, *together) == (-408 if refused else 0)
        assert error(talk, opens(number), name[0], *bound, name[1]) == 0
        assert len(talk.say(opens(number), types, fetch).rows) == len(ITEMS)


def test_a_change_of_no_rows_is_error_100(talking: Talking) -> None:
    talk = talking(Quirk.ERROR_100)
    assert talk.command("UPDATE item SET name = 'x' WHERE id = 0").no_rows is not None
    assert talk.command("DELETE FROM item WHERE id = 1").done == Done(0, 1)
    assert talk.command("CREATE TABLE other (a INTEGER)").done == Done()


@pytest.mark.parametrize(
    ("quirk", "wanted", "closes"),
    [(Quirk.NO_OPTOFC, b"1", False), (Quirk.ALWAYS_OPTOFC, b"0", False), (Quirk.ALWAYS_OPTOFC, None, True)],
)
def test_optofc_is_ignored_or_always_on(
    talking: Talking, quirk: Quirk, wanted: bytes | None, closes: bool
) -> None:
    talk = talking(quirk)
    if wanted is not None:
        talk.say(session_requests.Info(((b"OPTOFC", wanted),)))
    assert talk.say(*opened(talk.prepare(ALL))).is_cursor_closed is closes


def test_the_row_number_precedes_the_row(talking: Talking) -> None:
    fetched: dict[tuple[Quirk, ...], list[bytes]] = {}
    for quirks in ((), (Quirk.ROW_NUMBER_FIRST,)):
        talk = talking(*quirks)
        statement_id = talk.prepare(ALL)
        talk.say(requests.Id(statement_id), requests.CurName(b"c"), requests.Scroll(), requests.Open())
        fetched[quirks] = [
            talk.conversation.answer([[requests.Id(statement_id), requests.ScrollFetch(kind, row, 4096)]])
            for kind, row in ((6, 2), (4, 0), (6, 99))
        ]
        talk.command("DROP TABLE item")
    usual, other = fetched.values()
    number = b"\0\x19\0\0\0\2"
    row, done = usual[0].split(number)
    assert other == [number + row + done, usual[1], usual[2]]


def test_urgent_bytes_are_ignored(talking: Talking) -> None:
    talk = talking(Quirk.NO_INTERRUPTS)
    talk.conversation.interrupt()
    assert talk.select("SELECT id FROM item WHERE id = 1") == [(1,)]


def test_urgent_bytes_end_the_next_statement(talking: Talking) -> None:
    talk = talking(Quirk.LATE_INTERRUPTS)
    group = opened(talk.prepare(ALL))

    class Interrupted(list[Sequence[Request]]):
        def __iter__(self) -> Iterator[Sequence[Request]]:
            talk.conversation.interrupt()
            return super().__iter__()

    assert talk.hear(talk.conversation.answer(Interrupted([group]))).rows == ITEMS
    assert [error(talk, *group), error(talk, *group)] == [-213, 0]


def tags(talk: Talk, *messages: Request) -> list[int]:
    """The tags of a reply with messages that have a fixed size."""
    data, found = talk.conversation.answer([messages]), list[int]()
    while data:
        found.append(int.from_bytes(data[:2], "big"))
        data = data[_SIZES[found[-1]] :]
    return found


_SIZES: dict[int, int] = {
    Op.DONE: 24,
    Op.COST: 10,
    Op.XACTSTAT: 8,
    Op.EOT: 2,
    Op.INSERTDONE: 20,
    Op.VERSION: 200,
}

BEGIN, VERSION = session_requests.Begin(), session_requests.Version()
UPDATE = commanded("UPDATE item SET name = 'x'")[0:1]
INSERT = commanded("INSERT INTO item VALUES (9, 'x')")[0:1]


@pytest.mark.parametrize(
    ("quirks", "messages", "expected"),
    [
        ((), [BEGIN], [Op.DONE, Op.COST, Op.XACTSTAT, Op.EOT]),
        ((), UPDATE, [Op.DONE, Op.COST, Op.EOT]),
        ((), INSERT, [Op.INSERTDONE, Op.DONE, Op.COST, Op.EOT]),
        ((), [VERSION], [Op.VERSION]),
        ((Quirk.NO_COST,), [BEGIN], [Op.DONE, Op.XACTSTAT, Op.EOT]),
        ((Quirk.NO_TRANSACTION_STATES,), [BEGIN], [Op.DONE, Op.COST, Op.EOT]),
        ((Quirk.TRANSACTION_STATES,), UPDATE, [Op.DONE, Op.COST, Op.XACTSTAT, Op.EOT]),
        ((Quirk.TRANSACTION_STATE_FIRST,), [BEGIN], [Op.XACTSTAT, Op.DONE, Op.COST, Op.EOT]),
        ((Quirk.TRANSACTION_STATE_FIRST,), UPDATE, [Op.DONE, Op.COST, Op.EOT]),
        ((Quirk.NO_SERIALS,), INSERT, [Op.DONE, Op.COST, Op.EOT]),
        ((Quirk.PING_BY_EOT,), [VERSION], [Op.EOT]),
    ],
)
def test_a_completion_has_other_messages(
    talking: Talking, quirks: tuple[Quirk, ...], messages: list[Request], expected: list[Op]
) -> None:
    assert tags(talking(*quirks), *messages) == expected


def test_values_of_a_completion(talking: Talking) -> None:
    talk = talking(Quirk.WARNINGS, Quirk.TRANSACTION_STATES)
    reply = talk.command("UPDATE item SET name = 'x' WHERE id = 1")
    assert (reply.done, reply.transaction) == (Done(0x10, 1), TransactionState(2, 0, 0))
    talk.say(BEGIN)
    reply = talk.command("UPDATE item SET name = 'x' WHERE id = 1")
    assert reply.transaction == TransactionState(1, 1, 1)


def test_serial_values_are_null_unless_generated(talking: Talking) -> None:
    talk = talking(Quirk.NULL_SERIALS)
    talk.command("CREATE TABLE t (a SERIAL8, b VARCHAR(9))")
    assert talk.command("INSERT INTO t (b) VALUES ('x')").serials == (1, 0)
    assert talk.command("INSERT INTO item VALUES (8, 'x')").serials == (0, -(2**63))


def test_commands_are_not_described_and_types_have_no_owner(talking: Talking) -> None:
    assert talking(Quirk.UNDESCRIBED_COMMANDS).command("DROP TABLE item").description is None
    talk = talking(Quirk.NO_OWNERS)
    talk.command("CREATE TABLE t (a BOOLEAN)")
    description = talk.say(*prepared("SELECT a FROM t WHERE a = ?")).description
    assert description is not None
    [column] = description.columns
    assert (column.type.owner, column.type.extended_name) == ("", "boolean")
    parameters = talk.say(requests.Id(description.statement_id), requests.DescribeInput()).parameters
    assert parameters is not None and [one.owner for one in parameters] == [""]


@pytest.mark.parametrize(("quirks", "sqlcode"), [((), 0), ((Quirk.NO_PUT,), -999)])
def test_rows_of_an_insert_cursor_may_be_refused(
    talking: Talking, quirks: tuple[Quirk, ...], sqlcode: int
) -> None:
    talk = talking(*quirks)
    talk.command("CREATE TABLE t (a INTEGER)")
    chosen = requests.Id(talk.prepare("INSERT INTO t VALUES (?)"))
    put = requests.Put(4, (b"\0\0\0\7",))
    talk.say(BEGIN)
    assert error(talk, chosen, requests.CurName(b"c"), requests.Open(), put) == sqlcode
    assert error(talk, chosen, requests.Close()) == 0


def test_savepoints_are_refused_without_their_bit(talking: Talking) -> None:
    talk = talking(Quirk.NO_BIT_56)
    talk.say(BEGIN)
    assert error_of(talk.say(session_requests.SetSavepoint(b"a", False))) == (-999, 0, "SetSavepoint")
