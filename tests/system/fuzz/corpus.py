"""Recorded bytes to start from: what IBM's driver and its servers really sent."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from decimal import Decimal
from functools import cache
from itertools import pairwise
from typing import Any

from aioifx.codecs.bson import encode_document
from aioifx.codecs.rows import RowEncoder
from aioifx.codecs.text import code_set_of
from aioifx.sqltypes import Column, SqlType, TypeCode
from aioifx.wire.capabilities import Capabilities
from aioifx.wire.completion import Done, put_done
from aioifx.wire.descriptions import Description, put_describe
from aioifx.wire.outbox import Outbox
from aioifx.wire.replies import put_eot
from tests.wire.frames import JDBC_FILES, Frame, frames

LONGEST = 3_000


@cache
def replies() -> tuple[bytes, ...]:
    """Replies of servers, one of each."""
    return _unlike(frame for file in JDBC_FILES for frame in frames(file) if frame.side == "S")


@cache
def requests() -> tuple[bytes, ...]:
    """Groups of clients, one of each."""
    return _unlike(frame for file in JDBC_FILES for frame in frames(file) if frame.side == "C")


@cache
def logins(side: str) -> tuple[bytes, ...]:
    """Login requests (C) or the answers to them (S), one of each size."""
    found = {len(frame.data): frame.data for frame in frames("login") if _is_login(frame, side)}
    return tuple(found.values())


@cache
def queries() -> tuple[bytes, ...]:
    """A description and the rows after it, in one piece."""
    found = []
    for file in ("select", "prepared", "scroll", "metadata"):
        sent = [frame for frame in frames(file) if frame.side == "S" and not frame.is_event]
        for first, second in pairwise(sent):
            if first.case == second.case and first.data[:2] == b"\0\x08" and b"\0\x0e" in second.data[:2]:
                found.append(first.data + second.data)
    return (*sorted({data for data in found if len(data) < LONGEST}), query_of(TYPES), query_of(OBJECTS))


def query_of(types: tuple[tuple[SqlType, Any], ...]) -> bytes:
    """A description with a column of each of these types, and three rows."""
    columns = tuple(Column(f"c{number}", sqltype) for number, (sqltype, _) in enumerate(types))
    encoder = RowEncoder(columns, code_set_of("en_US.8859-1"))
    outbox = Outbox()
    put_describe(outbox, Capabilities(), Description(2, 1, columns, 400))
    put_eot(outbox)
    row = tuple(value for _, value in types)
    outbox.raw(encoder.encode([row, tuple(None for _ in row), row]))
    put_done(outbox, Capabilities(), Done(0, 3))
    put_eot(outbox)
    return outbox.detach()


def literals() -> tuple[bytes, ...]:
    """Texts of types, each with a literal."""
    return tuple(f"{type_text}\0{text}".encode() for type_text, text in LITERALS.items())


LITERALS = {
    "SET(integer not null)": "SET{1,2,-3          }",
    "LIST(ROW(a integer,b varchar(10)) not null)": "LIST{ROW(1,'it''s'),ROW(NULL,\"b\")}",
    "ROW(d date,t datetime year to second,x boolean,p point)": (
        "ROW('2026-01-02',DATETIME(2026-01-02 03:04:05) YEAR TO SECOND,'t',(1,(2,3)))"
    ),
    "MULTISET(SET(decimal(8,2) not null) not null)": "MULTISET{SET{1.50 ,2},'SET{}'}",
    "ROW(j json,i interval day(3) to second)": "ROW('{\"a\":[1,{}]}',' 3 04:05:06')",
}

OBJECTS: tuple[tuple[SqlType, Any], ...] = (
    (SqlType(TypeCode.SET, 0, extended_name="SET(integer not null)"), "SET{1,2}"),
    (SqlType(TypeCode.ROW, 0, extended_name="ROW(a integer,b json)"), "ROW(1,'{}')"),
    (SqlType(TypeCode.UDTVAR, 4096, 25, extended_name="json"), '{"a":[1]}'),
    (SqlType(TypeCode.UDTVAR, 4096, 26, extended_name="bson"), encode_document({"a": [1]})),
)

TYPES: tuple[tuple[SqlType, Any], ...] = (
    (SqlType(TypeCode.INTEGER, 4), 7),
    (SqlType(TypeCode.SMALLINT, 2), -7),
    (SqlType(TypeCode.BIGINT, 8), 1 << 40),
    (SqlType(TypeCode.INT8, 10), -(1 << 40)),
    (SqlType(TypeCode.FLOAT, 8), 1.5),
    (SqlType(TypeCode.DECIMAL, 0x1002), Decimal("-123.45")),
    (SqlType(TypeCode.CHAR, 9), "nine".ljust(9)),
    (SqlType(TypeCode.VARCHAR, 60), "sixty"),
    (SqlType(TypeCode.DATE, 4), dt.date(2024, 2, 29)),
    (SqlType(TypeCode.DATETIME, 0x130F), dt.datetime(2024, 2, 29, 1, 2, 3, 456_780)),
)


def _is_login(frame: Frame, side: str) -> bool:
    return frame.is_login and frame.side == side and not frame.is_event and len(frame.data) > 100


def _unlike(found: Iterable[Frame]) -> tuple[bytes, ...]:
    """Of frames that say the same in kind, one: those that begin alike and are equally long."""
    unlike: dict[tuple[bytes, int], bytes] = {}
    for frame in found:
        if not frame.is_event and not frame.is_login and len(frame.data) < LONGEST:
            unlike.setdefault((frame.data[:12], len(frame.data) // 8), frame.data)
    return tuple(sorted(unlike.values(), key=lambda data: (len(data), data)))
