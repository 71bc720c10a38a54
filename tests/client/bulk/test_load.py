"""load: JDBC's messages, transactions, the row that failed, cancellation, and the rows in the tables."""

from __future__ import annotations

import asyncio
import datetime as dt
import gc
import io
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from decimal import Decimal
from struct import unpack
from typing import Any, TypeAlias, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

import aioifx
import aioifx.server
from aioifx import TypeCodec
from aioifx.client.bulk import load
from aioifx.client.bulk.load import Batch, Batches, check_block
from aioifx.client.bulk.sources import open_source
from aioifx.client.bulk.text_formats import CsvFormat
from aioifx.client.execution import pipeline
from aioifx.client.execution.insert_cursor import MAX_ROWS, InsertCursor
from aioifx.errors import (
    ConnectionLost,
    DatabaseError,
    DataError,
    InterfaceError,
    LockError,
    NotNullViolation,
    NotSupportedError,
    ProgrammingError,
    QueryTimeout,
    UndefinedTable,
    UniqueViolation,
)
from aioifx.sqltypes import Row, TypeCode
from aioifx.testing.messages import (
    ANSI,
    DIALECT,
    EOT,
    UNLOGGED,
    column,
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
    Disconnect,
    Exchange,
    close,
    release,
)
from aioifx.wire.capabilities import Capabilities
from aioifx.wire.opcodes import StatementType
from aioifx.wire.requests import Put
from tests.sampling import examples
from tests.scripted import (
    C1,
    CHUNKINGS,
    INTEGER,
    cancel_at,
    cancelled,
    cancelled_or_late,
    end_early,
    played,
    talking,
    time_out_at,
)

Script: TypeAlias = list[Exchange | Sequence[Exchange]]

PUT = "Id(2) CurName Open Put(4)"
ROW = "Id(2) Bind(1) Execute"
END: Exchange = ("Id(2)", EOT)
MARK: Exchange = ("SetSavepoint", EOT)
BACK: Exchange = ("RollbackSavepoint", EOT)
CLOSE = close(2)
one_done = done(1) + EOT
duplicate = error(-268, -100, token="owner.u1") + EOT
opened: list[Exchange] = [
    (PREPARE, described(2, C1, kind=StatementType.INSERT)),
    ("Id(2) DescribeInput", takes(INTEGER)),
]
deleted: Exchange = (COMMAND, executed(9, StatementType.DELETE, 1))


def rows(count: int, first: int = 0) -> list[tuple[int]]:
    return [(n,) for n in range(first, first + count)]


def put(count: int) -> list[Exchange]:
    """A block that the server takes."""
    return [(PUT, done(count) + EOT), END]


# -- JDBC's messages --------------------------------------------------------------------------------------------------


def named(count: int, *amounts: str) -> list[tuple[Any, ...]]:
    """Rows as JDBC puts them; the last amount continues."""
    return [(n + 1, f"name{n}", Decimal(amounts[min(n, len(amounts) - 1)])) for n in range(count)]


ALL_TYPES = (
    1, 1.5, 2.5, Decimal("-1234.56"), dt.date(2024, 2, 29), dt.datetime(2024, 2, 29, 12, 34, 56, 123450), "abc",
    "vchar",
)  # fmt: skip

RECORDED: dict[str, tuple[str, list[tuple[Any, ...]]]] = {
    "ifx_useput_1_insert_3": ("tput", named(3, "10.25", "11.25", "12.25")),
    "ifx_useput_1_insert_nulls": ("tput", [(1, "", Decimal(-1)), (2, None, Decimal(-1)), (3, "odd", None)]),
    "ifx_useput_1_insert_500": ("tput", named(500, "10.25")),
    "useput_5000": ("tput", named(5000, "10.25")),
    "useput_alltypes": ("talltypes", [(n, n, n, *ALL_TYPES[1:], n == 1) for n in (1, 2)]),
    "useput_char1": ("bt_char1", [("0",), ("1",), ("2",)]),
    "useput_char3000_30": ("bt_char5000", [(f"{n}",) for n in range(30)]),
    "useput_dt_y_d": ("bt_dt_y_d", [(dt.date(2024, 2, n),) for n in (1, 2, 3)]),
    "useput_integer_only": ("bt_integer", rows(3, 1)),
    "useput_integer_20000": ("bt_integer", rows(20_000, 1)),
}


@pytest.mark.parametrize("case", RECORDED)
async def test_the_messages_are_jdbcs_byte_for_byte(case: str) -> None:
    table, values = RECORDED[case]
    async with talking(played("put", case)) as (conn, _):
        assert (await conn.load(table, values, block=len(values))).rowcount == len(values)


async def test_a_second_block_opens_again_and_does_not_repeat_its_types() -> None:
    values = named(2, "10.25")
    async with talking(played("put", "useput_twice")) as (conn, _):
        assert (await conn.load("tput", values * 2, block=2, commit="block")).rowcount == 4


async def test_in_a_transaction_of_the_callers_a_savepoint_is_set_first_and_the_cursor_is_closed() -> None:
    """Two deliberate differences: the load is all or nothing, and JDBC leaves the cursor to the COMMIT."""
    prepare, describe, begin, group, commit, drop = played("put", "ifx_useput_1_insert_tx")
    script: Script = [prepare, describe, begin, MARK, group, CLOSE, drop, commit]
    async with talking(*script, autocommit=False) as (conn, _):
        assert (await conn.load("tput", named(3, "10.25"))).rowcount == 3
        await conn.commit()


async def test_after_an_error_the_rows_are_sent_one_by_one_and_everything_is_rolled_back() -> None:
    """A deliberate difference: JDBC reports neither the row nor the outcome of the others, and commits."""
    prepare, describe, begin, group, *_ = played("put", "useput_error")
    search: list[Exchange] = [CLOSE, ROLLBACK, BEGIN, (ROW, one_done), (ROW, duplicate), (ROW, one_done)]
    async with talking(prepare, describe, begin, group, search, ROLLBACK, release(2)) as (conn, _):
        with pytest.raises(UniqueViolation, match=r"^row 1: .*u100_1") as caught:
            await conn.load("bt_integer", rows(3, 1))
    assert (caught.value.row_index, caught.value.token) == (1, "u100_1")
    assert caught.value.sql == "insert into bt_integer values(?)"


@pytest.mark.parametrize("chunks", CHUNKINGS, ids=lambda chunks: chunks.__name__)
async def test_blocks_have_a_savepoint_in_front_but_the_first(chunks: Chunking) -> None:
    async with talking(
        opened, BEGIN, put(2), MARK, put(2), MARK, put(1), COMMIT, release(2), chunks=chunks
    ) as (conn, peer):
        before = conn.stats.round_trips
        assert (await conn.load("t", rows(5), block=2)).rowcount == 5
        assert conn.stats.round_trips - before == 13
    assert [group.hex() for group in peer.groups if b"aioifx_block" in group] == [
        "0089000c" + b"aioifx_block".hex() + "0000000c"
    ] * 2


