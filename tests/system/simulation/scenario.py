"""A scenario as data: servers, network, pools, callers, faults; to JSON and back. Never: what becomes of it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any, Self


@dataclass(frozen=True, slots=True)
class Ending:
    """How a caller's operation is ended from outside.

    Args:
        how: "waiting" or "woken": cancelled at its n-th suspension, before or after what it waits for has come.
            "scope": by a scope of anyio. "suspension timeout": `asyncio.timeout` expires then. "timeout":
            `asyncio.timeout` of *at* seconds. "twice": cancelled then, and again as it ends.
        at: the suspension, from 1, or the seconds.
    """

    how: str
    at: float


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation of a caller; see `callers` for the kinds."""

    number: int
    """Different for each operation: the tag of the rows that it writes."""
    kind: str
    size: int = 1
    """Rows, accounts or whatever the kind has a number of."""
    ending: Ending | None = None
    timeout: float | None = None
    """For the argument of the same name, where the kind has one."""


@dataclass(frozen=True, slots=True)
class Caller:
    """One task of the application."""

    start: float
    """Seconds after the beginning."""
    pool: int
    operations: tuple[Operation, ...] = ()


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that goes wrong.

    Args:
        kind: see `faults`.
        trigger: "time", "group" (before the n-th group of requests is handled), "reply" (before its reply is sent),
            "commit" (before the n-th transaction is committed), "login" (before the n-th is answered), "fetch" (before
            the n-th block or row is fetched) or "read" (before the n-th read of changes is answered).
        at: seconds or n.
        target: the number of a connection, 0 for one that captures changes, or the index of a server.
        seconds: how long it lasts; 0: for ever.
    """

    kind: str
    trigger: str
    at: float
    target: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Host:
    """One server.

    Args:
        redirect: index of the server that logins are redirected to; -1: none.
        addresses: of its name.
        differs: how it differs from what the client expects; see `model.differences`.
    """

    is_secondary: bool = False
    redirect: int = -1
    speed: float = 0.0005
    slow: float = 0.0
    addresses: int = 1
    differs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Scenario:
    """Everything that happens, but for what follows from it."""

    seed: int
    hosts: tuple[Host, ...] = (Host(),)
    weather: dict[str, Any] = field(default_factory=dict[str, Any])
    """Arguments of `network.Weather`; ``urgent`` by its value."""
    pools: tuple[dict[str, Any], ...] = ()
    """Options of each pool."""
    callers: tuple[Caller, ...] = ()
    faults: tuple[Fault, ...] = ()
    bugs: tuple[str, ...] = ()
    """Mistakes of the model, by which tests show that a law can fail."""
    locks: str = "model"
    """The database's locks: those of the "model", or those of the "embedded" server."""

    def to_json(self) -> str:
        """As JSON, one value per line where it helps."""
        return json.dumps(asdict(self), indent=1)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The scenario that `to_json` wrote."""
        data = json.loads(text)
        return cls(
            data["seed"],
            tuple(Host(**{**each, "differs": tuple(each.get("differs", ()))}) for each in data["hosts"]),
            data["weather"],
            tuple(data["pools"]),
            tuple(
                Caller(each["start"], each["pool"], tuple(_operation(one) for one in each["operations"]))
                for each in data["callers"]
            ),
            tuple(Fault(**each) for each in data["faults"]),
            tuple(data["bugs"]),
            data.get("locks", "model"),
        )


def _operation(data: dict[str, Any]) -> Operation:
    ending = data.pop("ending")
    return Operation(**data, ending=Ending(**ending) if ending else None)
