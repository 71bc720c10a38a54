"""CPU time of a client for large values, and of bytes through a bare socket. Never: the server's time.

    python -m tests.bench.large_objects [--values 50] [--rows 2000]

The embedded server runs in a process of its own. The time is that of this process alone, the system's share included,
so another client's threads count as well. Values of 1 MB go out and in, as BYTE or as BLOB; rows of a 100-byte TEXT
come in. informix-driver transfers a BLOB as a file of the client.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib
import socket
import subprocess
import sys
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

import aioifx
from aioifx.rows import tuple_row
from tests.bench.embedded import server_process
from tests.system.interop.jdbc import JdbcMissing, fetched

VALUE: Final = bytes(range(256)) * 4096
NOTE: Final = "x" * 100
INSERT: Final = "insert into large values(?, ?, ?)"
PHOTOS: Final = "select photo from large where note is null"
NOTES: Final = "select id, note from large where note is not null"

BLOB: Final = "insert into album values(?, ?)"
BLOBS: Final = "select photo from album"

_REMOTE: Final = """
import socket, sys
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
peer, _ = listener.accept()
size = int(sys.argv[1])
while way := peer.recv(1):
    if way == b"r":
        peer.sendall(bytes(size))
    else:
        left = size
        while left:
            left -= len(peer.recv(min(left, 1 << 16)))
        peer.sendall(b"!")
"""


class Cost(NamedTuple):
    """CPU time of one client."""

    name: str
    write: float
    """MB per second."""
    read: float
    rows: float
    """Rows per second; 0: not measured."""


class Client(ABC):
    """Does the same work as every other."""

    def __init__(self, dsn: str) -> None:
        self.dsn = dsn

    @abstractmethod
    async def write(self, count: int) -> None:
        """Send VALUE *count* times."""

    @abstractmethod
    async def read(self) -> int:
        """Read all of them; returns their size."""

    async def notes(self) -> int:
        """Read the rows with a short TEXT; returns their number, 0 if the client cannot."""
        return 0

    @abstractmethod
    async def open(self) -> None:
        """Connect."""

    @abstractmethod
    async def close(self) -> None:
        """Disconnect."""


class Ours(Client):
    """aioifx: whole values."""

    async def open(self) -> None:
        self.conn = await aioifx.connect(self.dsn, row_factory=tuple_row)

    async def close(self) -> None:
        await self.conn.close()

    async def write(self, count: int) -> None:
        for number in range(count):
            await self.conn.execute(INSERT, number, VALUE, None)

    async def read(self) -> int:
        return sum([len(photo) async for (photo,) in self.conn.stream(PHOTOS)])

    async def notes(self) -> int:
        return len(await self.conn.fetch(NOTES))


class OurChunks(Ours):
    """aioifx: values as chunks."""

    async def write(self, count: int) -> None:
        pieces = [VALUE[at : at + 65536] for at in range(0, len(VALUE), 65536)]
        for number in range(count):
            await self.conn.execute(INSERT, number, iter(pieces), None)

    async def read(self) -> int:
        size = 0
        async for (photo,) in self.conn.stream(PHOTOS, lobs="stream"):
            async for chunk in photo:
                size += len(chunk)
        return size

    async def notes(self) -> int:
        return 0


class OurBlobs(Ours):
    """aioifx: whole BLOB values."""

    async def write(self, count: int) -> None:
        for number in range(count):
            await self.conn.execute(BLOB, number, VALUE)

    async def read(self) -> int:
        return sum([len(photo) for (photo,) in await self.conn.fetch(BLOBS, lobs="inline")])

    async def notes(self) -> int:
        return 0


class OurLobs(OurBlobs):
    """aioifx: BLOB values as chunks."""

    async def write(self, count: int) -> None:
        pieces = [VALUE[at : at + 65536] for at in range(0, len(VALUE), 65536)]
        for number in range(count):
            await self.conn.execute(BLOB, number, iter(pieces))

    async def read(self) -> int:
        size = 0
        for (photo,) in await self.conn.fetch(BLOBS):
            async with photo:
                async for chunk in photo:
                    size += len(chunk)
        return size


class InformixDriver(Client):
    """informix-driver, which blocks."""

    async def open(self) -> None:
        options = aioifx.parse_dsn(self.dsn)
        driver: Any = importlib.import_module("informix_db")
        self.conn = driver.connect(
            host=options.host, port=options.port, user=options.user, password="x", server=options.server,
            database=options.database, autocommit=True,
        )  # fmt: skip

    async def close(self) -> None:
        self.conn.close()

    async def write(self, count: int) -> None:
        cursor = self.conn.cursor()
        for number in range(count):
            cursor.execute(INSERT, (number, VALUE, None))

    async def read(self) -> int:
        cursor = self.conn.cursor()
        cursor.execute(PHOTOS)
        return sum(len(photo) for (photo,) in cursor.fetchall())

    async def notes(self) -> int:
        cursor = self.conn.cursor()
        cursor.execute(NOTES)
        return len(cursor.fetchall())


class DriverBlobs(InformixDriver):
    """informix-driver: BLOB values as files of the client."""

    async def write(self, count: int) -> None:
        self._count = count
        for number in range(count):
            cursor = self.conn.cursor()
            cursor.write_blob_column("insert into album values(?, BLOB_PLACEHOLDER)", VALUE, (number,))

    async def read(self) -> int:
        size = 0
        for number in range(self._count):
            cursor = self.conn.cursor()
            size += len(cursor.read_blob_column("select photo from album where id = ?", (number,)))
        return size

    async def notes(self) -> int:
        return 0


class BareSocket(Client):
    """No client: bytes through an asyncio stream, to and from another process."""

    async def open(self) -> None:
        self._process = subprocess.Popen(  # noqa: ASYNC220 - nothing else runs in this loop
            [sys.executable, "-c", _REMOTE, str(len(VALUE))], stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None
        port = int(self._process.stdout.readline())
        self._socket = socket.create_connection(("127.0.0.1", port))
        self._socket.setblocking(False)
        self._count = 0

    async def close(self) -> None:
        self._socket.close()
        self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()

    async def write(self, count: int) -> None:
        loop = asyncio.get_running_loop()
        self._count = count
        for _ in range(count):
            await loop.sock_sendall(self._socket, b"w" + VALUE)
            await loop.sock_recv(self._socket, 1)

    async def read(self) -> int:
        loop, size = asyncio.get_running_loop(), 0
        for _ in range(self._count):
            await loop.sock_sendall(self._socket, b"r")
            left = len(VALUE)
            while left:
                left -= len(await loop.sock_recv(self._socket, min(left, 65536)))
            size += len(VALUE)
        return size


CLIENTS: Final[dict[str, type[Client]]] = {
    "bare socket": BareSocket,
    "aioifx": Ours,
    "aioifx, chunks": OurChunks,
    "aioifx, BLOB": OurBlobs,
    "aioifx, BLOB, chunks": OurLobs,
    "informix-driver": InformixDriver,
    "informix-driver, BLOB": DriverBlobs,
}


async def prepare(dsn: str, rows: int) -> None:
    """The table, with the rows of short values only."""
    async with aioifx.connect(dsn) as conn:
        for name in ("large", "album"):
            await conn.execute(f"drop table if exists {name}")
        await conn.execute("create table album (id int, photo blob)")
        await conn.execute("create table large (id int, photo byte in table, note text in table)")
        await conn.load("large", [(number, None, NOTE) for number in range(rows)])


@contextmanager
def timed(spent: list[float]) -> Iterator[None]:
    """Append the CPU time of the block."""
    begin = time.process_time()
    yield
    spent.append(time.process_time() - begin)


async def measured(name: str, dsn: str, values: int, rows: int) -> Cost:
    """One client's costs."""
    await prepare(dsn, rows)
    client = CLIENTS[name](dsn)
    await client.open()
    try:
        await client.write(1)
        spent: list[float] = []
        with timed(spent):
            await client.write(values)
        with timed(spent):
            size = await client.read()
        with timed(spent):
            count = await client.notes()
    finally:
        await client.close()
    return Cost(name, values * len(VALUE) / 1e6 / spent[0], size / 1e6 / spent[1], count / spent[2])


