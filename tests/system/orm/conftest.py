"""Sessions of SQLAlchemy's ORM on an embedded server, on the async engine and on the blocking one."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable
from typing import Any, TypeVar

import pytest
import pytest_asyncio
from sqlalchemy import Engine, create_engine, event
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, create_async_engine
from sqlalchemy.orm import Session

from aioifx.server import Server, ServerOptions, serve
from tests.injection import eventually
from tests.system.orm.models import Base

T = TypeVar("T")


class Database(ABC):
    """Runs units of work, each in a session of its own. The statements of the last one are in `statements`."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.url = server.dsn.replace("informix://", "informix+aioifx://", 1)
        self.statements: list[str] = []

    @abstractmethod
    async def run(self, work: Callable[[Session], T]) -> T:
        """Run *work* in a session, which commits."""

    @abstractmethod
    async def close(self) -> None: ...

    def watch(self, engine: Engine) -> None:
        @event.listens_for(engine, "before_cursor_execute")
        def _(conn: Any, cursor: Any, statement: str, *rest: Any) -> None:
            self.statements.append(statement)

    def selects(self) -> int:
        return sum(statement.startswith("SELECT") for statement in self.statements)


class AsyncDatabase(Database):
    def __init__(self, server: Server) -> None:
        super().__init__(server)
        self.engine: AsyncEngine = create_async_engine(self.url)
        self.watch(self.engine.sync_engine)

    async def run(self, work: Callable[[Session], T]) -> T:
        async with AsyncSession(self.engine, expire_on_commit=False) as session, session.begin():
            self.statements.clear()
            return await session.run_sync(work)

    async def close(self) -> None:
        await self.engine.dispose()


class SyncDatabase(Database):
    """Blocking calls, beside the event loop, which runs the server."""

    def __init__(self, server: Server) -> None:
        super().__init__(server)
        self.engine: Engine = create_engine(self.url)
        self.watch(self.engine)

    async def run(self, work: Callable[[Session], T]) -> T:
        return await asyncio.to_thread(self._run, work)

    def _run(self, work: Callable[[Session], T]) -> T:
        with Session(self.engine, expire_on_commit=False) as session, session.begin():
            self.statements.clear()
            return work(session)

    async def close(self) -> None:
        await asyncio.to_thread(self.engine.dispose)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shop() -> AsyncIterator[Server]:
    """An embedded server with the tables of the models."""
    async with serve(ServerOptions(databases=("shop",))) as server:
        engine = create_async_engine(server.dsn.replace("informix://", "informix+aioifx://", 1))
        async with engine.begin() as conn:
            await conn.run_sync(Base.metadata.create_all)
        await engine.dispose()
        yield server


def _delete_all(session: Session) -> None:
    for table in reversed(Base.metadata.sorted_tables):
        session.execute(table.delete())


@pytest_asyncio.fixture(loop_scope="module", params=[AsyncDatabase, SyncDatabase], ids=["async", "sync"])
async def db(shop: Server, request: pytest.FixtureRequest) -> AsyncIterator[Database]:
    """Empty tables. After the test, no session is left at the server."""
    database: Database = request.param(shop)
    try:
        await database.run(_delete_all)
        yield database
    finally:
        await database.close()
    await eventually(lambda: not shop.stats.sessions)


@pytest_asyncio.fixture(loop_scope="module")
async def engine(shop: Server) -> AsyncIterator[AsyncEngine]:
    """For what only an async engine has. The tables are empty."""
    database = AsyncDatabase(shop)
    try:
        await database.run(_delete_all)
        yield database.engine
    finally:
        await database.close()
    await eventually(lambda: not shop.stats.sessions)
