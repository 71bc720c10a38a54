"""Test the wheel that a Python has installed by the commands of cibuildwheel in pyproject.toml."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]


def main(python: Path) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    tool = project["tool"]["cibuildwheel"]
    subprocess.run([python, "-m", "pip", "install", "--quiet", *tool["test-requires"]], check=True)
    environment = os.environ | {"PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}"}
    with tempfile.TemporaryDirectory() as folder:
        for source in tool["test-sources"]:
            copy = shutil.copytree if (ROOT / source).is_dir() else shutil.copy
            copy(ROOT / source, Path(folder, source))
        for command in tool["test-command"]:
            subprocess.run(command, shell=True, cwd=folder, env=environment, check=True)


main(Path(sys.argv[1]).absolute())
