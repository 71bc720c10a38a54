"""Fixtures of SQLAlchemy's dialect: an engine on an embedded server."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine


@pytest.fixture
def url(dsn: str) -> str:
    """The address of an embedded server of this test, for SQLAlchemy."""
    return dsn.replace("informix://", "informix+aioifx://")


@pytest.fixture
async def engine(url: str) -> AsyncIterator[AsyncEngine]:
    engine = create_async_engine(url)
    yield engine
    await engine.dispose()
