"""The main job: load a shop's CSV files, query them with parameters, stream them.

Runs on the embedded server; with AIOIFX_DSN set, on that Informix instead, where it makes and drops the tables item
and sale.
"""

from __future__ import annotations

import asyncio
import csv
import os
import time
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from tqdm import tqdm

import aioifx
import aioifx.server

DATA = Path(__file__).with_name("shop")

SCHEMA = """
CREATE TABLE item (
    sku CHAR(7) NOT NULL PRIMARY KEY CONSTRAINT pk_item, name VARCHAR(40) NOT NULL, department NVARCHAR(20),
    price DECIMAL(8,2) CHECK (price > 0), stock SMALLINT, added DATE, note LVARCHAR(200));
CREATE TABLE sale (
    sale_id SERIAL NOT NULL PRIMARY KEY, receipt INTEGER, sold_at DATETIME YEAR TO SECOND,
    sku CHAR(7) NOT NULL REFERENCES item, quantity SMALLINT, amount MONEY(10,2))
"""

Item = tuple[str, str, str, Decimal, int, date, str | None]
Sale = tuple[int, datetime, str, int, Decimal]


def items(row: dict[str, str]) -> Item:
    price, stock, added = Decimal(row["price"]), int(row["stock"]), date.fromisoformat(row["added"])
    return row["sku"], row["name"], row["department"], price, stock, added, row["note"] or None


def sales(row: dict[str, str]) -> Sale:
    sold_at = datetime.fromisoformat(row["sold_at"])
    return int(row["receipt"]), sold_at, row["sku"], int(row["quantity"]), Decimal(row["amount"])


def read(name: str, convert: Callable[[dict[str, str]], tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
    """The rows of a CSV file; a progress bar shows when it takes longer than a second."""
    with (DATA / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        for row in tqdm(csv.DictReader(file), desc=name, unit=" rows", delay=1, leave=False):
            yield convert(row)


class Report:
    """Print how many rows, how fast, and in how many round trips."""

    def __init__(self, conn: aioifx.Connection) -> None:
        self.conn = conn
        self.mark()

    def mark(self) -> None:
        self.begun, self.trips = time.perf_counter(), self.conn.stats.round_trips

    def line(self, what: str, rows: int) -> None:
        seconds, trips = time.perf_counter() - self.begun, self.conn.stats.round_trips - self.trips
        print(f"{what:<44} {rows:>6,} rows {rows / seconds:>10,.0f} rows/s {trips:>4} round trips")
        self.mark()


async def load(conn: aioifx.Connection, report: Report) -> None:
    """Bulk insert: all rows of a file, pipelined, all or nothing."""
    done = await conn.executemany("INSERT INTO item VALUES (?, ?, ?, ?, ?, ?, ?)", read("items", items))
    report.line("executemany: items", done.rowcount)
    insert = "INSERT INTO sale (receipt, sold_at, sku, quantity, amount) VALUES (?, ?, ?, ?, ?)"
    done = await conn.executemany(insert, read("sales", sales))
    report.line(f"executemany: sales, last sale_id {done.serial}", done.rowcount)


async def ask(conn: aioifx.Connection, report: Report) -> None:
    """Queries with parameters."""
    rows = await conn.fetch(
        "SELECT FIRST 3 name, price, added FROM item WHERE price < ? AND department = ? ORDER BY price DESC",
        Decimal("20.00"),
        "Kitchen",
    )
    report.line("fetch: kitchen items below 20.00", len(rows))
    for row in rows:
        print(f"    {row['name']:<26} {row['price']:>8}  since {row['added']:%d %b %Y}")
    rows = await conn.fetch(
        "SELECT i.department, COUNT(*) sales, SUM(s.amount) amount FROM sale s JOIN item i ON i.sku = s.sku"
        " WHERE s.sold_at >= ? GROUP BY i.department ORDER BY 3 DESC",
        datetime(2026, 10, 15),
    )
    report.line("fetch: departments since 15 October 2026", len(rows))
    for row in rows:
        print(f"    {row['department']:<26} {row['sales']:>8} sales {row['amount']:>12}")


async def stream(conn: aioifx.Connection, report: Report) -> None:
    """Every sale in constant memory, while other statements run on the same connection."""
    count, total = 0, Decimal()
    async for sale in conn.stream("SELECT sku, amount FROM sale"):
        count, total = count + 1, total + sale["amount"]
    report.line(f"stream: every sale, {total:,} in all", count)


async def fail(conn: aioifx.Connection) -> None:
    """Errors say where and why, and the connection stays usable."""
    try:
        async with conn.transaction():
            await conn.execute("UPDATE item SET stock = 0")
            await conn.execute("INSERT INTO item (sku, name) VALUES (?, ?)", "ST-1007", "Ballpoint pen again")
    except aioifx.UniqueViolation as error:
        print(f"{type(error).__name__}: {error}")
    in_stock = await conn.fetchval("SELECT COUNT(*) FROM item WHERE stock > 0")
    print(f"rolled back: {in_stock} items are in stock")


async def main() -> None:
    async with AsyncExitStack() as stack:
        dsn = os.environ.get("AIOIFX_DSN") or await stack.enter_async_context(aioifx.server.running("shop"))
        conn = await stack.enter_async_context(aioifx.connect(dsn))
        print(f"{conn.server_version}, {conn!r}\n")
        for statement in SCHEMA.split(";"):
            await conn.execute(statement)
        try:
            report = Report(conn)
            await load(conn, report)
            await ask(conn, report)
            await stream(conn, report)
            await fail(conn)
        finally:
            for table in ("sale", "item"):
                await conn.execute(f"DROP TABLE {table}")


if __name__ == "__main__":
    asyncio.run(main())
