"""Checks of parameters, insert cursors, large values, and values as text. Never: arithmetic, functions."""

from __future__ import annotations

import asyncio
import tempfile
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

from aioifx.client.api.connection import statements_of
from aioifx.client.execution.insert_cursor import MAX_ROWS, InsertCursor
from aioifx.errors import ConnectionLost, DatabaseError, QueryTimeout
from aioifx.verify.check import Check, does, fails, rows, sql_check
from aioifx.verify.lab import CannotTry, Lab, Refuted, describe_error
from aioifx.verify.raw_requests import open_and_fetch, prepared

_LARGE: Final = bytes(range(256)) * 400
_ANSWER_TIME: Final = 5.0
"""Seconds for the replies to some rows."""
_CLOB_TABLE: Final = "CREATE TEMP TABLE vfy_clob (a INT, c CLOB)"


async def _floats(lab: Lab) -> None:
    await lab.prepare("CREATE TEMP TABLE vfy_float (a INT, f FLOAT)")
    for number, value in enumerate((float("inf"), float("nan"))):
        try:
            await lab.run("INSERT INTO vfy_float VALUES (?, ?)", number, value)
        except DatabaseError as error:
            if not error.connection_usable:
                raise
            continue
        (row,) = await lab.run("SELECT f FROM vfy_float WHERE a = ?", number)
        if row[0] is None or repr(row[0]) != repr(value):
            raise Refuted(f"{value} in a FLOAT column was stored as {row[0]!r}")


async def _insert_describes_columns(lab: Lab) -> None:
    await lab.prepare("CREATE TEMP TABLE vfy_ins (a INT, b CHAR(3), c DATE)")
    async with prepared(lab.conn, lab.named("INSERT INTO vfy_ins VALUES (1, ?, TODAY)")) as statement:
        names = [column.name for column in statement.targets]
    if names != ["a", "b", "c"]:
        raise Refuted(
            f"an INSERT of one parameter and other values describes {', '.join(names) or 'no column'}"
        )


async def _put_of_most_rows(lab: Lab) -> None:
    await lab.prepare("CREATE TEMP TABLE vfy_put (a SMALLINT)")
    await lab.conn.load(lab.named("vfy_put"), [(n,) for n in range(MAX_ROWS)], block=MAX_ROWS)
    if statements_of(lab.conn).session.behavior.takes_put is False:
        raise Refuted("the server refuses SQ_PUT")
    ((count,),) = await lab.run("SELECT COUNT(*) FROM vfy_put")
    if count != MAX_ROWS:
        raise Refuted(f"of {MAX_ROWS} rows in one SQ_PUT, {count} were inserted")


async def _failed_put(lab: Lab) -> None:
    await lab.prepare("CREATE TEMP TABLE vfy_put (a INT, CHECK (a <> 5))")
    async with prepared(lab.conn, lab.named("INSERT INTO vfy_put VALUES (?)")) as statement:
        cursor = InsertCursor(statement)
        messages = cursor.messages([cursor.encode([(number,) for number in range(10)], 0)], 10)
        async with statements_of(lab.conn).session as session:
            reply = await session.dispatcher.reply(cursor.send(messages))
            await statement.close_and_wait()
    if reply.error is None:
        raise Refuted("a row of SQ_PUT that violates a constraint was not reported")
    found = [row[0] for row in await lab.run("SELECT a FROM vfy_put ORDER BY a")]
    if found != [0, 1, 2, 3, 4]:
        raise Refuted(f"of the rows 0 to 9, of which 5 fails, SQ_PUT kept {found}")


async def _failed_row_of_batch(lab: Lab) -> None:
    failing = 20  # in the second of four writes
    await lab.prepare(f"CREATE TEMP TABLE vfy_many (a INT, c CHAR(2000), CHECK (a <> {failing}))")
    given = [(number, "x" * 2000) for number in range(60)]
    try:
        result = await lab.conn.executemany(
            lab.named("INSERT INTO vfy_many VALUES (?, ?)"), given, on_error="collect", timeout=_ANSWER_TIME
        )
    except (ConnectionLost, QueryTimeout) as error:
        if error.row_index is None:
            raise
        raise Refuted("no reply came to rows in flight after one that failed") from error
    failed = [error.row_index for error in result.errors]
    ((count,),) = await lab.run("SELECT COUNT(*) FROM vfy_many")
    if (failed, count) != ([failing], len(given) - 1):
        raise Refuted(
            f"of {len(given)} rows, of which {failing} fails, {count} were stored, and {failed} failed"
        )


