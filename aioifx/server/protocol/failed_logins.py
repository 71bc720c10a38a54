"""How fast one address may try passwords. Never: whether a password is right."""

from __future__ import annotations

import asyncio
from typing import Final

BURST: Final = 10
"""Failed logins of an address in one second; further logins wait until there are fewer."""

_MAX_ADDRESSES: Final = 1000
"""Above this number, addresses without a recent failure are forgotten."""


class FailedLogins:
    """The failed logins of each address in the last second; all calls are made in the event loop."""

    def __init__(self) -> None:
        self._ends: dict[str, float] = {}
        """By address: when its failures are forgotten, if each counts for a tenth of a second."""

    def add(self, address: str) -> None:
        """Count a failed login."""
        now = asyncio.get_running_loop().time()
        if len(self._ends) >= _MAX_ADDRESSES:
            self._ends = {each: end for each, end in self._ends.items() if end > now}
        self._ends[address] = max(self._ends.get(address, now), now) + 1 / BURST

    async def wait(self, address: str, limit: float) -> bool:
        """Wait until *address* has had fewer than `BURST` failures in the last second.

        Args:
            limit: seconds for which it may wait.

        Returns:
            Whether it is so within the limit.
        """
        loop = asyncio.get_running_loop()
        end = loop.time() + limit
        while (wait := self._ends.get(address, 0.0) - loop.time() - (1 - 1 / BURST)) > 0:
            if loop.time() + wait > end:
                return False
            await asyncio.sleep(wait)
        return True
