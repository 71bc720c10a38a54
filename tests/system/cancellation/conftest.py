"""Every test here runs on asyncio's event loop and on uvloop's, since cancellation depends on the loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

import pytest

LOOPS: dict[str, Callable[[], asyncio.AbstractEventLoop]] = {"asyncio": asyncio.new_event_loop}
try:
    import uvloop
except ImportError:  # Windows, PyPy
    pass
else:
    LOOPS["uvloop"] = uvloop.new_event_loop


@pytest.hookimpl(optionalhook=True)  # pytest-asyncio has it from 1.4 on
def pytest_asyncio_loop_factories(
    config: pytest.Config, item: pytest.Item
) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    return LOOPS
