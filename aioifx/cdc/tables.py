"""The columns of tables that are to be captured, by a description of each. Never: a record, the capture session."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from aioifx.cdc.codes import NAMES, NOT_LOGGED, cdc_error
from aioifx.cdc.records import Capture, Table
from aioifx.client.api.connection import Connection, statements_of
from aioifx.codecs.cdc_rows import RowLayout, captured_columns, is_captured
from aioifx.errors import InterfaceError
from aioifx.rows import record_maker
from aioifx.sqltypes import Column


async def table_of(conn: Connection[Any], capture: Capture, database: str) -> Table:
    """A table, as its rows will be decoded.

    Args:
        conn: to the table's database, whose code set the rows have.
        database: of the address.

    Raises:
        CdcError: the database is not logged.
        InterfaceError: a column does not exist, or cannot be captured.
        DatabaseError: the table does not exist.
    """
    place, owner, name = capture.parts(database)
    full_name = f"{place}:{owner}.{name}"
    if conn.log_mode == "unlogged":
        raise cdc_error(NOT_LOGGED, (NAMES[NOT_LOGGED], f"the database {place} is not logged"))
    described = (await conn.prepare(f"select first 1 * from {owner}.{name}")).columns
    columns = _chosen(described, capture, full_name)
    session = statements_of(conn).session
    layout = RowLayout(
        columns, session.code_set, strip_char=session.options.strip_char, conversions=session.conversions
    )
    return Table(full_name, layout, record_maker(columns))


def _chosen(described: Sequence[Column], capture: Capture, table: str) -> Sequence[Column]:
    """The columns that the user named, or all that can be captured."""
    possible: Mapping[str, Column] = {column.name: column for column in captured_columns(described)}
    if capture.columns is None:
        if not possible:
            raise InterfaceError(f"table: {table} has no column that can be captured")
        return [*possible.values()]
    known = {column.name: column for column in described}
    for name in capture.columns:
        if name not in known:
            raise InterfaceError(f"columns: {table} has no column {name!r}")
        if name not in possible:
            why = "it follows a collection" if is_captured(known[name].type) else f"it is {known[name].type}"
            raise InterfaceError(f"columns: {name!r} of {table} cannot be captured, because {why}")
    return [possible[name] for name in capture.columns]
