"""A plugin of pytest for runs in the libraries' environment: other projects' suites, and the programs beside it.

It is imported there by its own name, since many of these suites are a package called `tests` as well.
"""

# mypy: ignore-errors

from __future__ import annotations

import json
import os
import sys
import tomllib
from collections import Counter
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import sqlalchemy as sa

NAME = os.environ["AIOIFX_LIBRARY"]
URL = os.environ["AIOIFX_LIBRARY_URL"]
TABLE = tomllib.loads(Path(__file__).with_name("libraries.toml").read_text("utf-8"))[NAME]

_create_engine = sa.create_engine


def create_engine(url: Any, *args: Any, **options: Any) -> sa.Engine:
    """An engine on Informix in the place of one on a database that a suite names itself."""
    named = sa.make_url(url)
    if named.get_backend_name() not in TABLE.get("instead_of", ()):
        return _create_engine(url, *args, **options)
    if named.get_backend_name() == "sqlite":
        path = Path(named.database or ":memory:")
        if not path.exists():  # to the suite, it is a new database
            empty_database()
        if path.name != ":memory:":
            path.touch()  # the suite removes it
    # The others are for the driver, or what SQLite needs: one connection for all threads.
    return _create_engine(
        URL, **{name: options[name] for name in options.keys() & {"echo", "echo_pool", "future"}}
    )


@cache
def _emptying() -> sa.Connection:
    return _create_engine(URL, isolation_level="AUTOCOMMIT").connect()


def empty_database() -> None:
    conn = _emptying()
    quote = conn.dialect.identifier_preparer.quote_identifier
    found = "SELECT tabname, tabtype FROM systables WHERE tabid >= 100 AND tabtype IN ('T', 'V') ORDER BY tabtype DESC"
    for name, kind in conn.exec_driver_sql(found).all():
        conn.exec_driver_sql(f"DROP {'VIEW' if kind == 'V' else 'TABLE'} {quote(name.rstrip())}")


if TABLE.get("instead_of"):
    sa.create_engine = sa.engine.create_engine = create_engine
    sys.modules["sqlalchemy.engine.create"].create_engine = create_engine  # where engine_from_config looks
for name in TABLE.get("pretended", ()):  # a suite skips tests of a database whose driver is not installed
    sys.modules[name] = ModuleType(name)
    sys.modules[name].__version__ = "99"


@pytest.fixture
def url() -> str:
    """The address of the library's database."""
    return URL


@pytest.fixture
def dsn(url: str) -> str:
    """The same for aioifx itself."""
    return (
        sa.make_url(url)
        .difference_update_query(["text_type"])
        .set(drivername="informix")
        .render_as_string(False)
    )


@pytest.fixture
def engine(url: str) -> Any:
    engine = sa.create_engine(url)
    yield engine
    engine.dispose()


@pytest.fixture
def db() -> Any:
    """What the tests of Records, whose sdist lacks their conftest.py, ask for; other suites have one of that name."""
    import records

    empty_database()
    with records.Database(
        URL, poolclass=sa.StaticPool
    ) as db:  # which closes a connection that a test has left open
        yield db


@pytest.fixture
def foo_table(db: Any) -> None:
    """Likewise."""
    with db.transaction() as conn:
        conn.query("CREATE TABLE foo (a INTEGER)")


def pytest_configure(config: pytest.Config) -> None:
    if NAME == "pandas":
        _write_iris()


def _write_iris() -> None:
    """The file that pandas' wheel leaves out. Its tests read the first row, counts, and two names."""
    import pandas

    path = Path(pandas.__file__).parent / "tests/io/data/csv/iris.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = ["SepalLength,SepalWidth,PetalLength,PetalWidth,Name"]
    rows += ["5.1,3.5,1.4,0.2,Iris-setosa"] * 8 + ["6.3,2.5,5.0,1.9,Iris-versicolor"] * 142
    path.write_text("\n".join(rows) + "\n", "utf-8")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    left_out = TABLE.get("not_run", ())
    items[:] = [item for item in items if not any(fnmatchcase(item.nodeid, pattern) for pattern in left_out)]
    unused = set(TABLE.get("differs", ()))
    for item in items:
        for cls in getattr(item, "cls", None).__mro__ if getattr(item, "cls", None) else ():
            for name in TABLE.get("left_out", ()):  # steps of set-up for other databases
                if name in vars(cls):
                    setattr(cls, name, lambda *_: None)
        for pattern, reason in TABLE.get("differs", {}).items():
            if fnmatchcase(item.nodeid, pattern):
                item.add_marker(pytest.mark.xfail(reason=reason, strict=True))
                unused.discard(pattern)
    ours = all(Path(__file__).parent in item.path.parents for item in items)
    if unused and not ours:
        raise pytest.UsageError(f"libraries.toml, {NAME}.differs: no test matches {sorted(unused)}")


def pytest_terminal_summary(terminalreporter: Any) -> None:
    outcomes = ("passed", "failed", "error", "skipped", "xfailed", "xpassed")
    counts = Counter({outcome: len(terminalreporter.stats.get(outcome, ())) for outcome in outcomes})
    if path := os.environ.get("AIOIFX_LIBRARY_COUNTS"):
        Path(path).write_text(json.dumps(counts), "utf-8")
