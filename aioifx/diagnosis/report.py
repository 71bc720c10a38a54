"""The report of a diagnosis: steps in order, what each found, which setting to change. Never: how it is found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final, Literal, TypeAlias

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