async def _large_values_in_order(lab: Lab) -> None:
    await lab.prepare("CREATE TEMP TABLE vfy_large (a INT, t TEXT, b BYTE)")
    given = [(1, "first", b"second"), (2, None, _LARGE), (3, "", b"")]
    await lab.conn.load(lab.named("vfy_large"), given)
    if statements_of(lab.conn).session.behavior.takes_put is False:
        raise Refuted("the server refuses SQ_PUT")
    found = [
        tuple(row)
        for row in await lab.conn.fetch(lab.named("SELECT a, t, b FROM vfy_large ORDER BY a"), lobs="inline")
    ]
    if found != given:
        raise Refuted("TEXT and BYTE values of a row in SQ_PUT were not stored in the order of their columns")


async def _bytes_round_trip(lab: Lab) -> None:
    await lab.prepare("CREATE TEMP TABLE vfy_large (a INT, b BYTE)")
    for number, value in enumerate((_LARGE, b"", None)):
        await lab.run("INSERT INTO vfy_large VALUES (?, ?)", number, value)
        found = await lab.conn.fetchval(
            lab.named("SELECT b FROM vfy_large WHERE a = ?"), number, lobs="inline"
        )
        if found != value:
            size = "NULL" if value is None else f"{len(value)} bytes"
            raise Refuted(f"a BYTE value of {size} was not read back")


async def _bson_without_ret_type(lab: Lab) -> None:
    await lab.prepare(
        "CREATE TEMP TABLE vfy_bson (b BSON)", """INSERT INTO vfy_bson VALUES ('{"a":1}'::JSON::BSON)"""
    )
    async with prepared(lab.conn, lab.named("SELECT b FROM vfy_bson")) as statement:
        for ret_types in (False, True):
            reply = await open_and_fetch(lab.conn, statement, 4096, ret_types=ret_types)
            if reply.bad_value is not None or [tuple(row) for row in reply.rows] != [({"a": 1},)]:
                raise Refuted(
                    f"a BSON value {'with' if ret_types else 'without'} SQ_RET_TYPE could not be read"
                )


async def _opaque_as_text(lab: Lab) -> None:
    try:
        found = await lab.conn.fetchval("SELECT FIRST 1 indexkeys FROM informix.sysindices")
    except DatabaseError as error:
        if not error.connection_usable:
            raise
        raise CannotTry(f"sysindices cannot be read: {describe_error(error)}") from error
    if not isinstance(found, str | None):
        raise Refuted("a value of the opaque type indexkeyarray did not arrive as a text")


# -- smart large objects ----------------------------------------------------------------------------------------------


async def _put_clob(lab: Lab, number: int, text: str) -> None:
    try:
        await lab.run("INSERT INTO vfy_clob VALUES (?, ?)", number, text)
    except DatabaseError as error:
        if not error.connection_usable:
            raise
        raise CannotTry(f"no smart large object can be stored: {describe_error(error)}") from error


async def _truncates(lab: Lab) -> None:
    await lab.prepare(_CLOB_TABLE)
    await _put_clob(lab, 1, "abcdef")
    lob: Any = await lab.conn.fetchval(lab.named("SELECT c FROM vfy_clob WHERE a = 1"), lobs="handles")
    async with lob:
        await lob.truncate(3)
    found = await lab.conn.fetchval(lab.named("SELECT c FROM vfy_clob WHERE a = 1"), lobs="inline")
    if found != "abc":
        raise Refuted(f"a CLOB of 6 bytes, cut to 3, is {found!r}")


