"""SQLAlchemy's ORM on aioifx beside asyncpg: CPU for each row that is inserted and selected. Never: a server's time.

    python -m tests.bench.orm [--rows 10000] [--rounds 7] [--write]

aioifx runs against an embedded server in a process of its own, asyncpg against a private PostgreSQL. Both clients are
in this process and take turns, A B, A B. CPU is that of this process: what the client, SQLAlchemy and the event loop
use. A ratio is that of two neighbours. Before anything is timed, both clients have to read what was inserted.

--write puts the table into docs/explanation/orm.md.
"""

from __future__ import annotations

import argparse
import asyncio
import datetime as dt
import gc
import importlib.metadata
import signal
import statistics
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import ExitStack
from typing import Any, Final

from sqlalchemy import BigInteger, Float, String, delete, insert, make_url, select
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

import aioifx
from tests.bench.embedded import server_process
from tests.bench.page import DOCS, load, machine, table, write_into
from tests.bench.postgres import PostgresMissing, postgres_process
from tests.bench.shapes import NARROW

PAGE: Final = DOCS / "explanation" / "orm.md"
COLUMNS: Final = ("id", "big", "name", "ratio", "day")


class Base(DeclarativeBase):
    pass


class Narrow:
    """The columns of the narrow shape but its key."""

    big: Mapped[int | None] = mapped_column(BigInteger)
    name: Mapped[str | None] = mapped_column(String(20))
    ratio: Mapped[float | None] = mapped_column(Float(53))
    day: Mapped[dt.date | None]


class Stored(Narrow, Base):
    """What is selected."""

    __tablename__ = "orm_stored"
    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)


class Given(Narrow, Base):
    """Each row brings its key."""

    __tablename__ = "orm_given"
    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)


class Made(Narrow, Base):
    """The server makes the keys."""

    __tablename__ = "orm_made"
    id: Mapped[int] = mapped_column(primary_key=True)


Work = Callable[[AsyncEngine, list[dict[str, Any]]], Awaitable[int]]
"""Does it once; how many rows that was."""


async def add_given(engine: AsyncEngine, rows: list[dict[str, Any]]) -> int:
    async with AsyncSession(engine) as session, session.begin():
        session.add_all([Given(**row) for row in rows])
    return len(rows)


async def add_made(engine: AsyncEngine, rows: list[dict[str, Any]]) -> int:
    objects = [Made(**{name: value for name, value in row.items() if name != "id"}) for row in rows]
    async with AsyncSession(engine, expire_on_commit=False) as session, session.begin():
        session.add_all(objects)
    return len({made.id for made in objects})


async def insert_rows(engine: AsyncEngine, rows: list[dict[str, Any]]) -> int:
    async with AsyncSession(engine) as session, session.begin():
        # Without it, rows with NULL in other columns become statements of their own.
        await session.execute(insert(Given), rows, execution_options={"render_nulls": True})
    return len(rows)


async def select_objects(engine: AsyncEngine, rows: list[dict[str, Any]]) -> int:
    async with AsyncSession(engine) as session:
        return len((await session.scalars(select(Stored))).all())


async def select_rows(engine: AsyncEngine, rows: list[dict[str, Any]]) -> int:
    async with AsyncSession(engine) as session:
        return len((await session.execute(select(Stored.__table__))).all())


async def driver_alone(engine: AsyncEngine, rows: list[dict[str, Any]]) -> int:
    """Without SQLAlchemy but for its pool: both drivers have a method of this name."""
    async with engine.connect() as conn:
        driver: Any = (await conn.get_raw_connection()).driver_connection
        return len(await driver.fetch(f"SELECT {', '.join(COLUMNS)} FROM orm_stored"))


WORKLOADS: Final[dict[str, Work]] = {
    "insert: `session.add_all`, keys given": add_given,
    "insert: `session.add_all`, keys made by the server": add_made,
    "insert: `session.execute(insert(Model), rows)`": insert_rows,
    "select: objects": select_objects,
    "select: rows of the table": select_rows,
    "select: the driver's `fetch`, without SQLAlchemy": driver_alone,
}

