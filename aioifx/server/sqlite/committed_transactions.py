"""Transactions that are committed before their versions are discarded. Never: the database's own file, locks.

While a transaction is exclusive, no other session can write to the database's file. Another transaction that commits
then has its versions in the undo log until the exclusive one ends. Its number is in a file beside the database's. So it
stays committed if the server is killed.
"""

from __future__ import annotations

import struct
import threading
from pathlib import Path
from typing import Final

from aioifx.server.sqlite.private_files import private

_NUMBER: Final = struct.Struct("<Q")


def path_beside(database: Path) -> Path:
    """The file of numbers that belongs to a database's file."""
    return Path(f"{database}-committed")


class CommittedTransactions:
    """Numbers of the committed transactions of one database whose versions are still in the undo log; thread-safe."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        try:
            written = path.read_bytes()
        except FileNotFoundError:
            written = b""
        whole = written[: len(written) // _NUMBER.size * _NUMBER.size]
        self.numbers: frozenset[int] = frozenset(number for (number,) in _NUMBER.iter_unpack(whole))
        """Those that a killed server has left are among them."""

    def add(self, number: int) -> None:
        """Commit a transaction.

        Raises:
            OSError: the file cannot be written, and the transaction is not committed.
        """
        with self._lock:
            with open(self._path, "ab" if self.numbers else "wb", opener=private) as file:
                file.write(_NUMBER.pack(number))
            self.numbers |= {number}

    def remove(self, numbers: frozenset[int]) -> None:
        """Forget transactions whose versions have been discarded."""
        with self._lock:
            self.numbers -= numbers
            if not self.numbers:
                self._path.unlink(missing_ok=True)
