"""The report of a diagnosis: steps run in order, what each found, which setting to change. Never: how it is found.

Invariants:
1. A step ends within its limit, or fails; only a cancellation ends the diagnosis before its last step.
2. After a failure the remaining steps of a server are skipped.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final, Literal, NamedTuple, NoReturn, TypeAlias

from aioifx.errors import ConnectError, Error

Outcome: TypeAlias = Literal["ok", "warning", "failed", "skipped"]

_UP_TO_SESSION: Final = (
    "address", "dns", "tcp", "tls", "listener", "server_name", "login", "version", "capabilities", "database", "locale",
    "log_mode", "role",
)  # fmt: skip
STEPS: Final = (*_UP_TO_SESSION, "fetch_size", "round_trip", "optofc", "interrupt")
"""The names of all steps, in order."""


@dataclass(frozen=True, slots=True)
class DiagnosisChange:
    """A setting that is probably wrong, and what it should be.

    Attributes:
        setting: an option of `aioifx.connect`, or, in words, something at the server or on the way to it.
        to:      its new value, or in words what it should be.
    """

    setting: str
    to: str

    def __str__(self) -> str:
        return f"{self.setting}: {self.to}"


@dataclass(frozen=True, slots=True)
class DiagnosisStep:
    """One step of a diagnosis.

    Attributes:
        name:    "address", "dns", "tcp", "tls", "listener", "server_name", "login", "version", "capabilities",
                 "database", "locale", "log_mode", "role", "fetch_size", "round_trip", "optofc" or "interrupt".
        outcome: "ok", "warning", "failed" or "skipped".
        seconds: time that the step took; 0.0 if it sent nothing.
        found:   what was found, or why the step failed or was skipped, in words.
        changes: for a step that failed, and for most warnings: what to change, the likeliest first.
        server:  the address that the step is about, ``host:port``; empty for the step "address".
        details: the same findings as values: numbers in seconds or bytes, texts, lists of texts.
    """

    name: str
    outcome: Outcome
    seconds: float
    found: str
    changes: tuple[DiagnosisChange, ...] = ()
    server: str = ""
    details: Mapping[str, Any] = field(default_factory=dict[str, Any], hash=False)


@dataclass(frozen=True, slots=True)
class DiagnosisReport:
    """What `aioifx.diagnosis.diagnose` found.

    Attributes:
        steps: all steps in the order in which they were made. Each server has the same steps, tried or skipped.
    """

    steps: tuple[DiagnosisStep, ...]

    @property
    def ok(self) -> bool:
        """Whether no step failed; warnings do not count."""
        return not self.failed

    @property
    def connects(self) -> bool:
        """Whether `aioifx.connect` would succeed with one of the servers."""
        failed = {step.server for step in self.failed if step.name in _UP_TO_SESSION}
        return bool({step.server for step in self.steps if step.server} - failed)

    @property
    def failed(self) -> tuple[DiagnosisStep, ...]:
        """The steps that failed."""
        return tuple(step for step in self.steps if step.outcome == "failed")

    @property
    def changes(self) -> tuple[DiagnosisChange, ...]:
        """The changes of all steps, each once."""
        return tuple(dict.fromkeys(change for step in self.steps for change in step.changes))

    def as_dict(self) -> dict[str, Any]:
        """The report in types that JSON has."""
        return {
            "ok": self.ok,
            "connects": self.connects,
            "steps": [
                {**asdict(step), "changes": [asdict(change) for change in step.changes]}
                for step in self.steps
            ],
        }


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