async def test_no_block_has_more_rows_than_its_message_can_count() -> None:
    """A signed count is assumed. Only rows of two or three bytes are so many before a block is large enough."""
    small = column("c1", TypeCode.SMALLINT, 2)
    count, values = 70_000, range(-32_767, 32_768)
    block: Script = [("Id(2) CurName Open Put(2)", EOT), END]
    script: Script = [
        (PREPARE, described(2, small, kind=StatementType.INSERT)),
        ("Id(2) DescribeInput", takes(small.type)),
        *[BEGIN, *block, MARK, *block, MARK, *block, COMMIT, release(2)],
    ]
    expected = [values[n % len(values)] for n in range(count)]
    async with talking(*script) as (conn, peer):
        await conn.load("t", [(value,) for value in expected])
        sent = [message for group in peer.requests for message in group if isinstance(message, Put)]
    assert [len(message.rows) for message in sent] == [32_767, 32_767, 4_466]
    data = b"".join(row for message in sent for row in message.rows)
    assert [*unpack(f">{count}h", data)] == expected


async def test_columns_are_listed_when_they_are_named() -> None:
    async with talking(opened, BEGIN, put(1), COMMIT, release(2)) as (conn, peer):
        await conn.load("stock@here:owner.t", rows(1), columns=["c1"])
        assert peer.statements == [b"insert into stock@here:owner.t (c1) values(?)"]


async def test_extended_types_are_put_as_a_client_requests_them() -> None:
    text = column("text", TypeCode.UDTVAR, 2048, extended_id=1, owner="informix", extended_name="lvarchar")
    prepared = described(2, text, kind=StatementType.INSERT)
    group = (
        "00040002 0003 0012 5f69667863 303030303030303030303030 31 0006"
        "0064 0000 0001 002b 0000 0000 00000800"
        "0011 00000007 0001 00 00000002 6869 00 000c"
    )
    async with talking(
        (PREPARE, prepared),
        ("Id(2) DescribeInput", takes(text.type)),
        BEGIN,
        (bytes.fromhex(group), one_done),
        COMMIT,
        release(2),
    ) as (conn, _):
        await conn.load("t", [("hi",)])


async def test_the_result_has_the_last_serial_and_the_warnings() -> None:
    first = insert_done(0, 7) + done(2, warnings=1, serial=8) + EOT
    second = done(1, serial=9, rowid=0x105) + EOT
    async with talking(opened, BEGIN, (PUT, first), END, MARK, (PUT, second), END, COMMIT, release(2)) as (
        conn,
        _,
    ):
        result = await conn.load("t", rows(3), block=2)
    assert (result.rowcount, result.serial, result.rowid) == (3, 9, 0x105)
    assert [warning.sqlstate for warning in result.warnings] == ["01004"]


async def test_what_the_server_counts_is_the_result() -> None:
    """A violations table takes rows that are not in the table then."""
    async with talking(opened, BEGIN, (PUT, done(2) + EOT), END, COMMIT, release(2)) as (conn, _):
        assert (await conn.load("t", rows(3))).rowcount == 2


async def test_without_rows_nothing_is_sent_unless_columns_are_named() -> None:
    async with talking() as (conn, peer):
        assert (await conn.load("t", [])).rowcount == 0
        assert peer.groups == []
    async with talking(opened, release(2)) as (conn, _):
        assert (await conn.load("t", [], columns=["c1"])).rowcount == 0


async def test_without_a_log_there_is_no_transaction() -> None:
    async with talking(opened, put(2), put(1), CLOSE, release(2), warnings=UNLOGGED) as (conn, _):
        assert (await conn.load("t", rows(3), block=2)).rowcount == 3


@pytest.mark.parametrize("answered", [[], [(PUT, one_done)]], ids=["block", "end of block"])
async def test_without_a_log_a_lost_reply_leaves_the_outcome_unknown(answered: list[Exchange]) -> None:
    lost = END if answered else put(1)[0]
    async with talking(opened, answered, (lost[0], Disconnect()), warnings=UNLOGGED) as (conn, _):
        with pytest.raises(ConnectionLost) as caught:
            await conn.load("t", rows(1))
        assert caught.value.outcome_unknown
        assert (caught.value.sql or "").startswith("insert into t")
        await conn._session.channel.wait_closed()


async def test_in_an_ansi_database_the_cursor_is_closed_before_it_is_opened_again() -> None:
    script: Script = [opened, put(2), CLOSE, MARK, put(1), COMMIT, release(2)]
    async with talking(*script, warnings=ANSI) as (conn, _):
        assert (await conn.load("t", rows(3), block=2)).rowcount == 3


# -- servers that refuse SQ_PUT ---------------------------------------------------------------------------------------

REFUSED = error(-999, token="Put") + EOT
BEGINNING = MARK
"""The savepoint before a load in a transaction."""


def one_by_one(count: int, mask: Capabilities = DIALECT) -> list[Exchange]:
    return [(ROW, done(1, capabilities=mask) + EOT)] * count


@pytest.mark.parametrize(
    "mask", [DIALECT, Capabilities(long_tuple=True, long_rowid=True)], ids=["short counts", "long counts"]
)
@pytest.mark.parametrize(
    "answered", [[(PUT, REFUSED)], [(PUT, one_done), ("Id(2)", REFUSED)]], ids=["PUT", "ID"]
)
async def test_a_load_goes_on_without_put_if_the_first_block_is_refused(
    answered: list[Exchange], mask: Capabilities
) -> None:
    fine = done(capabilities=mask) + EOT
    prepared: list[Exchange] = [
        (PREPARE, described(2, C1, kind=StatementType.INSERT, capabilities=mask)),
        ("Id(2) DescribeInput", takes(INTEGER)),
    ]
    if len(answered) > 1:
        answered = [(PUT, done(2, capabilities=mask) + EOT), answered[1]]
    script: Script = [
        *(prepared, ("Begin", fine), answered, CLOSE, ("Rollback", fine), ("Begin", fine)),
        *(one_by_one(5, mask), ("Commit", fine), release(2)),
        *(prepared, ("Begin", fine), one_by_one(3, mask), ("Commit", fine), release(2)),
    ]
    async with talking(*script, capabilities=mask, peer_dialect=mask) as (conn, _):
        counts: list[int] = []
        result = await conn.load("t", rows(5), block=2, progress=counts.append)
        assert (result.rowcount, counts) == (5, [2, 4, 5])
        assert conn._session.behavior.takes_put is False
        assert (await conn.load("t", rows(3), block=2)).rowcount == 3


