"""The numbers that sequences generate. Never: the statement that needs one, the last number of a session."""

from __future__ import annotations

from sqlite3 import Connection
from typing import Final

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.schema import Table
from aioifx.server.sqlite.counters import Counters

_PAST_MAXIMUM: Final = -8313
_PAST_MINIMUM: Final = -8314


class Sequences(Counters[int]):
    """The counters of one database; thread-safe."""

    def __init__(self) -> None:
        super().__init__("ifx_sequences", "epoch INTEGER")
        self._is_loaded = False

    def load(self, connection: Connection) -> None:
        """Load the counters from the file; later calls have no effect."""
        with self._lock:
            if self._is_loaded:
                return
            self._is_loaded = True
            for tabid, epoch, last in self._read(connection):
                self._last[tabid, epoch] = last

    def next_value(self, table: Table) -> int:
        """The next number of a sequence.

        Raises:
            SqlError: -8313 or -8314, the sequence is exhausted and does not cycle.
        """
        sequence = table.sequence
        assert sequence is not None
        key = table.tabid, sequence.epoch
        with self._lock:
            last = self._last.get(key)
            number = sequence.first if last is None else last + sequence.increment
            if number > sequence.maximum:
                if not sequence.cycles:
                    raise SqlError(_PAST_MAXIMUM, token=table.name)
                number = sequence.minimum
            elif number < sequence.minimum:
                if not sequence.cycles:
                    raise SqlError(_PAST_MINIMUM, token=table.name)
                number = sequence.maximum
            self._last[key] = number
            self._unsaved.add(key)
        return number
