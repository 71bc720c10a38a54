"""Scroll cursors: JDBC's transcripts, a model of the position, and what is not requested twice."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from struct import pack, unpack
from typing import Any, NamedTuple, TypeVar, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

import aioifx
from aioifx.client.api.cursor import Cursor
from aioifx.client.execution.scroll_cursor import Fetched, Orientation, ScrollCursor
from aioifx.errors import (
    ConnectionLost,
    DatabaseError,
    Deadlock,
    InterfaceError,
    ProgrammingError,
    ProtocolError,
)
from aioifx.testing.messages import EOT, LOGGED, UNLOGGED, described, done, error, ints, raw_row
from aioifx.testing.script import (
    PREPARE,
    Chunking,
    Delayed,
    Disconnect,
    Exchange,
    close,
    closing,
    release,
    select_ints,
)
from aioifx.wire.capabilities import Capabilities
from aioifx.wire.opcodes import Op, StatementType
from tests.scripted import C1, CHUNKINGS, FLAG, TEXT, cancel_at, played, talking
from tests.wire.frames import frames

T = TypeVar("T")


buffered_or_not = pytest.mark.parametrize("read_ahead", [True, False], ids=["in runs", "field by field"])
any_chunks = pytest.mark.parametrize("chunks", CHUNKINGS, ids=lambda chunks: chunks.__name__)

QUERY = "select c1 from t"
OPENING = "Id(2) CurName Scroll Open"


def here(number: int, *rows: int) -> bytes:
    """The answer to a scroll fetch; the row says its own number."""
    return pack(">hi", Op.TUPID, number) + ints(*(rows or (number,))) + done(1) + EOT


def last(number: int) -> bytes:
    """The answer to a fetch of the last row: row, number, and no DONE (observed: informix-driver)."""
    return ints(number) + pack(">hi", Op.TUPID, number) + EOT


NOTHING = done() + EOT
started: list[Exchange] = [(PREPARE, described(2, C1)), (OPENING, EOT)]


def moving(kind: Orientation, number: int, answer: bytes | Delayed | Disconnect | None = None) -> Exchange:
    """One scroll fetch of statement 2, byte for byte."""
    request = pack(">4h2i", Op.ID, 2, Op.SFETCH, kind, number, 4096) + EOT
    return request, (last(number) if kind is Orientation.LAST else here(number)) if answer is None else answer


# -- law: for the same moves we send what JDBC sent, byte for byte -----------------------------------------------------


class Moves(NamedTuple):
    """Moves of ours and JDBC's transcript of the same."""

    case: str
    moves: Callable[[Cursor[Any]], Awaitable[list[Any]]]
    numbers: list[int | None]
    changed: Callable[[list[Exchange]], list[Exchange]] = list
    params: tuple[int, ...] = ()
    file: str = "scroll"
    warnings: int = UNLOGGED

    def __repr__(self) -> str:
        return self.case


async def _from_the_end(cursor: Cursor[Any]) -> list[Any]:
    return [await cursor.fetch_absolute(-1), await cursor.fetch_absolute(-2)]


async def _next_and_behind_the_last(cursor: Cursor[Any]) -> list[Any]:
    rows = [await cursor.fetchone(), await cursor.fetch_relative(0), await cursor.fetch_absolute(-1)]
    return [*rows, await cursor.fetchone(), await cursor.fetch_relative(-1)]


async def _everywhere(cursor: Cursor[Any]) -> list[Any]:
    rows = [await cursor.fetchone(), await cursor.fetchone()]
    rows += [await cursor.fetch_absolute(-1), await cursor.fetch_absolute(1), await cursor.fetch_absolute(10)]
    rows += [await cursor.fetch_relative(5), await cursor.fetch_relative(-3), await cursor.fetch_relative(-1)]
    rows += [await cursor.fetch_absolute(-1), await cursor.fetch_absolute(-5)]
    rows += [await cursor.fetch_absolute(201), await cursor.fetch_relative(-1)]
    return [*rows, await cursor.fetch_absolute(1)]


async def _in_nothing(cursor: Cursor[Any]) -> list[Any]:
    return [await cursor.fetch_absolute(1), await cursor.fetch_absolute(-1), await cursor.fetchone()]


async def _one_by_one(cursor: Cursor[Any]) -> list[Any]:
    return [*await cursor.fetchall(), await cursor.fetchone()]


