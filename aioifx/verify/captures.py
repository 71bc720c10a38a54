"""Checks of change data capture and of push data. Never: a table that the run has not created.

They need the privileges of these, and are not tried without.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import json
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, suppress
from decimal import Decimal
from typing import Any, Final

from aioifx.client.api.connection import Connection, statements_of
from aioifx.client.session.interrupts import URGENT_BYTE
from aioifx.codecs.cdc_records import (
    CdcRecord,
    Commit,
    RecordKind,
    RecordReader,
    RowImage,
    TableSchema,
    Timeout,
)
from aioifx.codecs.cdc_rows import RowLayout, captured_columns
from aioifx.errors import DatabaseError, DataError, ProtocolError, QueryCanceled
from aioifx.verify.check import Check, are_same, describe_rows
from aioifx.verify.lab import CannotTry, Lab, Refuted
from aioifx.verify.raw_requests import exchange
from aioifx.wire import objects
from aioifx.wire.outbox import Outbox

_BUFFER: Final = 65_536
_TIMEOUT: Final = 1
"""Seconds that a session waits for records."""
_MOST_SECONDS: Final = 20
"""From a COMMIT to its record."""
_CODES: Final = {
    -83701: "NOCDCDB", -83702: "APIVERS", -83703: "NODB", -83704: "DBNOTLOGGED", -83705: "NOTAB",
    -83706: "TABPROPERTIES", -83707: "NOCOL", -83709: "NOREOPEN", -83710: "TABCAPTURED", -83711: "TABNOTCAPTURED",
    -83712: "ARGNULL", -83713: "LSN", -83714: "DIRECTION",
}  # fmt: skip
"""Without NOSESS, which the manual writes in two ways."""
_LSN: Final = -83713
_NO_LOG: Final = 1
"""A position in log file 0, which no server has."""

_COLUMNS: Final = (
    "id SERIAL, note VARCHAR(20), small SMALLINT, big BIGINT, old INT8, price DECIMAL(8,2), free DECIMAL(16),"
    " money MONEY(12,2), ratio FLOAT, single SMALLFLOAT, name CHAR(6), day DATE,"
    " moment DATETIME YEAR TO FRACTION(3), span INTERVAL DAY TO SECOND, flag BOOLEAN, long LVARCHAR(200)"
)
_VALUES: Final = (
    "0, 'a note', -5, 4611686018427387904, -4611686018427387904, -1234.5, 1.5, 99.95, 0.5, 0.25, 'abc',"
    " MDY(2, 28, 2026), DATETIME(2026-02-28 01:02:03.456) YEAR TO FRACTION(3), INTERVAL(3 04:05:06) DAY TO SECOND,"
    " 't', 'a long text'"
)
_ROWS: Final = (
    (
        1, "a note", -5, 4611686018427387904, -4611686018427387904, Decimal("-1234.50"), Decimal("1.5"),
        Decimal("99.95"), 0.5, 0.25, "abc   ", dt.date(2026, 2, 28), dt.datetime(2026, 2, 28, 1, 2, 3, 456000),
        dt.timedelta(days=3, hours=4, minutes=5, seconds=6), True, "a long text",
    ),
    (2, *[None] * 15),
)  # fmt: skip


class _Session:
    """A capture session."""

    def __init__(self, conn: Connection[Any], number: int) -> None:
        self.conn = conn
        self.number = number
        self._reader = RecordReader()

    async def call(self, routine: str, *arguments: object) -> int:
        """The result of a routine of the session."""
        return await _call(self.conn, routine, self.number, *arguments)

    async def read(self) -> list[CdcRecord]:
        """The records of one read that are whole."""
        outbox = Outbox()
        objects.put_read_object(outbox, objects.ReadObject(objects.handle_of(self.number), _BUFFER))
        data = (await exchange(self.conn, outbox)).object_data
        if data is None or data.is_write or data.size <= 0:
            raise Refuted(f"a read returned {'no SQ_LODATA' if data is None else data.size}")
        return self._reader.feed(bytes(data.data))


async def _call(conn: Connection[Any], routine: str, *arguments: object) -> int:
    marks = ", ".join("?" * len(arguments))
    result = await conn.fetchval(f"EXECUTE FUNCTION informix.cdc_{routine}({marks})", *arguments)
    if not isinstance(result, int):
        raise Refuted(f"cdc_{routine} returned {type(result).__name__}")
    return result


@asynccontextmanager
async def _capturing(lab: Lab) -> AsyncGenerator[Connection[Any], None]:
    """A connection to syscdcv1.

    Raises:
        CannotTry: the database does not exist here, or is not for this user.
    """
    async with lab.another(database="syscdcv1", db_locale="en_US.utf8", client_locale=None) as conn:
        yield conn


@asynccontextmanager
async def _opened(lab: Lab, *, max_records: int = 256) -> AsyncGenerator[_Session, None]:
    """A capture session.

    Raises:
        CannotTry: the user may not capture.
    """
    async with _capturing(lab) as conn:
        number = await _call(conn, "opensess", conn.server_name, 0, _TIMEOUT, max_records, 1, 1)
        if number < 0:
            raise CannotTry(f"cdc_opensess returned {number}")
        session = _Session(conn, number)
        try:
            yield session
        finally:
            if not conn.is_closed():
                with suppress(DatabaseError):
                    await session.call("closesess")


@asynccontextmanager
async def _captured(lab: Lab, session: _Session, sql: str) -> AsyncGenerator[RowLayout, None]:
    """The capture of a new table ``vfy_captured``, which is active in the block."""
    lab.require_database(logged=True)
    await lab.prepare(sql)
    name = lab.named(f"{lab.conn.database}:{lab.conn.user}.vfy_captured")
    async with lab.conn.cursor() as cursor:
        await cursor.execute(lab.named("SELECT * FROM vfy_captured WHERE 1 = 0"))
        columns = captured_columns(cursor.columns)
    layout = RowLayout(columns, statements_of(lab.conn).session.code_set)
    names = ",".join(column.name for column in columns)
    if (code := await _call(session.conn, "set_fullrowlogging", name, 1)) < 0:
        raise CannotTry(f"cdc_set_fullrowlogging returned {code}")
    try:
        for routine, arguments in (("startcapture", (0, name, names, 1)), ("activatesess", (0,))):
            if (code := await session.call(routine, *arguments)) < 0:
                raise Refuted(f"cdc_{routine} returned {code}")
        yield layout
        if (code := await session.call("endcapture", 0, name)) < 0:
            raise Refuted(f"cdc_endcapture returned {code}")
    finally:
        if not session.conn.is_closed():
            with suppress(DatabaseError):
                await session.call("endcapture", 0, name)
                await session.call("closesess")  # a dead session captures the table until then
                await _call(session.conn, "set_fullrowlogging", name, 0)


async def _committed(session: _Session, transactions: int = 1) -> Sequence[CdcRecord]:
    """All records up to so many COMMTX."""
    found: list[CdcRecord] = []
    end = time.monotonic() + _MOST_SECONDS
    while time.monotonic() < end:
        found += await session.read()
        if sum(isinstance(record, Commit) for record in found) >= transactions:
            return found
    raise Refuted(f"no COMMTX came within {_MOST_SECONDS} s")


# -- change data capture ----------------------------------------------------------------------------------------------


async def _codes(lab: Lab) -> None:
    async with _capturing(lab) as conn:
        codes = await conn.fetch("SELECT errcode, errname FROM informix.syscdcerrcodes")
        kinds = await conn.fetch("SELECT recnum, recname FROM informix.syscdcrectypes")
    named = {int(code): str(name).strip().removeprefix("CDC_E_") for code, name in codes}
    wrong = {
        code: named.get(code)
        for code, name in _CODES.items()
        if not named.get(code, "").startswith(name[:10])
    }
    if wrong:
        raise Refuted(f"syscdcerrcodes has other names: {wrong}")
    numbers = {int(number): str(name).strip() for number, name in kinds}
    missing = [f"{kind.value} {kind.name}" for kind in RecordKind if kind not in numbers]
    if missing:
        raise Refuted(f"syscdcrectypes lacks {', '.join(missing)}")


async def _open_close(lab: Lab) -> None:
    async with _opened(lab) as session:
        if (code := await session.call("closesess")) < 0:
            raise Refuted(f"cdc_closesess returned {code}")
        if await session.call("closesess") >= 0:
            raise Refuted("a session was closed twice")


async def _timeout_record(lab: Lab) -> None:
    async with (
        _opened(lab) as session,
        _captured(lab, session, "CREATE TABLE vfy_captured (id INT PRIMARY KEY)"),
    ):
        started = time.monotonic()
        records: list[CdcRecord] = []
        while not records:  # TABSCHEMA may come alone
            records = [record for record in await session.read() if not isinstance(record, TableSchema)]
        if [type(record) for record in records] != [Timeout]:
            raise Refuted(
                f"a read without data returned {', '.join(type(each).__name__ for each in records)}"
            )
        if (seconds := time.monotonic() - started) > 10 * _TIMEOUT:
            raise Refuted(f"a read with a timeout of {_TIMEOUT} s took {seconds:.1f} s")


async def _insert(lab: Lab) -> None:
    async with (
        _opened(lab) as session,
        _captured(lab, session, f"CREATE TABLE vfy_captured ({_COLUMNS})") as layout,
    ):
        await lab.prepare(
            f"INSERT INTO vfy_captured VALUES ({_VALUES})", "INSERT INTO vfy_captured (id) VALUES (0)"
        )
        rows: list[tuple[object, ...]] = []
        for record in await _committed(session, 2):
            rows += _row_of(record, layout)
    if not are_same(rows, _ROWS):
        raise Refuted(f"expected {describe_rows(_ROWS)}, got {describe_rows(rows)}")


def _row_of(record: CdcRecord, layout: RowLayout) -> list[tuple[object, ...]]:
    try:
        match record:
            case TableSchema():
                layout.check_schema(record)
            case RowImage():
                return [tuple(layout.decode(record))]
            case _:
                pass
    except (ProtocolError, DataError) as error:
        raise Refuted(str(error)) from error
    return []


async def _fewer_records(lab: Lab) -> None:
    async with (
        _opened(lab) as session,
        _captured(lab, session, "CREATE TABLE vfy_captured (id INT PRIMARY KEY)"),
    ):
        await lab.prepare("INSERT INTO vfy_captured VALUES (1)")
        started = time.monotonic()
        await _committed(session)
        if (seconds := time.monotonic() - started) > 10 * _TIMEOUT:
            raise Refuted(f"three records came after {seconds:.1f} s, with a timeout of {_TIMEOUT} s")


async def _interrupted_read(lab: Lab) -> None:
    async with (
        _opened(lab) as session,
        _captured(lab, session, "CREATE TABLE vfy_captured (id INT PRIMARY KEY)"),
    ):
        for _ in range(2):  # TABSCHEMA, then a wait
            reading = asyncio.ensure_future(session.read())
            await asyncio.wait([reading], timeout=_TIMEOUT / 4)
            if not reading.done() and not statements_of(session.conn).session.channel.send_urgent(
                URGENT_BYTE
            ):
                raise CannotTry("this platform sends no urgent data")
            with suppress(QueryCanceled):
                await reading
        with suppress(QueryCanceled):
            await session.conn.ping()
        with suppress(QueryCanceled):
            await session.conn.fetchval("SELECT 1 FROM informix.systables WHERE tabid = 1")
        if not await session.read():
            raise Refuted("a read after an interrupt returned nothing")


async def _position_too_old(lab: Lab) -> None:
    async with _opened(lab) as session:
        code = await session.call("activatesess", _NO_LOG)
        if code != _LSN:
            raise Refuted(f"cdc_activatesess at a position without a log returned {code}")


# -- push data --------------------------------------------------------------------------------------------------------


async def _push(lab: Lab) -> None:
    lab.require_database(logged=True)
    await lab.prepare("CREATE TABLE vfy_pushed (id INT PRIMARY KEY, qty INT)")
    async with lab.another(database="sysadmin", db_locale=None, client_locale=None, locale="auto") as conn:
        descriptor = await _task(conn, "'pushdata open'")
        if not descriptor.isdecimal() or int(descriptor) <= 0:
            raise CannotTry("task('pushdata open') refuses this user")
        session = _Session(conn, int(descriptor))
        names = {"table": "vfy_pushed", "owner": lab.conn.user, "database": lab.conn.database}
        query = {"query": "SELECT id, qty FROM vfy_pushed WHERE qty > 10", "label": "vfy"}
        for values in ({"timeout": "5", "maxrecs": "1"}, names | query):
            written = lab.named(
                "{" + ", ".join(f"{key}:{json.dumps(value)}" for key, value in values.items()) + "}"
            )
            if (await _task(conn, "'pushdata register', ?", written)).upper() != "OK":
                raise CannotTry("task('pushdata register') refuses this table")
        await lab.prepare("INSERT INTO vfy_pushed VALUES (1, 5)", "INSERT INTO vfy_pushed VALUES (2, 15)")
        await lab.prepare("UPDATE vfy_pushed SET qty = 16 WHERE id = 2", "DELETE FROM vfy_pushed")
        found = [await _event(session) for _ in range(3)]
    rows = [(each.get("operation"), each.get("rowdata"), each.get("before_rowdata")) for each in found]
    old, new = {"id": 2, "qty": 15}, {"id": 2, "qty": 16}
    expected = [("insert", old, None), ("update", new, old), ("delete", new, None)]
    if rows != expected:
        raise Refuted(f"expected {describe_rows(expected)}, got {describe_rows(rows)}")
    if not all(isinstance(each.get("txnid"), int) and isinstance(each.get("op_num"), int) for each in found):
        raise Refuted("an event has no txnid or op_num")


async def _task(conn: Connection[Any], arguments: str, *values: str) -> str:
    return str(await conn.fetchval(f"EXECUTE FUNCTION informix.task({arguments})", *values) or "").strip()


async def _event(session: _Session) -> dict[str, Any]:
    outbox = Outbox()
    objects.put_read_object(outbox, objects.ReadObject(session.number, _BUFFER))
    data = (await exchange(session.conn, outbox)).object_data
    if data is None or data.size <= 0:
        raise Refuted("a read of push data returned nothing")
    try:
        found: dict[str, Any] = json.loads(data.data)
    except ValueError as error:
        raise Refuted("a document is not strict JSON") from error
    return found


_READ: Final = "server/engine/cdc_session.py: CdcSession.read"

CAPTURES: Final = (
    Check(
        "cdc-codes",
        "syscdcv1 has the names of error codes and kinds of records that aioifx knows.",
        ("server/catalog/cdc_tables.py: ERRORS", "server/catalog/cdc_tables.py: RECORDS"),
        _codes,
        in_transaction=False,
    ),
    Check(
        "cdc-open-close",
        "A capture session is opened and closed, once.",
        ("server/engine/cdc_routines.py",),
        _open_close,
        in_transaction=False,
    ),
    Check(
        "cdc-timeout-record",
        "A read of changes without data ends with one TIMEOUT record.",
        (_READ,),
        _timeout_record,
        in_transaction=False,
    ),
    Check(
        "cdc-insert",
        "Captured rows have the layouts that aioifx reads, of each type and of NULL, and TABSCHEMA describes them.",
        ("codecs/cdc_rows.py", "codecs/cdc_records.py: _schema_text"),
        _insert,
        in_transaction=False,
    ),
    Check(
        "cdc-max-records",
        "A read returns what there is within its time limit, also if fewer than max_recs records are there.",
        (_READ,),
        _fewer_records,
        in_transaction=False,
    ),
    Check(
        "cdc-interrupt",
        "An interrupt during a read of changes leaves the session usable.",
        ("server/engine/streams.py: Streams.wait",),
        _interrupted_read,
        in_transaction=False,
    ),
    Check(
        "cdc-lsn-too-old",
        "A capture cannot be activated at a position in a log that does not exist: error -83713.",
        ("server/engine/cdc_session.py: CdcSession.activate",),
        _position_too_old,
        in_transaction=False,
    ),
    Check(
        "push-data",
        "Push data returns committed changes as JSON documents, with the old row of an update.",
        (
            "pushdata/documents.py",
            "server/engine/push_sessions.py",
            "server/engine/push_queries.py: _json_value",
        ),
        _push,
        in_transaction=False,
    ),
)
