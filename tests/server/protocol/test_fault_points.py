from __future__ import annotations

import asyncio
import re
import threading
from itertools import cycle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aioifx.errors import InterfaceError
from aioifx.server.protocol.fault_points import ConnectionDropped, Effect, FaultPoints, Match, StatementFault
from aioifx.server.sql.errors import SqlError


class Owner:
    hits = 0


class Connection:
    """A connection that is open until `close`."""

    def __init__(self) -> None:
        self.closed = asyncio.Event()

    @property
    def is_open(self) -> bool:
        return not self.closed.is_set()

    async def wait_closed(self) -> None:
        await self.closed.wait()


def failing(points: FaultPoints, match: Match = None, times: int | None = 1, sqlcode: int = -244) -> Owner:
    owner = Owner()
    points.add_statement_fault(StatementFault(Effect.FAIL, match, times, owner, SqlError(sqlcode, -107, "t")))
    return owner


def error_before(points: FaultPoints, sql: str) -> int:
    """The SQLCODE of the error before a statement; 0 for none."""
    try:
        points.before(sql)
    except SqlError as error:
        return error.sqlcode
    return 0


@pytest.mark.parametrize(
    ("match", "sql", "is_match"),
    [
        (None, "anything", True),
        ("UPDATE stock", "update  stock\n SET a = 1", True),
        ("stock set", "update stock\tSET a = 1", True),
        ("VALUES (?)", "INSERT INTO t VALUES (?)", True),
        ("VALUES (?)", "INSERT INTO t VALUES (1)", False),
        (re.compile(r"^select\b"), "select 1", True),
        (re.compile(r"^select\b"), "SELECT 1", False),
        ("commit", "COMMIT WORK", True),
    ],
)
def test_a_statement_is_matched_by_its_text(match: Match, sql: str, is_match: bool) -> None:
    points = FaultPoints()
    failing(points, match)
    assert (error_before(points, sql) == -244) is is_match


WORDS = st.lists(
    st.text(st.characters(codec="ascii", categories=("L", "N", "P", "S")), min_size=1), min_size=1
)


@given(WORDS, st.lists(st.sampled_from((" ", "\t", "\n", "  ")), min_size=1), st.booleans())
def test_white_space_and_case_do_not_matter(words: list[str], blanks: list[str], is_upper: bool) -> None:
    points = FaultPoints()
    failing(points, " ".join(words))
    sql = words[0] + "".join(blank + word for blank, word in zip(cycle(blanks), words[1:], strict=False))
    assert error_before(points, f"SELECT {sql.upper() if is_upper else sql} FROM t") == -244


def test_a_fault_takes_effect_so_many_times() -> None:
    points = FaultPoints()
    owner = failing(points, "a", times=2)
    assert [error_before(points, sql) for sql in ("a", "b", "a", "a")] == [-244, 0, -244, 0]
    assert owner.hits == 2
    assert not points.on_statements


def test_faults_take_effect_in_the_order_in_which_they_were_armed() -> None:
    points = FaultPoints()
    for sqlcode in (-243, -244, -245):
        failing(points, sqlcode=sqlcode)
    assert [error_before(points, "a") for _ in range(4)] == [-243, -244, -245, 0]


def test_a_fault_that_is_removed_has_no_effect() -> None:
    points = FaultPoints()
    owner = failing(points, times=None)
    assert points.on_statements
    points.remove(owner)
    points.remove(owner)
    assert not points.on_statements
    assert error_before(points, "a") == 0


def test_a_connection_ends_before_a_statement_or_after_it() -> None:
    points = FaultPoints()
    points.add_statement_fault(StatementFault(Effect.DROP_BEFORE, "first", 1, Owner()))
    points.add_statement_fault(StatementFault(Effect.DROP_AFTER, "second", 1, Owner()))
    points.after("first")
    points.before("second")
    with pytest.raises(ConnectionDropped):
        points.before("first")
    with pytest.raises(ConnectionDropped):
        points.after("second")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"match": " "}, r"^match: expected a part of a statement, got only blanks$"),
        (
            {"match": re.compile(b"x")},
            r"^match: expected text or a compiled expression of text, got re\.compile\(b'x'\)$",
        ),
        ({"times": 0}, r"^times: expected a whole number from 1, or None, got 0$"),
        ({"times": 1.5}, r"^times: expected a whole number from 1, or None, got 1\.5$"),
    ],
)
def test_invalid_arguments_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InterfaceError, match=message):
        failing(FaultPoints(), **arguments)


async def test_logins_are_refused_by_the_first_refusal() -> None:
    points, connection, first, second = FaultPoints(), Connection(), Owner(), Owner()
    await points.at_login(connection)
    points.add_refusal(first, -27002)
    points.add_refusal(second, 0)
    with pytest.raises(SqlError) as raised:
        await points.at_login(connection)
    assert (raised.value.sqlcode, first.hits, second.hits) == (-27002, 1, 0)
    points.remove(first)
    with pytest.raises(ConnectionDropped):
        await points.at_login(connection)
    points.remove(second)
    await points.at_login(connection)


async def test_a_pause_ends_when_another_thread_ends_it() -> None:
    points, connection, owner = FaultPoints(), Connection(), Owner()
    points.add_pause(owner)
    waiting = [asyncio.ensure_future(points.hold(connection)) for _ in range(3)]
    done, _ = await asyncio.wait(waiting, timeout=0)
    assert not done
    await asyncio.sleep(0)
    assert owner.hits == 3
    ending = threading.Thread(target=points.remove, args=(owner,))
    ending.start()
    await asyncio.gather(*waiting)
    ending.join()
    assert not points.on_requests


async def test_a_pause_lasts_until_the_last_of_several_is_removed() -> None:
    points, connection, owners = FaultPoints(), Connection(), (Owner(), Owner())
    for owner in owners:
        points.add_pause(owner)
    waiting = asyncio.ensure_future(points.hold(connection))
    await asyncio.sleep(0)
    points.remove(owners[0])
    for _ in range(3):
        await asyncio.sleep(0)
    assert not waiting.done()
    points.remove(owners[1])
    await waiting


@pytest.mark.parametrize("is_pause", [True, False])
async def test_a_client_that_disconnects_is_not_held(is_pause: bool) -> None:
    points, connection = FaultPoints(), Connection()
    if is_pause:
        points.add_pause(Owner())
    else:
        points.add_delay(Owner(), 3600.0, 0.0)
    waiting = asyncio.ensure_future(points.hold(connection))
    await asyncio.sleep(0)
    connection.closed.set()
    await waiting


async def test_delays_add_up() -> None:
    points, owner = FaultPoints(), Owner()
    for _ in range(2):
        points.add_delay(owner, 0.01, 0.0)
    loop = asyncio.get_running_loop()
    begin = loop.time()
    await points.hold(Connection())
    assert loop.time() - begin > 0.015
    assert owner.hits == 2
