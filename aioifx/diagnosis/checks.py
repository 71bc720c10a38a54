"""Checks on an open connection: fetch size, round trips, OPTOFC, interrupts. Never: how it was opened.

Invariants:
1. Nothing is written: all statements read tables that every database has.
2. A statement that runs long is bounded by the size of the system catalog.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from contextlib import nullcontext
from typing import Any, Final

from aioifx.client.api.connection import Connection, statements_of
from aioifx.client.config.options import STANDARD_FETCH_SIZE, ConnectOptions
from aioifx.diagnosis.report import DiagnosisChange, Finding
from aioifx.errors import ConnectionLost, QueryCanceled
from aioifx.rows import tuple_row

ROUND_TRIPS: Final = 20
"""Round trips whose median is taken."""

_FAR: Final = 0.02
"""Seconds of a round trip from which on larger blocks help much."""

_WIDTH: Final = 1000
_MAX_BLOCK: Final = 1024 * 1024
"""Bytes of a block up to which the fetch size is measured."""
_BLOCKS: Final = 2

_ONE_ROW: Final = "SELECT tabid FROM informix.systables WHERE tabid = 1"
_REPEATED: Final = 5

RUNNING_TIME: Final = 0.2
"""Seconds that the long statement runs before it is interrupted."""

LONG_STATEMENT: Final = (
    "SELECT COUNT(*) FROM informix.systables a, informix.systables b, informix.systables c, informix.systables d "
    "WHERE a.tabid < 100 AND b.tabid < 100 AND c.tabid < 100 AND d.tabid < 100 "
    "AND a.tabid + b.tabid + c.tabid + d.tabid < 0"
)
"""Compares millions of rows and returns 0. It reads only the entries of the system catalog itself, of which every
database has more than 50 and none has more than 99 (documented: tabid of a user's table starts at 100)."""


async def fetch_size(conn: Connection[Any], options: ConnectOptions) -> Finding:
    """Fetch blocks of known rows, and compare the bytes of each reply with the fetch size."""
    session = statements_of(conn).session
    asked = options.fetch_size
    measured = min(max(asked, session.fetch_buffer.size), _MAX_BLOCK)
    rows = _BLOCKS * measured // _WIDTH + 1
    sql = (
        f"SELECT FIRST {rows} CAST(a.tabname AS CHAR({_WIDTH})) "
        "FROM informix.systables a, informix.systables b, informix.systables c"
    )
    largest = 0
    async with conn.stream(sql, row_factory=tuple_row, prefetch=False) as stream:
        before = session.channel.bytes_in
        async for _ in stream.blocks():
            largest = max(largest, session.channel.bytes_in - before)
            before = session.channel.bytes_in
    size = session.fetch_buffer.size
    details = {"fetch_size": size, "largest_reply": largest}
    if size < asked:
        return Finding(
            f"{size} bytes: the server rejected {asked}",
            (DiagnosisChange("fetch_size", str(STANDARD_FETCH_SIZE)),),
            details,
            "warning",
        )
    if largest < measured // 2:
        return Finding(
            f"{size} bytes, but no reply had more than {largest}: rows come in more round trips",
            _small_blocks(conn),
            details,
            "warning",
        )
    return Finding(f"{size} bytes in force, replies of up to {largest}", details=details)


def _small_blocks(conn: Connection[Any]) -> tuple[DiagnosisChange, ...]:
    if conn.is_ansi:
        return (
            DiagnosisChange(
                "read_only", "True, or transaction(read_only=True): ANSI databases send single rows"
            ),
        )
    return (DiagnosisChange("the server", "one that fills the fetch buffer; no option helps"),)


async def round_trip(conn: Connection[Any]) -> Finding:
    """The median time of a request that runs no statement."""
    times: list[float] = []
    for _ in range(ROUND_TRIPS):
        began = time.perf_counter()
        await conn.ping()
        times.append(time.perf_counter() - began)
    median = statistics.median(times)
    details = {"median": median, "least": min(times), "most": max(times), "count": len(times)}
    found = (
        f"median {_milliseconds(median)} of {len(times)}, from {_milliseconds(min(times))} "
        f"to {_milliseconds(max(times))}"
    )
    if median < _FAR:
        return Finding(found, details=details)
    changes = (DiagnosisChange("fetch_size", "262144: fewer round trips to a server this far away"),)
    return Finding(found, changes, details, "warning")


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:.2f} ms" if seconds < 0.1 else f"{seconds * 1000:.0f} ms"


async def optofc(conn: Connection[Any], options: ConnectOptions) -> Finding:
    """Whether the server closes a cursor with its last rows, which saves the round trip of CLOSE."""
    if not options.sends_optofc:
        return Finding("turned off by the options", outcome="skipped")
    statement = await conn.prepare(_ONE_ROW)
    # In an ANSI database a COMMIT follows each query outside a transaction.
    async with conn.transaction() if conn.is_ansi else nullcontext():
        await statement.fetchval()
        await conn.ping()  # after it, no cleanup of the first call is left
        before = conn.stats.round_trips
        for _ in range(_REPEATED):
            await statement.fetchval()
        await conn.ping()
        trips = conn.stats.round_trips - before - 1
    details = {"round_trips": trips / _REPEATED}
    if trips == _REPEATED:
        return Finding("honoured: a query takes one round trip", details=details)
    return Finding(
        f"not honoured: a query of one row takes {trips / _REPEATED:g} round trips instead of 1",
        (DiagnosisChange("pipelining", "True: a cursor is then closed together with the next request"),),
        details,
        "warning",
    )


async def interrupt(conn: Connection[Any], options: ConnectOptions) -> Finding:
    """Interrupt a statement that runs long."""
    if options.cancel_timeout == 0:
        return Finding("cancel_timeout=0: a cancelled call drops the connection", outcome="skipped")
    statement = await conn.prepare(LONG_STATEMENT)
    call = asyncio.ensure_future(statement.fetchval())
    began = time.perf_counter()
    try:
        await asyncio.wait([call], timeout=RUNNING_TIME)
        if call.done():
            await call
            return Finding(f"the statement ended by itself within {RUNNING_TIME:g} s", outcome="skipped")
        began = time.perf_counter()
        conn.cancel()
        await call
    except QueryCanceled:
        seconds = time.perf_counter() - began
        return Finding(
            f"honoured: a running statement ended within {_milliseconds(seconds)}",
            details={"seconds": seconds},
        )
    except ConnectionLost as error:
        return _not_interrupted(str(error))
    finally:
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
    return _not_interrupted("the statement ran to its end")


def _not_interrupted(why: str) -> Finding:
    return Finding(
        f"not honoured: {why}; a cancelled call closes its connection",
        (
            DiagnosisChange("the way to the server", "one that passes TCP urgent data: no proxy, no tunnel"),
            DiagnosisChange("cancel_timeout", "1, or 0: cancelled calls then end sooner"),
        ),
        outcome="warning",
    )
