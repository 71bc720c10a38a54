"""External tables: their files are read before a query, and written by INSERT .. SELECT. Never: SQL of Informix.

Invariants:
1. The files are in the folder of `object_files.ServerFiles`, and are regular files.
2. A query sees the files as they are when it begins: their rows are copied to a table of the session.

Source: documented: CREATE EXTERNAL TABLE statement; -846. assumed: -461 for a file that cannot be opened; a record that
does not fit ends the statement, and no file of rejected records is written
"""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from typing import Final

from aioifx.codecs.unload_records import ends_in_escape, join_fields, split_fields
from aioifx.server.engine.object_files import ServerFiles
from aioifx.server.engine.planner import Statement
from aioifx.server.engine.session_state import SessionState, StatementResult
from aioifx.server.sql.builtin_types import lvarchar
from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.plan import Unload
from aioifx.server.sql.model.schema import Table
from aioifx.server.sql.model.settings import Settings
from aioifx.server.sql.model.storage import Stored, type_number
from aioifx.server.sql.runtime.casts import as_text, assigner
from aioifx.server.sql.translate.sqlite_ddl import column_text
from aioifx.server.sqlite.connection import savepoint
from aioifx.server.sqlite.spool import StoredRow
from aioifx.sqltypes import SqlType, TypeCode, Value

_NOT_OPENED: Final = -461
_WRONG_COUNT: Final = -846
_NOT_IN_CODE_SET: Final = -23103
_LONGEST: Final = 32739
_BLOCK: Final = 1000


def load(state: SessionState, table: Table) -> None:
    """Copy the rows of the files to the session's table.

    Raises:
        SqlError: -999, a file is outside the folder. -461, it cannot be read. -846, a record has another number of
            fields. -391, NULL in a column that is NOT NULL; others of values that do not fit their columns.
    """
    connection = state.current.connection
    columns = ", ".join(column_text(column) for column in table.columns)
    marks = ", ".join("?" * len(table.columns))
    with savepoint(connection, "ifx_external"):
        connection.execute(f"DROP TABLE IF EXISTS {table.generated}")
        connection.execute(f"CREATE TABLE {table.generated} ({columns})")
        connection.executemany(f"INSERT INTO {table.generated} VALUES ({marks})", _rows(state, table))


def _rows(state: SessionState, table: Table) -> Iterator[StoredRow]:
    text = type_number(lvarchar(_LONGEST))
    converters = [assigner(text, type_number(column.type)) for column in table.columns]
    assert table.external is not None
    for path in table.external.files:
        pieces = ServerFiles(state.databases.files, _NOT_OPENED).read(path)
        for fields in _records(_decoded(pieces, state.settings.code_set), table.external.delimiter):
            state.interrupts.check()
            if len(fields) != len(converters):
                raise SqlError(_WRONG_COUNT)
            for column, field in zip(table.columns, fields, strict=True):
                if field is None and not column.is_nullable:
                    raise SqlError(-391, token=table.path_of(column.name))
            yield tuple(
                None if field is None else convert(field, state.settings)
                for convert, field in zip(converters, fields, strict=True)
            )


def _decoded(pieces: Iterable[bytes], code_set: str) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder(code_set)()
    try:
        for piece in pieces:
            yield decoder.decode(piece)
        yield decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        raise SqlError(_NOT_IN_CODE_SET) from None


def _records(texts: Iterable[str], delimiter: str) -> Iterator[list[str | None]]:
    """The fields of each record; an escaped newline is part of a field."""
    lines: list[str] = []  # of the record so far
    pieces: list[str] = []  # of its last line
    for text in texts:
        *ends, rest = text.split("\n")
        for end in ends:
            lines.append("".join([*pieces, end]))
            pieces.clear()
            if ends_in_escape(lines[-1]):
                continue
            if record := "\n".join(lines):
                yield split_fields(record, delimiter)
            lines.clear()
        pieces.append(rest)
    if record := "\n".join([*lines, "".join(pieces)]):
        yield split_fields(record, delimiter)


def unload(
    state: SessionState, statement: Statement, action: Unload, values: Sequence[Value]
) -> StatementResult:
    """Write the rows of a query to the file, in place of those in it.

    Raises:
        SqlError: -999, it is outside the folder, or there are several files. -461, it cannot be written. -271, the
            server refuses writes; others of the query.
    """
    table, refusal = action.table, state.databases.refusal
    assert table.external is not None
    if refusal is not None:
        raise SqlError(-271, refusal, table.name)
    path, *others = table.external.files
    if others:
        raise SqlError(-999, token="INSERT into several DATAFILES")
    result = StatementResult()
    current = state.current
    with state.mapped_errors(-244, table.name), state.interrupts.stopping():
        current.transactions.on_query()
        rows = current.reads.opened(action.query, state.bind(statement, values), is_scroll=True).rows
        with closing(rows):
            blocks = iter(lambda: rows.fetchmany(_BLOCK), [])
            written = _written(state, table, blocks, result)
            ServerFiles(state.databases.files, _NOT_OPENED).write(path, written)
    return result


def _written(
    state: SessionState, table: Table, blocks: Iterable[list[StoredRow]], result: StatementResult
) -> Iterator[bytes]:
    """The records of blocks of rows, which are counted."""
    assert table.external is not None
    types = [column.type for column in table.columns]
    for rows in blocks:
        texts = [
            join_fields(
                [_field(value, type_, state.settings) for value, type_ in zip(row, types, strict=True)],
                table.external.delimiter,
            )
            for row in rows
        ]
        result.rows += len(rows)
        yield "".join(texts).encode(state.settings.code_set, "replace")


def _field(value: Stored, type_: SqlType, settings: Settings) -> str | None:
    """A value as UNLOAD writes it: CHAR without its last blanks."""
    text = as_text(value, type_, settings)
    return text.rstrip(" ") if text is not None and type_.code in (TypeCode.CHAR, TypeCode.NCHAR) else text
