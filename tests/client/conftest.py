"""The client's tests run on asyncio's event loop and, with sockets, on the others; they leave nothing behind."""

from __future__ import annotations

import asyncio
import gc
import inspect
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

import pytest

from tests.loops import LOOPS
from tests.quirks import pytest_generate_tests as pytest_generate_tests
from tests.quirks import pytest_runtest_protocol as pytest_runtest_protocol

ON_SOCKETS = {
    "test_connect",
    "test_connection",
    "test_conversation",
    "test_lifecycle",
    "test_login",
    "test_loop_binding",
    "test_manager",
    "test_observation",
    "test_pool",
    "test_query_log",
}
"""Modules whose tests open sockets; in the others the peer is in memory, and any loop is as good as another."""


@pytest.hookimpl(optionalhook=True)  # pytest-asyncio has it from 1.4 on
def pytest_asyncio_loop_factories(
    config: pytest.Config, item: pytest.Item
) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    on_sockets = item.path.stem in ON_SOCKETS
    return LOOPS if on_sockets else {"asyncio": LOOPS["asyncio"]}


@pytest.fixture
async def tidy() -> AsyncIterator[None]:
    """No task is left, and no exception was forgotten in a future or raised in a callback."""
    loop = asyncio.get_running_loop()
    complaints: list[dict[str, Any]] = []
    loop.set_exception_handler(lambda _, context: complaints.append(context))
    before = asyncio.all_tasks()
    yield
    for _ in range(3):  # what is already due may still run
        await asyncio.sleep(0)
    left = asyncio.all_tasks() - before - {asyncio.current_task()}
    gc.collect()
    await asyncio.sleep(0)
    assert left == set()
    assert complaints == []


@pytest.fixture(autouse=True)
def tidy_if_async(request: pytest.FixtureRequest) -> None:
    """Each test that runs in a loop is `tidy`, before its other fixtures."""
    if inspect.iscoroutinefunction(request.function):
        request.getfixturevalue("tidy")
