"""Running steps one after another: each with a time limit, its time and its outcome. Never: what a step does.

Invariants:
1. A step ends within its limit, or fails; only a cancellation ends the diagnosis before its last step.
2. After a failure the remaining steps of a server are skipped.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, NamedTuple, NoReturn

from aioifx.diagnosis.report import STEPS, DiagnosisChange, DiagnosisStep, Outcome
from aioifx.errors import ConnectError, Error

SERVER_STEPS: Final = STEPS[1:]
"""The steps of each server."""


class Finding(NamedTuple):
    """The result of a step."""

    found: str
    changes: tuple[DiagnosisChange, ...] = ()
    details: Mapping[str, Any] = {}
    outcome: Outcome = "ok"


class Failed(Exception):
    """A step has failed; the steps after it are skipped."""

    def __init__(self, found: str, *changes: DiagnosisChange, **details: Any) -> None:
        super().__init__(found)
        self.finding = Finding(found, changes, details, "failed")


class Steps:
    """The steps of one server, in order.

    Args:
        limit: seconds for each.
        on_step: called with each step when it has ended.
    """

    def __init__(
        self, server: str, limit: float, on_step: Callable[[DiagnosisStep], object] | None = None
    ) -> None:
        self.limit = limit
        self.done: list[DiagnosisStep] = []
        self._server = server
        self._on_step = on_step

    def add(self, name: str, seconds: float, finding: Finding) -> None:
        """Record a step."""
        found, changes, details, outcome = finding
        found = found.removeprefix(f"{self._server}: ")  # the step has it
        step = DiagnosisStep(name, outcome, seconds, found, changes, self._server, dict(details))
        self.done.append(step)
        if self._on_step is not None:
            self._on_step(step)

    async def run(
        self,
        name: str,
        work: Callable[[], Awaitable[Finding]],
        explain: Callable[[Error], Awaitable[Failed]] | None = None,
    ) -> None:
        """Run a step.

        Args:
            explain: called after the limit with the error of *work*, or a ConnectError if it took too long.

        Raises:
            Failed: it has failed, and is recorded.
        """
        began = time.perf_counter()
        limit = asyncio.timeout(self.limit)
        try:
            async with limit:
                finding = await work()
        except Failed as error:
            failed = error
        except Error as error:
            failed = Failed(str(error)) if explain is None else await explain(error)
        except TimeoutError:
            if not limit.expired():
                raise
            late = ConnectError(f"no answer within {self.limit:g} s", unreachable=True)
            failed = Failed(str(late)) if explain is None else await explain(late)
        else:
            self.add(name, time.perf_counter() - began, finding)
            return
        self.fail(name, began, failed)

    def fail(self, name: str, began: float, failed: Failed) -> NoReturn:
        """Record a step as failed, and raise *failed*."""
        self.add(name, time.perf_counter() - began, failed.finding)
        raise failed

    def skip_rest(self, why: str) -> None:
        """Record the steps that are not done as skipped."""
        done = {step.name for step in self.done}
        for name in SERVER_STEPS:
            if name not in done:
                self.add(name, 0.0, Finding(why, outcome="skipped"))