async def _third(cursor: Cursor[Any]) -> list[Any]:
    return [await cursor.fetch_absolute(3)]


async def _next(cursor: Cursor[Any]) -> list[Any]:
    return [await cursor.fetchone()]


def _without_ret_type(script: list[Exchange]) -> list[Exchange]:
    """A deliberate difference: JDBC sends RET_TYPE for a VARCHAR, too, where it changes nothing."""
    return [
        (request[:4] + request[-14:] if request[4:6] == pack(">h", Op.RET_TYPE) else request, answer)
        for request, answer in cast(list[tuple[bytes, bytes]], script)
    ]


def _without_repeats(script: list[Exchange]) -> list[Exchange]:
    """A deliberate difference: after afterLast and absolute(-n), JDBC fetches a row that it has just received."""
    kept: list[Exchange] = []
    number = 0
    for request, answer in cast(list[tuple[bytes, bytes]], _without_ret_type(script)):
        scrolls = request[4:6] == pack(">h", Op.SFETCH)
        if scrolls and unpack(">hi", request[6:12]) == (Orientation.ABSOLUTE, number):
            continue
        if scrolls:
            number = unpack(">i", answer[2:6])[0]
        kept.append((request, answer))
    return kept


def _up_to_before_first(script: list[Exchange]) -> list[Exchange]:
    """JDBC's program ended with an error: it fetched row 1, and then requested it again as the "next" one."""
    return [*_without_repeats(script)[:-1], *closing(2)]


def _begun_first(script: list[Exchange]) -> list[Exchange]:
    """JDBC begins the transaction after the PREPARE."""
    prepare, begin, *rest = _without_ret_type(script)
    return [begin, prepare, *rest]


def _closed(script: list[Exchange]) -> list[Exchange]:
    """The recording ends before the cursor is closed."""
    return [*_without_ret_type(script), *closing(2)]


def _filled_in(script: list[Exchange]) -> list[Exchange]:
    """The recording leaves out turns of the same shape."""
    prepare, opening, *steps, end, close, release = _without_ret_type(script)
    made = [moving(Orientation.NEXT, n, _row_of_three(n)) for n in range(1, 201)]
    assert len(steps) > 4 and all(step in made for step in steps)
    return [prepare, opening, *made, end, close, release]


def _row_of_three(n: int) -> bytes:
    name = f"name{n}".encode()
    payload = pack(">iB", n, len(name)) + name + f"row {n}".ljust(40).encode()
    return (
        pack(">hi", Op.TUPID, n) + raw_row(payload) + done(1).removesuffix(pack(">hii", Op.COST, 1, 1)) + EOT
    )


def _without_login(script: list[Exchange]) -> list[Exchange]:
    return script[1:-1]


CASES = [
    Moves("absolute_minus_1_first", _from_the_end, [200, 199], _without_repeats),
    Moves("relative_first", _next_and_behind_the_last, [1, 1, 5, None, 5], _without_repeats),
    Moves(
        "scroll_all", _everywhere, [1, 2, 200, 1, 10, 15, 12, 11, 200, 196, None, 200, 1], _up_to_before_first
    ),
    Moves("scroll_empty", _in_nothing, [None, None, None], _without_ret_type),
    Moves("scroll_int", _one_by_one, [1, None]),
    Moves("scroll_next_all", _one_by_one, [*range(1, 201), None], _filled_in),
    Moves("scroll_prepared", _third, [3], _without_ret_type, (1,)),
    Moves("scroll_sensitive", _next, [1], _closed),
    Moves("scroll/scroll_int", _one_by_one, [1, None], _without_login, (), "protocols15"),
]


@buffered_or_not
@any_chunks
@pytest.mark.parametrize("case", CASES, ids=repr)
async def test_what_we_send_is_what_jdbc_sent(case: Moves, chunks: Chunking, read_ahead: bool) -> None:
    sql, capabilities = _said(case)
    async with (
        talking(
            case.changed(played(case.file, case.case)),
            chunks=chunks,
            warnings=case.warnings,
            read_ahead=read_ahead,
            capabilities=capabilities,
            peer_dialect=capabilities,
        ) as (conn, _),
        conn.cursor(scroll=True) as cursor,
    ):
        await cursor.execute(sql, case.params)
        rows = await case.moves(cursor)
        assert [row and row[0] for row in rows] == case.numbers


