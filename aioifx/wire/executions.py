"""The replies to many executions of one statement: counted, not kept. Never: which values a row had."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from struct import Struct
from typing import Final

from aioifx.wire.dialect import Dialect
from aioifx.wire.fields import int8_of
from aioifx.wire.inbox import Inbox
from aioifx.wire.opcodes import Op
from aioifx.wire.replies import Done, Reply, Serials, ServerError, read_reply

_INSERTDONE: Final = {False: Struct(">HhII"), True: Struct(">HhIIq")}
"""SQ_INSERTDONE without and with bit 54; see `replies`."""

_DONE_COST: Final = {False: Struct(">HHiiiHiiH"), True: Struct(">HHqqiHiiH")}
"""SQ_DONE, SQ_COST and the next tag, without and with bit 70."""

_XACTSTAT_EOT: Final = Struct(">3hH")
"""The rest of SQ_XACTSTAT, and SQ_EOT."""


@dataclass(slots=True)
class Executions:
    """What the replies said so far; every request that was answered counts, whether it failed or not."""

    answered: int = 0
    rowcount: int = 0
    """Rows of those that succeeded."""
    warnings: int = 0
    done: Done = field(default_factory=Done)
    """The last one's that succeeded."""
    serials: Serials | None = None
    """The last that came."""
    failures: list[tuple[int, ServerError]] = field(default_factory=list[tuple[int, ServerError]])
    """Index and error of each that failed."""

    def add(self, reply: Reply) -> None:
        """Count one reply."""
        if reply.error is not None:
            self.failures.append((self.answered, reply.error))
        elif reply.done is not None:
            self.rowcount += reply.done.rows
            self.warnings |= reply.done.warnings
            self.done = reply.done
            self.serials = reply.serials or self.serials
        self.answered += 1


async def read_executions(
    inbox: Inbox, dialect: Dialect, count: int, told: Executions, observe: Callable[[Reply], None]
) -> None:
    """*count* groups in a row; those of the usual form are counted without being taken apart.

    Args:     observe: sees each reply that is not of the usual form.
    """
    end = told.answered + count
    while True:
        _take_usual(inbox, dialect, end, told)
        if told.answered >= end:
            return
        reply = await read_reply(inbox, dialect)
        observe(reply)
        told.add(reply)


def _take_usual(inbox: Inbox, dialect: Dialect, end: int, told: Executions) -> None:
    """Count the whole replies ``[INSERTDONE] DONE COST [XACTSTAT] EOT`` that are here.

    Source:   observed: IDS 12.10 to 15; the order too
    """
    data, pos, stop = inbox.data, inbox.pos, len(inbox.data)
    insertdone, done_cost = _INSERTDONE[dialect.bigint], _DONE_COST[dialect.long_rowid]
    unpack, size = done_cost.unpack_from, done_cost.size
    answered, rowcount, bits, done, inserted = told.answered, 0, 0, None, -1
    while answered < end:
        at = pos
        if stop - at > insertdone.size and data[at + 1] == Op.INSERTDONE and not data[at]:
            at += insertdone.size
        if stop - at < size:
            break
        done_tag, warnings, rows, rowid, serial, cost_tag, _, _, tag = unpack(data, at)
        if done_tag != Op.DONE or cost_tag != Op.COST:
            break
        begin, at = at, at + size
        if tag == Op.XACTSTAT:
            if stop - at < _XACTSTAT_EOT.size or _XACTSTAT_EOT.unpack_from(data, at)[3] != Op.EOT:
                break
            at += _XACTSTAT_EOT.size
        elif tag != Op.EOT:
            break
        if begin > pos:
            inserted = pos
        answered += 1
        rowcount += rows
        bits |= warnings
        done = (warnings, rows, rowid, serial)
        pos = at
    if done is not None:
        told.answered, told.done = answered, Done(*done)
        told.rowcount += rowcount
        told.warnings |= bits
        if inserted >= 0:
            _, sign, low, high, *bigserial = insertdone.unpack_from(data, inserted)
            told.serials = Serials(int8_of(sign, low, high), *bigserial)
        inbox.pos = pos