async def measured_jdbc(dsn: str, values: int, rows: int) -> list[Cost]:
    """IBM's JDBC driver, after a round to warm up.

    Raises:
        JdbcMissing: driver or Java cannot be had here.
    """
    await prepare(dsn, rows)
    options = aioifx.parse_dsn(dsn)
    url = (
        f"jdbc:informix-sqli://{options.host}:{options.port}/{options.database}:INFORMIXSERVER={options.server};"
        f"user={options.user};password=x"
    )
    with tempfile.TemporaryDirectory() as folder:
        jar = fetched(Path(folder), Path(__file__).with_name("JdbcLarge.java"))
        command = ["java", "-Xshare:auto", "-cp", f"{jar}:{folder}", "JdbcLarge", url, str(values)]
        run = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, check=True)
    write, read, write_blob, read_blob, notes = map(float, run.stdout.split())
    return [Cost("JDBC", write, read, notes), Cost("JDBC, BLOB", write_blob, read_blob, 0)]


def table(costs: list[Cost]) -> Iterator[str]:
    """Lines of Markdown."""
    yield "| client | 1 MB out, MB/s | 1 MB in, MB/s | 100-byte TEXT, rows/s |"
    yield "| --- | ---: | ---: | ---: |"
    for cost in costs:
        yield f"| {cost.name} | {cost.write:,.0f} | {cost.read:,.0f} | {f'{cost.rows:,.0f}' if cost.rows else ''} |"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--values", type=int, default=50)
    parser.add_argument("--rows", type=int, default=2000)
    arguments = parser.parse_args()
    with server_process() as dsn:
        costs = [asyncio.run(measured(name, dsn, arguments.values, arguments.rows)) for name in CLIENTS]
        try:
            costs.extend(asyncio.run(measured_jdbc(dsn, arguments.values, arguments.rows)))
        except JdbcMissing as missing:
            print(f"JDBC is left out: {missing}")
    print("\n".join(table(costs)))


if __name__ == "__main__":
    main()
