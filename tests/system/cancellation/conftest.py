"""Every test here runs on each event loop, since cancellation depends on the loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

import pytest

from tests.loops import LOOPS


@pytest.hookimpl(optionalhook=True)  # pytest-asyncio has it from 1.4 on
def pytest_asyncio_loop_factories(
    config: pytest.Config, item: pytest.Item
) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    return LOOPS
