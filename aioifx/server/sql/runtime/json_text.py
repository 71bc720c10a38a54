"""JSON text of documents <-> Python values, with the extensions of the server. Never: BSON's bytes, SQL types.

Source: documented (Guide to SQL: Syntax, BSON_VALUE_VARCHAR, BSON_VALUE_DATE, BSON_GET): names without quotes,
``ISODate("2013-05-18T00:33:14.000Z")``, and compact text as output. assumed: ``ObjectId("..")``, ``{"$oid":".."}`` and
``{"$date":".."}`` as input; the first forms as output.
"""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Sequence
from typing import Final, cast

from aioifx.codecs.bson import BsonKind, BsonValue, ObjectId
from aioifx.server.sql.errors import SqlError
from aioifx.sqltypes import Value

INVALID_JSON: Final = -9652
"""Assumed: the number of the error for text that is not JSON."""

_NO_CONVERSION: Final = -1260
_DEEPEST: Final = 100

_BLANKS: Final = re.compile(r"[ \t\r\n]*")
_STRING: Final = re.compile(r'"((?:[^"\\\x00-\x1f]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*+)"')
_NUMBER: Final = re.compile(r"-?(?:0|[1-9]\d*)(\.\d+)?([eE][+-]?\d{1,4})?", re.ASCII)
_WORD: Final = re.compile(r"[A-Za-z_$][\w$.]*")
_CALL: Final = re.compile(r'(ISODate|ObjectId)\(\s*"([^"]*)"\s*\)')
_CONSTANTS: Final = {"true": True, "false": False, "null": None}


def read_json(text: str) -> dict[str, Value]:
    """The values of a document.

    Raises:
        SqlError: -9652, it is not the text of one JSON object.
    """
    reader = _Reader(text)
    value = reader.value(_DEEPEST)
    reader.skip_blanks()
    if reader.position != len(text) or not isinstance(value, dict):
        raise SqlError(INVALID_JSON)
    return cast("dict[str, Value]", value)


class _Reader:
    """A position in the text of a document."""

    __slots__ = ("position", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0

    def skip_blanks(self) -> None:
        found = _BLANKS.match(self.text, self.position)
        assert found is not None
        self.position = found.end()

    def at(self, character: str) -> bool:
        self.skip_blanks()
        if not self.text.startswith(character, self.position):
            return False
        self.position += 1
        return True

    def expect(self, character: str) -> None:
        if not self.at(character):
            raise SqlError(INVALID_JSON)

    def take(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        self.skip_blanks()
        found = pattern.match(self.text, self.position)
        if found is not None:
            self.position = found.end()
        return found

    def value(self, levels: int) -> Value:
        if not levels:
            raise SqlError(INVALID_JSON)
        if self.at("{"):
            return self.object(levels - 1)
        if self.at("["):
            return self.array(levels - 1)
        if found := self.take(_STRING):
            return json.loads(found[0])
        if found := self.take(_CALL):
            return _moment(found[2]) if found[1] == "ISODate" else _object_id(found[2])
        if (found := self.take(_WORD)) and found[0] in _CONSTANTS:
            return _CONSTANTS[found[0]]
        if found := self.take(_NUMBER):
            return _number(found)
        raise SqlError(INVALID_JSON)

    def object(self, levels: int) -> Value:
        fields: dict[str, Value] = {}
        if not self.at("}"):
            while True:
                name = self.name()
                self.expect(":")
                fields[name] = self.value(levels)
                if self.at("}"):
                    break
                self.expect(",")
        match fields:
            case {"$oid": str(digits)} if len(fields) == 1:
                return _object_id(digits)
            case {"$date": str(text)} if len(fields) == 1:
                return _moment(text)
            case _:
                return fields

    def name(self) -> str:
        if found := self.take(_STRING):
            name: str = json.loads(found[0])
            return name
        found = self.take(_WORD)
        if found is None:
            raise SqlError(INVALID_JSON)
        return found[0]

    def array(self, levels: int) -> list[Value]:
        items: list[Value] = []
        if self.at("]"):
            return items
        while True:
            items.append(self.value(levels))
            if self.at("]"):
                return items
            self.expect(",")


def _number(found: re.Match[str]) -> int | float:
    if found[1] is None and found[2] is None:
        number = int(found[0])
        if -(2**63) <= number < 2**63:
            return number
    value = float(found[0])
    if value - value != 0:
        raise SqlError(INVALID_JSON)
    return value


def _object_id(digits: str) -> ObjectId:
    if not re.fullmatch("[0-9a-fA-F]{24}", digits):
        raise SqlError(INVALID_JSON)
    return ObjectId(bytes.fromhex(digits))


def _moment(text: str) -> dt.datetime:
    try:
        moment = dt.datetime.fromisoformat(text)
    except ValueError:
        raise SqlError(INVALID_JSON) from None
    return moment.replace(tzinfo=dt.UTC) if moment.tzinfo is None else moment.astimezone(dt.UTC)


# --- Writing ----------------------------------------------------------------------------------------------------------


def write_json(value: Value) -> str:
    """The text of a value.

    Raises:
        SqlError: -1260, a kind of BSON that has no JSON text here.
    """
    match value:
        case dict():
            fields = cast("dict[str, Value]", value)
            return f"{{{','.join(f'{_string(name)}:{write_json(item)}' for name, item in fields.items())}}}"
        case list():
            items = cast("Sequence[Value]", value)
            return f"[{','.join(map(write_json, items))}]"
        case dt.datetime():
            return f'ISODate("{moment_text(value)}")'
        case ObjectId():
            return f'ObjectId("{value}")'
        case BsonValue() | bytes():
            raise SqlError(_NO_CONVERSION, token=_kind_of(value))
        case _:
            return _string(value)


def moment_text(moment: dt.datetime) -> str:
    """A moment as in ISODate, in UTC."""
    return moment.strftime("%Y-%m-%dT%H:%M:%S.").rjust(20, "0") + f"{moment.microsecond // 1000:03d}Z"


def _kind_of(value: BsonValue | bytes) -> str:
    return (value.kind if isinstance(value, BsonValue) else BsonKind.BINARY).name


def _string(value: str | int | float | bool | None) -> str:
    return json.dumps(value, ensure_ascii=False)