def _said(case: Moves) -> tuple[str, Capabilities]:
    """The SQL text of a recorded case, and the layouts in force."""
    found = next(f for f in frames(case.file) if f.case == case.case and f.means.startswith("SQ_PREPARE"))
    size = unpack(">i", found.data[4:8])[0]
    return found.data[8 : 8 + size].decode(), found.capabilities


@buffered_or_not
@any_chunks
async def test_a_held_scroll_cursor_survives_a_commit_as_jdbcs_does(
    chunks: Chunking, read_ahead: bool
) -> None:
    script = _begun_first(played("scroll", "scroll_hold"))
    async with (
        talking(script, chunks=chunks, read_ahead=read_ahead, warnings=LOGGED) as (conn, _),
        conn.cursor(scroll=True, hold=True) as cursor,
    ):
        async with conn.transaction():
            await cursor.execute("select rows_5 from t")
            assert (await cursor.fetch_absolute(-1) or ())[:2] == (5, "name5")
        assert (await cursor.fetch_absolute(1) or ())[:2] == (1, "name1")


def test_every_recorded_case_is_played() -> None:
    recorded = {frame.case for frame in frames("scroll")}
    assert {case.case for case in CASES if case.file == "scroll"} | {"scroll_hold"} == recorded


# -- law: a scroll cursor moves as in a list ---------------------------------------------------------------------------


class Rows:
    """A server's part: the rows of one scroll cursor, each with its own number, and the requests."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.stands = 0
        self.asked: list[tuple[Orientation, int]] = []

    async def fetch(self, kind: Orientation, row: int) -> Fetched | None:
        self.asked.append((kind, row))
        if kind == Orientation.NEXT:
            assert row == self.stands + 1, "the server and the client do not agree on what comes next"
        number = self.count if kind == Orientation.LAST else row
        self.stands = number if 1 <= number <= self.count else -1
        return Fetched(number, (number,), number) if self.stands > 0 else None


class Model:
    """The same moves, in a list whose length is known."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.at = 0  # from 0, before the first row, to one more than count, after the last

    def go(self, number: int) -> int | None:
        self.at = min(max(number, 0), self.count + 1)
        return self.at if 1 <= self.at <= self.count else None

    def moved(self, move: str, by: int) -> int | bool | None:
        match move:
            case "next":
                return self.go(self.at + 1)
            case "last":
                return self.go(self.count)
            case "to":
                return self.go(by if by >= 0 else self.count + 1 + by)
            case "by":
                return self.go(self.at + by)
            case _:
                index = min(self.at, self.count) + by if move == "relative" else by
                if 0 <= index < self.count:
                    self.at = index
                    return True
                return False


async def moved(rows: ScrollCursor, move: str, by: int) -> Any:
    match move:
        case "next":
            row = await rows.next()
        case "last":
            row = await rows.absolute(-1)
        case "to":
            row = await rows.absolute(by)
        case "by":
            row = await rows.relative(by)
        case _:
            return await rows.position(by, relative=move == "relative")
    return None if row is None else row[0]


