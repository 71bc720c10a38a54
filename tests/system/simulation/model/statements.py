"""The statements that the model knows, by their text. Never: how one runs.

SELECT id, balance FROM account WHERE id = ? [FOR UPDATE]
SELECT id, balance FROM account ORDER BY id
UPDATE account SET balance = balance + ? WHERE id = ?
INSERT INTO account VALUES (1, 0)                       -268: the key exists
INSERT INTO note (tag, text) VALUES (?, ?)              the number is a serial; -268: the text is `TWICE`
SELECT id, tag, text FROM note WHERE tag = ?
DELETE FROM note WHERE tag = ?
SELECT id, text FROM wide WHERE id >= ? AND id < ?      150 rows, in order
EXECUTE PROCEDURE pause(?)                              milliseconds
SELECT id, text::LVARCHAR AS text FROM wide             all of them, by a type that SQ_RET_TYPE names
SELECT id, picture FROM album WHERE id >= ? AND id < ?  BYTE values; the bytes of the texts of wide
BEGIN WORK, COMMIT WORK, ROLLBACK WORK
CLOSE DATABASE, DATABASE shop                           outside of a transaction: all statements are gone
SET ISOLATION TO ..., SET LOCK MODE TO [NOT] WAIT [n]
CREATE TEMP TABLE mine (a INTEGER), SELECT a FROM mine, DROP TABLE mine
ALTER TABLE note MODIFY (text VARCHAR(40))              makes prepared statements on note stale
SELECT FIRST 1 tabid FROM informix.systables            the client's probe after an urgent byte
SELECT FIRST 1 * FROM informix.note                     and of account: described for change data capture
EXECUTE FUNCTION informix.cdc_...                       and the queries of a capture session, see `capture`
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from aioifx.codecs.rows import RowDecoder, RowEncoder
from aioifx.codecs.text import CodeSet, code_set_of
from aioifx.sqltypes import Column, SqlType, TypeCode
from aioifx.wire.fields import BLOB_DESCRIPTOR
from aioifx.wire.opcodes import StatementType
from tests.system.simulation.model.database import DatabaseFailure

CODE_SET: Final[CodeSet] = code_set_of("en_US.8859-1")

TWICE: Final = "twice"
"""The text of a note that is refused as if its key existed."""

_INTEGER: Final = SqlType(TypeCode.INTEGER, 4)
_SERIAL: Final = SqlType(TypeCode.SERIAL, 4)
_VARCHAR: Final = SqlType(TypeCode.VARCHAR, 200)
_LVARCHAR: Final = SqlType(TypeCode.LVARCHAR, 2048, owner="informix", extended_name="lvarchar")
_BYTE: Final = SqlType(TypeCode.BYTE, BLOB_DESCRIPTOR[True])


@dataclass(frozen=True, slots=True)
class Statement:
    """One kind of statement; the same object for each text of it."""

    name: str
    kind: int
    parameters: tuple[SqlType, ...] = ()
    columns: tuple[Column, ...] = ()
    """What a query returns, or an INSERT writes."""
    argument: str = ""
    """What the text says beyond its kind."""

    @property
    def returns_rows(self) -> bool:
        return bool(self.columns) and self.kind in (StatementType.SELECT, StatementType.EXECUTE_ROUTINE)


def _columns(**types: SqlType) -> tuple[Column, ...]:
    return tuple(Column(name, type_) for name, type_ in types.items())


_ACCOUNT: Final = _columns(id=_INTEGER, balance=_INTEGER)
_NOTE: Final = _columns(id=_SERIAL, tag=_INTEGER, text=_VARCHAR)
TABLES: Final = {"account": _ACCOUNT, "note": _NOTE}
"""The columns of the tables whose changes can be captured."""

_NUMBER: Final = _columns(number=_INTEGER)
_CAPTURE: Final[dict[str, tuple[SqlType, ...]]] = {
    "opensess": (_VARCHAR, *(_INTEGER,) * 5),
    "set_fullrowlogging": (_VARCHAR, _INTEGER),
    "startcapture": (_INTEGER, _INTEGER, _VARCHAR, _VARCHAR, _INTEGER),
    "activatesess": (_INTEGER, SqlType(TypeCode.BIGINT, 8)),
    "endcapture": (_INTEGER, _INTEGER, _VARCHAR),
    "closesess": (_INTEGER,),
}
"""The routines of syscdcv1, and their parameters."""

_STATEMENTS: Final = [
    ("SELECT id, balance FROM account WHERE id = ?",
     Statement("account", StatementType.SELECT, (_INTEGER,), _ACCOUNT)),
    ("SELECT id, balance FROM account WHERE id = ? FOR UPDATE",
     Statement("account for update", StatementType.SELECT, (_INTEGER,), _ACCOUNT)),
    ("SELECT id, balance FROM account ORDER BY id", Statement("accounts", StatementType.SELECT, (), _ACCOUNT)),
    ("UPDATE account SET balance = balance + ? WHERE id = ?",
     Statement("add", StatementType.UPDATE, (_INTEGER, _INTEGER))),
    ("INSERT INTO account VALUES (1, 0)", Statement("duplicate", StatementType.INSERT, (), _ACCOUNT)),
    ("INSERT INTO note (tag, text) VALUES (?, ?)",
     Statement("insert", StatementType.INSERT, (_INTEGER, _VARCHAR), _NOTE[1:])),
    ("SELECT id, tag, text FROM note WHERE tag = ?", Statement("notes", StatementType.SELECT, (_INTEGER,), _NOTE)),
    ("DELETE FROM note WHERE tag = ?", Statement("delete", StatementType.DELETE, (_INTEGER,))),
    ("SELECT id, text FROM wide WHERE id >= ? AND id < ?",
     Statement("wide", StatementType.SELECT, (_INTEGER, _INTEGER), _columns(id=_INTEGER, text=_VARCHAR))),
    ("SELECT id, text::LVARCHAR AS text FROM wide",
     Statement("all wide", StatementType.SELECT, (), _columns(id=_INTEGER, text=_LVARCHAR))),
    ("SELECT id, picture FROM album WHERE id >= ? AND id < ?",
     Statement("album", StatementType.SELECT, (_INTEGER, _INTEGER), _columns(id=_INTEGER, picture=_BYTE))),
    ("DATABASE shop", Statement("database", StatementType.DATABASE)),
    ("CLOSE DATABASE", Statement("close database", StatementType.CLOSE_DATABASE)),
    ("EXECUTE PROCEDURE pause(?)", Statement("pause", StatementType.EXECUTE_ROUTINE, (_INTEGER,))),
    ("BEGIN WORK", Statement("begin", StatementType.BEGIN_WORK)),
    ("COMMIT WORK", Statement("commit", StatementType.COMMIT_WORK)),
    ("ROLLBACK WORK", Statement("rollback", StatementType.ROLLBACK_WORK)),
    ("CREATE TEMP TABLE mine (a INTEGER)", Statement("create mine", StatementType.CREATE_TEMP_TABLE)),
    ("SELECT a FROM mine", Statement("mine", StatementType.SELECT, (), _columns(a=_INTEGER))),
    ("DROP TABLE mine", Statement("drop mine", StatementType.DROP_TABLE)),
    ("ALTER TABLE note MODIFY (text VARCHAR(40))", Statement("alter", StatementType.ALTER_TABLE)),
    ("SELECT FIRST 1 tabid FROM informix.systables",
     Statement("probe", StatementType.SELECT, (), _columns(tabid=_SERIAL))),
    *((f"SELECT FIRST 1 * FROM informix.{name}", Statement("described", StatementType.SELECT, (), columns))
      for name, columns in TABLES.items()),
    *((f"EXECUTE FUNCTION informix.cdc_{name}({', '.join('?' * len(types))})",
       Statement(f"cdc {name}", StatementType.EXECUTE_ROUTINE, types, _NUMBER))
      for name, types in _CAPTURE.items()),
    ("SELECT env_value FROM sysmaster:sysenv WHERE env_name = 'INFORMIXSERVER'",
     Statement("server name", StatementType.SELECT, (), _columns(env_value=_VARCHAR))),
    ("SELECT min(uniqid) FROM sysmaster:syslogs WHERE uniqid > 0",
     Statement("oldest log", StatementType.SELECT, (), _NUMBER)),
    ("SELECT max(uniqid) FROM sysmaster:syslogs WHERE is_current = 1",
     Statement("current log", StatementType.SELECT, (), _NUMBER)),
    ("SELECT uniqid, used FROM sysmaster:syslogs WHERE is_current = 1",
     Statement("end of the log", StatementType.SELECT, (), _columns(uniqid=_INTEGER, used=_INTEGER))),
]  # fmt: skip


def _normal(text: str) -> str:
    return re.sub(r"\s*([(),])\s*", r"\1", " ".join(text.lower().split()))


_BY_TEXT: Final = {_normal(text): statement for text, statement in _STATEMENTS}
_SET: Final = re.compile(r"set (isolation|lock mode) to (.*)")


@lru_cache(maxsize=1024)
def recognised(text: str) -> Statement:
    """The statement of a text.

    Raises:
        DatabaseFailure: -201, the model has none like it.
    """
    normal = _normal(text)
    if (statement := _BY_TEXT.get(normal)) is not None:
        return statement
    if found := _SET.fullmatch(normal):
        kind = StatementType.SET_ISOLATION if found[1] == "isolation" else StatementType.SET_LOCK_MODE
        return Statement(f"set {found[1]}", kind, argument=found[2])
    raise DatabaseFailure(-201)


@lru_cache(maxsize=64)
def encoder_of(columns: tuple[Column, ...]) -> RowEncoder:
    """Encodes rows as SQ_TUPLE messages."""
    return RowEncoder(columns, CODE_SET)


@lru_cache(maxsize=64)
def decoder_of(columns: tuple[Column, ...]) -> RowDecoder:
    """Decodes the rows of SQ_PUT."""
    return RowDecoder(columns, CODE_SET)
