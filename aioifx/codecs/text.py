"""CHAR, VARCHAR, NCHAR, LVARCHAR, opaque types, and the code set. Never: which locale a session has."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from aioifx.codecs.base import ENVELOPE_HEAD, VARCHAR_HEAD, Codec, Kind, sized
from aioifx.errors import DataError, InterfaceError
from aioifx.sqltypes import SqlType, Value

# Informix's name or number of a code set -> Python's codec. Documented: the JDBC driver's table of code sets and the
# GLS guide; observed in logins: 8859-1, 819, utf8, 57372. The numbers are the vendor's, IBM's CCSID where it has one;
# 57390 and 5488, and that gb means what Python calls gbk, are assumed.
_PYTHON_CODECS: Final[dict[str, str]] = {
    "8859-1": "latin-1",
    "819": "latin-1",
    "8859-2": "iso8859-2",
    "912": "iso8859-2",
    "8859-3": "iso8859-3",
    "57346": "iso8859-3",
    "8859-4": "iso8859-4",
    "57347": "iso8859-4",
    "8859-5": "iso8859-5",
    "915": "iso8859-5",
    "8859-6": "iso8859-6",
    "1089": "iso8859-6",
    "8859-7": "iso8859-7",
    "813": "iso8859-7",
    "8859-8": "iso8859-8",
    "916": "iso8859-8",
    "8859-9": "iso8859-9",
    "920": "iso8859-9",
    "8859-13": "iso8859-13",
    "57390": "iso8859-13",
    "8859-15": "iso8859-15",
    "923": "iso8859-15",
    "ascii": "ascii",
    "364": "ascii",
    "utf8": "utf-8",
    "utf-8": "utf-8",
    "57372": "utf-8",
    "cp1250": "cp1250",
    "1250": "cp1250",
    "cp1251": "cp1251",
    "1251": "cp1251",
    "cp1252": "cp1252",
    "1252": "cp1252",
    "cp1253": "cp1253",
    "1253": "cp1253",
    "cp1254": "cp1254",
    "1254": "cp1254",
    "cp1255": "cp1255",
    "1255": "cp1255",
    "cp1256": "cp1256",
    "1256": "cp1256",
    "cp1257": "cp1257",
    "1257": "cp1257",
    "sjis": "shift_jis",
    "57350": "shift_jis",
    "sjis-s": "cp932",
    "932": "cp932",
    "ujis": "euc_jp",
    "57351": "euc_jp",
    "big5": "big5",
    "57352": "big5",
    "ksc": "cp949",
    "ks5601": "cp949",
    "cp949": "cp949",
    "57356": "cp949",
    "gb": "gbk",
    "gb2312-80": "gbk",
    "cp936": "gbk",
    "57357": "gbk",
    "gb18030-2000": "gb18030",
    "5488": "gb18030",
}


@dataclass(frozen=True, slots=True)
class CodeSet:
    """The code set of a locale: how text looks in bytes.

    *errors* is one of Python's names ("strict", "replace", "backslashreplace", "surrogateescape", "ignore") and says
    how invalid bytes are decoded. Encoding is strict regardless, so that nothing is lost silently. Only
    "surrogateescape", which loses nothing, works in both directions.
    """

    name: str
    codec: str
    errors: str = "strict"

    @property
    def keeps_ascii(self) -> bool:
        """Whether bytes below 0x80 are ASCII characters where they begin a character."""
        ascii = bytes(range(128))
        return ascii.decode(self.codec, "replace") == ascii.decode("latin-1")

    def decode(self, data: bytes) -> str:
        """Bytes of the code set -> text."""
        try:
            return data.decode(self.codec, self.errors)
        except UnicodeDecodeError as error:
            raise DataError(
                f"byte {error.object[error.start]:#04x} at offset {error.start} is not valid {self.name}"
            ) from None

    @property
    def errors_in_writing(self) -> str:
        """Python's error handler for characters that are not in the code set."""
        return self.errors if self.errors == "surrogateescape" else "strict"

    def encode(self, text: str) -> bytes:
        """Text -> bytes of the code set."""
        try:
            return text.encode(self.codec, self.errors_in_writing)
        except UnicodeEncodeError as error:
            character = text[error.start]
            raise DataError(
                f"the character {character!r} (U+{ord(character):04X}) at offset {error.start} is not in {self.name}"
                + ("" if self.codec == "utf-8" else "; locale='auto' takes the database's code set")
            ) from None


