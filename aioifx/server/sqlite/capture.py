"""The captured changes of a session's transactions: from the undo log to the log of changes. Never: a reader of these.

The undo log has each version of a row before a change, and the rows are locked. So statements do nothing for the
capture: COMMIT reads what they have noted anyway.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

from aioifx.server.sql.errors import SqlError
from aioifx.server.sqlite.change_entries import Kind
from aioifx.server.sqlite.change_log import ChangeLog, LoggedTransaction
from aioifx.server.sqlite.databases import Database
from aioifx.server.sqlite.undo_log import TRUNCATION, Change, UndoLog

_DISK_FULL: Final = -346, -131
_KINDS: Final = {"I": Kind.INSERT, "U": Kind.UPDATE, "D": Kind.DELETE}


class Capture:
    """The capture of one session's transactions in one database, while full-row logging is on for some tables."""

    def __init__(self, connection: sqlite3.Connection, database: Database) -> None:
        self._database = database
        self._undo = UndoLog(connection)

    @property
    def _log(self) -> ChangeLog:
        assert self._database.changes is not None, "no table is captured without a log"
        return self._database.changes

    @contextmanager
    def committing(self, number: int, started: float) -> Generator[None, None, None]:
        """Context of the COMMIT of a transaction; its changes and its end are logged, unless it fails.

        Raises:
            SqlError: -346, the log cannot be written.
        """
        name, log = self._database.name, self._log
        try:
            with log.appending():
                if log.interleaves:
                    for other in self._others(number):
                        self._add(other, 0)
                self._add(number, started)
                log.end_transaction(name, number, Kind.COMMIT)
                log.flush()
                yield
        except OSError:
            raise SqlError(*_DISK_FULL) from None

    @contextmanager
    def undoing(self, number: int, started: float, mark: int) -> Generator[None, None, None]:
        """Context of the ROLLBACK of all entries after the first *mark*; what is logged of them is discarded."""
        name, log = self._database.name, self._log
        if log.transaction(name, number) is None and not (log.discards and mark):
            yield
            return
        with log.appending():
            if log.discards and mark:
                self._add(number, started)
            yield
            if mark:
                log.discard(name, number, mark)
            else:
                log.end_transaction(name, number, Kind.ROLLBACK)

    def _others(self, number: int) -> list[int]:
        """The other transactions that have not ended."""
        ended = self._database.committed.numbers.union(each for each, _ in self._database.abandoned)
        found = (each for each in self._undo.transactions() if each != number and each not in ended)
        return [each for each in found if not self._log.has_ended(self._database.name, each)]

    def _add(self, number: int, started: float) -> None:
        """Log the changes of a transaction that are not logged yet."""
        name, log = self._database.name, self._log
        known, truncated = log.transaction(name, number), set[int]()
        first = 0 if known is None else known.logged
        for change in self._undo.changes(number, self._database.captured, first):
            known = known or log.begun(name, number, started)
            known.logged = change.entry + 1
            if change.op == TRUNCATION:
                truncated.add(change.tabid)
                log.add_change(known, change.entry, Kind.TRUNCATE, change.tabid)
            elif change.op != "D" or change.tabid not in truncated:
                truncated.discard(change.tabid)
                _add_change(log, known, change)


def _add_change(log: ChangeLog, transaction: LoggedTransaction, change: Change) -> None:
    log.add_change(transaction, change.entry, _KINDS[change.op], change.tabid, change.before, change.after)
