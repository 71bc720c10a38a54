"""The option timezone of an engine: how applications and libraries that keep aware datetimes use it."""

from __future__ import annotations

import asyncio
import datetime as dt
import uuid
from collections.abc import AsyncIterator, Callable
from importlib import import_module
from typing import Any, TypeAlias

import polars as pl
import pytest
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, registry
from sqlmodel import Field, SQLModel

from aioifx.sqlalchemy import DATETIME, InformixDialect

pd: Any = import_module("pandas")  # it has no types

NEW_YORK = dt.timezone(dt.timedelta(hours=-5))
MOMENT = dt.datetime(2026, 7, 1, 12, 30, 5, 123_450, tzinfo=NEW_YORK)
STORED = dt.datetime(2026, 7, 1, 17, 30, 5, 123_450)

Run: TypeAlias = Callable[[Callable[[sa.Connection], Any]], Any]


@pytest.fixture(params=["async", "blocking"])
async def run(dsn: str, request: pytest.FixtureRequest) -> AsyncIterator[Run]:
    """Runs a function in a transaction of an engine whose URL has the option."""
    url = dsn.replace("informix://", "informix+aioifx://") + "&timezone=UTC"
    if request.param == "async":
        engine = create_async_engine(url)

        async def run_async(work: Callable[[sa.Connection], Any]) -> Any:
            async with engine.begin() as conn:
                return await conn.run_sync(work)

        yield run_async
        await engine.dispose()
        return
    blocking = sa.create_engine(url)

    def work_blocking(work: Callable[[sa.Connection], Any]) -> Any:
        with blocking.begin() as conn:
            return work(conn)

    async def run_blocking(work: Callable[[sa.Connection], Any]) -> Any:
        return await asyncio.to_thread(work_blocking, work)

    yield run_blocking
    await asyncio.to_thread(blocking.dispose)


EVENT = sa.Table(
    "event",
    sa.MetaData(),
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("aware", sa.DateTime(timezone=True)),
    sa.Column("plain", sa.DateTime),
    sa.Column("stamp", sa.TIMESTAMP(timezone=True), default=lambda: MOMENT),
    sa.Column("made", sa.DateTime, server_default=sa.func.now()),
    sa.Column("begun", sa.DateTime(timezone=True), server_default="2026-01-01T00:00:00+02:00"),
)


async def test_columns_are_aware_or_plain_as_they_are_declared(run: Run) -> None:
    def work(conn: sa.Connection) -> None:
        EVENT.create(conn)
        conn.execute(EVENT.insert(), {"aware": MOMENT, "plain": MOMENT})
        conn.execute(EVENT.insert(), [{"aware": STORED, "plain": STORED}, {"aware": None, "plain": None}])
        rows = conn.execute(sa.select(EVENT).order_by(EVENT.c.id)).all()
        assert [row[1:4] for row in rows] == [(MOMENT, STORED, MOMENT)] * 2 + [(None, None, MOMENT)]
        assert all(row.aware.tzinfo is dt.UTC and row.made.tzinfo is None for row in rows[:2])
        assert {row.begun for row in rows} == {dt.datetime(2025, 12, 31, 22, tzinfo=dt.UTC)}
        last = sa.select(sa.func.max(EVENT.c.aware), sa.func.max(EVENT.c.plain))
        assert conn.execute(last).one() == (MOMENT, STORED)
        assert conn.scalar(sa.text("SELECT MAX(plain) FROM event")) == MOMENT
        now = conn.scalar(sa.select(sa.func.now()))
        assert now is not None and now.tzinfo is None

    await run(work)


async def test_conditions_compare_instants(run: Run) -> None:
    def work(conn: sa.Connection) -> None:
        EVENT.create(conn)
        conn.execute(EVENT.insert(), {"aware": MOMENT, "plain": MOMENT})
        second = dt.timedelta(seconds=1)
        for column in (EVENT.c.aware, EVENT.c.plain):
            for condition in (
                column == MOMENT,
                column.between(MOMENT - second, MOMENT),
                column.in_([MOMENT]),
            ):
                query = sa.select(EVENT.c.id).where(condition)
                assert conn.scalars(query).all() == [1]
                text = str(query.compile(conn, compile_kwargs={"literal_binds": True}))
                assert "2026-07-01 17:30:05.12345" in text or "17:30:04.12345" in text
                assert conn.scalars(sa.text(text)).all() == [1]
            assert not conn.scalars(sa.select(EVENT.c.id).where(column > MOMENT)).all()

    await run(work)


async def test_reflected_columns_are_aware(run: Run) -> None:
    def work(conn: sa.Connection) -> None:
        EVENT.create(conn)
        conn.execute(EVENT.insert(), {"plain": MOMENT})
        found = sa.Table("event", sa.MetaData(), autoload_with=conn)
        assert isinstance(found.c.plain.type, DATETIME) and found.c.plain.type.timezone
        assert conn.scalar(sa.select(found.c.plain)) == MOMENT
        found.drop(conn)
        found.create(conn)

    await run(work)


