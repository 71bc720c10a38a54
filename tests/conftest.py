"""Fixtures for every test: an embedded server, or a real Informix if there is one."""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import sysconfig
from collections.abc import AsyncIterator, Generator
from pathlib import Path
from typing import Any

import pytest
from _pytest.runner import runtestprotocol
from hypothesis import given, settings
from hypothesis import strategies as st

from aioifx.client.session.server_behavior import forget_servers
from tests.sampling import left_out, repeated_on_other_transports

# hypothesis imports this one when a law first needs it, and pytest rewrites it then: a compilation deep in the
# stack, in which CPython 3.11 sometimes raises "AST constructor recursion depth mismatch". Here the stack is flat.
with contextlib.suppress(ImportError):
    importlib.import_module("hypothesis.internal.conjecture.optimiser")

# On a busy machine examples differ in cost by orders of magnitude; pytest-timeout ends what hangs. In CI a law
# must not fail once in a hundred runs for no change, so its examples are always the same; developers get new ones,
# and twice as many: examples that passed once find less.
settings.register_profile("developer", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, database=None, max_examples=50)
settings.register_profile("sample", settings.get_profile("ci"), max_examples=5)


SYSTEM = Path(__file__).parent / "system"
BENCH = Path(__file__).parent / "bench"

collect_ignore = ["compliance"]  # a session of its own: `poe compliance`


def has_exhaustive(config: pytest.Config) -> bool:
    """Whether tests marked `exhaustive` are selected: not in the default suite."""
    return "not exhaustive" not in str(config.getoption("-m"))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--quirk", help="run only the tests that tests.quirks repeats, with servers of this quirk"
    )


def pytest_configure(config: pytest.Config) -> None:
    # With it, each of the many programs that tests start would compile aioifx again.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    everything = "ci" if os.environ.get("CI") else "developer"
    settings.load_profile(everything if has_exhaustive(config) else "sample")


@pytest.fixture(autouse=True)
def _servers_are_unknown() -> None:
    """Tests share addresses, and their servers differ."""
    forget_servers()


def freeze() -> None:
    """`gc.freeze`, unless the build is free-threaded.

    The collector of such a build compares new objects with the live ones that are not frozen: a module of tests had
    472 collections in place of 7 (measured on 3.13t), and each visits the frozen objects as well.
    """
    if not sysconfig.get_config_var("Py_GIL_DISABLED"):
        gc.freeze()


@pytest.fixture(scope="module", autouse=True)
def _old_objects_are_out_of_sight() -> None:
    """Let the garbage collector forget modules, and what pytest has collected and reported so far.

    Many tests look for garbage, and more than half of their time went into objects that live until the end.
    """
    gc.collect()
    freeze()


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect with the garbage collector off: it would find again and again that tests live until the end."""
    # hypothesis registers its random numbers in its first test, and looks for referrers, which `gc.freeze` hides.
    given(st.none())(lambda _: None)()
    gc.disable()
    try:
        return (yield)
    finally:
        freeze()
        gc.enable()


@pytest.hookimpl(tryfirst=True)  # before `-m` selects
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark as `exhaustive` what the default suite leaves out of sampled tests, large tables and runs on uvloop.

    Deselect what the exhaustive suite leaves out, unless cases are named on the command line.
    """
    families: dict[tuple[pytest.Item | pytest.Collector | None, str], list[pytest.Function]] = {}
    for item in items:
        if isinstance(item, pytest.Function):
            if hasattr(item, "callspec") and not item.callspec.params.get("server_quirks"):
                families.setdefault((item.parent, item.originalname), []).append(item)
            if "is_exhaustive" in item.fixturenames:
                item.add_marker("partial")
    for family in families.values():
        for case in left_out(family, is_system=SYSTEM in family[0].path.parents):
            case.add_marker("exhaustive")
    if has_exhaustive(config) and not any("[" in argument for argument in config.args):
        repeated: set[pytest.Item] = set()
        for family in families.values():
            if SYSTEM in family[0].path.parents:
                repeated.update(repeated_on_other_transports(family))
        config.hook.pytest_deselected(items=[*repeated])
        items[:] = [item for item in items if item not in repeated]


@pytest.fixture(scope="session")
def is_exhaustive(pytestconfig: pytest.Config) -> bool:
    """Whether to try every case; for tests that try many in one go."""
    return has_exhaustive(pytestconfig)


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("informix") and not os.environ.get("AIOIFX_TEST_DSN"):
        pytest.skip("AIOIFX_TEST_DSN names no Informix")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out the benches and their tests, unless they are named: they are not tests of the package."""
    is_named = any("bench" in argument for argument in config.args)
    return True if collection_path == BENCH and not is_named else None


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist looks at its options
def pytest_cmdline_main(config: pytest.Config) -> None:
    """A whole suite, the default one or all of it, runs on every core; tests that are chosen, or debugged, do not.

    Tests wait for a fifth of their time, for other processes and for limits. One process more than there are cores uses
    it: on two cores the default suite takes 0.75 to 0.93 of the time (measured).
    """
    if "PYTEST_XDIST_WORKER" in os.environ or hasattr(config, "workerinput"):
        return  # this process is one of the many
    option = config.option
    is_chosen = config.args_source is not config.ArgsSource.TESTPATHS or bool(option.keyword)
    is_whole = not is_chosen and option.markexpr in ("not exhaustive", "")
    is_watched = option.usepdb or option.trace or option.collectonly or option.capture == "no"
    if is_whole and not is_watched and getattr(option, "numprocesses", 0) is None:
        option.numprocesses, option.dist = (os.cpu_count() or 1) + 1, "worksteal"
        option.maxprocesses = option.maxprocesses or 8


@pytest.hookimpl
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Run a test in one of several processes, and report only its call, and what failed or was skipped.

    A test takes three milliseconds, of which its reports' way to the first process took more than one.
    """
    if not hasattr(item.config, "workerinput"):
        return None
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for report in runtestprotocol(item, log=False, nextitem=nextitem):
        if report.when == "call" or not report.passed:
            item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


@pytest.hookimpl(wrapper=True)
def pytest_report_to_serializable(report: object) -> Generator[None, dict[str, Any] | None, object]:
    data = yield
    if data is not None and data.get("outcome") == "passed":
        data["keywords"] = {}  # the largest part, which the summary does not need
    return data


@pytest.fixture
def informix_dsn() -> str:
    """The real Informix to test against; for tests marked `informix`."""
    return os.environ["AIOIFX_TEST_DSN"]


@pytest.fixture
async def dsn() -> AsyncIterator[str]:
    """A fresh embedded server in this test's own event loop, with an empty database."""
    import aioifx.server

    async with aioifx.server.running() as dsn:
        yield dsn
