"""Deferred cleanup: requests that release what a call has left at the server. Never: when they are sent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

from aioifx.wire import requests
from aioifx.wire.capabilities import Capabilities
from aioifx.wire.outbox import Outbox
from aioifx.wire.replies import Reply

_PROBE: Final = b"select first 1 tabid from informix.systables"


@dataclass(frozen=True, slots=True)
class Cleanup:
    """One group of deferred cleanup."""

    write: Callable[[Outbox], None]
    on_reply: Callable[[Reply], None] | None = None
    still_needed: Callable[[], bool] | None = None
    """Checked before sending: an earlier request may have made it unnecessary."""

    def request(self) -> bytes | bytearray:
        """The whole group."""
        outbox = Outbox()
        self.write(outbox)
        requests.put_eot(outbox)
        return outbox.detach()


def probe(
    capabilities: Capabilities, cursor_name: Callable[[], bytes], defer_first: Callable[..., None]
) -> Cleanup:
    """A probe statement that receives an urgent byte which arrived too late for its target.

    A reply of -213 to any of its groups proves that the byte was consumed.

    Source: observed: a byte that arrives between statements interrupts the next one (14.10). The messages are JDBC's
    for a query that is closed before its first row.

    Args:
        defer_first: queues the groups that follow the first one.
    """

    def on_prepared(reply: Reply) -> None:
        if reply.description is not None and reply.error is None:
            number = reply.description.statement_id
            defer_first(
                Cleanup(partial(_put_open, number, cursor_name())),
                Cleanup(partial(put_close, number)),
                Cleanup(partial(put_release, number)),
            )

    return Cleanup(
        lambda outbox: requests.put_prepare(outbox, capabilities, _PROBE, 0),
        on_prepared,
    )


def put_close(statement_id: int, outbox: Outbox) -> None:
    requests.put_id(outbox, statement_id)
    requests.put_close(outbox)


def put_release(statement_id: int, outbox: Outbox) -> None:
    requests.put_id(outbox, statement_id)
    requests.put_release(outbox)


def _put_open(statement_id: int, name: bytes, outbox: Outbox) -> None:
    requests.put_id(outbox, statement_id)
    requests.put_curname(outbox, name)
    requests.put_open(outbox)
