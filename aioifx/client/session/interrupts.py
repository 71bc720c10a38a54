"""The urgent byte that interrupts a statement, and the time limit of a cancelled call. Never: a lock, SQL.

Invariants:
1. At most one urgent byte is on its way. It is sent only after the whole request, while its reply is outstanding.
2. A byte that no -213 has acknowledged is pending until a probe has been sent, and unconfirmed until a -213.
3. If a cancelled request is not answered within the timeout, the connection is dropped.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from typing import Any, Final

from aioifx._speedups.round_trip import CoreInterrupter, InFlight
from aioifx.channel import Channel
from aioifx.errors import ConnectionLost

logger: Final = logging.getLogger("aioifx.session")

URGENT_BYTE: Final = b"\x42"
"""Observed: JDBC, cancel.json; 14.10."""

INTERRUPTED: Final = -213
"""SQLCODE of an interrupted statement."""


class Interrupter(CoreInterrupter):
    """Interrupts the statements of one connection.

    Args:
        cancel_timeout: seconds for the rest of a cancelled call; 0 drops the connection instead of interrupting.
    """

    def __init__(self, channel: Channel, cancel_timeout: float) -> None:
        super().__init__()
        self.cancel_timeout = cancel_timeout
        self._running: InFlight | None = None
        """The request that `interrupt_running` has interrupted last, until its call has ended."""
        self._running_timer: asyncio.TimerHandle | None = None
        self._channel = channel
        self._in_flight: deque[InFlight] = channel.pending_replies

    @property
    def is_settled(self) -> bool:
        """Whether a request may be sent before earlier replies have arrived: no urgent byte could interrupt it."""
        return self.cancel_timer is None and not self.is_pending and not self.is_unconfirmed

    def cancel_abandoned(self) -> None:
        """Interrupt the server, and start the cancel timeout. Does nothing if no reply is outstanding."""
        if self._in_flight:
            self.start_timeout()
            self.interrupt_abandoned()

    def interrupt_abandoned(self) -> None:
        """Send the urgent byte if the oldest request was abandoned, unless one has been sent.

        Source: observed: one urgent byte after a whole request (14.10); JDBC sends it for a cancel and a time-out alike
        (cancel.json). Assumed: likewise on other releases, and during a fetch
        """
        if self.is_pending or not self._in_flight or not self.cancel_timeout:
            return
        oldest = self._in_flight[0]
        if oldest.is_interruptible and oldest.is_abandoned and not self._channel.unsent:
            self._send("its call was cancelled or timed out")

    def interrupt_running(self) -> bool:
        """Interrupt the running statement; False if there is none, or no call waits for it any longer.

        If the statement does not end within `cancel_timeout`, the connection is dropped.
        """
        running = self._in_flight[0] if self._in_flight else None
        if running is None or not running.is_interruptible or running.is_abandoned or self._channel.unsent:
            return False
        if self.cancel_timer is not None and not any(each.is_abandoned for each in self._in_flight):
            self.stop_timeout()  # those that were abandoned came before it
        if not self.cancel_timeout:
            self._drop_if_running(running)
            return True
        if not self.is_pending:
            self._send("by cancel()")
        if self._running is not running:
            self._stop_running()
            self._running = running
            self._running_timer = self._channel.loop.call_later(
                self.cancel_timeout, self._drop_if_running, running
            )
            running.future.add_done_callback(self._on_done)
        return True

    def _on_done(self, future: asyncio.Future[Any]) -> None:
        """Called when a call has ended that `interrupt_running` has interrupted; its reply may be outstanding."""
        running = self._running
        if running is not None and running.future is future:
            if not (running.is_abandoned or future.cancelled()):
                self._stop_running()

    def _stop_running(self) -> None:
        if self._running_timer is not None:
            self._running_timer.cancel()
        self._running = self._running_timer = None

    def _send(self, why: str) -> None:
        self.is_pending = self._channel.send_urgent(URGENT_BYTE)
        if logger.isEnabledFor(logging.DEBUG):
            state = "was interrupted" if self.is_pending else "could not be interrupted"
            logger.debug("%s: the running statement %s: %s", self._channel.peer, state, why)

    def on_acknowledged(self) -> bool:
        """Called for a -213 in the reply to the oldest request.

        Returns:
            Whether an urgent byte was sent for the request, or it is the probe's. Otherwise an earlier byte has arrived
            late (observed: 14.10), or the server has interrupted the statement by itself.
        """
        is_probe = self.is_unconfirmed and self._in_flight[0].is_abandoned
        is_asked = self.is_pending or is_probe
        self.has_unasked = self.has_unasked or not is_asked
        self.is_pending = self.is_unconfirmed = False
        if self.cancel_timer is not None:  # with several requests in flight, each may need its own byte
            self._channel.loop.call_soon(self.interrupt_abandoned)
        return is_asked

    def on_probe(self) -> None:
        """Called before the probe is sent, for a byte that no reply has acknowledged."""
        self.is_pending, self.is_unconfirmed = False, True

    def start_timeout(self) -> None:
        """Drop the connection unless `stop_timeout` is called within the cancel timeout."""
        if self.cancel_timer is None:
            self.cancel_timer = self._channel.loop.call_later(self.cancel_timeout, self._drop)

    def stop_timeout(self) -> None:
        """Called when no reply is outstanding. Idempotent."""
        self._stop_running()
        if self.cancel_timer is not None:
            self.cancel_timer.cancel()
            self.cancel_timer = None

    def _drop_if_running(self, running: InFlight) -> None:
        if self._in_flight and self._in_flight[0] is running:
            self._drop()

    def _drop(self) -> None:
        self._channel.abort(
            ConnectionLost(
                f"the connection was closed: no reply to a cancelled call within {self.cancel_timeout:g} s"
            )
        )
