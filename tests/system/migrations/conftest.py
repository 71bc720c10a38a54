"""Fixtures of migrations: an engine on an embedded server."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine


@pytest.fixture
async def engine(dsn: str) -> AsyncIterator[AsyncEngine]:
    engine = create_async_engine(dsn.replace("informix://", "informix+aioifx://"))
    yield engine
    await engine.dispose()
