"""The event loops that tests run on."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from typing import Final

NewLoop = Callable[[], asyncio.AbstractEventLoop]

TRANSPORTS: Final[dict[str, NewLoop]] = {"asyncio": asyncio.new_event_loop}
"""Loops that differ in their transports."""
try:
    import uvloop
except ImportError:  # Windows
    pass
else:
    TRANSPORTS["uvloop"] = uvloop.new_event_loop

LOOPS: Final = {**TRANSPORTS}
"""These, and since Python 3.12 one whose tasks begin when they are created."""
if sys.version_info >= (3, 12):

    def eager_loop() -> asyncio.AbstractEventLoop:
        loop = asyncio.new_event_loop()
        loop.set_task_factory(asyncio.eager_task_factory)
        return loop

    LOOPS["eager"] = eager_loop
