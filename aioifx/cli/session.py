"""An event loop for a verb, and a connection in it. Never: what the verb does with it.

Ctrl-C and SIGTERM cancel the call in flight: the client interrupts its statement at the server, and the connection is
closed as at the end. A second Ctrl-C ends at once.
"""

from __future__ import annotations

import argparse
import asyncio
import signal
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import Any, Final, TypeVar

from aioifx.cli.address import Destination, destination
from aioifx.cli.failures import TERMINATED
from aioifx.client.api.connection import Connection
from aioifx.client.connect.connect import connect
from aioifx.errors import AuthenticationError

T = TypeVar("T")

_NO_PRIVILEGE: Final = -387
"""The user has no CONNECT privilege on the database, whatever the password."""


def run_connected(arguments: argparse.Namespace, use: Callable[[Connection[Any]], Awaitable[int]]) -> int:
    """Connect by the arguments of `add_connection`, call *use*, and close the connection.

    Returns:
        The exit code that *use* returns.

    Raises:
        KeyboardInterrupt: Ctrl-C. Any exception of `connect` and of *use*.
    """
    is_connected = False

    async def main(where: Destination) -> int:
        nonlocal is_connected
        async with connect(where.dsn, **where.options) as conn:
            is_connected = True
            return await use(conn)

    return asking(destination(arguments), lambda where: run_until_signal(main(where)), lambda: is_connected)


def asking(
    where: Destination, run: Callable[[Destination], T], is_done: Callable[[], bool] = lambda: False
) -> T:
    """Call *run*, first without a password if there is none, and with the user's answer if the server wants one.

    The prompt waits outside of an event loop, so that Ctrl-C ends it.

    Args:
        is_done: whether the connection was opened, so that the password is not the reason of an error.

    Raises:
        Exception: any of *run*.
    """
    try:
        return run(where)
    except AuthenticationError as error:
        if is_done() or not where.may_ask or error.sqlcode == _NO_PRIVILEGE:
            raise
    return run(where.ask())


def run_until_signal(work: Coroutine[Any, Any, int]) -> int:
    """Run *work* in an event loop of its own. Ctrl-C and SIGTERM cancel it.

    Returns:
        The exit code that *work* returns.

    Raises:
        KeyboardInterrupt: Ctrl-C. Any exception of *work*.
    """

    async def main() -> int:
        task = asyncio.current_task()
        assert task is not None
        with suppress(NotImplementedError, RuntimeError):  # on Windows, or not in the main thread
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
        return await work

    try:
        return asyncio.run(main())
    except asyncio.CancelledError:
        return TERMINATED
