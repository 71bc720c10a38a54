"""Faults are tried on asyncio's event loop and on uvloop's; their number is printed after the last test."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping

import pytest

from tests.loops import LOOPS


@pytest.hookimpl(optionalhook=True)  # pytest-asyncio has it from 1.4 on
def pytest_asyncio_loop_factories(
    config: pytest.Config, item: pytest.Item
) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    return LOOPS


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Cases by kind of fault and by what came of them; the tests record them as properties."""
    tables: dict[str, Counter[str]] = {}
    for reports in terminalreporter.stats.values():
        for report in reports:
            if getattr(report, "when", "call") != "call":
                continue  # the report of a teardown repeats the properties
            for name, value in getattr(report, "user_properties", []):
                if name.startswith("fault cases"):
                    tables.setdefault(name, Counter()).update(value)
    for name, outcomes in sorted(tables.items()):
        terminalreporter.write_line(
            f"{name}: {outcomes.total()} ("
            + ", ".join(f"{count} {what}" for what, count in outcomes.most_common())
            + ")"
        )
