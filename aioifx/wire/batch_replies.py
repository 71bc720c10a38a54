"""The replies to many executions of one statement: counted, not kept. Never: which values a row had."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain
from struct import Struct
from typing import Final

from aioifx.errors import ProtocolError
from aioifx.wire.capabilities import Capabilities
from aioifx.wire.completion import (
    DONE_COST,
    INSERTDONE,
    XACTSTAT_EOT,
    Done,
    Serials,
    ServerError,
    serial_of,
    serials_at,
)
from aioifx.wire.inbox import Inbox, Parser
from aioifx.wire.opcodes import Op
from aioifx.wire.replies import MAX_WARNINGS, Reply, read_reply

_INSERTDONE_TAG: Final = Op.INSERTDONE.to_bytes(2, "big")
_XACTSTAT_TAG: Final = Op.XACTSTAT.to_bytes(2, "big")

_MANY: Final = 12
"""From this number on, counting column by column is faster than one by one."""


class _Layout:
    """The positions of the fields in usual replies of one form, which have one size."""

    __slots__ = ("begin", "done", "rows", "serial", "size", "tags", "warnings")

    def __init__(self, capabilities: Capabilities, has_serials: bool, has_state: bool) -> None:
        done_cost = DONE_COST[capabilities.long_rowid]
        self.begin = INSERTDONE[capabilities.bigint].size if has_serials else 0
        """Offset of SQ_DONE."""
        self.done = done_cost
        end = self.begin + done_cost.size
        self.size = end + (XACTSTAT_EOT.size if has_state else 0)
        tags = {self.begin: Op.DONE, end - 12: Op.COST, end - 2: Op.XACTSTAT if has_state else Op.EOT}
        if has_serials:
            tags[0] = Op.INSERTDONE
        if has_state:
            tags[self.size - 2] = Op.EOT
        self.tags = [
            (at + place, byte)
            for at, tag in tags.items()
            for place, byte in enumerate(tag.to_bytes(2, "big"))
        ]
        """Offsets and values of the bytes that are the same in all."""
        self.warnings = range(self.begin + 2, self.begin + 4)
        width = 8 if capabilities.long_rowid else 4
        at = self.begin + 4
        self.rows = (
            range(at, at + width),
            Struct(f">{at}x{'q' if width == 8 else 'i'}{self.size - at - width}x"),
        )
        at += 2 * width
        self.serial = Struct(f">{at}xi{self.size - at - 4}x")


@lru_cache
def _layout(capabilities: Capabilities, has_serials: bool, has_state: bool) -> _Layout:
    return _Layout(capabilities, has_serials, has_state)


@dataclass(slots=True)
class BatchTally:
    """The sum of the replies so far, failed ones included."""

    answered: int = 0
    rowcount: int = 0
    """Rows of the successful ones."""
    warnings: int = 0
    done: Done = field(default_factory=Done)
    """Of the last successful one."""
    serials: Serials | None = None
    """The last received."""
    warned: dict[ServerError, None] = field(default_factory=dict[ServerError, None])
    """Warnings of routines, each once, the first `MAX_WARNINGS`."""
    warnings_left_out: int = 0
    """How many more there were."""
    failures: list[tuple[int, ServerError]] = field(default_factory=list[tuple[int, ServerError]])
    """Index and error of each that failed."""
    each_serial: list[int] | None = None
    """The serial value of each, 0 without one; None: they are not kept."""

    def add(self, reply: Reply) -> None:
        """Count one reply."""
        self._add_warnings(reply.warnings)
        self.warnings_left_out += reply.warnings_left_out
        if reply.error is not None:
            self.failures.append((self.answered, reply.error))
        elif reply.done is not None:
            self.rowcount += reply.done.rows
            self.warnings |= reply.done.warnings
            self.done = reply.done
            self.serials = reply.serials or self.serials
        if self.each_serial is not None:
            done = reply.done if reply.error is None else None
            self.each_serial.append(serial_of(done.serial, reply.serials) if done else 0)
        self.answered += 1

    def extend(self, other: BatchTally) -> None:
        """Count the replies of another tally, which came later."""
        self.failures += [(self.answered + index, error) for index, error in other.failures]
        self.answered += other.answered
        self.rowcount += other.rowcount
        self.warnings |= other.warnings
        self.done = other.done
        self.serials = other.serials or self.serials
        self._add_warnings(other.warned)
        self.warnings_left_out += other.warnings_left_out

    def _add_warnings(self, warnings: Iterable[ServerError]) -> None:
        for warning in warnings:
            if len(self.warned) < MAX_WARNINGS or warning in self.warned:
                self.warned[warning] = None
            else:
                self.warnings_left_out += 1


@dataclass(frozen=True, slots=True)
class ExecutionsReader:
    """Reads the replies to *count* executions; see `read_executions`."""

    capabilities: Capabilities
    count: int
    tally: BatchTally
    on_reply: Callable[[Reply], object]

    def try_read(self, inbox: Inbox) -> None:
        """Always None: the parser reads many at once."""

    def parser(self, inbox: Inbox) -> Parser[None]:
        """Reads the replies to all executions of the batch."""
        return read_executions(inbox, self.capabilities, self.count, self.tally, self.on_reply)


async def read_executions(
    inbox: Inbox,
    capabilities: Capabilities,
    count: int,
    tally: BatchTally,
    on_reply: Callable[[Reply], object],
) -> None:
    """*count* groups in a row; those of the usual form are counted without decoding.

    Args:
        on_reply: sees each reply that is not of the usual form.
    """
    end = tally.answered + count
    while True:
        if end - tally.answered >= _MANY:
            _count_uniform(inbox, capabilities, end - tally.answered, tally)
        _count_usual(inbox, capabilities, end, tally)
        if tally.answered >= end:
            return
        reply = await read_reply(inbox, capabilities)
        if reply.file_request is not None:
            raise ProtocolError("the server asks for a client's file in the middle of a batch")
        on_reply(reply)
        tally.add(reply)


def _count_uniform(inbox: Inbox, capabilities: Capabilities, most: int, tally: BatchTally) -> None:
    """Count the replies that are here if they are many and have the form of the first; otherwise none."""
    data, pos = inbox.data, inbox.pos
    layout = _layout_at(data, pos, capabilities)
    size = layout.size
    count = min((len(data) - pos) // size, most)
    if count < _MANY:
        return
    run = bytes(data[pos : pos + count * size])
    for at, byte in layout.tags:
        if run[at::size].count(byte) != count:
            return
    places, rows = layout.rows
    if max(run[places[0] :: size]) > 0x7F:
        return  # a negative number of rows, which the reader of one reply rejects
    last = (count - 1) * size
    done = layout.done.unpack_from(run, last + layout.begin)[1:5]
    tally.answered += count
    tally.done = Done(*done)
    tally.warnings |= _or_all(run, layout.warnings, size)
    if all(run[at::size].count(run[at]) == count for at in places):
        tally.rowcount += count * done[1]
    else:
        tally.rowcount += sum(chain.from_iterable(rows.iter_unpack(run)))
    if layout.begin:
        tally.serials = serials_at(capabilities, run, last)
    if tally.each_serial is not None:
        tally.each_serial += _serials_in(run, layout, capabilities)
    inbox.pos = pos + count * size


def _serials_in(run: bytes, layout: _Layout, capabilities: Capabilities) -> list[int]:
    """The serial value of each reply in *run*."""
    size, serials = layout.size, list(chain.from_iterable(layout.serial.iter_unpack(run)))
    count, large = len(serials), serials_at(capabilities, run, 0) if layout.begin else None
    if not serial_of(0, large) and all(
        run[at::size].count(run[at]) == count for at in range(2, layout.begin)
    ):
        return serials
    places = enumerate(serials)
    return [serial_of(serial, serials_at(capabilities, run, at * size)) for at, serial in places]


def _layout_at(data: bytearray, pos: int, capabilities: Capabilities) -> _Layout:
    """The layout of the reply at *pos* if it is usual."""
    has_serials = data.startswith(_INSERTDONE_TAG, pos)
    layout = _layout(capabilities, has_serials, False)
    has_state = data.startswith(_XACTSTAT_TAG, pos + layout.size - 2)
    return _layout(capabilities, has_serials, True) if has_state else layout


def _or_all(run: bytes, places: Iterable[int], size: int) -> int:
    """All bits that are set in a field of any reply."""
    united = 0
    for at in places:
        bits = 0
        for byte in set(run[at::size]):
            bits |= byte
        united = united << 8 | bits
    return united


def _count_usual(inbox: Inbox, capabilities: Capabilities, end: int, tally: BatchTally) -> None:
    """Count the whole replies ``[INSERTDONE] DONE COST [XACTSTAT] EOT`` that are here.

    Source: observed: IDS 12.10 to 15; the order too
    """
    data, pos, stop = inbox.data, inbox.pos, len(inbox.data)
    insertdone, done_cost = INSERTDONE[capabilities.bigint], DONE_COST[capabilities.long_rowid]
    unpack, size = done_cost.unpack_from, done_cost.size
    answered, rowcount, bits, done, inserted = tally.answered, 0, 0, None, -1
    each = tally.each_serial
    while answered < end:
        at = pos
        if stop - at > insertdone.size and data[at + 1] == Op.INSERTDONE and not data[at]:
            at += insertdone.size
        if stop - at < size:
            break
        done_tag, warnings, rows, rowid, serial, cost_tag, _, _, tag = unpack(data, at)
        if done_tag != Op.DONE or cost_tag != Op.COST or rows < 0:
            break
        begin, at = at, at + size
        if tag == Op.XACTSTAT:
            if stop - at < XACTSTAT_EOT.size or XACTSTAT_EOT.unpack_from(data, at)[3] != Op.EOT:
                break
            at += XACTSTAT_EOT.size
        elif tag != Op.EOT:
            break
        if begin > pos:
            inserted = pos
        answered += 1
        rowcount += rows
        bits |= warnings
        if each is not None:
            large = serials_at(capabilities, data, pos) if begin > pos and not serial else None
            each.append(serial_of(serial, large))
        done = (warnings, rows, rowid, serial)
        pos = at
    if done is not None:
        tally.answered, tally.done = answered, Done(*done)
        tally.rowcount += rowcount
        tally.warnings |= bits
        if inserted >= 0:
            tally.serials = serials_at(capabilities, data, inserted)
        inbox.pos = pos