async def test_a_row_that_fails_has_its_own_error_though_put_was_refused() -> None:
    search: list[Exchange] = [CLOSE, ROLLBACK, BEGIN, *one_by_one(1), (ROW, duplicate)]
    async with talking(opened, BEGIN, (PUT, REFUSED), search, ROLLBACK, release(2)) as (conn, _):
        with pytest.raises(UniqueViolation, match=r"^record 2, line 2: ") as caught:
            await conn.load("t", io.BytesIO(b"1|\n2|\n"), format="unload")
        assert caught.value.row_index == 1
        assert conn._session.behavior.takes_put is False


async def test_it_goes_on_in_the_callers_transaction_and_undoes_only_its_own_block() -> None:
    script: Script = [
        *(BEGIN, deleted, opened, BEGINNING, (PUT, REFUSED), CLOSE, BACK, one_by_one(3), release(2), COMMIT)
    ]
    async with talking(*script) as (conn, _), conn.transaction():
        await conn.execute("delete from t where a = 1")
        assert (await conn.load("t", rows(3), block=2)).rowcount == 3


async def test_it_goes_on_with_a_commit_after_each_block() -> None:
    script: Script = [
        *(opened, BEGIN, (PUT, REFUSED), CLOSE, ROLLBACK, BEGIN, one_by_one(2), COMMIT),
        *(BEGIN, one_by_one(1), COMMIT, release(2)),
    ]
    async with talking(*script) as (conn, _):
        assert (await conn.load("t", rows(3), block=2, commit="block")).rowcount == 3


async def test_without_a_log_one_row_shows_whether_the_server_takes_put() -> None:
    """Nothing could be undone if some rows of a block were stored."""
    script: Script = [opened, (PUT, REFUSED), CLOSE, one_by_one(4), release(2)]
    async with talking(*script, warnings=UNLOGGED) as (conn, _):
        assert (await conn.load("t", rows(4), block=3)).rowcount == 4
        assert conn._session.behavior.takes_put is False


async def test_without_a_log_a_row_that_was_stored_is_not_sent_again() -> None:
    script: Script = [opened, (PUT, one_done), ("Id(2)", REFUSED), CLOSE, release(2)]
    async with talking(*script, warnings=UNLOGGED) as (conn, _):
        with pytest.raises(DatabaseError) as caught:
            await conn.load("t", rows(4))
    assert caught.value.sqlcode == -999
    assert "not sent again" in caught.value.__notes__[0]


@pytest.mark.parametrize("refusal", [-271, -213, -268, -1226, -272])
async def test_an_error_about_rows_or_locks_is_not_a_refusal_of_put(refusal: int) -> None:
    search: list[Exchange] = [] if refusal == -213 else [CLOSE, ROLLBACK, BEGIN, *one_by_one(2)]
    close_it = [CLOSE] if refusal == -213 else []
    script: Script = [
        opened,
        BEGIN,
        (PUT, error(refusal, -107) + EOT),
        search,
        ROLLBACK,
        close_it,
        release(2),
    ]
    async with talking(*script) as (conn, _):
        with pytest.raises(DatabaseError) as caught:
            await conn.load("t", rows(2))
        assert caught.value.sqlcode == refusal
        assert conn._session.behavior.takes_put is None


async def test_a_server_that_has_taken_rows_is_not_said_to_refuse_them() -> None:
    script: Script = [
        *(opened, BEGIN, put(1), COMMIT, release(2)),
        *(opened, BEGIN, (PUT, REFUSED), CLOSE, ROLLBACK, BEGIN, one_by_one(1), COMMIT, release(2)),
    ]
    async with talking(*script) as (conn, _):
        await conn.load("t", rows(1))
        assert conn._session.behavior.takes_put
        assert (await conn.load("t", rows(1))).rowcount == 1
        assert conn._session.behavior.takes_put


async def test_a_later_block_that_is_refused_ends_the_load() -> None:
    search: list[Exchange] = [CLOSE, BACK, *one_by_one(1)]
    script: Script = [opened, BEGIN, put(1), MARK, (PUT, REFUSED), search, ROLLBACK, release(2)]
    async with talking(*script) as (conn, _):
        with pytest.raises(DatabaseError) as caught:
            await conn.load("t", rows(2), block=1)
    assert caught.value.sqlcode == -999


async def test_rows_of_a_file_are_executed_without_conversions_when_put_is_refused() -> None:
    class Wrapped:
        """What the user's codec encodes; a file has ints."""

    def encode(value: Any) -> Any:
        assert isinstance(value, Wrapped)
        return 0

    codec = TypeCodec(encoder=encode)
    script: Script = [
        *(opened, BEGIN, (PUT, REFUSED), CLOSE, ROLLBACK, BEGIN, one_by_one(2), COMMIT, release(2))
    ]
    async with talking(*script, type_codecs={"integer": codec}) as (conn, peer):
        assert (await conn.load("t", io.BytesIO(b"1|\n2|\n"), format="unload")).rowcount == 2
        bound = [group[-8:-4] for group, said in zip(peer.groups, peer.said, strict=True) if said == ROW]
        assert bound == [n.to_bytes(4, "big") for n in (1, 2)]


async def test_large_values_of_a_file_are_stored_when_put_is_refused() -> None:
    seed = "create table t (a int, b byte, c text)"
    async with aioifx.server.running(seed=seed, quirks=["no-put"]) as dsn, aioifx.connect(dsn) as conn:
        source = io.BytesIO(b"1|00ff|abc|\n2|||\n")
        assert (await conn.load("t", source, format="unload", block=1)).rowcount == 2
        found = await conn.fetch("select a, b, c from t order by a", lobs="inline")
        assert [tuple(row) for row in found] == [(1, b"\0\xff", "abc"), (2, None, None)]


async def test_missing_replies_while_a_row_is_looked_for_are_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline, "ANSWER_TIMEOUT", 0.01)
    search: list[Exchange] = [CLOSE, ROLLBACK, BEGIN, (ROW, duplicate), (ROW, NO_REPLY)]
    async with talking(opened, BEGIN, (PUT, duplicate), search) as (conn, _):
        with pytest.raises(ConnectionLost, match="no reply came to rows") as caught:
            await conn.load("t", rows(2))
        assert caught.value.row_index == 0
        assert isinstance(caught.value.__cause__, UniqueViolation)


async def test_missing_replies_to_rows_that_are_executed_name_the_row_that_failed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pipeline, "ANSWER_TIMEOUT", 0.01)
    failing: list[Exchange] = [*one_by_one(2), (ROW, duplicate), (ROW, NO_REPLY)]
    async with talking(opened, BEGIN, failing) as (conn, _):
        conn._session.behavior.takes_put = False
        with pytest.raises(
            ConnectionLost, match=r"^the connection was closed: no reply came to rows"
        ) as caught:
            await conn.load("t", rows(4), block=2)
        assert caught.value.row_index == 2
        assert not caught.value.connection_usable


