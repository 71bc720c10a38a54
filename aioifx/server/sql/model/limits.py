"""The numbers of columns that a table or a query may have. Never: their types."""

from __future__ import annotations

from typing import Final

from aioifx.server.sql.errors import SqlError

ROW_LIMIT: Final = 32767
"""Maximum bytes of a row, and therefore columns (documented: limits)."""
_SERVED_COLUMNS: Final = 1998
"""SQLite allows 2,000; a cursor FOR UPDATE and a counter may use one each."""


def require_columns(count: int, offset: int) -> None:
    """Refuse more columns than a table or a query may have.

    Raises:
        SqlError: -528, more than Informix allows (assumed: the SQLCODE of a row too long); -999, more than the server
            supports.
    """
    if count > ROW_LIMIT:
        raise SqlError(-528, offset=offset)
    if count > _SERVED_COLUMNS:
        raise SqlError(-999, token=f"more than {_SERVED_COLUMNS} columns", offset=offset)
