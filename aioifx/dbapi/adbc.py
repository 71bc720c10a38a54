"""What ADBC's cursors have beyond PEP 249: results as Arrow, and tables from Arrow. Never: a query of its own.

Imported on use, because it needs pyarrow.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, Literal, TypeAlias

from aioifx.arrow import pa
from aioifx.client.execution.arrow_stream import BATCH_ROWS
from aioifx.client.session.session import Session
from aioifx.client.sql.identifiers import column_name, object_name
from aioifx.codecs.columns import ColumnDecoder
from aioifx.codecs.objects import takes_objects
from aioifx.codecs.record_batches import RecordBatch, Schema
from aioifx.errors import InterfaceError, NotSupportedError
from aioifx.sqltypes import Column

IngestMode: TypeAlias = Literal["create", "append", "replace", "create_append"]

_MODES: Final = ("create", "append", "replace", "create_append")


# --- results --------------------------------------------------------------------------------------------------------


def reader_of(columns: Sequence[Column], session: Session, fetch: Callable[[int], list[Any]]) -> Any:
    """A `pyarrow.RecordBatchReader` of rows that *fetch* returns, at most that many at a time.

    Raises:
        InterfaceError: there are no columns, so no result.
        NotSupportedError: a column has objects, such as JSON and collections.
    """
    if not columns:
        raise InterfaceError("the cursor has no result: no query was executed")
    for column in columns:
        if takes_objects(column.type):
            raise NotSupportedError(
                f"column {column.name}: {column.type} as Arrow needs Connection.run(aioifx.arrow.fetch_arrow, ...)",
                column=column.name,
            )
    conversions = session.conversions.of_zone
    decoder = ColumnDecoder(columns, session.code_set, strip_char=session.strip_char, conversions=conversions)
    schema = Schema(columns, decoder.fields)

    def batches() -> Iterator[Any]:
        while rows := fetch(BATCH_ROWS):
            if not isinstance(rows[0], tuple):
                kind = type(rows[0]).__name__
                raise InterfaceError(f"row_factory: expected one that makes tuples, for Arrow, got {kind}")
            for row in rows:
                decoder.append(row)
            for block in decoder.finish():
                yield pa.record_batch(RecordBatch(schema, block))

    return pa.RecordBatchReader.from_batches(pa.schema(schema), batches())


# --- tables ---------------------------------------------------------------------------------------------------------

_SMALL_TEXT: Final = "LVARCHAR(2048)"
_TYPES: Final = {
    "bool": "BOOLEAN",
    "int8": "SMALLINT", "uint8": "SMALLINT", "int16": "SMALLINT", "uint16": "INTEGER",
    "int32": "INTEGER", "uint32": "BIGINT", "int64": "BIGINT", "uint64": "DECIMAL(20,0)",
    "halffloat": "SMALLFLOAT", "float": "SMALLFLOAT", "double": "FLOAT",
    "string": _SMALL_TEXT, "large_string": _SMALL_TEXT, "string_view": _SMALL_TEXT,
    "binary": "BYTE", "large_binary": "BYTE", "binary_view": "BYTE",
    "date32[day]": "DATE", "date64[ms]": "DATE",
}  # fmt: skip
"""The SQL type of a column that is created, by the name of Arrow's type."""

_TIMES: Final = {
    "timestamp": "DATETIME YEAR TO",
    "time32": "DATETIME HOUR TO",
    "time64": "DATETIME HOUR TO",
    "duration": "INTERVAL DAY(9) TO",
}
_LAST: Final = {"s": "SECOND", "ms": "FRACTION(3)", "us": "FRACTION(5)", "ns": "FRACTION(5)"}
_TIME: Final = re.compile(rf"({'|'.join(_TIMES)})\[({'|'.join(_LAST)})(, tz=.*)?\]")
_DECIMAL: Final = re.compile(r"decimal\d+(\(\d+, \d+\))")


def sql_type(name: str, arrow_type: Any) -> str:
    """The SQL type for values of an Arrow type, in a table that is created for column *name*.

    Raises:
        NotSupportedError: there is none.
    """
    if pa.types.is_dictionary(arrow_type):
        arrow_type = arrow_type.value_type
    text = str(arrow_type)
    if found := _TIME.fullmatch(text):
        return f"{_TIMES[found[1]]} {_LAST[found[2]]}"
    if found := _DECIMAL.fullmatch(text):
        return "DECIMAL" + found[1].replace(" ", "")
    if pa.types.is_fixed_size_binary(arrow_type):
        return "BYTE"
    if text not in _TYPES:
        raise NotSupportedError(
            f"column {name}: no SQL type for Arrow's type {text}; create the table, and append", column=name
        )
    return _TYPES[text]


def table_name(table: str, catalog: str | None, owner: str | None, *, temporary: bool = False) -> str:
    """``catalog:owner.table``, checked.

    Raises:
        InterfaceError: an invalid name; a catalog or owner beside *temporary*.
    """
    if temporary and (catalog or owner) is not None:
        raise InterfaceError("temporary: expected neither catalog_name nor db_schema_name beside it")
    name = table if owner is None else f"{owner}.{table}"
    return object_name(name if catalog is None else f"{catalog}:{name}", "table_name")


def create_statements(table: str, schema: Any, mode: IngestMode, *, temporary: bool) -> list[str]:
    """What is executed before the rows of *schema* are loaded.

    Raises:
        InterfaceError: an unknown mode, or a column's name is not a name in SQL.
    """
    if mode not in _MODES:
        raise InterfaceError(f"mode: expected one of {', '.join(_MODES)}, got {mode!r:.40}")
    if mode == "append":
        return []
    columns = ", ".join(
        f"{column_name(field.name, 'data')} {sql_type(field.name, field.type)}" for field in schema
    )
    kind = "TEMP TABLE" if temporary else "TABLE"
    exists = "IF NOT EXISTS " if mode == "create_append" else ""
    dropped = [f"DROP TABLE IF EXISTS {table}"] if mode == "replace" else []
    return [*dropped, f"CREATE {kind} {exists}{table} ({columns})"]


def open_data(data: Any) -> Any:
    """A `pyarrow.RecordBatchReader` of what has Arrow's PyCapsule interface.

    Raises:
        InterfaceError: *data* has none.
    """
    if hasattr(data, "__arrow_c_stream__"):
        return pa.RecordBatchReader.from_stream(data)
    if hasattr(data, "__arrow_c_array__"):
        batch = pa.record_batch(data)
        return pa.RecordBatchReader.from_batches(batch.schema, [batch])
    raise InterfaceError(f"data: expected Arrow data or a data frame, got {type(data).__name__}")
