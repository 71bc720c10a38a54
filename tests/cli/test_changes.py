"""aioifx changes: lines, positions, checkpoints, wrong arguments."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

import aioifx
from aioifx import Position
from aioifx.server import Server
from tests.cli.conftest import Run

TABLE = "informix.item"


@pytest.fixture
async def start(server: Server) -> Position:
    """A position, after which two transactions have changed the table."""
    async with aioifx.connect(server.dsn) as conn:
        async with aioifx.changes(server.dsn, [TABLE]) as changes:
            await conn.execute("update item set name = 'pencil' where id = 1")
            first = await anext(changes)
        async with conn.transaction():
            await conn.execute("update item set price = 2.5 where id = 1")
            await conn.execute("delete from item where id = 2")
        await conn.execute("insert into item values (7, 'cup', 3, null)")
    assert first.position is not None
    return first.position


def lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


async def test_changes_are_lines_of_json(run: Run, start: Position) -> None:
    found = await run("changes", TABLE, "--from", start.to_json(), "--count", "2")
    assert (found.code, found.err) == (0, "")
    update, delete, insert = lines(found.out)
    pen = {"id": 1, "name": "pencil", "price": "1.50", "day": "2026-01-31"}
    assert (update["kind"], update["table"]) == ("update", "demo:informix.item")
    assert (update["before"], update["after"]) == (pen, {**pen, "price": "2.50"})
    assert (delete["kind"], delete["after"], delete["before"]["id"]) == ("delete", None, 2)
    assert (insert["before"], insert["after"]) == (
        None,
        {"id": 7, "name": "cup", "price": "3.00", "day": None},
    )
    assert update["position"] == delete["position"] != insert["position"]
    assert start.commit < update["sequence"] < delete["sequence"] < update["position"]["commit"]
    assert update["time"].endswith("+00:00")


async def test_a_checkpoint_continues(run: Run, start: Position, tmp_path: Path) -> None:
    file = tmp_path / "position.json"
    line = ["changes", TABLE, "--from", start.to_json(), "--checkpoint", file, "--count", "1"]
    first, second = lines((await run(*line)).out), lines((await run(*line)).out)
    assert [len(first), len(second)] == [2, 1]
    assert Position.from_json(file.read_text("utf-8")) == Position(**second[0]["position"])
    assert os.listdir(tmp_path) == ["position.json"]


@pytest.mark.exhaustive
async def test_a_snapshot_comes_first(run: Run, server: Server) -> None:
    async with aioifx.connect(server.dsn) as conn:
        await conn.execute("create table keyed (id integer primary key)")
        await conn.executemany("insert into keyed values (?)", [(1,), (2,), (3,)])
    found = await run("changes", "informix.keyed", "--snapshot", "--count", "1")
    assert [(line["kind"], line["after"]["id"], line["time"]) for line in lines(found.out)] == [
        ("read", 1, None), ("read", 2, None), ("read", 3, None)
    ]  # fmt: skip
    assert Position(**lines(found.out)[0]["position"]).commit > 0


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ([], "TABLE: missing"),
        (["item"], "table: expected database:owner.table in ASCII, got 'item'"),
        ([TABLE, "--from", "{}"], "--from: position: expected an object with change, commit, restart"),
        ([TABLE, "--checkpoint", "."], "--checkpoint: "),
        (
            [TABLE, "--checkpoint", "missing/file"],
            "--checkpoint: missing is not a folder that can be written",
        ),
        (
            [TABLE, "--snapshot", "--from", '{"restart": 1, "commit": 1, "change": 1}'],
            "--snapshot: expected no --from",
        ),
        ([TABLE, "--count", "0"], "expected a whole number above 0"),
    ],
)
async def test_wrong_arguments_are_refused(
    run: Run, line: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        found = await run("changes", *line)
    except SystemExit as refused:
        assert refused.code == 2
        assert message in capsys.readouterr().err
    else:
        assert found.code == 2
        assert message in found.err


async def test_a_checkpoint_that_is_no_position_is_refused(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "position.json"
    file.write_text("[]")
    found = await run("changes", TABLE, "--checkpoint", file)
    assert (found.code, found.out) == (2, "")
    assert f"--checkpoint: {file}: position: expected an object" in found.err