# -- what may be loaded -----------------------------------------------------------------------------------------------


async def arriving(count: int) -> AsyncIterator[tuple[int]]:
    for n in range(count):
        await asyncio.sleep(0)
        yield (n,)


def reused(count: int) -> Iterator[list[int]]:
    row = [0]
    for n in range(count):
        row[0] = n
        yield row


@pytest.mark.parametrize(
    "kind", ["list", "generator", "async generator", "lists", "one list again and again"]
)
async def test_rows_may_come_from_anything_that_can_be_iterated(kind: str) -> None:
    source: Any = {
        "list": rows(5),
        "generator": ((n,) for n in range(5)),
        "async generator": arriving(5),
        "lists": [[n] for n in range(5)],
        "one list again and again": reused(5),
    }[kind]
    async with talking(opened, BEGIN, put(5), COMMIT, release(2)) as (conn, peer):
        await conn.load("t", source)
        assert peer.groups[3][-22:-2] == b"".join(n.to_bytes(4, "big") for n in range(5))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ({"table": "t; drop table t"}, "table: "),
        ({"table": "t where 1=1"}, "table: "),
        ({"columns": "c1"}, "columns: expected a sequence"),
        ({"columns": []}, "columns: expected a sequence"),
        ({"columns": ["c1) values (1"]}, "columns: "),
        ({"block": 0}, "block: expected a whole number from 1 to 32767"),
        ({"block": 32_768}, "block: expected a whole number from 1 to 32767"),
        ({"commit": "row"}, "commit: expected"),
        ({"rows": b"text"}, "rows: expected an iterable"),
        ({"rows": "t.txt"}, "format: expected"),
        ({"rows": {"c1": 1}}, "rows: expected an iterable"),
        ({"rows": 5}, "rows: expected an iterable"),
        ({"format": "xml"}, "format: expected"),
    ],
)
async def test_arguments_that_make_no_sense_are_rejected_before_anything_is_sent(
    call: dict[str, Any], message: str
) -> None:
    async with talking() as (conn, peer):
        with pytest.raises(InterfaceError, match=message):
            await conn.load(**{"table": "t", "rows": rows(1), **call})
        assert peer.groups == []


async def test_an_async_progress_is_refused() -> None:
    async def on_progress(count: int) -> None:
        raise AssertionError(count)

    async with talking() as (conn, _):
        with pytest.raises(InterfaceError, match="progress: expected a function that is not async"):
            await conn.load("t", rows(1), progress=on_progress)


async def test_a_commit_after_each_block_does_not_end_a_transaction_of_the_caller() -> None:
    async with talking(BEGIN, ROLLBACK) as (conn, _):
        with pytest.raises(InterfaceError, match='commit: expected "end" in a transaction, got "block"'):
            async with conn.transaction():
                await conn.load("t", rows(1), commit="block")
    async with talking(autocommit=False) as (conn, _):
        with pytest.raises(InterfaceError, match='commit: expected "end" in a transaction, got "block"'):
            await conn.load("t", rows(1), commit="block")


async def test_a_read_only_connection_loads_nothing() -> None:
    async with talking(read_only=True) as (conn, _):
        with pytest.raises(ProgrammingError, match="read-only"):
            await conn.load("t", rows(1))


@pytest.mark.parametrize("bad", ["ab", b"x", {"a": 1}, 7])
async def test_a_row_that_is_not_a_sequence_is_rejected(bad: Any) -> None:
    async with talking(opened, release(2)) as (conn, _):
        with pytest.raises(InterfaceError, match="row 1: expected a sequence"):
            await conn.load("t", [(1,), bad])


async def test_rows_must_be_as_long_as_the_first() -> None:
    async with talking(opened, release(2)) as (conn, _):
        with pytest.raises(InterfaceError, match="row 2: expected 1 values, got 2"):
            await conn.load("t", [(1,), (2,), (3, 4)])


async def test_rows_must_not_come_from_the_same_connection() -> None:
    async def own(conn: aioifx.Connection) -> AsyncIterator[tuple[Any]]:
        yield (1,)
        yield (await conn.fetchval("select 1 from t"),)

    async with talking(opened, release(2)) as (conn, _):
        with pytest.raises(InterfaceError, match="already uses the connection"):
            await conn.load("t", own(conn))


async def test_a_server_that_describes_no_columns_is_refused() -> None:
    prepared = (PREPARE, described(2, kind=StatementType.INSERT))
    async with talking(prepared, ("Id(2) DescribeInput", takes(INTEGER)), release(2)) as (conn, _):
        with pytest.raises(NotSupportedError, match="did not describe the columns"):
            await conn.load("t", [(1,)])


# -- values that do not fit -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [2**31, -(2**31), "1", 1.5, b"x"])
async def test_a_value_that_does_not_fit_is_refused_before_its_block_is_sent(value: Any) -> None:
    async with talking(opened, release(2)) as (conn, _):
        with pytest.raises(DataError, match=r"^row 3, column 'c1': ") as caught:
            await conn.load("t", [*rows(3), (value,)])
    assert caught.value.row_index == 3


async def test_a_value_in_a_later_block_undoes_the_earlier_ones() -> None:
    async with talking(opened, BEGIN, put(2), ROLLBACK, CLOSE, release(2)) as (conn, _):
        with pytest.raises(DataError) as caught:
            await conn.load("t", [*rows(3), ("x",)], block=2)
    assert caught.value.row_index == 3


async def test_what_the_rows_source_raises_undoes_everything() -> None:
    def broken() -> Iterator[tuple[int]]:
        yield from rows(3)
        raise ZeroDivisionError

    async with talking(opened, BEGIN, put(2), ROLLBACK, CLOSE, release(2), deleted) as (conn, _):
        with pytest.raises(ZeroDivisionError):
            await conn.load("t", broken(), block=2)
        await conn.execute("delete from t")


async def test_a_servers_error_comes_before_that_of_a_later_row() -> None:
    search: list[Exchange] = [CLOSE, ROLLBACK, BEGIN, (ROW, duplicate), (ROW, one_done)]
    async with talking(opened, BEGIN, (PUT, duplicate), search, ROLLBACK, release(2)) as (conn, _):
        with pytest.raises(UniqueViolation) as caught:
            await conn.load("t", [*rows(3), ("x",)], block=2)
    assert caught.value.row_index == 0


# -- rows that the server refuses -------------------------------------------------------------------------------------


async def test_a_row_of_a_later_block_is_found_from_the_savepoint_on() -> None:
    search: list[Exchange] = [CLOSE, BACK, (ROW, one_done), (ROW, duplicate)]
    async with talking(opened, BEGIN, put(2), MARK, (PUT, duplicate), search, ROLLBACK, release(2)) as (
        conn,
        peer,
    ):
        with pytest.raises(UniqueViolation) as caught:
            await conn.load("t", rows(4), block=2)
        assert b"aioifx_block" in peer.groups[8]
    assert caught.value.row_index == 3
    assert str(caught.value).startswith("row 3: ")


