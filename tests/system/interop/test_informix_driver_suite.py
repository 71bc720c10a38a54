"""informix-driver's own tests, from its sdist, against the embedded server."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
import tarfile
from importlib.metadata import version
from pathlib import Path
from typing import Final

import pytest

import aioifx.server
from aioifx import parse_dsn

pytestmark = [pytest.mark.interop, pytest.mark.exhaustive, pytest.mark.timeout(180)]

DISTRIBUTION: Final = "informix-driver"
PASSED: Final = 471
"""Of 473: one skips itself without a database in UTF-8, to which the driver cannot log in (-23197)."""
LEFT_OUT: Final = "tests/test_async_threads.py::test_closing_a_connection_stops_its_thread"
"""It counts the threads of asyncio's pool, which differ from run to run."""


def unpacked(folder: Path) -> Path:
    """The sdist of the installed version, fetched by pip."""
    name = f"{DISTRIBUTION}=={version(DISTRIBUTION)}"
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", DISTRIBUTION]
    fetched = subprocess.run(
        [*command, "--dest", str(folder), name], capture_output=True, text=True, check=False
    )
    archives = list(folder.glob("*.tar.gz"))
    if not archives:
        pytest.skip(f"pip could not fetch the sdist of {name}: {fetched.stderr.strip()[-200:]}")
    with tarfile.open(archives[0]) as archive:
        archive.extractall(folder, filter="data")
    return next(path for path in folder.iterdir() if path.is_dir())


async def test_its_suite_passes(tmp_path: Path) -> None:
    tree = await asyncio.to_thread(unpacked, tmp_path)
    options = ["-q", "-m", "integration", "--ignore=tests/benchmarks", "--deselect", LEFT_OUT]
    async with aioifx.server.running(["testdb", "other"], user="informix", password="in4mix") as dsn:
        place = parse_dsn(dsn)
        program = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "pytest", *options, "-p", "no:cacheprovider", "--tb=short"),
            cwd=tree,
            env=os.environ | {"IFX_HOST": place.host, "IFX_PORT": str(place.port)},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        said = (await program.communicate())[0].decode()
    counts = {word: int(count) for count, word in re.findall(r"(\d+) (\w+)", said.splitlines()[-1])}
    assert program.returncode == 0, said[-5000:]
    assert counts["passed"] >= PASSED, said[-5000:]
