"""The one way any part of the server says an SQL error. Never: the sentence that a client makes of it."""

from __future__ import annotations

from aioifx.errors import visible


class SqlError(Exception):
    """What Informix would answer: numbers, a name for the message, a place in the statement.

    sqlcode:  negative.
    isamcode: the reason behind it, or 0.
    token:    a table, a column, a constraint ("owner.name"), the keyword of what is not implemented.
    offset:   character position in the statement, from 1; 0 when there is none.
    """

    def __init__(self, sqlcode: int, isamcode: int = 0, token: str = "", offset: int = 0) -> None:
        super().__init__(sqlcode, isamcode, token, offset)
        self.sqlcode = sqlcode
        self.isamcode = isamcode
        self.token = token
        self.offset = offset

    def __str__(self) -> str:
        parts = [f"SQLCODE {self.sqlcode}"]
        if self.isamcode:
            parts.append(f"ISAM {self.isamcode}")
        if self.token:
            parts.append(f"'{visible(self.token)}'")
        if self.offset:
            parts.append(f"offset {self.offset}")
        return ", ".join(parts)
