"""How fast one address may try passwords. Never: whether a password is right."""

from __future__ import annotations

from typing import Final

BURST: Final = 10
"""Failed logins of an address in one second; further logins wait until there are fewer."""

_MAX_ADDRESSES: Final = 1000
"""At this number, addresses without a recent failure are forgotten."""


class FailedLogins:
    """The failed logins of each address in the last second; times are those of the event loop."""

    def __init__(self) -> None:
        self._ends: dict[str, float] = {}
        """By address: when its failures are forgotten, if each counts for a tenth of a second."""

    def add(self, address: str, now: float) -> None:
        """Count a failed login."""
        if len(self._ends) >= _MAX_ADDRESSES:
            self._ends = {each: end for each, end in self._ends.items() if end > now}
        self._ends[address] = max(self._ends.get(address, now), now) + 1 / BURST

    def delay(self, address: str, now: float) -> float:
        """Seconds until *address* has had fewer than `BURST` failures in one second; 0 if it has."""
        return max(0.0, self._ends.get(address, now) - now - (1 - 1 / BURST))