Samples = dict[str, dict[str, list[float]]]
"""Of each workload and client: seconds of CPU per row."""


async def prepare(engine: AsyncEngine, rows: list[dict[str, Any]]) -> None:
    """The tables, and the rows to select; they must come back as they are."""
    async with engine.begin() as conn:
        await conn.run_sync(Base.metadata.create_all)
    async with AsyncSession(engine) as session, session.begin():
        await session.execute(insert(Stored), rows, execution_options={"render_nulls": True})
    async with AsyncSession(engine) as session:
        found = await session.scalars(select(Stored).order_by(Stored.id))
        assert [{name: getattr(one, name) for name in COLUMNS} for one in found] == rows, "wrong rows"


async def empty(engine: AsyncEngine) -> None:
    async with engine.begin() as conn:
        for model in (Given, Made):
            await conn.execute(delete(model))


async def measure(urls: dict[str, str], count: int, rounds: int) -> Samples:
    """Every workload with every client, in turns. The first round is not counted."""
    rows: list[dict[str, Any]] = [dict(zip(COLUMNS, row, strict=True)) for row in NARROW.rows(count)]
    engines = {name: create_async_engine(url) for name, url in urls.items()}
    samples: Samples = {workload: {name: [] for name in engines} for workload in WORKLOADS}
    try:
        for engine in engines.values():
            await prepare(engine, rows)
        for number in range(rounds + 1):
            for workload, work in WORKLOADS.items():
                for name, engine in engines.items():
                    gc.collect()
                    before = time.process_time()
                    done = await work(engine, rows)
                    spent = time.process_time() - before
                    assert done == count, f"{name}: {workload}: {done} rows"
                    if number:
                        samples[workload][name].append(spent / count)
                    await empty(engine)
    finally:
        for engine in engines.values():
            await engine.dispose()
    return samples


def report(samples: Samples) -> str:
    """A table of Markdown: microseconds per row, and the ratio of neighbours."""
    names = list(next(iter(samples.values())))
    head = ["CPU per row, µs", *names]
    if len(names) == 2:
        head.append(f"{names[0]} as a multiple of {names[1]}")
    lines: list[list[str]] = []
    for workload, by_name in samples.items():
        cells = [f"{statistics.median(by_name[name]) * 1e6:.1f}" for name in names]
        if len(names) == 2:
            ratios = sorted(ours / theirs for ours, theirs in zip(*by_name.values(), strict=True))
            cells.append(f"{statistics.median(ratios):.2f} [{ratios[0]:.2f}-{ratios[-1]:.2f}]")
        lines.append([workload, *cells])
    return table(head, lines)


def versions(names: Sequence[str]) -> str:
    return ", ".join(f"{name} {importlib.metadata.version(name)}" for name in names)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--write", action="store_true", help=f"put the table into {PAGE.name}")
    given = parser.parse_args(arguments)
    with ExitStack() as stack:
        dsn = stack.enter_context(server_process())
        urls = {"aioifx": dsn.replace("informix://", "informix+aioifx://", 1)}
        try:
            postgres = make_url(stack.enter_context(postgres_process(1)))
            urls["asyncpg"] = postgres.set(drivername="postgresql+asyncpg").render_as_string(False)
        except PostgresMissing as missing:
            print(f"left out: asyncpg: {missing}", file=sys.stderr)
        found = report(asyncio.run(measure(urls, given.rows, given.rounds)))
    packages = versions(["SQLAlchemy", *(name for name in urls if name != "aioifx")])
    where = f"{given.rows:,} rows, {given.rounds} rounds, aioifx {aioifx.speedups}, {packages}; {machine()}{load()}"
    print(f"{found}\n\n{where}")
    if given.write:
        write_into(PAGE, {"orm": f"{found}\n\nMeasured with {where}."})


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # no server is left behind
    main()