class TextDecoder:
    """Decodes text that arrives in pieces, which may end in the middle of a character."""

    __slots__ = ("_code_set", "_decoder")

    def __init__(self, code_set: CodeSet) -> None:
        self._code_set = code_set
        self._decoder = codecs.getincrementaldecoder(code_set.codec)(code_set.errors)

    def decode(self, data: bytes, *, final: bool = False) -> str:
        """The characters that are complete; *final*: no more bytes will come.

        Raises:
            DataError: the bytes are not valid. The decoder is reset.
        """
        try:
            return self._decoder.decode(data, final)
        except UnicodeDecodeError as error:
            self.reset()
            raise DataError(
                f"byte {error.object[error.start]:#04x} is not valid {self._code_set.name}"
            ) from None

    @property
    def pending(self) -> int:
        """Bytes of a character that is not complete."""
        return len(self._decoder.getstate()[0])

    def reset(self) -> None:
        """Drop an incomplete character."""
        self._decoder.reset()


@lru_cache(maxsize=64)
def code_set_of(locale: str, errors: str = "strict") -> CodeSet:
    """The code set that a locale such as ``en_US.8859-1``, ``de_de.utf8@phon`` or ``en_us.0333`` names.

    Raises:
        InterfaceError: the locale has no code set, or an unknown one, or *errors* is unknown.
    """
    name = locale.partition("@")[0].partition(".")[2]
    codec = _PYTHON_CODECS.get(name.lower())
    if codec is None and re.fullmatch("[0-9a-fA-F]{4}", name):
        # The number in four hex digits (documented: GLS guide).
        codec = _PYTHON_CODECS.get(str(int(name, 16)))
    if codec is None:
        what = f"unknown code set {name!r} in" if name else "code set missing in"
        raise InterfaceError(f"{what} locale {locale!r}")
    try:
        codecs.lookup_error(errors)
    except (LookupError, ValueError):
        raise InterfaceError(f"encoding_errors: unknown error handler {errors!r}") from None
    return CodeSet(name, codec, errors)


# --- codecs ---------------------------------------------------------------------------------------------------------

_NULL_VARCHAR: Final = b"\1\0"
_NULL_ENVELOPE: Final = b"\1\0\0\0\0"

MAX_VARCHAR: Final = 255

_HEADS: Final = tuple(bytes((size,)) for size in range(MAX_VARCHAR + 1))


def text_encoder(sql_type: SqlType, code_set: CodeSet) -> Callable[[Value], bytes]:
    """The function that encodes a str for a type; a type without a length accepts any size."""
    size, codec, errors = sql_type.size or 0, code_set.codec, code_set.errors_in_writing

    def text(value: Value) -> bytes:
        if not isinstance(value, str):
            raise DataError(f"{sql_type} does not accept {type(value).__name__}")
        try:
            data = value.encode(codec, errors)
        except UnicodeEncodeError:
            data = code_set.encode(value)  # raises DataError
        if len(data) > size > 0:
            raise DataError(f"text of {len(data)} bytes does not fit {sql_type}")
        return data

    return text


def char(sql_type: SqlType, code_set: CodeSet, strip: bool) -> Codec:
    """CHAR and NCHAR: padded with blanks; NULL begins with 00 (observed: tuples.json)."""
    width, text = sql_type.length, text_encoder(sql_type, code_set)
    null = b"\0".ljust(width, b" ")

    def decode(field: bytes) -> str | None:
        if field[:1] == b"\0":
            return None
        value = code_set.decode(field)
        return value.rstrip(" ") if strip else value

    def encode(value: Value) -> bytes:
        if value is None:
            return null
        data = text(value)
        if data[:1] == b"\0":
            raise DataError(f"text that begins with NUL is the NULL of {sql_type}")
        return data.ljust(width, b" ")

    return Codec(Kind.CHAR, 0, width, decode, encode, strip)


