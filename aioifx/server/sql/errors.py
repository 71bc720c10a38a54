"""The exception for every SQL error in the server. Never: the message text that a client shows."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from aioifx.errors import visible


class SqlError(Exception):
    """An error as Informix would send it: codes, a name for the message, a position in the statement.

    sqlcode:  negative.
    isamcode: the underlying ISAM error, or 0.
    token:    a table, a column, a constraint ("owner.name"), the keyword of an unsupported feature.
    offset:   character position in the statement, from 1; 0 when there is none.
    sqlstate: five characters, and text: the whole message; both are sent with -937 only.
    """

    def __init__(
        self,
        sqlcode: int,
        isamcode: int = 0,
        token: str = "",
        offset: int = 0,
        *,
        sqlstate: str = "",
        text: str = "",
    ) -> None:
        super().__init__(sqlcode, isamcode, token, offset)
        self.sqlcode = sqlcode
        self.isamcode = isamcode
        self.token = token
        self.offset = offset
        self.sqlstate = sqlstate
        self.text = text

    def __str__(self) -> str:
        parts = [f"SQLCODE {self.sqlcode}"]
        if self.isamcode:
            parts.append(f"ISAM {self.isamcode}")
        if self.token:
            parts.append(f"'{visible(self.token)}'")
        if self.offset:
            parts.append(f"offset {self.offset}")
        return ", ".join(parts)


@contextmanager
def placed_at(offset: int) -> Generator[None, None, None]:
    """Context of the translation of a text that a view has stored: its errors are at *offset* of the statement."""
    try:
        yield
    except SqlError as error:
        error.offset = offset
        raise
