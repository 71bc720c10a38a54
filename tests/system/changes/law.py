"""The law of changes: replaying them into a second database gives the same tables.

Writers run random transactions, while a reader applies the changes to a copy. The reader is restarted and killed at
random, and continues at the position in the copy. Its connections may be cut at any byte of an answer. The server may
be restarted or killed as well.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import aioifx
from aioifx.server import ServerOptions, running
from tests.system.changes import replay, workload
from tests.system.changes.replay import Copy
from tests.system.changes.workload import TABLES, Writer
from tests.system.faults.proxy import Fault, Kind, Proxy, Way, proxied
from tests.system.soak.places import Place, Restarted

_LOST: Final = (aioifx.ConnectionLost, aioifx.ConnectError, OSError)
_END: Final = 1
"""The key of a row that the reader waits for at the end; no writer uses it."""

_LINKS: Final = 4
"""Connections of a reader that may be cut, after the one that describes the tables; later ones are not cut."""


class ReaderKilled(Exception):
    """The reader ends in the middle of a transaction of the copy."""


@dataclass
class Law:
    """One run.

    Args:
        seed: of all that is random.
        transactions: of each writer.
        writers: their number.
        quirks: of the server.
        kind: of the server: `Killed` or `Restarted`; how often it ends is *server_ends*.
        cuts: the probability that the reader ends after a transaction.
        faults: the probability that a connection of the reader is cut at one byte of its answers.
    """

    seed: int
    transactions: int
    writers: int = 8
    quirks: Collection[str] = frozenset()
    kind: type[Place] = Restarted
    server_ends: int = 0
    cuts: float = 0.05
    faults: float = 0.0
    most_seconds: float = 1.0
    """Between two ends of the server."""
    max_transaction_changes: int = 1000
    seen: dict[str, int] = field(default_factory=dict[str, int])
    """What happened, by name."""

    async def check(self) -> None:
        """Raise AssertionError if the copy differs."""
        with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            options = ServerOptions(
                ("shop",), directory=Path(folder, "data"), seed=workload.SEED, quirks=frozenset(self.quirks)
            )
            place = self.kind(options, None)
            await place.restart()
            try:
                async with (
                    running("copy", seed=replay.SEED) as copy_dsn,
                    aioifx.connect(copy_dsn) as conn,
                    proxied(place.port) as proxy,
                ):
                    await self._run(place, proxy, conn)
            finally:
                await place.stop()

    def _count(self, what: str, number: int = 1) -> None:
        self.seen[what] = self.seen.get(what, 0) + number

    async def _run(self, place: Place, proxy: Proxy, conn: aioifx.Connection[Any]) -> None:
        dsn = place.dsn([place.port])
        copy = Copy(conn)
        async with aioifx.changes(dsn, [*self._tables]):  # turns full-row logging on
            await copy.begin_at(await replay.now(dsn))
        writers = workload.writers(self.writers, self.seed, dsn)
        reading = asyncio.create_task(self._read(place.dsn([proxy.port]), copy, proxy))
        is_written = asyncio.Event()
        ending = asyncio.create_task(self._end_server(place, is_written))
        try:
            await asyncio.gather(*(writer.run(self.transactions) for writer in writers))
            is_written.set()
            await ending
            async with aioifx.connect(dsn) as source:
                await source.execute("INSERT INTO scratch VALUES (?, 'end')", _END)
                await reading
                self._note(writers, copy)
                assert await replay.contents(conn) == await replay.contents(source)
        finally:
            is_written.set()
            reading.cancel()
            await asyncio.wait([reading, ending])

    def _note(self, writers: list[Writer], copy: Copy) -> None:
        self._count("transactions", sum(writer.committed for writer in writers))
        self._count("applied", copy.transactions)
        for kind, number in copy.changes.items():
            self._count(kind, number)

    @property
    def _tables(self) -> list[str]:
        return [f"shop:informix.{table}" for table in TABLES]

    async def _read(self, dsn: str, copy: Copy, proxy: Proxy) -> None:
        """Apply all changes, again and again from the position that the copy has."""
        dice = random.Random(f"{self.seed} reader")
        while True:
            self._count("connections cut", sum(link.struck for link in proxy.links))
            proxy.links.clear()
            proxy.faults.clear()
            proxy.faults.extend([None, *(self._fault(dice) for _ in range(_LINKS))])
            try:
                if await self._read_once(dsn, copy, dice):
                    return
            except ReaderKilled:
                self._count("readers killed")
            except _LOST:
                self._count("connections lost")
                await asyncio.sleep(0.02)

    def _fault(self, dice: random.Random) -> Fault | None:
        """What ends a connection of the next reader; None: nothing does."""
        if dice.random() >= self.faults:
            return None
        return Fault(dice.choice((Kind.CUT, Kind.RESET)), Way.TO_CLIENT, int(10 ** dice.uniform(2.8, 4.4)))

    async def _read_once(self, dsn: str, copy: Copy, dice: random.Random) -> bool:
        options: dict[str, Any] = {
            "max_records": dice.choice((1, 2, 7, 256)),
            "max_transaction_changes": dice.choice((0, 3, self.max_transaction_changes)),
            "restart": dice.random() < 0.75,
        }
        changes = aioifx.changes(dsn, self._tables, start=await copy.position(), **options)
        async with changes:
            assembler = changes._assembler
            async for transaction in changes:
                if assembler is not changes._assembler:
                    self._count("continued")
                    assembler = changes._assembler
                if dice.random() < self.cuts / 2:
                    await self._die(copy, transaction)
                await copy.apply(transaction)
                if any(change.after and change.after[0] == _END for change in transaction):
                    return True
                if dice.random() < self.cuts:
                    self._count("restarts")
                    return False
        raise AssertionError("the changes have ended")

    async def _die(self, copy: Copy, transaction: Any) -> None:
        """Apply a transaction and lose it before its commit: it must come again."""
        async with copy.conn.transaction() as unfinished:
            await copy.apply(transaction)
            copy.transactions -= 1
            await unfinished.rollback()
        raise ReaderKilled

    async def _end_server(self, place: Place, is_written: asyncio.Event) -> None:
        """End the server now and then, until the writers are done."""
        dice = random.Random(f"{self.seed} server")
        for _ in range(self.server_ends):
            try:
                await asyncio.wait_for(is_written.wait(), dice.uniform(0.2, self.most_seconds))
                return
            except TimeoutError:
                self._count("servers ended")
                await place.restart()
