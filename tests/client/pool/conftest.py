"""The server of the pool's tests."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from aioifx.server import Server
from tests.client.pooling import stocked


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    async with stocked() as server:
        yield server