async def _client_files(lab: Lab) -> None:
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "source"), Path(folder, "target")
        await asyncio.to_thread(source.write_bytes, b"abc")
        async with lab.another(client_files=Path(folder)) as conn:
            await lab.prepare(_CLOB_TABLE, conn=conn)
            insert = lab.named(f"INSERT INTO vfy_clob VALUES (1, FILETOCLOB('{source}', 'client'))")
            select = lab.named(f"SELECT LOTOFILE(c, '{target}!', 'client') FROM vfy_clob")
            try:
                await conn.execute(insert)
            except DatabaseError as error:
                if not error.connection_usable:
                    raise
                raise CannotTry(f"FILETOCLOB failed: {describe_error(error)}") from error
            try:
                await conn.fetch(select)
            except DatabaseError as error:
                raise Refuted(f"LOTOFILE to a file of the client failed: {describe_error(error)}") from error
        if await asyncio.to_thread(_content_of, target) != b"abc":
            raise Refuted("LOTOFILE did not write the client's file")


def _content_of(path: Path) -> bytes | None:
    return path.read_bytes() if path.exists() else None


_MULTIPLE: Final = (
    "CREATE TEMP TABLE vfy_types (i INT, s SMALLINT, f FLOAT, sf SMALLFLOAT, b BIGINT, d DECIMAL(10,2))",
)

