# ruff: noqa: I002, UP045 - SQLModel reads the annotations of relationships, which must not be postponed
"""SQLModel's models and sessions, on both engines."""

import asyncio
import datetime as dt
import uuid
from collections.abc import AsyncIterator
from decimal import Decimal
from typing import Any, Optional

import pytest
import pytest_asyncio
from pydantic import NaiveDatetime, ValidationError
from sqlalchemy import create_engine, func
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlalchemy.orm import registry, selectinload
from sqlmodel import JSON, Column, Field, Relationship, Session, SQLModel, col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from aioifx.server import Server, ServerOptions, serve
from tests.injection import eventually

pytestmark = pytest.mark.asyncio(loop_scope="module")


class Model(SQLModel, registry=registry()):
    """The base of the models here; the registry of `SQLModel` itself belongs to every test of this process."""


class Team(Model, table=True):
    id: int | None = Field(default=None, primary_key=True)
    name: str = Field(max_length=30, unique=True)
    players: list["Player"] = Relationship(back_populates="team")


class Player(Model, table=True):
    id: int | None = Field(default=None, primary_key=True)
    key: uuid.UUID = Field(default_factory=uuid.uuid4, unique=True)
    name: str = Field(max_length=30, min_length=1, index=True)
    fee: Decimal = Field(max_digits=8, decimal_places=2)
    active: bool = True
    joined: NaiveDatetime = dt.datetime(2026, 1, 2, 3, 4, 5)
    about: dict[str, Any] = Field(default_factory=dict, sa_column=Column(JSON))
    team_id: int | None = Field(default=None, foreign_key="team.id")
    team: Optional[Team] = Relationship(back_populates="players")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server() -> AsyncIterator[Server]:
    async with serve(ServerOptions()) as server:
        yield server
        await eventually(lambda: not server.stats.sessions)


@pytest_asyncio.fixture(loop_scope="module")
async def engine(server: Server) -> AsyncIterator[AsyncEngine]:
    """The tables of the models, dropped after the test."""
    engine = create_async_engine(server.dsn.replace("informix://", "informix+aioifx://", 1))
    async with engine.begin() as conn:
        await conn.run_sync(Model.metadata.create_all)
    yield engine
    async with engine.begin() as conn:
        await conn.run_sync(Model.metadata.drop_all)
    await engine.dispose()


async def test_models_are_written_and_read(engine: AsyncEngine) -> None:
    ada = Player(name="Ada", fee=Decimal("12.50"), about={"likes": ["chess"], "age": 36})
    async with AsyncSession(engine) as session:
        session.add(Team(name="blue", players=[ada, Player(name="Bea", fee=Decimal(3), active=False)]))
        await session.commit()
        await session.refresh(ada)
    async with AsyncSession(engine) as session:
        query = select(Player).where(col(Player.active), Player.fee > 5).options(selectinload(Player.team))  # type: ignore[arg-type]
        found = (await session.exec(query)).one()
        assert found is not ada
        assert found.model_dump() == ada.model_dump()
        assert found.team is not None and found.team.name == "blue"
        assert (await session.exec(select(Player).where(Player.key == ada.key))).one() is found
        counted = select(Team.name, func.count()).join(Player).group_by(Team.name)
        assert (await session.exec(counted)).all() == [("blue", 2)]


async def test_a_violation_is_an_integrity_error_and_invalid_data_is_not_sent(engine: AsyncEngine) -> None:
    with pytest.raises(ValidationError, match="name"):
        Player.model_validate({"name": "", "fee": 1})
    async with AsyncSession(engine) as session:
        session.add(Team(name="red"))
        await session.commit()
        session.add(Team(name="red"))
        with pytest.raises(IntegrityError):
            await session.commit()
        await session.rollback()
        assert len((await session.exec(select(Team))).all()) == 1


async def test_a_blocking_session_has_the_same_models(engine: AsyncEngine, server: Server) -> None:
    blocking = create_engine(server.dsn.replace("informix://", "informix+aioifx://", 1))

    def work() -> tuple[str, bool]:
        with Session(blocking) as session:
            session.add(player := Player(name="Cem", fee=Decimal(1), about={"a": 1}))
            session.commit()
            found = session.exec(select(Player)).one()
            assert found is player and found.about == {"a": 1}
            return found.name, found.active

    try:
        assert await asyncio.to_thread(work) == ("Cem", True)
    finally:
        await asyncio.to_thread(blocking.dispose)
