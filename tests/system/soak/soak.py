"""Workers, random operations, random cancellations and random faults on one pool; at the end nothing may be left.

There are two servers: one that is restarted in this process, one that is killed in a process of its own. One of them
speaks TLS, by the seed. Each has two pools, one of them with pipelining. Their hosts are two proxies for the
server, a host that drops connections, and one without a listener.

poe soak --seconds 120 [--seed 1] [--workers 20] [--loop asyncio|uvloop|both]
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import gc
import logging
import os
import random
import socket
import sys
import time
import warnings
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import anyio

import aioifx
from aioifx import Pool
from tests.injection import eventually
from tests.system.faults.proxy import Fault, Kind, Urgent, Way
from tests.system.soak.places import Dropping, Killed, Place, Restarted, placed

ACCOUNTS: Final = 50
TOTAL: Final = 100 * ACCOUNTS
"""What all accounts have together; money is moved, never made."""

MOST: Final = 6
"""Connections that the pool may have."""

GROWTH: Final = 24.0
"""Megabytes that the process may grow by between the second fifth, when four pools are warm, and the end."""

SEED: Final = (
    "create table account (id int primary key, balance int);"
    "create table note (id serial, text varchar(40));"
    "create table wide (id int primary key, text varchar(200));"
)

Operation = Callable[[Pool, random.Random], Awaitable[object]]


# -- operations -------------------------------------------------------------------------------------------------------


async def read_all(pool: Pool, dice: random.Random) -> None:
    assert len(await pool.fetch("select id, text from wide")) == 400


async def read_one(pool: Pool, dice: random.Random) -> None:
    number = dice.randrange(400)
    assert await pool.fetchval("select id from wide where id = ?", number) == number


async def add_up(pool: Pool, dice: random.Random) -> None:
    assert await pool.fetchval("select sum(balance) from account") == TOTAL


async def move(pool: Pool, dice: random.Random) -> None:
    amount, (source, target) = dice.randrange(10), dice.sample(range(ACCOUNTS), 2)
    async with pool.acquire() as conn, conn.transaction():
        await conn.execute("update account set balance = balance - ? where id = ?", amount, source)
        await conn.execute("update account set balance = balance + ? where id = ?", amount, target)
        if dice.random() < 0.2:
            raise ZeroDivisionError


async def move_and_run(pool: Pool, dice: random.Random) -> None:
    """A task that releases the connection in the middle has moved nothing."""
    async with pool.acquire() as conn:
        await conn.execute("begin work")
        await conn.execute("update account set balance = balance - 7 where id = ?", dice.randrange(ACCOUNTS))


async def stream_all(pool: Pool, dice: random.Random) -> None:
    async with contextlib.aclosing(pool.stream("select id, text from wide order by id")) as stream:
        assert [row[0] async for row in stream] == list(range(400))


async def stream_some(pool: Pool, dice: random.Random) -> None:
    async with pool.acquire() as conn:
        left = dice.randrange(300)
        async for row in conn.stream("select id, text from wide order by id"):
            if row[0] == left:
                break


async def cursor(pool: Pool, dice: random.Random) -> None:
    async with pool.acquire() as conn:
        cur = conn.cursor(scroll=dice.random() < 0.5)
        await cur.execute("select id from wide order by id")
        assert [row[0] for row in await cur.fetchmany(5)] == list(range(5))


async def prepared(pool: Pool, dice: random.Random) -> None:
    async with pool.acquire() as conn:
        statement = await conn.prepare("select text from wide where id = ?")
        for _ in range(3):
            assert await statement.fetchval(dice.randrange(400))


async def insert_many(pool: Pool, dice: random.Random) -> None:
    await pool.executemany("insert into note (text) values (?)", [("x",)] * dice.randrange(1, 60))


async def load(pool: Pool, dice: random.Random) -> None:
    async with pool.acquire() as conn:
        await conn.load("note", [("x",)] * dice.randrange(1, 200), columns=["text"])


async def trim(pool: Pool, dice: random.Random) -> None:
    await pool.execute("delete from note where id > 0")


async def fail(pool: Pool, dice: random.Random) -> None:
    try:
        await pool.execute("insert into wide values (1, 'twice')")
    except aioifx.UniqueViolation:
        return
    raise AssertionError("it was there twice")


async def leave_settings(pool: Pool, dice: random.Random) -> None:
    async with pool.acquire() as conn:
        await conn.execute("set isolation to dirty read")
        await conn.execute("set lock mode to wait 2")


async def leave_table(pool: Pool, dice: random.Random) -> None:
    async with pool.acquire() as conn:
        await conn.execute("create temp table mine (a int)")


async def use_side_by_side(pool: Pool, dice: random.Random) -> None:
    async with pool.acquire() as conn, asyncio.TaskGroup() as group:
        for _ in range(3):
            group.create_task(conn.fetchval("select count(*) from wide"))


async def forget_in_the_middle(pool: Pool, dice: random.Random) -> None:
    """A task that keeps using a connection after its release."""
    async with pool.acquire() as conn:
        stray = asyncio.create_task(conn.fetch("select id, text from wide"))
        stray.add_done_callback(lambda task: task.cancelled() or task.exception())
        await asyncio.sleep(0)
    await asyncio.wait([stray])


OPERATIONS: Final[list[Operation]] = [
    read_all, read_one, add_up, move, move, move_and_run, stream_all, stream_some, cursor, prepared, insert_many,
    load, trim, fail, leave_settings, leave_table, use_side_by_side, forget_in_the_middle,
]  # fmt: skip


# -- what happens to them ---------------------------------------------------------------------------------------------


@dataclass
class Report:
    """What has happened, and what was wrong."""

    loop: str
    seed: int
    seconds: float = 0.0
    outcomes: Counter[str] = field(default_factory=Counter[str])
    faults: Counter[str] = field(default_factory=Counter[str])
    megabytes: list[float] = field(default_factory=list[float])
    wrong: list[str] = field(default_factory=list[str])
    pools: list[str] = field(default_factory=list[str])

    def __str__(self) -> str:
        lines = [
            f"{self.loop}, seed {self.seed}: {self.outcomes.total():,} operations in {self.seconds:.1f} s",
            "  outcomes  " + ", ".join(f"{name} {count:,}" for name, count in self.outcomes.most_common()),
            "  faults    " + ", ".join(f"{name} {count:,}" for name, count in self.faults.most_common()),
            *("  pool      " + pool for pool in self.pools),
            "  memory    " + ", ".join(f"{size:.1f}" for size in self.megabytes) + " MB",
            "  left      " + ("nothing" if not self.wrong else f"{len(self.wrong)} things:"),
        ]
        return "\n".join(lines + [f"    {each}" for each in self.wrong[:20]])


async def work(pool: Pool, dice: random.Random, until: float, report: Report) -> None:
    """One worker: one operation after the other, some of them cancelled in one of three ways."""
    while time.monotonic() < until:
        operation = dice.choice(OPERATIONS)
        try:
            match dice.randrange(24):
                case 0:
                    await cancelled_soon(operation(pool, dice), dice)
                case 1:
                    async with asyncio.timeout(dice.random() * 0.03):
                        await operation(pool, dice)
                case 2:
                    with anyio.move_on_after(dice.random() * 0.03) as scope:
                        await operation(pool, dice)
                    if scope.cancelled_caught:
                        report.outcomes["scope cancelled"] += 1
                        continue
                case _:
                    await operation(pool, dice)
            report.outcomes["done"] += 1
        except* (ZeroDivisionError, asyncio.CancelledError):
            report.outcomes["cancelled or rolled back"] += 1
        except* (aioifx.DatabaseError, aioifx.PoolClosed, TimeoutError) as group:
            for error in leaves(group):
                report.outcomes[type(error).__name__] += 1
                if isinstance(error, (aioifx.ProtocolError, aioifx.InternalError)) or is_astray(error):
                    report.wrong.append(f"{operation.__name__}: {error!r}")
            await asyncio.sleep(
                dice.random() * 0.02
            )  # as a service would; a server that is down refuses fast
        except* Exception as group:
            for error in leaves(group):
                report.outcomes[type(error).__name__] += 1
                report.wrong.append(f"{operation.__name__}: {error!r}")
        stats = pool.stats
        if stats.size != stats.idle + stats.in_use or stats.size + stats.opening > MOST:
            report.wrong.append(f"after {operation.__name__}: {stats}")


def is_astray(error: BaseException) -> bool:
    """Whether an interrupt that was meant for another statement has hit this one."""
    return isinstance(error, aioifx.QueryCanceled) and not isinstance(error, aioifx.QueryTimeout)


async def cancelled_soon(call: Awaitable[object], dice: random.Random) -> None:
    task = asyncio.ensure_future(call)
    for _ in range(dice.randrange(40)):
        await asyncio.sleep(0)
    task.cancel()
    await task


def leaves(group: BaseExceptionGroup[Any]) -> list[BaseException]:
    found: list[BaseException] = []
    for error in group.exceptions:
        found += leaves(error) if isinstance(error, BaseExceptionGroup) else [error]
    return found


async def disturb(pools: list[Pool], place: Place, dice: random.Random, until: float, report: Report) -> None:
    """One fault after the other."""
    while time.monotonic() < until:
        await asyncio.sleep(dice.random() * 0.3)
        proxy = dice.choice(place.proxies)
        match dice.randrange(24):
            case 0:
                name = "all links dropped"
                for each in place.proxies:
                    each.drop_links()
            case 1 | 2 | 3 | 4:
                name = "a session killed"
                if not place.kill_session(dice):
                    name = "a link dropped"
                    for link in proxy.links[-1:]:
                        link.end()
            case 5:
                name = "server restarted" if isinstance(place, Restarted) else "server killed"
                await place.restart(dice.random() * 0.5)
            case 6 | 7:
                name = "pool expired"
                dice.choice(pools).expire()
            case 8 | 9:
                name = "urgent bytes lost"
                for link in proxy.links:
                    link.urgent = Urgent.LOST
            case _:
                kind = dice.choice([Kind.CUT, Kind.RESET, Kind.STALL, Kind.HALF, Kind.SPLIT, Kind.DELAY])
                name = kind.value
                fault = Fault(kind, dice.choice(list(Way)), dice.randrange(5000))
                for link in proxy.links[-2:]:
                    link.arm(fault)
                proxy.fault = dice.choice([None, fault])
                await asyncio.sleep(dice.random() * 0.2)
                proxy.fault = None
        report.faults[name] += 1
        for each in place.proxies:
            for link in each.links[:-40]:  # long gone at both ends, most of them
                link.end()
            del each.links[:-40]


async def soak(seconds: float, seed: int, workers: int = 20) -> Report:
    """Run it once, in the running loop."""
    loop = asyncio.get_running_loop()
    report = Report(type(loop).__module__.split(".")[0], seed)
    loop.set_exception_handler(lambda _, context: complain(report, str(context)))
    tasks_before, sockets_before = asyncio.all_tasks(), sockets()
    began = time.monotonic()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ResourceWarning)
        async with (
            placed(Restarted, SEED, tls=bool(seed % 2)) as one,
            placed(Killed, SEED, tls=not seed % 2) as other,
            Dropping(random.Random(seed)) as dropping,
        ):
            labours = [labour(place, dropping, seconds, workers // 2, report) for place in (one, other)]
            await asyncio.gather(*labours, watch(seconds, report))
            report.faults["connections dropped by a host"] = dropping.dropped
        gc.collect()
        await asyncio.sleep(0)
    report.seconds = time.monotonic() - began
    for each in caught:
        complain(report, str(each.message))
    with contextlib.suppress(AssertionError):
        await eventually(lambda: asyncio.all_tasks() == tasks_before and sockets() <= sockets_before)
    report.wrong += [f"task: {task}" for task in asyncio.all_tasks() - tasks_before]
    if sockets() > sockets_before:
        report.wrong.append(f"sockets: {sockets() - sockets_before}")
    loop.set_exception_handler(None)
    return report


def complain(report: Report, text: str) -> None:
    """Note what was forgotten."""
    report.wrong.append(text)


async def labour(place: Place, dropping: Dropping, seconds: float, workers: int, report: Report) -> None:
    """Workers and faults for a while; then the pools must be as good as new, and closed without a trace."""
    dice = random.Random(f"{report.seed} {place.name}")
    async with aioifx.connect(place.dsn([place.port]), **place.client_options) as conn:
        await conn.load("account", [(n, TOTAL // ACCOUNTS) for n in range(ACCOUNTS)])
        await conn.load("wide", [(n, "w" * 150) for n in range(400)])
    hosts = [place.proxies[0].port, place.proxies[1].port, dropping.port, unused_port()]
    pools = [await pool_at(place, dice.sample(hosts, len(hosts)), pipelining=flag) for flag in (False, True)]
    until = time.monotonic() + seconds
    tasks = [
        asyncio.create_task(work(pools[number % 2], random.Random(dice.random()), until, report))
        for number in range(workers)
    ]
    tasks.append(asyncio.create_task(disturb(pools, place, random.Random(dice.random()), until, report)))
    for outcome in await asyncio.gather(*tasks, return_exceptions=True):
        if outcome is not None:
            report.wrong.append(f"worker: {outcome!r}")
    for pool in pools:
        await check(pool, place, report)
    for pool in pools:
        await pool.close(timeout=5)
    try:
        await eventually(lambda: has_no_sessions(place))
    except AssertionError:
        report.wrong += [f"session: {seen}" for seen in await place.sessions()]


async def has_no_sessions(place: Place) -> bool:
    return not await place.sessions()


async def pool_at(place: Place, hosts: list[int], *, pipelining: bool) -> Pool:
    return await aioifx.create_pool(
        place.dsn(hosts),
        min_size=1,
        max_size=MOST,
        acquire_timeout=3,
        max_lifetime=2,
        check_after_idle=0.05,
        fetch_size=4096,
        connect_timeout=2,
        stagger=0.05,
        command_timeout=1,
        cancel_timeout=0.5,
        pipelining=pipelining,
        **place.client_options,
    )


def unused_port() -> int:
    """One that is assumed to have no listener."""
    with socket.socket() as own:
        own.bind(("127.0.0.1", 0))
        port: int = own.getsockname()[1]
        return port


async def watch(seconds: float, report: Report) -> None:
    """Memory, after each fifth."""
    for _ in range(5):
        await asyncio.sleep(seconds / 5)
        gc.collect()
        report.megabytes.append(megabytes())
    if report.megabytes[-1] - report.megabytes[1] > GROWTH:
        report.wrong.append("memory grows")


async def check(pool: Pool, place: Place, report: Report) -> None:
    """After the last fault: it works, nothing is in use, nothing open, no money lost."""
    pool.expire()
    for proxy in place.proxies:
        proxy.drop_links()  # stalled ones would only be found out by their time-outs
    await asyncio.sleep(0.5)
    try:
        await pool.wait_ready(40)
        for _ in range(3 * MOST):
            if await pool.fetchval("select sum(balance) from account") != TOTAL:
                report.wrong.append("money was made or lost")
        await eventually(lambda: not pool.stats.in_use)
    except (aioifx.Error, AssertionError) as error:
        report.wrong.append(f"it does not work again: {error!r}")
    stats = pool.stats
    report.pools.append(
        f"{place.name}: lent {stats.acquired:,}, opened {stats.opened:,}, failed {stats.failed:,},"
        f" refused {stats.rejected:,}, timed out {stats.timed_out:,}; now {stats.size} of {stats.max_size}"
    )
    if stats.in_use or stats.waiting:
        report.wrong.append(f"at the end: {stats}")


def sockets() -> int:
    """Sockets that this process has open; 0 where unknown."""
    count = 0
    with contextlib.suppress(OSError):
        for name in os.listdir("/proc/self/fd"):
            with contextlib.suppress(OSError):
                count += os.readlink(f"/proc/self/fd/{name}").startswith("socket:")
    return count


def megabytes() -> float:
    """The memory of this process; 0 where unknown."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--workers", type=int, default=20)
    parser.add_argument("--loop", choices=["asyncio", "uvloop", "both"], default="both")
    given = parser.parse_args(arguments)
    logging.getLogger("aioifx").setLevel(logging.CRITICAL)  # failures are what is wanted here
    factories: dict[str, Callable[[], asyncio.AbstractEventLoop]] = {"asyncio": asyncio.new_event_loop}
    if given.loop != "asyncio":
        import uvloop

        factories["uvloop"] = uvloop.new_event_loop
    failed = False
    for name, factory in factories.items():
        if given.loop in (name, "both"):
            with asyncio.Runner(loop_factory=factory) as runner:
                report = runner.run(soak(given.seconds, given.seed, given.workers))
            print(report, flush=True)
            failed = failed or bool(report.wrong)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
