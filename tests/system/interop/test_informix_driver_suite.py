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
"""Of 473: one needs a database in UTF-8, and runs by itself; one is left out."""
IN_UTF8: Final = "tests/test_unicode.py::test_utf8_multibyte_round_trip"
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


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sdist's folder."""
    return unpacked(tmp_path_factory.mktemp("sdist"))


async def passed(tree: Path, dsn: str, *arguments: str, **variables: str) -> int:
    """The number of tests that pass against a server, if none fails."""
    place = parse_dsn(dsn)
    program = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "pytest", "-q", "-m", "integration", "--tb=short", *arguments),
        cwd=tree,
        env=os.environ | {"IFX_HOST": place.host, "IFX_PORT": str(place.port), **variables},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    said = (await program.communicate())[0].decode()
    assert program.returncode == 0, said[-5000:]
    counts = re.findall(r"(\d+) (\w+)", said.splitlines()[-1])
    return next(int(count) for count, word in counts if word == "passed")


async def test_its_suite_passes(tree: Path) -> None:
    async with aioifx.server.running(["testdb", "other"], user="informix", password="in4mix") as dsn:
        options = ("--ignore=tests/benchmarks", "--deselect", LEFT_OUT)
        assert await passed(tree, dsn, *options) >= PASSED


async def test_its_test_in_utf8_passes(tree: Path) -> None:
    server = aioifx.server.running(["testdb"], user="informix", password="in4mix", db_locale="en_US.utf8")
    async with server as dsn:
        assert await passed(tree, dsn, IN_UTF8, IFX_DATABASE="testdb", IFX_UTF8_DATABASE="testdb") == 1
