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
from typing import Any

from aioifx.cli.address import destination
from aioifx.cli.failures import TERMINATED
from aioifx.client.api.connection import Connection
from aioifx.client.connect.connect import connect


def run_connected(arguments: argparse.Namespace, use: Callable[[Connection[Any]], Awaitable[int]]) -> int:
    """Connect by the arguments of `add_connection`, call *use*, and close the connection.

    Returns:
        The exit code that *use* returns.

    Raises:
        KeyboardInterrupt: Ctrl-C. Any exception of `connect` and of *use*.
    """
    dsn, options = destination(arguments)

    async def main() -> int:
        async with connect(dsn, **options) as conn:
            return await use(conn)

    return run_until_signal(main())


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
