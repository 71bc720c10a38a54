"""What a shell knows: its connection, where it leads, how rows are shown. Never: what is typed, how it is read."""

from __future__ import annotations

import asyncio
import shlex
import signal
from collections.abc import Coroutine, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, TextIO

from aioifx.cli.address import Destination
from aioifx.cli.output import say
from aioifx.cli.shell.names import Catalogue
from aioifx.client.api.connection import Connection
from aioifx.client.config.options import OptionFields
from aioifx.client.connect.connect import connect
from aioifx.errors import ConnectionLost, InterfaceError

LOST: Final = "the connection is lost, and with it an open transaction; \\c opens it again"


class Quit(Exception):
    """The shell ends."""


def words(name: str, text: str) -> list[str]:
    """The words of *text* as a shell of the operating system splits them.

    Args:
        name: of the option that it is, for the message.

    Raises:
        InterfaceError: a quote is not closed.
    """
    try:
        return shlex.split(text)
    except ValueError as error:
        raise InterfaceError(f"{name}: {str(error).lower()}: {text[:60]!r}") from None


class Interrupts:
    """Ctrl-C cancels what `run` awaits: the client interrupts its statement at the server. It never ends the shell."""

    def __init__(self) -> None:
        self._task: asyncio.Task[None] | None = None
        self._was_interrupted = False

    @contextmanager
    def caught(self) -> Generator[None]:
        """Take Ctrl-C for the block, in the main thread of a process with an event loop."""
        loop = asyncio.get_running_loop()
        before = signal.getsignal(signal.SIGINT)

        def interrupt(number: int, frame: object) -> None:
            loop.call_soon_threadsafe(self._interrupt)

        signal.signal(signal.SIGINT, interrupt)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    async def run(self, work: Coroutine[Any, Any, None]) -> None:
        """Await *work*. If it is interrupted, that is said."""
        self._was_interrupted = False
        self._task = asyncio.create_task(work)
        try:
            await self._task
        except asyncio.CancelledError:
            if not self._was_interrupted:  # the shell is cancelled, as by SIGTERM
                raise
            say("\ninterrupted")  # after the ^C that the terminal shows
        finally:
            self._task = None

    @contextmanager
    def ignored(self) -> Generator[None]:
        """Ctrl-C does nothing in the block: it is for another program in the terminal."""
        task, self._task = self._task, None
        try:
            yield
        finally:
            self._task = task

    def _interrupt(self) -> None:
        if self._task is not None:
            self._was_interrupted = True
            self._task.cancel()


@dataclass(eq=False)
class Shell:
    """A shell.

    Args:
        destination: where to connect.
        catalogue: the names that are completed; None: none are, as in a script.
    """

    destination: Destination
    catalogue: Catalogue | None = None
    conn: Connection[Any] | None = None
    database: str = ""
    """The database that was open last."""
    is_timed: bool = False
    is_paged: bool = True
    expanded: Literal["auto", "on", "off"] = "auto"
    """Whether each row is a list; auto: where the columns do not fit side by side."""
    out: TextIO | None = None
    """The file that rows are written to; None: stdout."""
    last: str = ""
    """The last statement."""
    draft: str = ""
    """The text of the next input, from an editor."""
    scripts: list[Path] = field(default_factory=list[Path])
    """The scripts that run each other."""
    interrupts: Interrupts = field(default_factory=Interrupts)

    @property
    def connection(self) -> Connection[Any]:
        """The open connection.

        Raises:
            InterfaceError: it was lost.
        """
        if self.conn is None or self.conn.is_closed():
            raise InterfaceError(LOST)
        return self.conn

    @property
    def is_connected(self) -> bool:
        """Whether the connection is open, as far as is known."""
        return self.conn is not None and not self.conn.is_closed()

    async def connect(self, database: str = "") -> None:
        """Open a connection. The one before is closed if this has succeeded.

        Args:
            database: empty for that of the address.
        """
        options: OptionFields = {**self.destination.options}
        if database:
            options["database"] = database
        opened = await connect(self.destination.dsn, **options)
        await self.close()
        self.conn, self.database = opened, opened.database
        self.refresh_names()

    def refresh_names(self) -> None:
        """Read the names for completion again, in the background."""
        if self.catalogue is not None:
            self.catalogue.refresh(self.database)

    async def close(self) -> None:
        """Close the connection, which rolls back an open transaction."""
        if self.conn is not None:
            with suppress(ConnectionLost):
                await self.conn.close()
            self.conn = None

    async def end(self) -> None:
        """Close everything."""
        if self.catalogue is not None:
            await self.catalogue.close()
        if self.out is not None:
            self.out.close()
        await self.close()
