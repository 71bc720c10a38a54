"""What `poe docs` makes of docstrings; the module is in .build, outside the package."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

pytest.importorskip("griffe", reason="comes with the extra docs")


@pytest.fixture(scope="module")
def docstrings() -> ModuleType:
    path = Path(__file__).parents[1] / ".build" / "docstrings.py"
    spec = importlib.util.spec_from_file_location("docstrings", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_several_parameters_of_one_line_become_one_each(docstrings: ModuleType) -> None:
    text = """Run a query.

Args:     args: the values of its placeholders, ``?``. named: instead, those of its ``:name``; a list
          stands for as many values as it has: ``IN (:ids)``.
          timeout: seconds; None: command_timeout.
Raises:   QueryTimeout: the call took longer. PoolTimeout, PoolClosed: there was no connection.
          InterfaceError, when it is set: a call is under way."""
    assert (
        docstrings.as_google(text, ["sql", "args", "named", "timeout"])
        == """Run a query.

Args:
    args: the values of its placeholders, ``?``.
    named: instead, those of its ``:name``; a list stands for as many values as it has: ``IN (:ids)``.
    timeout: seconds; None: command_timeout.

Raises:
    QueryTimeout: the call took longer.
    PoolTimeout: there was no connection.
    PoolClosed: there was no connection.
    InterfaceError: when it is set, a call is under way."""
    )


def test_what_is_in_the_style_of_google_stays_as_it_is(docstrings: ModuleType) -> None:
    text = "Run a query.\n\nArgs:\n    sql: the query.\n\nReturns:\n    Every row."
    assert docstrings.as_google(text, ["sql"]) == text


def test_a_section_without_items_is_kept_as_a_sentence(docstrings: ModuleType) -> None:
    text = "Run it.\n\nArgs:     see `read_bag`.\nRaises:   the last error, with a note."
    assert docstrings.as_google(text, ["options"]) == (
        "Run it.\n\nArguments: see `read_bag`.\n\nRaises the last error, with a note."
    )


def test_returns_and_source_keep_their_text(docstrings: ModuleType) -> None:
    text = "Count.\n\nReturns:  the number\n          of rows.\nSource:   observed: JDBC."
    assert docstrings.as_google(text, []) == (
        "Count.\n\nReturns:\n    the number of rows.\n\nSource: observed: JDBC."
    )


def test_documented_names_become_links(docstrings: ModuleType) -> None:
    documented = {"aioifx.Stream", "aioifx.Pool.acquire", "aioifx.Pool.release"}
    text = "See `Stream`, `acquire` and `Pool.release`; ``acquire`` and `other` stay."
    assert docstrings.with_links(text, "aioifx.Pool", documented) == (
        "See [`Stream`][aioifx.Stream], [`acquire`][aioifx.Pool.acquire] and "
        "[`Pool.release`][aioifx.Pool.release]; ``acquire`` and `other` stay."
    )