class Model(SQLModel, registry=registry()):
    """The base of the models here."""


class Hero(Model, table=True):
    """SQLModel's default type of a datetime, which is aware."""

    id: int | None = Field(default=None, primary_key=True)
    born: dt.datetime = Field(default_factory=lambda: dt.datetime.now(dt.UTC))


class AwareTimestamp(sa.TypeDecorator[dt.datetime]):
    """As fastapi-users declares the time of its tokens: without the option it would be aware in any case."""

    impl = sa.TIMESTAMP(timezone=True)
    cache_ok = True

    def process_result_value(self, value: Any, dialect: Any) -> Any:
        return value if value is None else value.replace(tzinfo=dt.UTC)


class Base(DeclarativeBase):
    pass


class Token(Base):
    __tablename__ = "accesstoken"

    token: Mapped[str] = mapped_column(sa.String(43), primary_key=True)
    created_at: Mapped[dt.datetime] = mapped_column(
        AwareTimestamp(), index=True, nullable=False, default=lambda: dt.datetime.now(dt.UTC)
    )


class Task(Base):
    """As Celery's result backend."""

    __tablename__ = "celery_taskmeta"

    id: Mapped[int] = mapped_column(primary_key=True)
    task_id: Mapped[str] = mapped_column(sa.String(155), unique=True)
    date_done: Mapped[dt.datetime | None] = mapped_column(
        sa.DateTime, default=lambda: dt.datetime.now(dt.UTC), onupdate=lambda: dt.datetime.now(dt.UTC)
    )


async def test_models_of_libraries_keep_their_instants(run: Run) -> None:
    def work(conn: sa.Connection) -> None:
        Base.metadata.create_all(conn)
        Model.metadata.create_all(conn)
        before = dt.datetime.now(dt.UTC).replace(microsecond=0)
        with Session(conn) as session:
            session.add_all([Hero(), Token(token="t" * 43), Task(task_id=str(uuid.uuid4()))])
            session.commit()
            task = session.scalars(sa.select(Task)).one()
            task.task_id = "done"
            session.commit()
            after = dt.datetime.now(dt.UTC)
            since = sa.select(Token).where(Token.created_at >= before)
            assert before <= session.scalars(since).one().created_at <= after
            assert before <= session.scalars(sa.select(Hero)).one().born <= after
            done = task.date_done
            assert done is not None and before.replace(tzinfo=None) <= done <= after.replace(tzinfo=None)
            assert session.scalars(sa.select(Task).where(Task.date_done < after)).all() == [task]

    await run(work)


async def test_frames_keep_their_time_zone(dsn: str) -> None:
    url = dsn.replace("informix://", "informix+aioifx://") + "&timezone=UTC"
    times = pd.to_datetime(["2026-07-01T12:00:00.12345Z", None], utc=True).tz_convert("Europe/Berlin")
    frame = pd.DataFrame({"n": [1, 2], "at": times})

    def work() -> None:
        engine = sa.create_engine(url)
        frame.to_sql("pandas", engine, index=False)
        for found in (pd.read_sql_table("pandas", engine), pd.read_sql("SELECT * FROM pandas", engine)):
            assert str(found.dtypes["at"]).endswith("UTC]")
            assert [*found["at"].dropna()] == [*frame["at"].dropna()]
        of_polars = pl.read_database("SELECT * FROM pandas", engine)
        assert of_polars.schema["at"] == pl.Datetime("us", "UTC")
        of_polars.write_database("polars", engine)
        assert pl.read_database("SELECT * FROM polars", engine).equals(of_polars)
        engine.dispose()

    await asyncio.to_thread(work)


async def test_the_option_may_be_one_of_connect_args(dsn: str) -> None:
    url = dsn.replace("informix://", "informix+aioifx://")
    engine = create_async_engine(url, connect_args={"timezone": "UTC"})
    async with engine.begin() as conn:
        await conn.run_sync(EVENT.create)
        await conn.execute(EVENT.insert(), {"aware": MOMENT, "plain": MOMENT})
        assert (await conn.execute(sa.select(EVENT.c.aware, EVENT.c.plain))).one() == (MOMENT, STORED)
        literal = sa.select(sa.literal(MOMENT, sa.DateTime(timezone=True)))
        assert "17:30:05" in str(literal.compile(engine.sync_engine, compile_kwargs={"literal_binds": True}))
    await engine.dispose()


def test_without_the_option_a_literal_is_refused() -> None:
    query = sa.select(sa.literal(MOMENT, sa.DateTime(timezone=True)))
    with pytest.raises(sa.exc.CompileError) as error:
        query.compile(dialect=InformixDialect(), compile_kwargs={"literal_binds": True})
    assert "set the option timezone" in str(error.value.__cause__)
