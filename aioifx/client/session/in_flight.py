"""A request in flight: its reply, its callbacks, the time limit of its wait. Never: when it is sent."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from aioifx.channel import PendingReply
from aioifx.errors import QueryTimeout

T = TypeVar("T")


class InFlight(PendingReply[T]):
    """A request in flight, and its reply."""

    is_interruptible: bool
    """Whether it runs a statement, which an urgent byte interrupts."""
    on_reply: Callable[[T], bool | None] | None
    on_orphan: Callable[[T], None] | None
    is_abandoned = False
    """Whether its reply is awaited no longer, or never was."""
    deadline: float | None = None
    """Time limit of the wait."""
    timeout = 0.0
    """The time limit in seconds."""

    def time_out(self) -> None:
        """Fail the wait with QueryTimeout. The reply is still read."""
        within = f"no answer within {self.timeout:g} s"
        error = QueryTimeout(f"{within}; the statement was interrupted" if self.is_interruptible else within)
        if self.on_lost is not None:
            self.on_lost(error)
        self.future.set_exception(error)
        self.future.exception()  # its task may be cancelled at this moment and not retrieve the exception