def ran(call: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine that waits for nothing."""
    with pytest.raises(StopIteration) as stop:
        call.send(None)
    return cast(T, stop.value.value)


walks = st.lists(
    st.tuples(
        st.sampled_from(["next", "next", "last", "to", "by", "relative", "absolute"]), st.integers(-9, 9)
    ),
    max_size=30,
)


@given(st.integers(0, 6), walks)
def test_moves_lead_where_they_lead_in_a_list(count: int, walk: list[tuple[str, int]]) -> None:
    server, model = Rows(count), Model(count)
    scrolling = ScrollCursor(server.fetch)
    for move, by in walk:
        before = len(server.asked)
        assert ran(moved(scrolling, move, by)) == model.moved(move, by)
        assert scrolling.index == min(model.at, count) or (scrolling.index is None and model.at > count)
        assert len(server.asked) <= before + 2
    assert [kind for kind, _ in server.asked].count(Orientation.LAST) <= 1


@given(st.integers(0, 20))
def test_going_forward_requests_each_row_once_and_once_for_the_end(count: int) -> None:
    server = Rows(count)
    scrolling = ScrollCursor(server.fetch)
    assert [ran(scrolling.next()) for _ in range(count)] == [(n,) for n in range(1, count + 1)]
    assert [ran(scrolling.next()) for _ in range(3)] == [None] * 3
    assert server.asked == [(Orientation.NEXT, n) for n in range(1, count + 2)]
    assert ran(scrolling.absolute(-1)) == ((count,) if count else None)
    assert server.asked[count + 1 :] == (
        [(Orientation.ABSOLUTE, count)] if count else []
    )  # by now it is known which


def test_a_number_that_no_row_can_have_is_not_requested() -> None:
    server = Rows(3)
    scrolling = ScrollCursor(server.fetch)
    for number in (0, 2**31, 10**30):
        assert ran(scrolling.absolute(number)) is None
    assert server.asked == []
    assert ran(scrolling.absolute(-(10**30))) is None
    assert server.asked == [(Orientation.LAST, 0)]


# -- what users see of it ----------------------------------------------------------------------------------------------


async def test_rows_are_fetched_from_where_the_cursor_stands() -> None:
    script = [*started, moving(Orientation.ABSOLUTE, 4), *(moving(Orientation.NEXT, n) for n in (5, 6, 7, 8))]
    script += [
        moving(Orientation.NEXT, 9, NOTHING),
        moving(Orientation.ABSOLUTE, 2),
        moving(Orientation.NEXT, 3),
    ]
    async with talking(script, closing(2), warnings=UNLOGGED) as (conn, _):
        async with conn.cursor(scroll=True) as cursor:
            assert cursor.rownumber is None
            assert await cursor.execute(QUERY) is cursor
            assert cursor.rownumber == 0
            await cursor.scroll(3)
            assert cursor.rownumber == 3
            assert await cursor.fetchone() == (4,)
            assert await cursor.fetchmany(2) == [(5,), (6,)]
            assert cursor.rownumber == 6
            assert await cursor.fetchall() == [(7,), (8,)]
            assert await cursor.fetchone() is None and cursor.rownumber == 8
            await cursor.scroll(-7)
            assert cursor.rownumber == 1
            async for row in cursor:
                if row == (3,):
                    break
            assert await cursor.fetch_relative(0) == (3,)


async def test_leading_out_of_the_result_is_an_index_error_and_moves_nothing() -> None:
    script = [
        *started,
        moving(Orientation.NEXT, 1),
        moving(Orientation.ABSOLUTE, 6, NOTHING),
        moving(Orientation.ABSOLUTE, 2),
    ]
    async with talking(script, closing(2), warnings=UNLOGGED) as (conn, _):
        async with conn.cursor(scroll=True) as cursor:
            await cursor.execute(QUERY)
            await cursor.fetchone()
            for value, mode in ((-2, "relative"), (-1, "absolute"), (5, "absolute")):
                with pytest.raises(IndexError, match=str(value)):
                    await cursor.scroll(value, mode)
                assert cursor.rownumber == 1
            assert await cursor.fetchone() == (2,)


async def test_after_the_last_row_the_position_is_known_if_the_count_is() -> None:
    script = [*started, moving(Orientation.ABSOLUTE, 9, NOTHING), moving(Orientation.LAST, 0, last(5))]
    async with talking(script, closing(2), warnings=UNLOGGED) as (conn, _):
        async with conn.cursor(scroll=True) as cursor:
            await cursor.execute(QUERY)
            assert await cursor.fetch_absolute(9) is None and cursor.rownumber is None
            assert await cursor.fetch_relative(-1) == (5,) and cursor.rownumber == 5
            assert await cursor.fetchone() is None and cursor.rownumber == 5


async def test_a_cursor_that_goes_forward_only_refuses_to_scroll_before_anything_is_sent() -> None:
    async with talking(select_ints(2, 7), warnings=UNLOGGED) as (conn, peer):
        cursor = conn.cursor()
        for call in scrolling_calls(cursor):
            with pytest.raises(InterfaceError, match="scroll=True"):
                await call()
        assert peer.received == b""
        await cursor.execute(QUERY)
        for call in scrolling_calls(cursor):
            with pytest.raises(InterfaceError, match="scroll=True"):
                await call()
        assert await cursor.fetchall() == [(7,)]


def scrolling_calls(cursor: Cursor[Any]) -> list[Callable[[], Awaitable[Any]]]:
    return [lambda: cursor.fetch_absolute(1), lambda: cursor.fetch_relative(1), lambda: cursor.scroll(1)]


async def test_a_wrong_mode_is_refused() -> None:
    async with talking() as (conn, _):
        with pytest.raises(InterfaceError, match="mode"):
            await conn.cursor(scroll=True).scroll(1, "sideways")


async def test_a_scroll_cursor_without_a_result_has_no_rows_to_move_in() -> None:
    prepared = described(3, kind=StatementType.DELETE)
    async with talking((PREPARE, prepared), ("Id(3) Execute", done(2) + EOT), release(3)) as (conn, _):
        cursor = conn.cursor(scroll=True)
        for call in scrolling_calls(cursor):
            with pytest.raises(InterfaceError, match="no result"):
                await call()
        await cursor.execute("delete from t where c1 < 3")
        assert (cursor.rowcount, cursor.rownumber, cursor.name) == (2, None, None)
        for call in scrolling_calls(cursor):
            with pytest.raises(InterfaceError, match="no result"):
                await call()
        await cursor.close()
        for call in scrolling_calls(cursor):
            with pytest.raises(InterfaceError, match="closed"):
                await call()


@any_chunks
async def test_the_form_of_the_columns_is_requested_with_every_row(chunks: Chunking) -> None:
    fetching = f"Id(2) RetType(2) ScrollFetch({Orientation.ABSOLUTE:d})"
    script: list[Exchange] = [(PREPARE, described(2, TEXT, FLAG)), (OPENING, EOT)]
    for number in (1, 5):
        row = raw_row(pack(">Bi", 0, 1) + b"%d" % number + b"\0\0\0\0\1\1")
        script.append((fetching, pack(">hi", Op.TUPID, number) + row + done(1) + EOT))
    async with talking(script, closing(2), chunks=chunks, warnings=UNLOGGED) as (conn, _):
        async with conn.cursor(scroll=True) as cursor:
            await cursor.execute("select text, flag from t")
            assert await cursor.fetch_absolute(1) == ("1", True)
            assert await cursor.fetch_absolute(5) == ("5", True)


async def test_the_buffer_is_never_smaller_than_a_row() -> None:
    request = pack(">4h2i", Op.ID, 2, Op.SFETCH, Orientation.NEXT, 1, 5000) + EOT
    script: list[Exchange] = [(PREPARE, described(2, C1, row_size=5000)), (OPENING, EOT), (request, here(1))]
    async with talking(script, closing(2), warnings=UNLOGGED) as (conn, _):
        async with conn.cursor(scroll=True) as cursor:
            await cursor.execute(QUERY)
            assert await cursor.fetchone() == (1,)


# -- errors ------------------------------------------------------------------------------------------------------------


async def test_a_failed_open_leaves_no_result_and_no_statement() -> None:
    script: list[Exchange] = [(PREPARE, described(2, C1)), (OPENING, error(-526) + EOT), *closing(2)]
    async with talking(script, warnings=UNLOGGED) as (conn, _):
        cursor = conn.cursor(scroll=True)
        with pytest.raises(ProgrammingError) as caught:
            await cursor.execute("select c1 from t for update")
        assert caught.value.sqlcode == -526
        assert (cursor.name, cursor.description, cursor.rownumber) == (None, None, None)
        with pytest.raises(InterfaceError, match="no result"):
            await cursor.fetch_absolute(1)


async def test_a_failed_fetch_does_not_look_like_the_end_of_rows() -> None:
    failing = moving(Orientation.NEXT, 1, error(-243, -143) + EOT)
    async with talking(started, failing, closing(2), select_ints(2, 9), warnings=UNLOGGED) as (conn, _):
        cursor = await conn.cursor(scroll=True).execute(QUERY)
        with pytest.raises(Deadlock):
            await cursor.fetchall()
        with pytest.raises(InterfaceError, match="a fetch failed"):
            await cursor.fetch_absolute(1)
        assert await conn.fetch(QUERY) == [(9,)]


async def test_of_several_rows_the_last_has_the_number_and_the_cursor_stands_there() -> None:
    """A server may send more than was requested."""
    several = ints(1, 2, 3) + pack(">hi", Op.TUPID, 3) + done(1) + EOT
    ends = ints(8, 9) + pack(">hi", Op.TUPID, 9) + EOT
    script = [
        moving(Orientation.NEXT, 1, several),
        moving(Orientation.ABSOLUTE, 2),
        moving(Orientation.NEXT, 3),
    ]
    async with talking(started, script, moving(Orientation.LAST, 0, ends), closing(2), warnings=UNLOGGED) as (
        conn,
        _,
    ):
        async with conn.cursor(scroll=True) as cursor:
            await cursor.execute(QUERY)
            assert [await cursor.fetchone() for _ in range(3)] == [(1,), (2,), (3,)]
            assert await cursor.fetch_absolute(-1) == (9,)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (here(2), "expected row 1, got row 2"),
        (here(0, 7), "expected row 1, got row 0"),
        (ints(1) + done(1) + EOT, "expected row 1, got row 0"),
        (here(1, 1, 2), "expected row 1, got 2 rows up to 1"),
        (here(4, 2, 3, 4), "expected row 1, got 3 rows up to 4"),
    ],
    ids=["another row", "no row has this number", "without a number", "two rows", "not among them"],
)
async def test_a_row_that_was_not_requested_ends_the_connection(answer: bytes, message: str) -> None:
    async with talking(started, moving(Orientation.ABSOLUTE, 1, answer), warnings=UNLOGGED) as (conn, _):
        cursor = await conn.cursor(scroll=True).execute(QUERY)
        with pytest.raises(ProtocolError, match=message):
            await cursor.fetch_absolute(1)
        assert conn.is_closed()


async def test_a_connection_that_breaks_in_a_scroll_fetch_is_lost() -> None:
    async with talking(started, moving(Orientation.ABSOLUTE, 1, Disconnect()), warnings=UNLOGGED) as (
        conn,
        _,
    ):
        cursor = await conn.cursor(scroll=True).execute(QUERY)
        with pytest.raises(ConnectionLost):
            await cursor.fetch_absolute(1)
        await cursor.close()


async def test_a_cached_statement_that_is_stale_is_prepared_again() -> None:
    script: list[Exchange] = [*started, close(2), (OPENING, error(-710) + EOT), (PREPARE, described(3, C1))]
    script += [("Id(3) CurName Scroll Open", EOT), *closing(2), ("Id(3) ScrollFetch(1)", here(1)), close(3)]
    async with talking(script, warnings=UNLOGGED, statement_cache_size=9) as (conn, _):
        for _ in range(2):
            async with conn.cursor(scroll=True) as cursor:
                await cursor.execute(QUERY)
                if conn.stats.statements == 2:
                    assert await cursor.fetchone() == (1,)


async def test_a_scroll_cursor_that_the_server_closed_gets_no_close() -> None:
    answer = here(1).removesuffix(EOT) + pack(">h", Op.CLOSE) + EOT
    async with talking(started, moving(Orientation.NEXT, 1, answer), release(2), warnings=UNLOGGED) as (
        conn,
        _,
    ):
        async with conn.cursor(scroll=True) as cursor:
            await cursor.execute(QUERY)
            assert cursor.name is not None
            assert await cursor.fetchone() == (1,)
            assert cursor.name is None


# -- cancellation ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("first", [0, 1, 7, 15], ids=lambda count: f"{count} bytes are here")
async def test_a_cancelled_scroll_fetch_leaves_no_result_and_a_usable_connection(first: int) -> None:
    held = Delayed(here(3), first=first)
    script = [*started, moving(Orientation.NEXT, 1), moving(Orientation.ABSOLUTE, 3, held), *closing(2)]
    async with talking(script, select_ints(2, 9), warnings=UNLOGGED) as (conn, _):
        cursor = await conn.cursor(scroll=True).execute(QUERY)
        await cursor.fetchone()
        await cancel_at(held, cursor.fetch_absolute(3))
        held.release()
        for call in scrolling_calls(cursor):
            with pytest.raises(InterfaceError, match="a fetch failed"):
                await call()
        assert await conn.fetch(QUERY) == [(9,)]


async def test_a_cancelled_scroll_open_leaves_no_result_and_a_usable_connection() -> None:
    held = Delayed(EOT)
    script: list[Exchange] = [(PREPARE, described(2, C1)), (OPENING, held), *closing(2)]
    async with talking(script, select_ints(2, 9), warnings=UNLOGGED) as (conn, _):
        cursor = conn.cursor(scroll=True)
        await cancel_at(held, cursor.execute(QUERY))
        held.release()
        with pytest.raises(InterfaceError, match="no result"):
            await cursor.fetch_absolute(1)
        assert await conn.fetch(QUERY) == [(9,)]


async def test_tasks_that_share_a_scroll_cursor_get_each_row_once() -> None:
    script = [
        *started,
        *(moving(Orientation.NEXT, n) for n in range(1, 5)),
        moving(Orientation.NEXT, 5, NOTHING),
    ]
    async with talking(script, closing(2), warnings=UNLOGGED) as (conn, _):
        async with conn.cursor(scroll=True) as cursor:
            await cursor.execute(QUERY)
            got = await asyncio.gather(*(cursor.fetchone() for _ in range(6)))
            assert got == [(1,), (2,), (3,), (4,), None, None]


async def test_a_cursor_closed_by_another_task_cannot_scroll() -> None:
    held = Delayed(here(1))
    async with talking(started, moving(Orientation.NEXT, 1, held), closing(2), warnings=UNLOGGED) as (
        conn,
        _,
    ):
        cursor = await conn.cursor(scroll=True).execute(QUERY)
        first, second = (asyncio.ensure_future(cursor.fetchone()) for _ in range(2))
        await held.reached.wait()
        await cursor.close()
        held.release()
        assert await first == (1,)
        with pytest.raises(InterfaceError, match="closed"):
            await second


# -- on the embedded server --------------------------------------------------------------------------------------------


async def test_one_statement_scrolls_and_reads_forward_alternately(dsn: str) -> None:
    sql = "SELECT id, name, odd FROM item ORDER BY id"
    every = [(n, f"item {n}", bool(n % 2)) for n in range(1, 8)]
    async with aioifx.connect(dsn) as conn:
        await conn.execute("CREATE TABLE item (id INTEGER, name VARCHAR(20), odd BOOLEAN)")
        await conn.executemany("INSERT INTO item VALUES (?, ?, ?)", every)
        prepared = conn.stats.statements
        for _ in range(3):
            async with conn.cursor(scroll=True) as cursor:
                await cursor.execute(sql)
                assert [await cursor.fetch_absolute(-1), await cursor.fetch_absolute(1)] == [
                    every[6],
                    every[0],
                ]
                assert await cursor.fetchall() == every[1:]
            assert await conn.fetch(sql) == every
            async with conn.cursor() as cursor:
                assert await (await cursor.execute(sql)).fetchmany(2) == every[:2]
        assert conn.stats.statements == prepared + 1


@pytest.mark.parametrize("end", ["commit", "rollback"])
async def test_a_held_scroll_cursor_outlives_its_transaction_and_another_does_not(dsn: str, end: str) -> None:
    async with aioifx.connect(dsn) as conn:
        await conn.execute("CREATE TABLE t (n INTEGER)")
        await conn.executemany("INSERT INTO t VALUES (?)", [(n,) for n in range(5)])
        transaction = conn.transaction()
        await transaction.start()
        held, bound = conn.cursor(scroll=True, hold=True), conn.cursor(scroll=True)
        for cursor in (held, bound):
            await cursor.execute("SELECT n FROM t ORDER BY n")
            assert await cursor.fetch_absolute(2) == (1,)
        await getattr(transaction, end)()
        assert await held.fetch_absolute(-1) == (4,)
        with pytest.raises(DatabaseError) as caught:
            await bound.fetch_absolute(-1)
        assert caught.value.sqlcode == -267
        await held.close()


async def test_rows_of_a_scroll_cursor_do_not_follow_the_table(dsn: str) -> None:
    async with aioifx.connect(dsn) as conn:
        await conn.execute("CREATE TABLE t (n INTEGER)")
        await conn.executemany("INSERT INTO t VALUES (?)", [(n,) for n in range(5)])
        async with conn.cursor(scroll=True) as cursor:
            await cursor.execute("SELECT n FROM t WHERE n > ? ORDER BY n", (1,))
            assert await cursor.fetch_absolute(-1) == (4,)
            await conn.execute("DELETE FROM t")
            assert await cursor.fetch_absolute(1) == (2,)
            assert await cursor.fetchall() == [(3,), (4,)]
