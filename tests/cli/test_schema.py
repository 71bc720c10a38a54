"""aioifx schema: SQL that makes the database again, JSON, models; options that do not fit."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from aioifx.cli.main import main
from aioifx.server import ServerOptions, serve
from tests.catalog.conftest import script_of
from tests.cli.conftest import Run, no_sessions

ITEM = """\
create table "informix".item
  (
    id serial not null,
    name varchar(40),
    price decimal(8,2),
    day date
  );
"""


async def test_the_sql_of_a_database(run: Run) -> None:
    await run("query", "create table a (b int)")
    outcome = await run("schema", "--no-grants")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out == ITEM + '\ncreate table "informix".a\n  (\n    b integer\n  );\n'
    whole = await run("schema", "--all")
    assert whole.out.startswith(outcome.out) and 'grant dba to "' in whole.out


async def test_the_sql_of_a_table(run: Run) -> None:
    outcome = await run("schema", "item", "--no-owners", "--no-grants", "--storage")
    ends = "  in rootdbs extent size 16 next size 16 lock mode page;"
    assert outcome.out == ITEM.replace('"informix".', "").replace(";", ends)
    unknown = await run("schema", "itme", "item")
    assert unknown.code == 1 and "is named itme; did you mean 'item'?" in unknown.err


@pytest.mark.parametrize("name", ["keys", pytest.param("routines", marks=pytest.mark.exhaustive)])
async def test_what_schema_writes_is_run_by_run_without_a_difference(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def line(*words: str) -> str:
        assert await asyncio.to_thread(main, [*words]) == 0
        return capsys.readouterr().out

    options = ServerOptions(databases=("new", "old"))
    (tmp_path / "a.sql").write_text(script_of(name), "utf-8")
    async with serve(options) as server:
        old, new = server.dsn.replace("/new", "/old"), server.dsn
        monkeypatch.setenv("AIOIFX_PASSWORD", "any")
        monkeypatch.setenv("DBDATE", "MDY4/")  # that of a default in the script
        monkeypatch.setenv("AIOIFX_DSN", old)
        await line("run", str(tmp_path / "a.sql"), "--quiet")
        (tmp_path / "b.sql").write_text(await line("schema", "--storage"), "utf-8")
        before = json.loads(await line("schema", "--format", "json"))
        monkeypatch.setenv("AIOIFX_DSN", new)
        assert await line("schema", "--no-grants") == ""
        await line("run", str(tmp_path / "b.sql"), "--quiet", "--single-transaction")
        assert json.loads(await line("schema", "--format", "json")) == before
        assert len(before["relations"]) > 3
        await no_sessions(server)


@pytest.mark.exhaustive  # it imports SQLAlchemy and sqlacodegen
async def test_models_are_a_module(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sqlacodegen")
    await run("query", "create table part (id serial primary key, code char(3) not null, price money(8,2))")
    outcome = await run("schema", "PART", "--format", "sqlalchemy")
    assert (outcome.code, outcome.err) == (0, "")
    module: Any = ModuleType("models")
    monkeypatch.setitem(sys.modules, "models", module)
    exec(outcome.out, vars(module))
    assert [(column.name, column.nullable) for column in module.Part.__table__.columns] == [
        ("id", False),
        ("code", False),
        ("price", True),
    ]
    assert "item" not in module.Base.metadata.tables
    unknown = await run("schema", "parts", "--format", "sqlalchemy")
    assert (unknown.code, unknown.out) == (1, "")
    assert "no table or view is named parts; did you mean 'part'?" in unknown.err


async def test_models_need_sqlacodegen(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sqlacodegen.generators", None)
    outcome = await run("schema", "--format", "sqlalchemy")
    assert (outcome.code, outcome.err) == (
        2,
        "aioifx: --format: sqlalchemy needs sqlacodegen: pip install 'aioifx[models]'\n",
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["item", "--all"], "--all: not with NAME"),
        (["--format", "json", "--no-owners"], "--no-owners: not for the format json"),
        (["--format", "sqlalchemy", "--storage"], "--storage: not for the format sqlalchemy"),
    ],
)
async def test_options_that_do_not_fit(run: Run, options: list[str], message: str) -> None:
    outcome = await run("schema", *options)
    assert (outcome.code, outcome.err) == (2, f"aioifx: {message}\n")
