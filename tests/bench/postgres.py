"""A private PostgreSQL with the same tables, for as long as it is needed. Never: a server in use."""

from __future__ import annotations

import asyncio
import contextlib
import glob
import importlib
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from tests.bench.shapes import SHAPES

_USER: Final = "postgres"
"""Who runs it where we are root, which PostgreSQL refuses to be run by."""

_SETTINGS: Final = (
    "fsync=off",
    "autovacuum=off",
    "jit=off",
    "shared_buffers=256MB",
    "synchronize_seqscans=off",  # rows in the order of their insertion
)


class PostgresMissing(Exception):
    """There is none, or it cannot be started; says why."""


def _program(name: str) -> str:
    found = shutil.which(name) or next(
        iter(sorted(glob.glob(f"/usr/lib/postgresql/*/bin/{name}"))[-1:]), None
    )
    if found is None:
        raise PostgresMissing(f"no {name}")
    return os.path.realpath(found)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _run(*command: str) -> None:
    done = subprocess.run(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        cwd="/",
        user=_USER if os.getuid() == 0 else None,
    )
    if done.returncode:
        raise PostgresMissing(f"{command[0]}: {done.stderr.strip()[-200:]}")


@contextlib.contextmanager
def postgres_process(rows: int) -> Iterator[str]:
    """Its DSN; the tables have *rows* rows.

    Raises:
        PostgresMissing: not here.
    """
    initdb, control, port = _program("initdb"), _program("pg_ctl"), _free_port()
    with tempfile.TemporaryDirectory(prefix="bench-postgres-", ignore_cleanup_errors=True) as folder:
        if os.getuid() == 0:
            with contextlib.suppress(LookupError):
                shutil.chown(folder, _USER)
        data = str(Path(folder, "data"))
        _run(initdb, "-D", data, "-U", "bench", "--auth=trust", "--no-sync", "--locale=C", "--encoding=UTF8")
        settings = " ".join(f"-c {setting}" for setting in _SETTINGS)
        options = f"-k {folder} -p {port} -c listen_addresses=127.0.0.1 {settings}"
        _run(control, "-D", data, "-o", options, "-l", str(Path(folder, "log")), "-w", "start")
        try:
            dsn = f"postgresql://bench@127.0.0.1:{port}/postgres"
            asyncio.run(_fill(dsn, rows))
            yield dsn
        finally:
            _run(control, "-D", data, "-m", "immediate", "-w", "stop")


async def _fill(dsn: str, rows: int) -> None:
    try:
        asyncpg: Any = importlib.import_module("asyncpg")
    except ImportError:
        raise PostgresMissing("no asyncpg, which fills it") from None
    conn: Any = await asyncpg.connect(dsn)
    for shape in SHAPES.values():
        await conn.execute(shape.postgres_create())
        await conn.copy_records_to_table(shape.name, records=shape.rows(rows))
        await conn.execute(f"VACUUM ANALYZE {shape.name}")
    await conn.close()
