"""MeteredDispatcher: counts round trips and the wait for the lock for an operation. Never: bytes, an observer."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TypeVar

from aioifx.client.observation.observation import current_operation, queueing
from aioifx.client.session.cleanup import Cleanup
from aioifx.client.session.dispatcher import Dispatcher
from aioifx.client.session.in_flight import InFlight

T = TypeVar("T")


class MeteredDispatcher(Dispatcher):
    """The dispatcher of an observed connection."""

    async def acquire(self, *, timeout: float | None = None, idle: bool = False) -> None:
        with queueing():
            await super().acquire(timeout=timeout, idle=idle)

    def reply(
        self, in_flight: InFlight[T], *, prefetched: bool = False, timeout: float | None = None
    ) -> Awaitable[T]:
        if in_flight.operation is not None:
            in_flight.operation.round_trips += 1
        return Dispatcher.reply(self, in_flight, prefetched=prefetched, timeout=timeout)  # `super` is slower

    def try_send_next(self, request: bytes) -> bool:
        sent = super().try_send_next(request)
        if sent and (operation := self._in_flight[0].operation) is not None:
            operation.round_trips += 1
        return sent

    def _send_cleanup(self, cleanup: Cleanup) -> bool:
        """Cleanup belongs to no operation, whatever task it is sent from."""
        outer = current_operation.get()
        current_operation.set(None)
        try:
            return super()._send_cleanup(cleanup)
        finally:
            current_operation.set(outer)