def varchar(sql_type: SqlType, code_set: CodeSet, strip: bool) -> Codec:
    """VARCHAR and NVARCHAR: one byte of length; NULL is a lone NUL (observed: tuples.json)."""
    del strip  # their blanks are the user's
    text = text_encoder(sql_type, code_set)

    def decode(field: bytes) -> str | None:
        return None if field == _NULL_VARCHAR else code_set.decode(field[VARCHAR_HEAD:])

    def encode(value: Value) -> bytes:
        if value is None:
            return _NULL_VARCHAR
        data = text(value)
        if data == b"\0":
            raise DataError(f"text of one NUL is the NULL of {sql_type}")
        if len(data) > MAX_VARCHAR:
            raise DataError(f"text of {len(data)} bytes does not fit {sql_type}")
        return _HEADS[len(data)] + data

    capacity = min(sql_type.size or MAX_VARCHAR, MAX_VARCHAR)
    return Codec(Kind.VARCHAR, VARCHAR_HEAD, 0, decode, encode, capacity=capacity)


def padded_varchar(sql_type: SqlType, code_set: CodeSet, strip: bool) -> Codec:
    """VARCHAR and NVARCHAR at their full width, for sessions without capability 13 (observed: JDBC, session.json)."""
    plain = varchar(sql_type, code_set, strip)
    width = VARCHAR_HEAD + (sql_type.size or MAX_VARCHAR)

    def decode(field: bytes) -> Value:
        size = field[0]
        if size >= width:
            raise DataError(f"{size} bytes in a {sql_type}")
        return plain.decode(field[: VARCHAR_HEAD + size])

    def encode(value: Value) -> bytes:
        return plain.encode(value).ljust(width, b"\0")

    return Codec(Kind.OTHER, 0, width, decode, encode)


def lvarchar(sql_type: SqlType, code_set: CodeSet, strip: bool) -> Codec:
    """LVARCHAR, and JSON, rows and collections, whose text has the same envelope.

    Source: observed: tuples.json; ROW and collections without RET_TYPE: 12.10, 14.10 and 15
    """
    del strip
    text = text_encoder(sql_type, code_set)

    def decode(field: bytes) -> str | None:
        return None if field[0] else code_set.decode(field[ENVELOPE_HEAD:])

    def encode(value: Value) -> bytes:
        if value is None:
            return _NULL_ENVELOPE
        return b"\0" + sized(text(value))

    return Codec(Kind.LVARCHAR, ENVELOPE_HEAD, 0, decode, encode, capacity=sql_type.size or 0)


def opaque(sql_type: SqlType, code_set: CodeSet, strip: bool) -> Codec:
    """Every other opaque type: text if the server sent text, else bytes; BSON is always bytes.

    Assumed: text has no NUL. That a server sends text unless SQ_RET_TYPE asks otherwise was observed for rows,
    collections and locators. A user-defined type at a real server would prove it for the rest.
    """
    name = sql_type.opaque_name
    if name == "json":
        return lvarchar(sql_type, code_set, strip)
    strict = CodeSet(code_set.name, code_set.codec)
    text = text_encoder(sql_type, code_set)

    def decode(field: bytes) -> str | bytes | None:
        if field[0]:
            return None
        data = field[ENVELOPE_HEAD:]
        if name == "bson" or b"\0" in data:
            return data
        try:
            return strict.decode(data)
        except DataError:
            return data

    def encode(value: Value) -> bytes:
        if value is None:
            return _NULL_ENVELOPE
        return b"\0" + sized(bytes(value) if isinstance(value, (bytes, bytearray)) else text(value))

    return Codec(Kind.OTHER, ENVELOPE_HEAD, 0, decode, encode)
