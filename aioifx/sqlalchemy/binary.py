"""Types of bytes: BYTE, and BINARY and VARBINARY as hexadecimal text. Never: a type's text in DDL."""

# pyright: reportUnknownMemberType=false, reportPrivateUsage=false, reportIncompatibleMethodOverride=false
# pyright: reportMissingTypeArgument=false, reportUnknownArgumentType=false
# SQLAlchemy annotates its types in part. The base class of BINARY and VARBINARY has a private name.

from __future__ import annotations

from typing import Any, Final

from sqlalchemy.engine import Dialect
from sqlalchemy.sql import sqltypes

from aioifx.errors import DataError
from aioifx.sqlalchemy.composites import Process, quoted


class LargeBinary(sqltypes.LargeBinary):
    """Bytes. Files and iterables of chunks are sent as aioifx sends them. There are no literals."""

    def bind_processor(self, dialect: Dialect) -> Process | None:
        return _to_bytes

    def result_processor(self, dialect: Dialect, coltype: object) -> Process | None:
        return None

    def literal_processor(self, dialect: Dialect) -> Process | None:
        return None


def _to_bytes(value: Any) -> Any:
    return bytes(value) if isinstance(value, (bytearray, memoryview)) else value


class BYTE(LargeBinary):
    """BYTE, stored in the table or in the blobspace *space*."""

    __visit_name__ = "BYTE"

    def __init__(self, length: int | None = None, space: str | None = None) -> None:
        super().__init__(length)
        self.space = space


MAX_HEX: Final = 16_369
"""Bytes whose hexadecimal text fits LVARCHAR, the longest type that can be compared."""


def is_hex(type_: Any) -> bool:
    """Whether a BINARY or VARBINARY is stored as hexadecimal text."""
    return type_.length is not None and 0 < type_.length <= MAX_HEX


class _Binary(sqltypes._Binary):
    """BINARY(n) and VARBINARY(n): bytes as hexadecimal text in CHAR(2n), VARCHAR(2n) or LVARCHAR(2n).

    BYTE cannot be a key, nor compared, and an index on BSON is on its fields (documented). The character types take
    text of the code set only. The order of lower-case digits is that of the bytes.
    """

    def bind_processor(self, dialect: Dialect) -> Process | None:
        return _to_hex if is_hex(self) else _to_bytes

    def result_processor(self, dialect: Dialect, coltype: object) -> Process | None:
        return _from_hex

    def literal_processor(self, dialect: Dialect) -> Process | None:
        return (lambda value: quoted(_to_hex(value))) if is_hex(self) else None


def _to_hex(value: Any) -> Any:
    return value if value is None else memoryview(value).hex()  # bytes(5) would be five zeros


def _from_hex(value: Any) -> Any:
    """A value of BYTE is bytes already.

    Raises:
        DataError: another program has stored other text.
    """
    if not isinstance(value, str):
        return value
    try:
        return bytes.fromhex(value)
    except ValueError:
        raise DataError("BINARY, VARBINARY: expected hexadecimal digits, got other text") from None


class BINARY(_Binary, sqltypes.BINARY):
    """BINARY(n)."""


class VARBINARY(_Binary, sqltypes.VARBINARY):
    """VARBINARY(n)."""
