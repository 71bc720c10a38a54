"""Every example runs, and prints what its last comment says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

import aioifx
import aioifx.server

EXAMPLES = Path(__file__).parents[1] / "examples"
SETTINGS = {"PYTHONPATH": str(EXAMPLES.parent), "PYTHONIOENCODING": "utf-8", "TQDM_DISABLE": "1"}
NUMBERED = sorted(EXAMPLES.glob("[0-9][0-9]_*.py"))


def run(example: Path) -> str:
    """What the example prints, run as a user would run it, on an embedded server of its own."""
    environment = {name: value for name, value in os.environ.items() if name != "AIOIFX_DSN"}
    done = subprocess.run(
        [sys.executable, "-W", "error", str(example)],
        env={**environment, **SETTINGS},
        capture_output=True,
        encoding="utf-8",
        timeout=50,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    return done.stdout


def last_comment(example: Path) -> str:
    comment = re.search(r"(?:^#.*\n)+\Z", example.read_text("utf-8"), re.M)
    assert comment, f"{example.name} does not end with a comment"
    return re.sub(r"^# ?", "", comment[0], flags=re.M)


@pytest.mark.parametrize(
    "example",
    [
        pytest.param(path, marks=() if number < 1 else pytest.mark.exhaustive)
        for number, path in enumerate(NUMBERED)
    ],
    ids=[path.stem for path in NUMBERED],
)
def test_an_example_prints_what_its_last_comment_says(example: Path) -> None:
    assert run(example) == last_comment(example)


def test_examples_are_short_and_numbered_without_a_gap() -> None:
    assert [int(example.name[:2]) for example in NUMBERED] == list(range(1, len(NUMBERED) + 1))
    long = {example.name for example in NUMBERED if len(example.read_text("utf-8").splitlines()) >= 40}
    assert long == set()


@pytest.mark.exhaustive
def test_the_shop_does_the_main_job() -> None:
    # Rows per second differ from run to run; everything else is the same on every machine.
    printed = re.sub(r" +[\d,]+ rows/s", "", run(EXAMPLES / "shop.py"))
    assert re.sub(r"127\.0\.0\.1:\d+", "ADDRESS", printed) == SHOP


SHOP = """\
IBM Informix Dynamic Server Version 15.0.1.0.3, <Connection open shop at ADDRESS>

executemany: items                              134 rows    5 round trips
executemany: sales, last sale_id 5000         5,000 rows   16 round trips
fetch: kitchen items below 20.00                  3 rows    3 round trips
    Kettle, blue                  19.61  since 31 May 2026
    Measuring jug, black          14.66  since 02 Feb 2024
    Ladle, green                  10.69  since 09 May 2026
fetch: departments since 15 October 2026          5 rows    3 round trips
    Tools                           577 sales     41937.67
    Kitchen                         630 sales     27444.28
    Garden                          353 sales      9876.87
    Household                       215 sales      9085.11
    Stationery                      647 sales      7912.72
stream: every sale, 203,230.54 in all         5,000 rows    5 round trips
UniqueViolation: unique constraint informix.pk_item is violated (SQLCODE -268, ISAM -100: duplicate key)
rolled back: 133 items are in stock
"""


@pytest.mark.exhaustive
async def test_changes_become_parquet_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    from examples import changes_to_parquet

    monkeypatch.setattr(changes_to_parquet, "ROWS", 2)
    seed = "create table orders (id integer primary key, qty integer)"
    async with aioifx.server.running(seed=seed) as dsn, aioifx.connect(dsn) as conn:
        async with aioifx.changes(dsn, ["informix.orders"]) as changes:
            await conn.execute("insert into orders values (1, 5)")
            first = await anext(changes)
        assert first.position is not None
        names = ["id", "qty"]
        rows = [changes_to_parquet.row_of(change, names) for change in first]
        changes_to_parquet.write(tmp_path, rows, first.position)
        await conn.execute("truncate table orders")
        await conn.execute("insert into orders values (2, 6)")
        await conn.execute("update orders set qty = 7")
        await conn.execute("delete from orders")
        for _ in range(2):
            await changes_to_parquet.follow(dsn, tmp_path, files=1)
    found = [parquet.read_table(tmp_path / name).to_pylist() for name in sorted(os.listdir(tmp_path))]
    assert [[(row["kind"], row["id"], row["qty"]) for row in rows] for rows in found] == [
        [("insert", 1, 5)], [("truncate", None, None), ("insert", 2, 6)], [("update", 2, 7), ("delete", 2, 7)]
    ]  # fmt: skip


class Target:
    """The rows of a table of PostgreSQL, which checks its key after each statement."""

    def __init__(self) -> None:
        self.rows: dict[int, tuple[object, ...]] = {}

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[None]:
        yield

    async def execute(self, sql: str, *values: object) -> None:
        if sql.startswith("TRUNCATE"):
            self.rows.clear()

    async def executemany(self, sql: str, rows: list[Any]) -> None:
        for row in rows:
            if sql.startswith("DELETE"):
                del self.rows[row[0]]
            else:
                assert row[0] not in self.rows
                self.rows[row[0]] = row


async def test_a_copy_in_postgresql_follows_an_update_of_all_keys() -> None:
    from examples.changes_to_postgresql import apply

    seed = "create table orders (id integer primary key, name varchar(9), qty integer)"
    async with aioifx.server.running(seed=seed) as dsn, aioifx.connect(dsn) as conn:
        target = Target()
        async with aioifx.changes(dsn, ["informix.orders"]) as changes:
            await conn.executemany(
                "insert into orders values (?, ?, ?)", [(1, "a", 1), (2, "b", 2), (3, "c", 3)]
            )
            await conn.execute("update orders set id = id + 1")
            async with conn.transaction():
                await conn.execute("truncate table orders")
            await conn.execute("insert into orders values (9, 'z', 9)")
            for rows in ([1, 2, 3], [2, 3, 4], [], [9]):
                await apply(target, await anext(changes))
                assert [*target.rows] == rows
