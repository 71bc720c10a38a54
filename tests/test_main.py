"""python -m aioifx: the command line."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_a_shell_gets_what_the_reference_shows() -> None:
    run = subprocess.run(
        [sys.executable, "-m", "aioifx", "explain", "-244", "-154"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout.startswith("SQLCODE -244: could not read next row of table\nISAM -154: ")


def test_the_console_script_is_the_same_program() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["scripts"] == {"aioifx": "aioifx.cli.main:main"}
