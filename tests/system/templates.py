"""Databases that are made once in a session, and copied for each test: to make one takes 20 to 50 ms."""

from __future__ import annotations

import shutil
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from aioifx.server import Server, ServerOptions, serve


async def made(template: Path, options: ServerOptions, prepare: Callable[[Server], Awaitable[None]]) -> Path:
    """The directory *template*, with databases that *prepare* has filled, now or before an earlier test."""
    if not template.exists():  # noqa: ASYNC240
        unfinished = template.with_suffix(".unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        async with serve(replace(options, directory=unfinished)) as server:
            await prepare(server)
        unfinished.rename(template)
    return template


@contextmanager
def copied(template: Path) -> Iterator[Path]:
    """A copy of the directory, which is removed afterwards."""
    with TemporaryDirectory() as folder:
        yield Path(shutil.copytree(template, Path(folder, "databases")))
