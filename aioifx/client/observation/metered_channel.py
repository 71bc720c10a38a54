"""MeteredChannel: counts bytes and time for the operation whose reply is outstanding. Never: what a reply holds."""

from __future__ import annotations

import time
from typing import Any, Final

from aioifx.channel import Channel, PendingReply
from aioifx.client.observation.observation import RunningOperation, running
from aioifx.client.observation.operation import Operation
from aioifx.errors import DatabaseError

_now: Final = time.perf_counter


class MeteredChannel(Channel):
    """A channel for observed connections.

    What arrives counts for the oldest outstanding reply of a running operation. Replies to deferred cleanup, which
    belongs to no operation, count for the operation that waits for its own reply after them.
    """

    def __init__(self) -> None:
        super().__init__()
        self._quiet_since = 0.0

    def request(self, pending_reply: PendingReply[Any], data: bytes | bytearray) -> None:
        operation = running()
        if operation is None:
            return super().request(pending_reply, data)
        pending_reply.operation, pending_reply.sent_at = operation, _now()
        operation.meter = self
        before = self.bytes_out - operation.bytes_out  # `request` may call `send`
        Channel.request(self, pending_reply, data)  # `super` is slower
        operation.bytes_out = self.bytes_out - before
        if self.on_reply is None:  # the login, where no dispatcher counts
            operation.round_trips += 1
        return None

    def send(self, data: bytes | bytearray) -> None:
        # Called from `data_received` as well, in the context that the connection was opened in.
        operation = self.pending_replies[-1].operation if self.pending_replies else running()
        before = self.bytes_out
        super().send(data)
        if isinstance(operation, RunningOperation) and operation.duration is None:
            operation.bytes_out += self.bytes_out - before
            if self.on_reply is None:
                operation.round_trips += 1

    def data_received(self, data: bytes) -> None:
        now = _now()
        operation = self._add_server_time(now)
        try:
            Channel.data_received(self, data)
        finally:
            self._quiet_since = after = _now()
            if operation is not None:
                operation.bytes_in += len(data)
                operation.decode_time += after - now

    def add_outstanding_time(self, operation: Operation) -> None:
        for pending_reply in self.pending_replies:
            if pending_reply.operation is operation:
                operation.server_time += _now() - max(self._quiet_since, pending_reply.sent_at)
                return

    def _add_server_time(self, now: float) -> RunningOperation | None:
        """Add the time until *now* to the operation that waits for the next reply; None if none does."""
        for pending_reply in self.pending_replies:
            operation: RunningOperation | None = pending_reply.operation
            if operation is not None and operation.duration is None:
                operation.server_time += now - max(self._quiet_since, pending_reply.sent_at)
                self._quiet_since = now
                return operation
        return None

    def _set_failed(self, error: DatabaseError) -> None:
        self._add_server_time(_now())
        super()._set_failed(error)
