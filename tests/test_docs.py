"""The documentation is complete, and what it shows works."""

from __future__ import annotations

import ast
import asyncio
import inspect
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import aioifx
import aioifx.server
from aioifx.client.config.options import AllOptionFields

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]

FENCE = re.compile(r"^( *)```(\w+)[^\n]*\n(.*?)^\1```$", re.M | re.S)
CONNECTED_TO_EXAMPLE = re.compile(r"""(\b(?:connect|create_pool)\(\s*)(["'])informix://.*?\2""", re.S)


def blocks(page: Path, language: str) -> Iterator[tuple[int, str]]:
    """The fenced blocks of *language*, each with the number of its first line."""
    text = page.read_text("utf-8")
    for match in FENCE.finditer(text):
        if match[2] == language:
            body = re.sub(f"^{match[1]}", "", match[3], flags=re.M)
            yield text.count("\n", 0, match.start(3)) + 1, body


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", [page for page in PAGES if any(blocks(page, "python"))], ids=name_of)
async def test_python_blocks_run_against_the_embedded_server(
    page: Path, dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # One page is one program: its blocks share their names, from top to bottom.
    monkeypatch.setenv("AIOIFX_DSN", dsn)
    names: dict[str, Any] = {"__name__": "__main__", "dsn": dsn}
    for line, block in blocks(page, "python"):
        source = CONNECTED_TO_EXAMPLE.sub(lambda match: f"{match[1]}{dsn!r}", block)
        code = compile(
            "\n" * (line - 1) + source,  # so that a traceback points into the page
            str(page),
            "exec",
            ast.PyCF_ALLOW_TOP_LEVEL_AWAIT,
            dont_inherit=True,
        )
        if code.co_flags & inspect.CO_COROUTINE:
            await eval(code, names)
        else:  # in a thread, because a whole program brings its own asyncio.run
            await asyncio.to_thread(exec, code, names)


def test_readme_starts_with_two_blocks_of_one_command_each() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    section = re.search(r"^## Start$(.*?)(?=^## |\Z)", readme, re.M | re.S)
    assert section, "README.md has no section Start"
    commands = [match[3] for match in FENCE.finditer(section[1])]
    assert [match[2] for match in FENCE.finditer(section[1])] == ["sh", "sh"]
    assert [len(command.splitlines()) for command in commands] == [1, 1]
    assert "pytest" in commands[1], ".ci/run takes the second one for the tests"


def reference_headings() -> set[str]:
    """Every name in code font in a heading of the reference, without what a signature adds to it."""
    return {
        name
        for page in sorted((DOCS / "reference").rglob("*.md"))
        for heading in re.findall(r"^#+ (.*)$", page.read_text("utf-8"), re.M)
        for name in re.findall(r"`([\w.]+)[^`]*`", heading)
    }


def test_every_public_name_has_a_heading_in_the_reference() -> None:
    public = {name for name in aioifx.__all__ if not name.startswith("_")}
    public |= {f"aioifx.server.{name}" for name in aioifx.server.__all__ if not name.startswith("_")}
    assert public - reference_headings() == set()


def test_every_connect_option_has_a_heading_in_the_reference() -> None:
    assert set(AllOptionFields.__annotations__) - reference_headings() == set()


def test_the_index_links_to_every_guide() -> None:
    linked = set(re.findall(r"\]\((howto/[\w-]+\.md)\)", (DOCS / "index.md").read_text("utf-8")))
    assert linked == {page.relative_to(DOCS).as_posix() for page in (DOCS / "howto").glob("*.md")}


def test_the_changelog_has_the_version_that_is_built() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    assert re.search(rf"^## {re.escape(version)}$", (DOCS / "changelog.md").read_text("utf-8"), re.M)
