"""The client's tests of queries, repeated with an embedded server that has quirks.

A test is repeated if it, a fixture of it or a function that either calls starts a server. The default suite repeats
some tests, each with one quirk. The exhaustive suite repeats all of them with groups of quirks that together are all
quirks; tests of what a pool decides, which no quirk concerns, with one of these groups. `--quirk NAME` runs each with
that quirk alone, and with all of its parameters; the option takes several names, separated by commas. Cases whose
assertions a quirk changes rightly are left out.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import zlib
from collections.abc import Collection, Generator, Iterator
from types import CodeType, FunctionType
from typing import Any, Final

import pytest

from aioifx.server import Quirk, Server, ServerOptions
from aioifx.server.protocol.quirks import quirks_of
from tests.changed_by_quirks import CHANGED

FOLDERS: Final = {"api", "bulk", "execution", "pool"}
"""Folders of tests/client whose tests are repeated."""

STARTS: Final = {"running", "serve", "Server"}
"""What starts a server."""

DECISIONS: Final = {
    "test_leases",
    "test_listeners",
    "test_locks",
    "test_manager",
    "test_stats",
}
"""Modules on what a pool decides. What it does to connections meets all quirks in test_lifecycle and test_pool."""

ONE_OF: Final = 8
"""The default suite repeats one of so many tests."""

APART: Final = (
    {
        Quirk.ROW_BY_ROW,
        Quirk.ALWAYS_OPTOFC,
        Quirk.DROPPED_VALUES,
        Quirk.SILENT_EXIT,
        Quirk.NO_TRANSACTION_STATES,
        Quirk.NULL_SERIALS,
    },
    {Quirk.LARGE_BLOCKS, Quirk.SEPARATE_END, Quirk.NO_OPTOFC, Quirk.EXIT_BY_EOT, Quirk.TRANSACTION_STATES},
    {
        Quirk.STANDARD_BLOCKS,
        Quirk.DONE_WITH_EACH_BLOCK,
        Quirk.SEPARATE_RET_TYPE,
        Quirk.ERROR_100,
        Quirk.NO_INTERRUPTS,
        Quirk.NO_SERIALS,
    },
    {
        Quirk.COUNT_WITH_EACH_BLOCK,
        Quirk.LATE_INTERRUPTS,
        Quirk.ERROR_ON_RELEASE,
        Quirk.TRANSACTION_STATE_FIRST,
        Quirk.NO_BIT_70,
    },
)
"""Quirks that exclude or hide others, and so are in different groups."""


def groups() -> list[frozenset[Quirk]]:
    """Groups of quirks that together are all: those that are apart, and the others in turn."""
    found = [set(group) for group in APART]
    for number, quirk in enumerate(quirk for quirk in Quirk if not any(quirk in group for group in APART)):
        found[number % len(found)].add(quirk)
    return [frozenset(group) for group in found]


@pytest.hookimpl(trylast=True)  # after the parameters of the test, of its fixtures and of pytest-asyncio
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    path = metafunc.definition.path
    if path.parent.name not in FOLDERS or not _starts_server(metafunc):
        return
    name = f"{path.stem}::{metafunc.function.__name__}"
    number = zlib.crc32(name.encode())
    changed = CHANGED.get(name, {})
    chosen = metafunc.config.getoption("--quirk")
    if chosen:
        cases = [_case(quirks_of(chosen.split(",")).difference(changed))]
    elif "not exhaustive" not in str(metafunc.config.getoption("-m")):
        several = groups()
        if path.stem in DECISIONS:
            several = [several[number % len(several)]]
        cases = [_PLAIN, *(_case(group.difference(changed)) for group in several)]
    elif number % ONE_OF == 0:
        unchanged = [quirk for quirk in Quirk if quirk not in changed]
        cases = [_PLAIN, _case({unchanged[number // ONE_OF % len(unchanged)]})]
    else:
        return
    metafunc.fixturenames.append("server_quirks")
    metafunc.parametrize("server_quirks", cases)
    if not chosen:
        _keep_one_of_each(metafunc)


def _keep_one_of_each(metafunc: pytest.Metafunc) -> None:
    """Of the cases with the same quirks keep one; which one depends on the quirks."""
    first: dict[object, Any] = {}
    for call in metafunc._calls:
        quirks = call.params["server_quirks"]
        if quirks and (quirks not in first or _number_of(call) < _number_of(first[quirks])):
            first[quirks] = call
    metafunc._calls = [
        call
        for call in metafunc._calls
        if not (quirks := call.params["server_quirks"]) or call is first[quirks]
    ]


def _number_of(call: Any) -> int:
    return zlib.crc32(call.id.encode())


_PLAIN: Final = pytest.param(frozenset[Quirk](), id=pytest.HIDDEN_PARAM)
"""A test without quirks; its name does not change."""


def _case(quirks: Collection[Quirk]) -> Any:
    names = sorted(quirks)
    match names:
        case []:
            return pytest.param(
                frozenset[Quirk](), id="changed", marks=pytest.mark.skip("by a quirk, rightly")
            )
        case [name]:
            return pytest.param(frozenset(names), id=name.value)
        case [name, *_]:
            text = f"{name}-and-{len(names) - 1}-others"
            return pytest.param(frozenset(names), id=text, marks=pytest.mark.exhaustive)


# -- which tests start a server ----------------------------------------------------------------------------------------


def _starts_server(metafunc: pytest.Metafunc) -> bool:
    functions: list[Any] = [metafunc.function]
    for fixtures in metafunc._arg2fixturedefs.values():
        functions += [fixture.func for fixture in fixtures[-1:]]
    return any(map(_starts, functions))


@functools.cache
def _starts(function: object) -> bool:
    """Whether a function of the tests, or one that it names, starts a server."""
    left: list[object] = [function]
    seen = set[object]()
    while left:
        found = left.pop()
        inner = inspect.unwrap(found) if isinstance(found, FunctionType) else None
        if not isinstance(inner, FunctionType) or inner in seen or not _is_own(inner):
            continue
        seen.add(inner)
        names = [*_names_in(inner.__code__)]
        if not STARTS.isdisjoint(names):
            return True
        left += [inner.__globals__.get(name) for name in names]
    return False


def _is_own(function: FunctionType) -> bool:
    return function.__module__.partition(".")[0] == "tests"


def _names_in(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names_in(constant)


# -- the server of a repeated test -------------------------------------------------------------------------------------


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Give every server of a repeated test its quirks."""
    params = item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
    quirks: Any = params.get("server_quirks")
    if not quirks:
        return (yield)
    usual = Server.__init__

    def with_quirks(self: Server, options: ServerOptions | None = None) -> None:
        options = options or ServerOptions()
        usual(self, dataclasses.replace(options, quirks={*options.quirks, *quirks}))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Server, "__init__", with_quirks)
        return (yield)
