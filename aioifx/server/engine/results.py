"""The result of a statement without rows. Never: how it is sent."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from aioifx.server.sqlite.databases import Database


class TransactionEvent(IntEnum):
    """The effect of a statement on the transaction."""

    NONE = 0
    BEGUN = 1
    COMMITTED = 2
    ROLLED_BACK = 3


@dataclass(slots=True)
class StatementResult:
    """The result of a statement without rows."""

    rows: int = 0
    rowid: int = 0
    serial: int = 0
    serial8: int = 0
    bigserial: int = 0
    opened: Database | None = None
    """The database that the statement opened."""
    event: TransactionEvent = TransactionEvent.NONE
