"""Which lines of aioifx.client scenarios reach, by coverage.py in processes of their own. Never: a law."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from tests.system.simulation.many import run_seeds

ROOT: Final = Path(__file__).parents[3]
PACKAGE: Final = "aioifx.client"


def measured(first: int, count: int, jobs: int) -> str:
    """Coverage of lines and branches, a line for each module, the least covered first.

    Raises:
        RuntimeError: a process failed.
    """
    with tempfile.TemporaryDirectory() as folder:
        # coverage.py starts before anything is imported, so that the lines of modules count too.
        options = (f"--data-file={folder}/data", f"--rcfile={folder}/none")
        Path(folder, "none").touch()
        parts = [range(first + part, first + count, jobs) for part in range(jobs)]
        run = ("run", *options, "--parallel-mode", "--branch", f"--source={PACKAGE}", "-m", __name__)
        processes = [
            _start(*run, *(str(number) for number in (part.start, part.stop, part.step)))
            for part in parts
            if part
        ]
        try:
            for process in processes:
                _output(process)
        finally:
            for process in processes:
                process.kill()
                process.wait()
        _output(_start("combine", "--quiet", *options))
        return _output(_start("report", *options, "--sort=cover", "--skip-empty"))


def _start(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "coverage", *arguments],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def _output(process: subprocess.Popen[str]) -> str:
    output, _ = process.communicate()
    if process.returncode:
        raise RuntimeError(f"coverage ended with exit code {process.returncode}:\n{output}")
    return output.rstrip()


if __name__ == "__main__":
    start, stop, step = map(int, sys.argv[1:])
    run_seeds(range(start, stop, step))
