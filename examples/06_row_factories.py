"""Rows as records, tuples, dicts, named tuples or objects of your own class."""

from __future__ import annotations

import asyncio
import os
from contextlib import AsyncExitStack
from dataclasses import dataclass
from decimal import Decimal

import aioifx
import aioifx.server
from aioifx.rows import class_row, dict_row, namedtuple_row, record_row, tuple_row


@dataclass
class Item:
    id: int
    price: Decimal


async def main() -> None:
    async with AsyncExitStack() as stack:
        dsn = os.environ.get("AIOIFX_DSN") or await stack.enter_async_context(aioifx.server.running())
        conn = await stack.enter_async_context(aioifx.connect(dsn))
        await conn.execute("CREATE TEMP TABLE item (id INTEGER, price DECIMAL(6,2))")
        await conn.execute("INSERT INTO item VALUES (7, 0.5)")
        query = "SELECT id, price FROM item"
        for factory in (record_row, tuple_row, dict_row, namedtuple_row, class_row(Item)):
            print(await conn.fetchrow(query, row_factory=factory))


asyncio.run(main())

# <Record id=7 price=Decimal('0.50')>
# (7, Decimal('0.50'))
# {'id': 7, 'price': Decimal('0.50')}
# Row(id=7, price=Decimal('0.50'))
# Item(id=7, price=Decimal('0.50'))
