"""The pytest plugin: options, the marker, fixtures. Never: an import that a project without Informix does not need."""

from __future__ import annotations

import inspect
import sys
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

import pytest

if TYPE_CHECKING:
    from aioifx.client.api.connection import Connection
    from aioifx.client.pool.pool import Pool
    from aioifx.server import StatementRecord
    from aioifx.testing.changes import CommittedChanges
    from aioifx.testing.server import Database, Server

MARKER: Final = "informix_seed"
_LOOP_SCOPES: Final = ("function", "class", "module", "package", "session")


# -- options ----------------------------------------------------------------------------------------------------------

_OPTIONS: Final = (
    (
        "database",
        "NAME",
        "test",
        "name of the database, and first part of the names of the databases of tests",
    ),
    ("locale", "LOCALE", "", "locale of the databases, such as en_US.utf8 (default: en_US.819)"),
    ("log-mode", "MODE", "logged", "log mode of the databases: logged, unlogged or ansi"),
    (
        "dsn",
        "URL",
        "",
        "a real server for the tests, in place of the embedded one: informix://user@host:port?server=s",
    ),
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options, each also in the ini file."""
    group = parser.getgroup("informix", "Informix (aioifx)")
    group.addoption(
        "--informix-seed",
        action="append",
        dest="informix_seeds",
        metavar="SCRIPT.sql",
        help="script for the databases of tests, relative to rootdir; repeatable; replaces informix_seeds",
    )
    parser.addini(
        "informix_seeds", "scripts for the databases of tests, relative to rootdir", "linelist", default=[]
    )
    for name, metavar, default, what in _OPTIONS:
        option = f"informix_{name.replace('-', '_')}"
        group.addoption(f"--informix-{name}", dest=option, metavar=metavar, help=what)
        parser.addini(option, what, "string", default=default)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        f"{MARKER}(*seeds): SQL, or paths of scripts relative to rootdir, for the test's database, after the seeds of"
        " the options",
    )
    config.pluginmanager.register(_async_fixtures(config), "aioifx.testing.async_fixtures")


def pytest_report_header(config: pytest.Config) -> str | None:
    """Return host and port of a real server; None for the embedded one."""
    dsn = str(config.getoption("informix_dsn") or config.getini("informix_dsn"))
    return f"informix: {dsn.partition('?')[0].rpartition('@')[2]}" if dsn else None


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> None:
    """Undo the faults that a test has left armed, before its connections are closed."""
    server = item.config.stash.get(_SERVER, None)
    if server is not None and server.is_embedded:
        server.faults.clear()


@pytest.hookimpl(hookwrapper=True)  # pytest 7 may have a pluggy without `wrapper`
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, None]:
    """Add the last statements in the test's database to the report of a test that fails, and leave frames out."""
    _hide_frames(item.config)
    report: pytest.TestReport = (yield).get_result()
    started = item.stash.get(_STARTED, None)
    if report.failed and started is not None:
        database, last = started
        if statements := item.config.stash[_SERVER].last_statements(database, last):
            report.sections.append((f"Informix: last statements in {database.name}", statements))


def _hide_frames(config: pytest.Config) -> None:
    """Let tracebacks end at the call in the test, without frames of this package; --full-trace shows them.

    Not in the tests of the package itself.
    """
    import aioifx

    if aioifx.__file__ == str(config.rootpath / "aioifx" / "__init__.py"):
        return
    for name, module in [*sys.modules.items()]:
        if name.startswith("aioifx."):
            vars(module).setdefault("__tracebackhide__", True)


# -- server and databases ---------------------------------------------------------------------------------------------


@contextmanager
def _errors_without_traceback() -> Generator[None, None, None]:
    """Show a wrong option, or a seed that fails, without the plugin's own lines."""
    from aioifx.errors import Error

    try:
        yield
    except Error as error:
        message = "\n".join([f"{error}", *getattr(error, "__notes__", ())])
        raise pytest.fail.Exception(message, pytrace=False) from None


@pytest.fixture(scope="session")
def ifx_server(pytestconfig: pytest.Config) -> Iterator[Server]:
    """The server of the tests: an embedded one in each process of
    pytest-xdist, or the one of --informix-dsn. It creates databases, and has
    faults and statements; see aioifx.testing.Server.
    """
    from aioifx.testing.server import Server
    from aioifx.testing.settings import settings_of

    with _errors_without_traceback():
        server = Server(settings_of(pytestconfig), pytestconfig.rootpath)
    pytestconfig.stash[_SERVER] = server
    try:
        yield server
    finally:
        server.close()


@pytest.fixture
def ifx_database(request: pytest.FixtureRequest, ifx_server: Server) -> Iterator[Database]:
    """A new database for each test, with the seeds of the options and of the
    marker informix_seed: its name and its dsn. With ifx_rollback it is a
    database that tests share.
    """
    if "ifx_rollback" in request.fixturenames:
        with _errors_without_traceback():
            database = ifx_server.database
        request.node.stash[_STARTED] = database, ifx_server.last_statement
        yield database
        if request.node.stash.get(_WAS_ENDED, False):
            ifx_server.drop_database(database)
            pytest.fail("ifx_rollback: expected its transaction to be open, but it has ended", pytrace=False)
        return
    with _errors_without_traceback():
        database = ifx_server.create_database(*_marked_seeds(request.node))
    request.node.stash[_STARTED] = database, ifx_server.last_statement
    try:
        yield database
    finally:
        ifx_server.drop_database(database)


_SERVER: Final = pytest.StashKey["Server"]()
_STARTED: Final = pytest.StashKey[tuple["Database", "StatementRecord | None"]]()
"""The database of a test, and the last statement before the test."""
_WAS_ENDED: Final = pytest.StashKey[bool]()
"""Whether a test has ended the transaction of ifx_rollback, and may have changed the shared database for others."""


def _marked_seeds(item: pytest.Item) -> list[Any]:
    """The arguments of the markers, those of the class or module first."""
    markers = [*item.iter_markers(MARKER)][::-1]
    if any(marker.kwargs or not marker.args for marker in markers):
        pytest.fail(f"{MARKER}: expected SQL or paths of scripts as positional arguments", pytrace=False)
    return [seed for marker in markers for seed in marker.args]


@pytest.fixture
def ifx_dsn(ifx_database: Database) -> str:
    """The address of the test's database, for any client, such as
    aioifx.connect(ifx_dsn).
    """
    return ifx_database.dsn


# -- connections ------------------------------------------------------------------------------------------------------


@pytest.fixture
def ifx_connection(request: pytest.FixtureRequest) -> Connection:
    """A connection to the test's database, in the event loop of an async test.
    It is closed after the test.
    """
    conn: Connection = _in_loop_of_test(request, "ifx_connection")
    return conn


@pytest.fixture
def ifx_pool(request: pytest.FixtureRequest) -> Pool:
    """A pool of connections to the test's database, in the event loop of an
    async test. It is closed after the test.
    """
    if "ifx_rollback" in request.fixturenames:
        pytest.fail(
            "ifx_pool: expected a test without ifx_rollback, which rolls back one connection", pytrace=False
        )
    pool: Pool = _in_loop_of_test(request, "ifx_pool")
    return pool


@pytest.fixture
def ifx_rollback(request: pytest.FixtureRequest) -> Connection:
    """The same as ifx_connection, in a transaction that is always rolled back
    after the test. Tests with it share one database. The seeds of the
    marker informix_seed run in the transaction.
    """
    conn: Connection = _in_loop_of_test(request, "ifx_rollback")
    return conn


@pytest.fixture
def ifx_changes(request: pytest.FixtureRequest) -> CommittedChanges:
    """What an async test has committed to the tables of the seeds:
    await ifx_changes.committed(). Not with ifx_rollback, which commits nothing.
    """
    if "ifx_rollback" in request.fixturenames:
        pytest.fail("ifx_changes: expected a test without ifx_rollback, which commits nothing", pytrace=False)
    captured: CommittedChanges = _in_loop_of_test(request, "ifx_changes")
    return captured


def _in_loop_of_test(request: pytest.FixtureRequest, name: str) -> Any:
    return request.getfixturevalue(f"_{name}_{_runner_of(request, name)}")


def _runner_of(request: pytest.FixtureRequest, name: str) -> str:
    """What runs the test: the scope of a loop of pytest-asyncio, or anyio."""
    if not _is_async(request.function):
        pytest.fail(
            f"{name}: expected an async test, got a blocking one; for those there is ifx_dsn", pytrace=False
        )
    marker = request.node.get_closest_marker("asyncio")
    if marker is not None and (asyncio_plugin := _pytest_asyncio(request.config)) is not None:
        if not _has_loop_scopes(asyncio_plugin):
            pytest.fail(f"{name}: expected pytest-asyncio 0.24 or later", pytrace=False)
        scope = marker.kwargs.get("loop_scope") or marker.kwargs.get("scope")
        with suppress(ValueError):  # the option is new in 0.26
            scope = scope or request.config.getini("asyncio_default_test_loop_scope")
        return str(scope or "function")
    if "anyio_backend" in request.fixturenames:
        backend = request.getfixturevalue("anyio_backend")
        if (backend if isinstance(backend, str) else backend[0]) == "asyncio":
            return "anyio"
        pytest.fail(f"{name}: expected asyncio as anyio_backend, got {backend!r}", pytrace=False)
    pytest.fail(
        f"{name}: expected a test that pytest-asyncio or anyio runs; use asyncio_mode = auto, @pytest.mark.asyncio or"
        " @pytest.mark.anyio",
        pytrace=False,
    )


def _is_async(function: Any) -> bool:
    hypothesis = getattr(function, "hypothesis", None)
    return inspect.iscoroutinefunction(getattr(hypothesis, "inner_test", function))


def _pytest_asyncio(config: pytest.Config) -> Any:
    """The module of pytest-asyncio; None if it is not in use."""
    plugins: set[Any] = config.pluginmanager.get_plugins()
    return next((p for p in plugins if getattr(p, "__name__", "") == "pytest_asyncio.plugin"), None)


def _has_loop_scopes(asyncio_plugin: Any) -> bool:
    """Whether there is pytest-asyncio, and its fixtures can be defined for a loop."""
    return asyncio_plugin is not None and "loop_scope" in inspect.signature(asyncio_plugin.fixture).parameters


def _async_fixtures(config: pytest.Config) -> ModuleType:
    """Each async fixture once for anyio, and once for each loop of pytest-asyncio.

    Which of them a test needs is known when it runs. pytest-asyncio takes the loop from the fixture's definition.
    """
    holder = ModuleType("aioifx.testing.async_fixtures")
    asyncio_plugin: Any = _pytest_asyncio(config)
    scopes = _LOOP_SCOPES if _has_loop_scopes(asyncio_plugin) else ()
    for name, make in _MAKERS.items():
        setattr(holder, f"_{name}_anyio", pytest.fixture(make()))
        for scope in scopes:
            setattr(holder, f"_{name}_{scope}", asyncio_plugin.fixture(make(), loop_scope=scope))
    return holder


def _make_connection() -> Callable[..., Any]:
    async def connection(ifx_database: Database) -> AsyncIterator[Connection]:
        from aioifx.client.connect.connect import connect

        async with connect(ifx_database.dsn) as conn:
            yield conn

    return connection


def _make_pool() -> Callable[..., Any]:
    async def pool(request: pytest.FixtureRequest, ifx_database: Database) -> AsyncIterator[Pool]:
        from aioifx.client.pool.pool import create_pool

        pool = await create_pool(ifx_database.dsn, debug=True)
        try:
            yield pool
        finally:
            held = _unreleased(pool)
            await pool.close(timeout=0)  # connections that the test has not released are dropped
        if held is not None:
            pytest.fail(f"{request.node.name} has not released a connection of ifx_pool{held}", pytrace=False)

    return pool


def _make_changes() -> Callable[..., Any]:
    async def changes(ifx_database: Database) -> AsyncIterator[CommittedChanges]:
        from aioifx.testing.changes import capturing

        async with capturing(ifx_database.dsn) as captured:
            yield captured

    return changes


def _make_rollback() -> Callable[..., Any]:
    async def rollback(
        request: pytest.FixtureRequest, ifx_connection: Connection, ifx_database: Database
    ) -> AsyncIterator[Connection]:
        from aioifx.testing.rollback import begin, roll_back
        from aioifx.testing.seeds import seed_of

        with _errors_without_traceback():
            seeds = [seed_of(seed, request.config.rootpath, MARKER) for seed in _marked_seeds(request.node)]
            transaction = await begin(ifx_connection, seeds)
        yield ifx_connection
        request.node.stash[_WAS_ENDED] = not await roll_back(ifx_connection, transaction, ifx_database.dsn)

    return rollback


def _unreleased(pool: Pool) -> str | None:
    """The end of a message about a connection that is not released, or was garbage-collected; None if there is none."""
    if holders := pool.holders():
        return f"; acquired at\n{holders[0].acquired_at}"
    leaked = pool._manager.last_leaked  # pyright: ignore[reportPrivateUsage] - the package's own
    return None if leaked is None else str(leaked)


_MAKERS: Final = {
    "ifx_connection": _make_connection,
    "ifx_pool": _make_pool,
    "ifx_rollback": _make_rollback,
    "ifx_changes": _make_changes,
}
