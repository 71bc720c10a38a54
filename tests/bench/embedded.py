"""An embedded server in a process of its own. Never: its requests."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator


@contextlib.contextmanager
def server_process() -> Iterator[str]:
    """Its DSN."""
    command = [sys.executable, "-m", "aioifx.server", "--port", "0", "--database", "bench"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            line = process.stdout.readline()
            yield next(word for word in line.split() if word.startswith("informix://"))
        finally:
            process.terminate()
