"""The tutorial of migrations as a reader follows it, in this process."""

from __future__ import annotations

import asyncio
import io
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from alembic.config import CommandLine, Config

import aioifx
import aioifx.server

PAGE = Path(__file__).parents[3] / "docs" / "tutorial" / "migrations.md"
FENCE = re.compile(r'^```(\w+)(?: title="([^"]*)")?\n(.*?)^```$', re.M | re.S)


def blocks() -> Iterator[tuple[str, str, str]]:
    """The fenced blocks: language, title and text."""
    for match in FENCE.finditer(PAGE.read_text("utf-8")):
        yield match[1], match[2] or "", match[3]


def local(address: str, dsn: str) -> str:
    """An address of the page, of the test's server."""
    parts = urlsplit(address)
    server = urlsplit(dsn)
    return parts._replace(netloc=server.netloc, query=server.query).geturl()


def run_alembic(command: str) -> str:
    """Run a command line of Alembic in this process; what it printed."""
    line = CommandLine()
    options = line.parser.parse_args(shlex.split(command)[1:])
    printed = io.StringIO()
    line.run_cmd(Config("alembic.ini", stdout=printed, output_buffer=printed, cmd_opts=options), options)
    return printed.getvalue()


def revision_of(folder: Path, name: str) -> str:
    """The script of the revision of that name, with single blanks."""
    (script,) = folder.glob(f"migrations/versions/*_{name}.py")
    return " ".join(script.read_text("utf-8").split())


def replaced_class(text: str, definition: str) -> str:
    """A module with another definition of one class."""
    head = definition.splitlines()[0]
    return re.sub(
        rf"^{re.escape(head)}\n.*?(?=^class |\Z)", lambda _: f"{definition}\n\n", text, flags=re.M | re.S
    )


async def test_every_step_works_as_the_page_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("DATABASE_URL", "")
    schema = next(text for language, _, text in blocks() if language == "sql")
    printed: list[str] = []
    async with aioifx.server.running(["shop", "scratch"], seed=schema) as dsn:
        for language, title, text in blocks():
            if language == "py" and title.startswith("migrations/versions"):
                assert " ".join(text.split()) in revision_of(tmp_path, "points_and_addresses")
            elif language == "py" and ", class " in title:
                file = tmp_path / title.partition(",")[0]
                file.write_text(replaced_class(file.read_text("utf-8"), text), "utf-8")
            elif language == "py":
                (tmp_path / title).write_text(text, "utf-8")
            elif language == "sh":
                printed += await run_lines(text, dsn, monkeypatch)
            elif language == "text":
                assert text.strip() in printed[-1]
    assert printed[-1] == "No new upgrade operations detected.\n"
    assert [text.splitlines()[0] for text in printed if text.startswith("BEGIN")] == ["BEGIN WORK;"]


async def run_lines(text: str, dsn: str, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Run the lines of a block; what each of them printed."""
    outputs: list[str] = []
    for line in text.splitlines():
        monkeypatch.delitem(
            sys.modules, "models", raising=False
        )  # each line is a process of its own on the page
        if found := re.fullmatch(r'export (\w+)="(.*)"', line):
            monkeypatch.setenv(found[1], local(found[2], dsn))
        else:
            outputs.append(await asyncio.to_thread(run_alembic, line))
    return outputs
