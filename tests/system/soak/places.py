"""Servers that the soak disturbs: restarted in this process, or killed in one of their own; always on the same data."""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import socket
import ssl
import sys
import tempfile
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field, replace
from pathlib import Path
from struct import pack
from typing import Any, Final

import trustme

import aioifx
from aioifx.server import Server, ServerOptions
from tests.certificates import trusting
from tests.system.faults.proxy import Proxy, Urgent, proxied

ROOT: Final = Path(__file__).parents[3]

LOGIN_SIZE: Final = 100
"""Bytes of a login, at most, that a host that drops connections reads first."""


@dataclass
class Place:
    """A server that is restarted on the same port and directory, and two proxies for it."""

    options: ServerOptions
    authority: trustme.CA | None
    proxies: list[Proxy] = field(default_factory=list[Proxy])
    port: int = 0

    @property
    def name(self) -> str:
        return f"{type(self).__name__.lower()}, {'TLS' if self.authority else 'TCP'}"

    @property
    def client_options(self) -> dict[str, Any]:
        if self.authority is None:
            return {}
        return {"ssl": trusting(self.authority)}

    def dsn(self, hosts: list[int]) -> str:
        names = ",".join(f"127.0.0.1:{port}" for port in hosts)
        return f"informix://soak@{names}/shop?server=ol_aioifx"

    async def restart(self, pause: float = 0.0) -> None:
        raise NotImplementedError

    async def stop(self) -> None:
        raise NotImplementedError

    def kill_session(self, dice: random.Random) -> bool:
        """End one session at the server; False where only its connection can be cut."""
        return False

    async def sessions(self) -> list[str]:
        """Those that are left, besides the one that asks."""
        async with aioifx.connect(self.dsn([self.port]), user="asking", **self.client_options) as conn:
            users = await conn.fetch("select username from sysmaster:syssessions")
        return [user for (user,) in users if user.strip() != "asking"]


class Restarted(Place):
    """In this process; it ends in order, its transactions are rolled back."""

    server: Server | None = None

    async def restart(self, pause: float = 0.0) -> None:
        await self.stop()
        await asyncio.sleep(pause)
        context = None
        if self.authority is not None:
            context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
            self.authority.issue_cert("127.0.0.1").configure_cert(context)
        self.server = Server(replace(self.options, port=self.port, ssl=context))
        await self.server.start()
        self.port, self.options = self.server.port, replace(self.options, seed=None)

    async def stop(self) -> None:
        if self.server is not None:
            await self.server.close()

    def kill_session(self, dice: random.Random) -> bool:
        sessions = list(self.server._sessions.values()) if self.server is not None else []
        if sessions:
            dice.choice(sessions).stop()
        return True

    async def sessions(self) -> list[str]:
        assert self.server is not None
        return [str(session) for session in self.server.stats.sessions]


class Killed(Place):
    """In a process of its own; it ends by SIGKILL, in the middle of whatever it does."""

    process: asyncio.subprocess.Process | None = None

    async def restart(self, pause: float = 0.0) -> None:
        await self.stop()
        await asyncio.sleep(pause)
        assert self.options.directory is not None
        certificate = self.options.directory.parent / "server.pem"
        if self.authority is not None and not certificate.exists():
            self.authority.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(
                str(certificate)
            )
        settings = {
            "databases": self.options.databases,
            "port": self.port,
            "directory": str(self.options.directory),
            "seed": self.options.seed,
            "certificate": str(certificate) if self.authority else None,
            "quirks": sorted(self.options.quirks),
        }
        self.process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "tests.system.soak.places",
            json.dumps(settings),
            cwd=ROOT,
            stdout=asyncio.subprocess.PIPE,
        )
        assert self.process.stdout is not None
        self.port = int(await self.process.stdout.readline())
        self.options = replace(self.options, seed=None)

    async def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            await self.process.communicate()
            self.process = None


async def serve_until_killed(settings: dict[str, Any]) -> None:
    """The other process."""
    context = None
    if settings["certificate"]:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(settings["certificate"])
    server = Server(
        ServerOptions(
            databases=tuple(settings["databases"]),
            port=settings["port"],
            directory=Path(settings["directory"]),
            seed=settings["seed"],
            ssl=context,
            quirks=settings["quirks"],
        )
    )
    await server.start()
    print(server.port, flush=True)
    await asyncio.Event().wait()


@contextlib.asynccontextmanager
async def placed(kind: type[Place], seed: str, *, tls: bool) -> AsyncGenerator[Place, None]:
    """A server that keeps its data, and its proxies."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as directory:
        options = ServerOptions(databases=("shop",), directory=Path(directory, "data"), seed=seed)
        place = kind(options, trustme.CA() if tls else None)
        try:
            await place.restart()
            async with proxied(place.port) as one, proxied(place.port) as other:
                place.proxies = [one, other]
                yield place
        finally:
            await place.stop()


class Dropping:
    """A host that accepts connections and drops them, at once or a moment later, one way or another."""

    def __init__(self, dice: random.Random) -> None:
        self._dice = dice
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=100)
        self._listener.setblocking(False)
        self._held: list[socket.socket] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._accepting: asyncio.Task[None] | None = None
        self.dropped = 0

    @property
    def port(self) -> int:
        port: int = self._listener.getsockname()[1]
        return port

    async def __aenter__(self) -> Dropping:
        self._accepting = asyncio.get_running_loop().create_task(self._accept())
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._accepting is not None
        tasks = [self._accepting, *self._tasks]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for own in (self._listener, *self._held):
            own.close()

    async def _accept(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            client, _ = await loop.sock_accept(self._listener)
            task = loop.create_task(self._drop(client))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _drop(self, client: socket.socket) -> None:
        self.dropped += 1
        with client:
            client.setblocking(False)
            kind = self._dice.randrange(5)
            if kind:  # it reads the login, or its beginning; else nothing
                with contextlib.suppress(OSError):
                    await asyncio.get_running_loop().sock_recv(client, self._dice.randrange(1, LOGIN_SIZE))
            if kind == 4:  # it sends something other than a login reply
                with contextlib.suppress(OSError):
                    await asyncio.get_running_loop().sock_sendall(client, bytes(20))
            if kind != 3:  # it resets
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, pack("ii", 1, 0))


__all__ = ["Dropping", "Killed", "Place", "Restarted", "Urgent", "placed"]


if __name__ == "__main__":
    asyncio.run(serve_until_killed(json.loads(sys.argv[1])))