TRANSFERS: Final[tuple[Check, ...]] = (
    Check(
        "float-nan-and-infinity",
        "A FLOAT column refuses a NaN that is not NULL's bytes and an infinity, or stores them.",
        ("codecs/numbers.py: _float",),
        _floats,
    ),
    sql_check(
        "decimal-parameter-converts",
        "A DECIMAL parameter is converted to the type of a FLOAT or SMALLFLOAT column.",
        "codecs/bind_values.py: _float",
        does("INSERT INTO vfy_types (f, sf) VALUES (?, ?)", Decimal("1.5"), Decimal("2.5")),
        rows("SELECT f, sf FROM vfy_types", (1.5, 2.5)),
        setup=_MULTIPLE,
    ),
    sql_check(
        "text-parameters",
        "A text parameter is converted to BIGSERIAL and other types.",
        "codecs/bind_values.py: _SHORT_TEXT_TARGETS",
        does("INSERT INTO vfy_texts VALUES (?, ?, ?)", "5", "6", "t"),
        rows("SELECT * FROM vfy_texts", (5, 6, True)),
        setup=("CREATE TEMP TABLE vfy_texts (a BIGSERIAL, b BIGINT, c BOOLEAN)",),
    ),
    sql_check(
        "bson-parameter",
        "A BSON parameter is taken under the owner and name of its type.",
        "codecs/bind_values.py: _bson_binder",
        does("INSERT INTO vfy_bson VALUES (?)", {"a": 1, "b": ["x"]}),
        rows("SELECT b FROM vfy_bson", ({"a": 1, "b": ["x"]},)),
        setup=("CREATE TEMP TABLE vfy_bson (b BSON)",),
    ),
    sql_check(
        "distinct-of-clob-parameter",
        "A parameter for a DISTINCT type of CLOB is bound as CLOB.",
        "codecs/bind_values.py: _large_object",
        does("INSERT INTO vfy_own VALUES (1, ?)", "abc"),
        setup=(
            "CREATE DISTINCT TYPE vfy_clob AS CLOB",
            "CREATE TABLE vfy_own (a INT, c vfy_clob)",
            "INSERT INTO vfy_own VALUES (0, NULL)",
        ),
    ),
    sql_check(
        "null-serial-parameter",
        "NULL for a SERIAL column is sent as an INTEGER.",
        "codecs/bind_values.py: _null",
        does("UPDATE vfy_serial SET b = ? WHERE a = ?", 2, 1),
        rows("SELECT a FROM vfy_serial WHERE a = ?", params=(None,)),
        setup=("CREATE TEMP TABLE vfy_serial (a SERIAL, b INT)", "INSERT INTO vfy_serial VALUES (0, 1)"),
    ),
    sql_check(
        "composite-parameters",
        "Rows and collections are taken as texts of literals, with doubled quotes and NULL without quotes.",
        (
            "codecs/literal_writer.py",
            "codecs/literal_reader.py",
            "docs/howto/types.md: Rows and collections",
        ),
        does("INSERT INTO vfy_comp VALUES (?, ?)", (1, "it's"), ["a'b", "c,d"]),
        does("INSERT INTO vfy_comp VALUES (?, ?)", (2, None), []),
        rows("SELECT l FROM vfy_comp", (["a'b", "c,d"],), ([],)),
        rows("SELECT r.y FROM vfy_comp", ("it's",), (None,)),
        setup=("CREATE TEMP TABLE vfy_comp (r ROW(x INT, y VARCHAR(9)), l LIST(VARCHAR(9) NOT NULL))",),
    ),
    sql_check(
        "interval-texts",
        "-0 04:00:00 and .12345 are INTERVALs, as UNLOAD writes them.",
        "codecs/temporal_text.py",
        does("INSERT INTO vfy_interval VALUES ('-0 04:00:00', '.12345')"),
        rows("SELECT d, f FROM vfy_interval", (timedelta(hours=-4), timedelta(microseconds=123450))),
        setup=(
            "CREATE TEMP TABLE vfy_interval (d INTERVAL DAY TO SECOND, f INTERVAL FRACTION TO FRACTION(5))",
        ),
    ),
    Check(
        "insert-describes-columns",
        "An INSERT of parameters and other values describes every column.",
        ("client/execution/parameters.py: RequestEncoder._stored_indices",),
        _insert_describes_columns,
    ),
    Check(
        "put-of-most-rows",
        "One SQ_PUT may hold 32767 rows.",
        ("client/execution/insert_cursor.py: MAX_ROWS",),
        _put_of_most_rows,
        in_transaction=False,
    ),
    Check(
        "failed-put",
        "A row of SQ_PUT that fails keeps the rows before it, and drops those after it.",
        ("server/protocol/cursor_handlers.py: flush",),
        _failed_put,
    ),
    Check(
        "rows-after-failed-row",
        "After a row that fails, the rows in flight are executed, each with its reply.",
        ("client/execution/pipeline.py",),
        _failed_row_of_batch,
    ),
    Check(
        "large-values-in-order",
        "TEXT and BYTE values of an SQ_PUT follow in the order of their columns.",
        ("client/execution/large_parameters.py: encoded_values",),
        _large_values_in_order,
        in_transaction=False,
    ),
    Check(
        "byte-round-trip",
        "A BYTE value of 102,400 bytes, an empty one and NULL are read back.",
        ("wire/fields.py: BLOB_DESCRIPTOR",),
        _bytes_round_trip,
    ),
    Check(
        "bson-with-and-without-ret-type",
        "A BSON value is BSON as type 44, and BSON or its JSON without SQ_RET_TYPE.",
        ("codecs/documents.py: _read_bson",),
        _bson_without_ret_type,
    ),
    Check(
        "opaque-as-text",
        "Values of other opaque types are sent as text.",
        ("codecs/text.py: opaque",),
        _opaque_as_text,
    ),
    Check(
        "clob-truncate",
        "ifx_lo_truncate can be called by its signature in SQL.",
        ("client/lobs/smart_object.py: _CREATE",),
        _truncates,
    ),
    Check(
        "client-files",
        "FILETOCLOB and LOTOFILE open files of the client with the flags of Linux.",
        (
            "client/session/client_files.py: _WRITE_ACCESS",
            "server/protocol/client_files.py: _READ_ONLY",
        ),
        _client_files,
        in_transaction=False,
    ),
    sql_check(
        "missing-server-file",
        "FILETOCLOB of a server's file that does not exist fails with -9810.",
        "server/engine/object_files.py: ServerFiles.read",
        fails("INSERT INTO vfy_clob VALUES (2, FILETOCLOB('vfy_missing', 'server'))", -9810),
        setup=(_CLOB_TABLE, "INSERT INTO vfy_clob VALUES (1, NULL)"),
    ),
)
