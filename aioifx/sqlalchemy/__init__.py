"""SQLAlchemy's dialect for Informix, with asyncio and without. Never: a message of SQLI.

create_async_engine("informix+aioifx://app:secret@db1:9088/shop?server=ol_shop")
create_engine("informix+aioifx://app:secret@db1:9088/shop?server=ol_shop")
"""

from __future__ import annotations

from aioifx.sqlalchemy.binary import BYTE
from aioifx.sqlalchemy.composites import LIST, MULTISET, ROW, SET, NamedType
from aioifx.sqlalchemy.dialect import AsyncInformixDialect, InformixDialect
from aioifx.sqlalchemy.types import (
    BIGSERIAL,
    BSON,
    DATETIME,
    INT8,
    INTERVAL,
    JSON,
    LVARCHAR,
    MONEY,
    NVARCHAR,
    SERIAL,
    SERIAL8,
    SMALLFLOAT,
    TEXT,
    TIME,
    VARCHAR,
)  # fmt: skip
from aioifx.sqlalchemy.upsert import Insert, insert

__all__ = [
    "BIGSERIAL", "BSON", "BYTE", "DATETIME", "INT8", "INTERVAL", "JSON", "LIST", "LVARCHAR", "MONEY", "MULTISET",
    "NVARCHAR", "ROW", "SERIAL", "SERIAL8", "SET", "SMALLFLOAT", "TEXT", "TIME", "VARCHAR",
    "AsyncInformixDialect", "InformixDialect", "Insert", "NamedType", "insert",
]  # fmt: skip