async def test_inside_of_a_transaction_the_load_is_undone_and_nothing_else() -> None:
    search: list[Exchange] = [CLOSE, BACK, (ROW, one_done), (ROW, duplicate)]
    script: Script = [
        BEGIN,
        opened,
        MARK,
        put(2),
        MARK,
        (PUT, duplicate),
        search,
        BACK,
        release(2),
        deleted,
        COMMIT,
    ]
    async with talking(*script) as (conn, peer):
        async with conn.transaction():
            with pytest.raises(UniqueViolation) as caught:
                await conn.load("t", rows(4), block=2)
            await conn.execute("delete from t")
        marked = [group[4:].split(b"\0")[0].rstrip(b"\0") for group in peer.groups if b"aioifx_" in group]
    assert marked == [b"aioifx_load", b"aioifx_block", b"aioifx_block", b"aioifx_load"]
    assert caught.value.row_index == 3


async def test_the_first_block_inside_of_a_transaction_goes_back_to_its_beginning() -> None:
    search: list[Exchange] = [CLOSE, BACK, (ROW, duplicate)]
    async with talking(BEGIN, opened, MARK, (PUT, duplicate), search, BACK, release(2), COMMIT) as (
        conn,
        peer,
    ):
        async with conn.transaction():
            with pytest.raises(UniqueViolation) as caught:
                await conn.load("t", rows(1))
        assert sum(b"aioifx_load" in group for group in peer.groups) == 3
    assert caught.value.row_index == 0


async def test_with_a_commit_after_each_block_the_earlier_ones_stay() -> None:
    search: list[Exchange] = [CLOSE, ROLLBACK, BEGIN, (ROW, duplicate), (ROW, one_done)]
    script: Script = [opened, BEGIN, put(2), COMMIT, BEGIN, (PUT, duplicate), search, ROLLBACK, release(2)]
    async with talking(*script) as (conn, _):
        progress: list[int] = []
        with pytest.raises(UniqueViolation) as caught:
            await conn.load("t", rows(4), block=2, commit="block", progress=progress.append)
    assert caught.value.row_index == 2
    assert progress == [2]
    assert caught.value.__notes__ == ["2 rows of earlier blocks are in the table"]


async def test_a_value_that_does_not_fit_leaves_the_blocks_in_front_committed() -> None:
    async with talking(opened, BEGIN, put(2), COMMIT, release(2)) as (conn, _):
        with pytest.raises(DataError) as caught:
            await conn.load("t", [*rows(2), ("x",)], block=2, commit="block")
    assert caught.value.row_index == 2
    assert caught.value.__notes__ == ["2 rows of earlier blocks are in the table"]


async def test_without_a_log_no_row_is_sent_twice_and_the_error_says_between_which_it_is() -> None:
    script: Script = [opened, put(2), (PUT, duplicate), CLOSE, release(2)]
    async with talking(*script, warnings=UNLOGGED) as (conn, _):
        conn._session.behavior.takes_put = True
        with pytest.raises(UniqueViolation) as caught:
            await conn.load("t", rows(4), block=2)
    assert caught.value.row_index is None
    assert caught.value.__notes__ == [
        "the rejected one is in rows 2 to 3; they cannot be undone, so they were not sent again to find it",
        "2 rows of earlier blocks are in the table",
    ]


async def test_where_there_are_no_savepoints_the_load_goes_on_without() -> None:
    refused: Exchange = ("SetSavepoint", error(-201) + EOT)
    script: Script = [
        opened,
        BEGIN,
        put(2),
        refused,
        put(2),
        refused,
        (PUT, duplicate),
        ROLLBACK,
        CLOSE,
        release(2),
    ]
    async with talking(*script) as (conn, _):
        with pytest.raises(UniqueViolation) as caught:
            await conn.load("t", rows(6), block=2)
    assert caught.value.row_index is None
    assert caught.value.__notes__ == [
        "the rejected one is in rows 4 to 5; they cannot be undone, so they were not sent again to find it"
    ]


async def test_an_error_that_does_not_recur_is_still_raised() -> None:
    locked = error(-271, -107) + EOT
    search: list[Exchange] = [CLOSE, ROLLBACK, BEGIN, (ROW, one_done), (ROW, one_done)]
    async with talking(opened, BEGIN, (PUT, locked), search, ROLLBACK, release(2)) as (conn, _):
        with pytest.raises(LockError) as caught:
            await conn.load("t", rows(2))
    assert caught.value.row_index is None
    assert caught.value.__notes__ == [
        "the rejected one is in rows 0 to 1, but none of them failed when they were sent again one by one"
    ]


async def test_another_error_the_second_time_does_not_hide_the_first() -> None:
    locked = error(-271, -107) + EOT
    search: list[Exchange] = [CLOSE, ROLLBACK, BEGIN, (ROW, one_done), (ROW, duplicate)]
    async with talking(opened, BEGIN, (PUT, locked), search, ROLLBACK, release(2)) as (conn, _):
        with pytest.raises(LockError) as caught:
            await conn.load("t", rows(2))
    assert caught.value.row_index is None
    assert "row 1 failed with another error (SQLCODE -268)" in caught.value.__notes__[0]


async def test_a_failed_rollback_to_a_savepoint_does_not_hide_the_error() -> None:
    full = error(-458) + EOT
    lost: list[Exchange] = [CLOSE, ("RollbackSavepoint", error(-256) + EOT)]
    async with talking(opened, BEGIN, put(1), MARK, (PUT, full), lost, ROLLBACK, release(2)) as (conn, _):
        with pytest.raises(DatabaseError) as caught:
            await conn.load("t", rows(2), block=1)
    assert caught.value.sqlcode == -458
    assert (
        "the rejected one is in rows 1 to 1; sending them again to find it failed"
        in caught.value.__notes__[0]
    )


async def test_an_error_of_the_bare_id_is_looked_for_as_well() -> None:
    search: list[Exchange] = [CLOSE, ROLLBACK, BEGIN, (ROW, duplicate)]
    refused = ("Id(2)", duplicate)
    async with talking(opened, BEGIN, (PUT, one_done), refused, search, ROLLBACK, release(2)) as (conn, _):
        with pytest.raises(UniqueViolation) as caught:
            await conn.load("t", rows(1))
    assert caught.value.row_index == 0


async def test_a_commit_that_fails_is_rolled_back() -> None:
    refused: Exchange = ("Commit", error(-692, -111) + EOT)
    async with talking(opened, BEGIN, put(1), refused, ROLLBACK, CLOSE, release(2)) as (conn, _):
        with pytest.raises(DatabaseError) as caught:
            await conn.load("t", rows(1))
    assert (caught.value.sqlcode, caught.value.row_index) == (-692, None)


