"""Rows that a load rejects: in a file with reasons, or an error that shows the value. Never: how rows are loaded."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, TextIO

from aioifx.client.bulk.arguments import Reject
from aioifx.client.bulk.text_formats import CsvFormat
from aioifx.errors import DatabaseError, DataError, visible

_LONGEST: Final = 60
"""Characters of a value in a message."""
_PLACE: Final = re.compile(r"((?:record|row) \d+(?:, line \d+)?)[,:] ")
"""The start of a message about a row."""
_CSV: Final = CsvFormat()


class RejectFile:
    """Writes the rows that a load rejects into a CSV file, which is created with the first of them.

    Its columns are the record with its line, the reason, and those of the table.

    Args:
        path: an existing file is removed; None: the first row ends the load.
        limit: rows at most; the next one ends the load.
    """

    def __init__(self, path: Path | None, limit: int) -> None:
        self.count = 0
        self.refused = 0
        """Those that the server has rejected."""
        self._path = path
        self._limit = limit
        self._file: TextIO | None = None
        if path is not None and path.is_file():
            path.unlink()

    def __call__(self, reject: Reject) -> None:
        """Take a row.

        Raises:
            DatabaseError: it ends the load.
            OSError: it cannot be written.
        """
        error = _with_value(reject)
        if self._path is None:
            raise error
        if self._file is None:
            self._file = self._path.open("w", encoding="utf-8", newline="")
            self._write(["record", "reason", *(column.name for column in reject.columns)])
        found = _PLACE.match(text := str(error))
        place, reason = (found[1], text[found.end() :]) if found else ("", text)
        self._write([place, reason, *map(_text, reject.row)])
        self.count += 1
        self.refused += error.sqlcode != 0
        if self.count > self._limit:
            self.close()
            raise DataError(
                f"more rows are rejected than --max-errors, {self._limit:,}: see {self._path}; the last: {error}"
            )

    def _write(self, fields: Sequence[str | None]) -> None:
        """Write a record at once: if that fails, the load is undone."""
        assert self._file is not None and self._path is not None
        try:
            self._file.write(_CSV.join(fields))
            self._file.flush()
        except OSError as error:
            error.filename = str(self._path)
            raise

    def close(self) -> None:
        """Close the file if it was created."""
        if self._file is not None:
            with suppress(OSError):  # what was written is written; the rest has failed before
                self._file.close()


def _with_value(reject: Reject) -> DatabaseError:
    """The error of a row, which shows the value of the column; of a row that the server rejects, all values."""
    error, names = reject.error, [column.name for column in reject.columns]
    if error.sqlcode:
        shown = ", ".join(f"{name} {_shown(value)}" for name, value in zip(names, reject.row, strict=False))
        error.add_note(f"the row: {shown}")
    elif error.column in names and names.index(error.column) < len(reject.row):
        value = reject.row[names.index(error.column)]
        error.args = (f"{error}, got {_shown(value)}",)
    return error


def _shown(value: object) -> str:
    text = repr(value)
    return visible(text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}...")


def _text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else str(value)
