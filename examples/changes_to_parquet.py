"""Committed changes of a table to Parquet files, each with the position in its name, so that none is written twice.

    pip install pyarrow
    AIOIFX_DSN=informix://informix@db1:9088/shop?server=ol_shop python examples/changes_to_parquet.py FOLDER

A file has at least ROWS changes, and whole transactions. The first file has one transaction, so that there is a
position. A file appears when it is complete. After a restart the program continues behind the last one.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import aioifx

TABLE = os.environ.get("TABLE", "informix.orders")
ROWS = int(os.environ.get("ROWS", "10000"))


def last_position(folder: Path) -> aioifx.Position | None:
    files = sorted(folder.glob("*.parquet"))
    if not files:
        return None
    metadata = pq.read_schema(files[-1]).metadata
    return aioifx.Position.from_json(metadata[b"position"])


def write(folder: Path, rows: list[dict[str, Any]], position: aioifx.Position) -> Path:
    table = pa.Table.from_pylist(rows).replace_schema_metadata({"position": position.to_json()})
    path = folder / f"{position.commit:020}.parquet"
    part = path.with_suffix(".part")
    pq.write_table(table, part)
    return part.replace(path)


def row_of(change: aioifx.Change, names: list[str]) -> dict[str, Any]:
    image = change.before if change.after is None else change.after
    values = dict.fromkeys(names) if image is None else image.asdict()  # TRUNCATE has no row
    return {"kind": change.kind, "sequence": change.sequence, **values}


async def follow(dsn: str, folder: Path, files: int = 0) -> None:
    """Write files, 0: without an end."""
    rows: list[dict[str, Any]] = []
    start = last_position(folder)
    least = 1 if start is None else ROWS
    async with aioifx.changes(dsn, [TABLE], start=start) as changes:
        [columns] = changes.columns.values()
        names = [column.name for column in columns]
        async for transaction in changes:
            rows += [row_of(change, names) for change in transaction]
            if len(rows) >= least and transaction.position is not None:
                await asyncio.to_thread(write, folder, rows, transaction.position)
                rows, files, least = [], files - 1, ROWS
                if not files:
                    return


if __name__ == "__main__":
    asyncio.run(follow(os.environ["AIOIFX_DSN"], Path(sys.argv[1])))