async def test_a_block_whose_commit_fails_is_not_counted_as_kept() -> None:
    refused: Exchange = ("Commit", error(-692, -111) + EOT)
    script: Script = [opened, BEGIN, put(2), COMMIT, BEGIN, put(2), refused, ROLLBACK, CLOSE, release(2)]
    async with talking(*script) as (conn, _):
        with pytest.raises(DatabaseError) as caught:
            await conn.load("t", rows(4), block=2, commit="block")
    assert caught.value.__notes__ == ["2 rows of earlier blocks are in the table"]


async def test_a_server_that_goes_away_in_the_middle_is_reported_as_such() -> None:
    async with talking(opened, BEGIN, (PUT, Disconnect())) as (conn, _):
        with pytest.raises(ConnectionLost):
            await conn.load("t", rows(1))
    search: list[Exchange] = [CLOSE, ("Rollback", Disconnect())]
    async with talking(opened, BEGIN, (PUT, duplicate), search) as (conn, _):
        with pytest.raises(ConnectionLost) as caught:
            await conn.load("t", rows(1))
    assert isinstance(caught.value.__cause__, UniqueViolation)


async def test_what_progress_raises_undoes_everything() -> None:
    def stop(count: int) -> None:
        raise KeyError(count)

    async with talking(opened, BEGIN, put(2), ROLLBACK, CLOSE, release(2), deleted) as (conn, _):
        with pytest.raises(KeyError):
            await conn.load("t", rows(4), block=2, progress=stop)
        await conn.execute("delete from t")


async def test_progress_gets_the_number_of_rows_that_the_server_has() -> None:
    counts: list[int] = []
    async with talking(opened, BEGIN, put(2), MARK, put(1), COMMIT, release(2)) as (conn, _):
        await conn.load("t", rows(3), block=2, progress=counts.append)
    assert counts == [2, 3]


# -- cancellation -----------------------------------------------------------------------------------------------------


@cancelled_or_late
async def test_a_load_that_is_cancelled_or_timed_out_in_a_block_leaves_nothing(end: str) -> None:
    held = Delayed(done(2) + EOT)
    script: Script = [opened, BEGIN, (PUT, held), ROLLBACK, CLOSE, release(2), deleted]
    async with talking(*script, command_timeout=60.0) as (conn, _):
        await end_early(end, held, conn, conn.load("t", rows(2)))
        await conn.execute("delete from t")
        assert not conn.is_in_transaction()


async def test_a_load_that_is_cancelled_inside_of_a_transaction_goes_back_to_where_it_began() -> None:
    held = Delayed(done(2) + EOT)
    script: Script = [BEGIN, opened, MARK, (PUT, held), BACK, CLOSE, release(2), deleted, COMMIT]
    async with talking(*script) as (conn, peer):
        async with conn.transaction():
            await cancel_at(held, conn.load("t", rows(2)))
            held.release()
            await conn.execute("delete from t")
        assert b"aioifx_load" in peer.groups[5]


async def test_a_load_that_is_cancelled_while_it_looks_for_a_row_leaves_nothing() -> None:
    held = Delayed(one_done)
    search: list[Exchange] = [CLOSE, ROLLBACK, BEGIN, (ROW, held)]
    script: Script = [opened, BEGIN, (PUT, duplicate), search, ROLLBACK, release(2), deleted]
    async with talking(*script) as (conn, _):
        await cancel_at(held, conn.load("t", rows(1)))
        held.release()
        await conn.execute("delete from t")


async def test_a_load_that_is_cancelled_while_its_rows_are_awaited_leaves_nothing() -> None:
    waiting, never = asyncio.Event(), asyncio.Event()

    async def source() -> AsyncIterator[tuple[int]]:
        yield (1,)
        waiting.set()
        await never.wait()

    script: Script = [opened, BEGIN, put(1)[0], ROLLBACK, CLOSE, release(2), deleted]
    async with talking(*script) as (conn, _):
        load = asyncio.ensure_future(conn.load("t", source(), block=1))
        await waiting.wait()
        await cancelled(load)
        await conn.execute("delete from t")


