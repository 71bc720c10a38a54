"""The entries of the log of captured changes, and how a file has them. Never: which file, who writes it.

Format: each entry is 4 size · marshalled facts: the kind, the number of the transaction, and those of the kind. A size
of 0 fills the rest of a page.
"""

from __future__ import annotations

import marshal
from collections.abc import Callable, Iterator
from enum import IntEnum
from struct import Struct
from typing import Any, Final, NamedTuple, TypeAlias

PAGE: Final = 4096
"""Bytes of a page (observed: clients shift the number of a page by 12 bits to get an offset)."""

Facts: TypeAlias = tuple[Any, ...]
"""The kind of an entry, the number of its transaction, and what follows."""

_SIZE: Final = Struct(">I")


class Kind(IntEnum):
    """What an entry says."""

    BEGIN = 1
    COMMIT = 2
    ROLLBACK = 3
    INSERT = 40
    DELETE = 41
    UPDATE = 43
    DISCARD = 62
    """The changes of the transaction from a position on are void."""
    TRUNCATE = 119


class Entry(NamedTuple):
    """An entry of the log, as a reader gives it."""

    position: int
    kind: Kind
    transaction: int
    database: str
    """That of its transaction; empty if the reader has not seen its beginning."""
    facts: Facts
    """BEGIN, COMMIT and ROLLBACK: seconds since the epoch; changes: tabid, and the `undo_log.packed` values of the row
    before and after; DISCARD: a position."""


def encoded(facts: Facts) -> bytes:
    """An entry as a file has it."""
    data = marshal.dumps(facts)
    return _SIZE.pack(len(data)) + data


def frames(read: Callable[[int, int], bytes], offset: int) -> Iterator[tuple[int, int, Facts]]:
    """The entries of a file from *offset* on: where each begins and ends, and its facts. An incomplete one ends them.

    Args:
        read: ``read(offset, size)``: bytes of the file, fewer at its end.
        offset: where an entry or a page begins.
    """
    while len(head := read(offset, _SIZE.size)) == _SIZE.size:
        (size,) = _SIZE.unpack(head)
        begin = offset + _SIZE.size
        if not size:
            offset = -(-begin // PAGE) * PAGE
            continue
        data = read(begin, size)
        if len(data) < size:
            return
        yield offset, begin + size, marshal.loads(data)
        offset = begin + size
