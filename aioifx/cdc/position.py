"""Where a capture can be continued. Never: a session, a record."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from typing import Any, Self, cast

from aioifx.codecs.cdc_records import MAX_SEQUENCE
from aioifx.errors import InterfaceError


@dataclass(frozen=True, slots=True)
class Position:
    """The place after a committed transaction. Store it with the data, and give it as *start* to continue there.

    All three are sequence numbers: the number of a log file in the upper 32 bits, a place in it in the lower ones.

    Raises:
        InterfaceError: a number is not a sequence number, or *restart* is after *commit*.
    """

    restart: int
    """Where the server must read from: the begin of the oldest transaction that was open."""
    commit: int
    """The commit of the transaction; those up to it are skipped after a restart."""
    change: int
    """The last change of the transaction."""

    def __post_init__(self) -> None:
        for name in ("restart", "commit", "change"):
            value: object = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or not 0 < value <= MAX_SEQUENCE:
                raise InterfaceError(f"{name}: expected a sequence number, got {value!r:.40}")
        if self.restart > self.commit:
            raise InterfaceError(f"restart: expected at most commit, {self.commit}, got {self.restart}")

    def to_json(self) -> str:
        """One line of JSON for `from_json`."""
        return json.dumps({field.name: getattr(self, field.name) for field in fields(self)})

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """The position that `to_json` wrote.

        Raises:
            InterfaceError: it is not one.
        """
        try:
            found: Any = json.loads(text)
        except (TypeError, ValueError):
            raise InterfaceError("position: expected JSON") from None
        names = {field.name for field in fields(cls)}
        numbers = cast("dict[str, int]", found)
        if not isinstance(found, dict) or numbers.keys() != names:
            raise InterfaceError(f"position: expected an object with {', '.join(sorted(names))}")
        return cls(**numbers)