async def test_a_slow_source_of_rows_is_not_the_servers_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each row comes later than command_timeout allows for an answer, by a clock that is put forward."""
    loop = asyncio.get_running_loop()
    clock, late = loop.time, 0.0
    monkeypatch.setattr(loop, "time", lambda: clock() + late)

    async def slow() -> AsyncIterator[tuple[int]]:
        nonlocal late
        for n in range(2):
            due = asyncio.Event()
            loop.call_later(70, due.set)
            late += 70
            await due.wait()  # a limit that was shorter has been over before
            yield (n,)

    async with talking(opened, BEGIN, put(1), MARK, put(1), COMMIT, release(2), command_timeout=60.0) as (
        conn,
        _,
    ):
        assert (await conn.load("t", slow(), block=1)).rowcount == 2


async def test_a_timeout_of_the_search_for_a_row_has_the_first_error_too() -> None:
    held = Delayed(one_done)
    search: list[Exchange] = [CLOSE, ROLLBACK, BEGIN, (ROW, held)]
    script: Script = [opened, BEGIN, (PUT, duplicate), search, ROLLBACK, release(2), deleted]
    async with talking(*script, command_timeout=60.0) as (conn, _):
        with pytest.raises(QueryTimeout) as caught:
            await time_out_at(held, conn, conn.load("t", rows(1)))
        assert isinstance(caught.value.__cause__, UniqueViolation)
        held.release()
        await conn.execute("delete from t")


# -- on the embedded server -------------------------------------------------------------------------------------------


@asynccontextmanager
async def table(definition: str, **options: Any) -> AsyncIterator[aioifx.Connection]:
    """A connection to a server that has a table t."""
    async with aioifx.server.running(**options) as dsn, aioifx.connect(dsn) as conn:
        await conn.execute(f"create table t ({definition})")
        yield conn


async def numbers(conn: aioifx.Connection) -> list[int]:
    return [row[0] for row in await conn.fetch("select id from t order by id")]


FIXED = "id integer primary key, square bigint"
VARYING = "id integer primary key, name varchar(40) not null"


def squares(count: int) -> Iterator[tuple[int, int]]:
    return ((n, n * n) for n in range(count))


@pytest.mark.parametrize("block", [None, 1, 7, 1000, 32_767])
async def test_every_row_arrives_whatever_the_block(block: int | None) -> None:
    count = 2_000 if block != 1 else 50
    async with table(FIXED) as conn:
        assert (await conn.load("t", squares(count), block=block)).rowcount == count
        total = sum(n * n for n in range(count))
        assert tuple(await conn.fetchrow("select count(*), sum(square) from t") or ()) == (count, total)


async def test_a_load_takes_a_few_round_trips() -> None:
    async with table(VARYING) as conn:
        before = conn.stats.round_trips
        await conn.load("t", ((n, f"name {n}") for n in range(20_000)))
        assert conn.stats.round_trips - before < 15
        assert await numbers(conn) == list(range(20_000))


@pytest.mark.sampled
@pytest.mark.parametrize("definition", [FIXED, VARYING], ids=["fixed", "varying"])
@pytest.mark.parametrize("failing", [0, 5, 9, 10, 15, 19, 20, 24])
@pytest.mark.parametrize("manner", ["end", "block", "part"])
async def test_the_row_that_fails_is_found_wherever_it_is(definition: str, failing: int, manner: Any) -> None:
    """First, middle and last row of the first, a middle and the last of three blocks of ten, ten and five."""
    async with table(definition) as conn:
        value = "x" if definition is VARYING else 1
        await conn.execute("insert into t values (?, ?)", 1000 + failing, value)
        values = [(1000 + n if n == failing else n, value) for n in range(25)]
        with pytest.raises(UniqueViolation) as caught:
            if manner == "part":
                async with conn.transaction():
                    await conn.execute("insert into t values (?, ?)", 999, value)
                    await conn.load("t", values, block=10)
            else:
                await conn.load("t", values, block=10, commit=manner)
        assert caught.value.row_index == failing
        committed = failing // 10 * 10 if manner == "block" else 0
        assert await numbers(conn) == [*range(committed), 1000 + failing]
        assert (await conn.load("t", [(2000, value)])).rowcount == 1
        assert not conn.is_in_transaction()


async def test_a_transaction_goes_on_after_a_load_that_failed() -> None:
    async with table(FIXED) as conn:
        async with conn.transaction():
            await conn.load("t", [(1, 1)])
            with pytest.raises(UniqueViolation):
                await conn.load("t", [(2, 2), (3, 3), (1, 1)], block=2)
            await conn.load("t", [(4, 4)])
        assert await numbers(conn) == [1, 4]


async def test_a_row_that_comes_twice_in_different_blocks_is_found() -> None:
    async with table(FIXED) as conn:
        with pytest.raises(UniqueViolation) as caught:
            await conn.load("t", [*squares(30), (3, 9)], block=8)
        assert caught.value.row_index == 30
        assert await numbers(conn) == []


async def test_null_where_none_may_be_is_found() -> None:
    async with table(VARYING) as conn:
        with pytest.raises(NotNullViolation) as caught:
            await conn.load("t", [(1, "a"), (2, None), (3, "c")])
        assert caught.value.row_index == 1


async def test_without_a_log_rows_before_the_failing_one_stay() -> None:
    async with table(FIXED, log_mode="unlogged") as conn:
        with pytest.raises(UniqueViolation) as caught:
            await conn.load("t", [*squares(14), (3, 9), (99, 0)], block=10)
        assert caught.value.row_index is None
        assert await numbers(conn) == list(range(14))


async def test_an_ansi_database_commits_the_load() -> None:
    async with aioifx.server.running(log_mode="ansi") as dsn, aioifx.connect(dsn) as conn:
        await conn.execute(f"create table t ({FIXED})")
        await conn.load("t", squares(30), block=8)
        async with aioifx.connect(dsn) as other:
            assert await numbers(other) == list(range(30))
        with pytest.raises(UniqueViolation) as caught:
            await conn.load("t", [(100, 0), (101, 0), (5, 0)], block=2)
        assert caught.value.row_index == 2
        assert len(await numbers(conn)) == 30


async def test_with_autocommit_off_the_load_waits_for_the_commit() -> None:
    async with aioifx.server.running() as dsn, aioifx.connect(dsn) as conn:
        await conn.execute(f"create table t ({FIXED})")
        async with aioifx.connect(dsn, autocommit=False) as own:
            await own.load("t", squares(5))
            await own.rollback()
            await own.load("t", squares(3))
            await own.commit()
        assert await numbers(conn) == [0, 1, 2]


async def test_columns_may_be_some_of_the_tables_in_any_order() -> None:
    async with table("id serial, name varchar(20), n integer default 7") as conn:
        result = await conn.load("t", [("a", 0), ("b", 0)], columns=["name", "id"])
        assert (result.rowcount, result.serial) == (2, 2)
        rows = await conn.fetch("select id, name, n from t order by id")
        assert [tuple(row) for row in rows] == [(1, "a", 7), (2, "b", 7)]


async def test_a_missing_table_is_reported_before_a_transaction_begins() -> None:
    async with table(FIXED) as conn:
        with pytest.raises(UndefinedTable):
            await conn.load("nowhere", [(1, 2)])
        with pytest.raises(UndefinedTable):
            await conn.load("nowhere", [], columns=["id"])
        assert not conn.is_in_transaction()


async def test_loads_of_several_tasks_are_served_in_order() -> None:
    async with table(FIXED) as conn:
        async with asyncio.TaskGroup() as tasks:
            for first in range(0, 500, 100):
                tasks.create_task(conn.load("t", [(n, 0) for n in range(first, first + 100)], block=30))
        assert await numbers(conn) == list(range(500))


async def test_wide_rows_and_wide_blocks_go_through() -> None:
    async with table("id integer, text lvarchar(32000)") as conn:
        text = "wide!" * 6000
        assert (await conn.load("t", ((n, text) for n in range(60)))).rowcount == 60
        assert (await conn.load("t", ((n, text) for n in range(100)), block=100)).rowcount == 100
        assert await conn.fetchval("select sum(length(text)) from t") == 160 * len(text)


async def test_a_file_that_raises_stop_iteration_is_a_data_error() -> None:
    """It used to end the thread's part of the work, and not the wait for it."""

    class File:
        def read(self, size: int = -1) -> bytes:
            raise StopIteration

    async with table(FIXED) as conn:
        with pytest.raises(DataError, match=r"raised StopIteration$"):
            await conn.load("t", File(), format="csv")
        assert await numbers(conn) == []


# -- memory -----------------------------------------------------------------------------------------------------------


async def test_at_most_two_blocks_are_read_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load, "BATCH_SIZE", 4096)
    read, most = 0, 0

    def counted() -> Iterator[tuple[int, int]]:
        nonlocal read
        for row in squares(20_000):
            read += 1
            yield row

    def on_progress(count: int) -> None:
        nonlocal most
        most = max(most, read - count)

    async with table(FIXED) as conn:
        await conn.load("t", counted(), progress=on_progress)
    assert 0 < most * 12 < 2 * 4096 + 256 * 12


