"""Runs of pytest in a process of their own, with chosen plugins and warnings as errors."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import closing, contextmanager

import pytest

import aioifx.dbapi
from aioifx.server.sqlite.databases import LogMode
from aioifx.testing.server import EmbeddedHost
from aioifx.testing.settings import Settings

ASYNCIO = "pytest_asyncio.plugin"
ANYIO = "anyio.pytest_plugin"
XDIST = "xdist.plugin"

SCHEMA = """
CREATE TABLE item (id SERIAL PRIMARY KEY, name VARCHAR(20));
INSERT INTO item VALUES (0, 'pen');
"""


SCOPE = "asyncio_default_fixture_loop_scope = function"

SETTINGS = Settings("test", (), "", LogMode.LOGGED, None)
"""The defaults."""


def run_pytest(
    pytester: pytest.Pytester,
    *arguments: str,
    plugins: Iterable[str] = (ASYNCIO, ANYIO),
    ini: str = "",
    apart: bool = False,
) -> pytest.RunResult:
    """Run pytest with the plugin and *plugins* only.

    Args:
        ini: more lines of pytest.ini.
        apart: in a process of its own, as users do; otherwise in this one, which takes a fifth of the time.
    """
    scope = SCOPE if ASYNCIO in plugins else ""
    pytester.makefile(
        ".ini",
        pytest=f"[pytest]\naddopts = --strict-markers --strict-config\nfilterwarnings = error\n{scope}\n{ini}",
    )
    chosen = [f"-p{name}" for name in ("aioifx.testing.plugin", *plugins)]
    pytester.plugins.clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
        patch.delenv("PYTEST_ADDOPTS", raising=False)
        options = [*chosen, "-pno:cacheprovider", *arguments]
        if apart:
            return pytester.runpytest_subprocess(*options, timeout=50)
        return pytester.runpytest_inprocess(*options)


@contextmanager
def remote_server() -> Generator[EmbeddedHost, None, None]:
    """A server that is not known to be the embedded one."""
    remote = EmbeddedHost(SETTINGS)
    try:
        yield remote
    finally:
        remote.close()


def databases_of(remote: EmbeddedHost) -> list[str]:
    """The names of its databases, without sysmaster."""
    with closing(aioifx.dbapi.connect(remote.dsn_of("sysmaster"))) as conn:
        cursor = conn.cursor()
        cursor.execute("SELECT TRIM(name) FROM sysdatabases WHERE name NOT MATCHES 'sys*'")
        return [name for (name,) in cursor.fetchall()]
