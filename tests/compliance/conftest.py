"""SQLAlchemy's suite for dialects, against an embedded server: a pytest session of its own, see `poe compliance`.

SQLAlchemy's plugin starts and ends the event loop of each test, so the server has one of its own, in a thread.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from fnmatch import fnmatchcase

import pytest
from sqlalchemy.dialects import registry

from aioifx.server import running
from tests.compliance.requirements import SKIPPED, Requirements, depends_on_schemas

pytest_plugins = ["sqlalchemy.testing.plugin.pytestplugin"]

registry.register("informix.aioifx_async", "aioifx.sqlalchemy", "AsyncInformixDialect")

_open = ExitStack()


@contextmanager
def server(log_mode: str) -> Iterator[str]:
    """An embedded server in a thread; gives its DSN."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    running_server = running(["test", "test_schema"], db_locale="en_US.utf8", log_mode=log_mode)
    try:
        yield asyncio.run_coroutine_threadsafe(running_server.__aenter__(), loop).result()
    finally:
        closing = running_server.__aexit__(None, None, None)
        asyncio.run_coroutine_threadsafe(closing, loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--sync", action="store_true", help="the dialect of create_engine")
    parser.addoption("--ansi", action="store_true", help="what depends on schemas, in an ANSI database")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    driver = "aioifx" if config.getoption("--sync") else "aioifx_async"
    Requirements.is_ansi = config.getoption("--ansi")
    address = _open.enter_context(server("ansi" if Requirements.is_ansi else "logged")).removeprefix(
        "informix"
    )
    config.option.dburi = [f"informix+{driver}{address}&lock_wait=5"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if Requirements.is_ansi:
        chosen = {getattr(item, "cls", None) for item in items if depends_on_schemas(item)}
        items[:] = [
            item for item in items if getattr(item, "cls", None) in chosen or "Isolation" in item.nodeid
        ]
    for item in items:
        class_name, _, name = item.nodeid.rpartition("suite.py::")[2].partition("::")
        case = f"{class_name.partition('_')[0]}::{name}"
        for pattern, reason in SKIPPED.items():
            if fnmatchcase(case, pattern):
                item.add_marker(pytest.mark.skip(reason))


@pytest.hookimpl(trylast=True)
def pytest_unconfigure() -> None:
    _open.close()