async def test_no_third_block_is_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load, "BATCH_SIZE", 4096)
    alive: list[int] = []

    def count_batches(count: int) -> None:
        alive.append(sum(type(thing) is load.Batch for thing in gc.get_objects()))

    async with table(FIXED) as conn:
        await conn.load("t", squares(5_000), progress=count_batches)
    assert len(alive) > 5
    assert max(alive) == 2


# -- every value ------------------------------------------------------------------------------------------------------

COLUMNS: dict[str, st.SearchStrategy[Any]] = {
    "small smallint": st.integers(-(2**15) + 1, 2**15 - 1),
    "big bigint": st.integers(-(2**63) + 1, 2**63 - 1),
    "old int8": st.integers(-(2**63) + 1, 2**63 - 1),
    "ratio float": st.floats(allow_nan=False, allow_infinity=False),
    "amount decimal(12,2)": st.decimals(-(10**9), 10**9, places=2),
    "loose decimal(16)": st.integers(-(10**15), 10**15).map(lambda n: Decimal(n) / 1000),
    "day date": st.dates(),
    "moment datetime year to fraction(5)": st.datetimes().map(
        lambda d: d.replace(microsecond=d.microsecond // 10 * 10)
    ),
    "clock datetime hour to second": st.times().map(lambda t: t.replace(microsecond=0, fold=0)),
    "span interval day(4) to second": st.integers(-(10**8), 10**8).map(lambda n: dt.timedelta(seconds=n)),
    "code char(6)": st.text("ab|\\\"', ", max_size=6).map(lambda text: text.ljust(6)),
    "name varchar(40)": st.text(st.characters(codec="latin-1", exclude_characters="\0"), max_size=40),
    "notes lvarchar(500)": st.text(st.characters(codec="latin-1", exclude_characters="\0"), max_size=100),
    "flag boolean": st.booleans(),
}
ROWS = st.lists(st.tuples(*(st.none() | values for values in COLUMNS.values())), max_size=12)


@examples(30)
@given(ROWS, st.integers(1, 5))
def test_every_value_arrives_as_it_left(values: list[tuple[Any, ...]], block: int) -> None:
    async def there_and_back() -> list[tuple[Any, ...]]:
        columns = ", ".join(["id serial", *COLUMNS])
        async with table(columns, db_locale="en_US.8859-1") as conn:
            names = [column.split()[0] for column in COLUMNS]
            await conn.load("t", values, columns=names, block=block)
            return [tuple(row) for row in await conn.fetch(f"select {','.join(names)} from t order by id")]

    assert asyncio.run(there_and_back()) == values


@pytest.mark.parametrize(
    ("last", "said"),
    [
        ("x,4", "record 4, line 6: column 'n'"),
        ("4", "record 4, line 6: 1 field for 2 columns"),
        ("1,4", "record 4, line 6: "),
        ('4,"5', "record 4, line 6 is cut short"),
    ],
    ids=["value", "fields", "server", "text"],
)
async def test_every_error_of_a_load_counts_records_and_lines_alike(last: str, said: str) -> None:
    async with aioifx.server.running("d") as dsn, aioifx.connect(dsn) as conn:
        await conn.execute("create table t (n integer primary key, text varchar(20))")
        with pytest.raises(aioifx.DatabaseError) as caught:
            await conn.load("t", [f'n,text\n1,"two\nlines"\n\n2,b\n{last}'], format=CsvFormat(header=True))
        assert str(caught.value).startswith(said)
        assert caught.value.row_index == 2
        assert await conn.fetchval("select count(*) from t") == 0


class Widths:
    """Encodes a row as many bytes as its only value says."""

    def __init__(self) -> None:
        self.firsts: list[int] = []
        self.has_large_values = False

    def encode(self, rows: Sequence[Row], first: int, place: Callable[[int], str]) -> bytearray:
        assert place(first) == f"row {first}"
        self.firsts.append(first)
        return bytearray(sum(row[0] for row in rows))

    def messages(self, encoded: list[bytearray], count: int) -> list[bytearray]:
        return [*encoded, bytearray(count.to_bytes(4, "big"))]


async def all_batches(widths: Sequence[int], rows: int | None = None) -> list[Batch]:
    reader = open_source([(width,) for width in widths], None)
    await reader.peek_width()
    source = Batches(reader, cast(InsertCursor, Widths()), rows)
    made: list[Batch] = []
    while batch := await source.next():
        made.append(batch)
    assert await source.next() is None
    return made


@given(st.lists(st.integers(0, 5000), max_size=400), st.none() | st.integers(1, 50))
def test_every_row_is_in_one_block_and_the_blocks_follow_each_other(
    widths: list[int], rows: int | None
) -> None:
    made = asyncio.run(all_batches(widths, rows))
    assert [row[0] for batch in made for row in batch.rows] == widths
    first = 0
    for batch in made:
        assert batch.first == first
        assert sum(map(len, batch.messages)) == sum(row[0] for row in batch.rows) + 4
        assert int.from_bytes(batch.messages[-1], "big") == batch.count
        first += batch.count
    if rows is not None:
        assert all(batch.count == rows for batch in made[:-1])


@pytest.mark.parametrize("width", [1, 10, 100, 1000, 10_000, 1_000_000])
async def test_blocks_are_about_as_large_as_they_should_be(width: int) -> None:
    made = await all_batches([width] * (4 * load.BATCH_SIZE // width + 40))
    for batch in made[1:-1]:
        size = batch.count * width
        assert size < load.BATCH_SIZE + 2 * max(width, 256)
        assert size >= load.BATCH_SIZE or batch.count == MAX_ROWS


async def test_rows_that_grow_all_at_once_make_no_huge_block() -> None:
    made = await all_batches([8] * 1000 + [load.BATCH_SIZE] * 300)
    assert max(sum(map(len, batch.messages)) for batch in made) <= 257 * load.BATCH_SIZE
    assert all(batch.count == 1 for batch in made[-20:])


async def test_a_block_of_stated_rows_may_be_as_large_as_it_gets() -> None:
    made = await all_batches([load.BATCH_SIZE] * 7, rows=3)
    assert [batch.count for batch in made] == [3, 3, 1]


@pytest.mark.parametrize("rows", [0, -1, MAX_ROWS + 1])
def test_a_block_has_as_many_rows_as_one_message_can_count(rows: int) -> None:
    with pytest.raises(InterfaceError, match=f"block: expected a whole number from 1 to 32767, got {rows}"):
        check_block(rows)


def test_a_block_of_no_stated_size_is_fine() -> None:
    check_block(None)
    check_block(1)
    check_block(MAX_ROWS)


async def test_an_error_of_the_rows_source_comes_through() -> None:
    def broken() -> Any:
        yield (1,)
        raise ZeroDivisionError

    source = Batches(open_source(broken(), None), cast(InsertCursor, Widths()))
    with pytest.raises(ZeroDivisionError):
        await source.next()
