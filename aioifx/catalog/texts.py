"""Texts and numbers of the catalog: index keys, defaults, column types, schema names. Never: a query.

Source: documented: sysdefaults, sysindices, syscolumns (Guide to SQL Reference); "Returning the literal default from
the sysdefaults default column" (IBM support); observed: tools that read ``indexkeys::lvarchar``
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

from aioifx.sqltypes import SqlType, TypeCode


class Place(NamedTuple):
    """Where tables are: a schema of SQLAlchemy, ``owner``, ``database:owner`` or ``database@server:owner``."""

    database: str = ""
    owner: str | None = None

    @classmethod
    def of(cls, schema: str | None) -> Place:
        """The place that a schema names; None is the current database, with the tables of every owner."""
        if schema is None:
            return cls()
        database, colon, owner = schema.rpartition(":")
        return cls(database + colon, owner or None)

    @property
    def catalog(self) -> str:
        """What precedes the name of a catalog table."""
        return f"{self.database}informix."

    @property
    def is_remote(self) -> bool:
        """Whether it may be on another server."""
        return "@" in self.database


_PLAIN: Final = re.compile(r"[a-z_][a-z0-9_$]*")


def quoted(name: str) -> str:
    """A name as it is, or in double quotes, which need DELIMIDENT, if it was delimited."""
    return name if _PLAIN.fullmatch(name) else '"' + name.replace('"', '""') + '"'


# --- index keys -------------------------------------------------------------------------------------------------------


class Key(NamedTuple):
    """One key of an index: a column, or a function of columns."""

    column: str | None
    """None for a function."""
    expression: str
    """The name of the column as in the catalog, or the SQL of the function with its arguments."""
    is_descending: bool
    operators: int = 0
    """The number of its operator class."""


class KeyNumbers(NamedTuple):
    """One key of an index as numbers."""

    procid: int
    """0 for a column."""
    columns: tuple[int, ...]
    is_descending: bool
    operators: int

    def named(self, columns: Mapping[int, str], routines: Mapping[int, str]) -> Key:
        """The key with the names of its columns and of its function."""
        if not self.procid:
            name = columns.get(self.columns[0], f"column {self.columns[0]}")
            return Key(name, name, self.is_descending, self.operators)
        names = [quoted(columns[one]) if one in columns else f"column {one}" for one in self.columns]
        routine = quoted(routines[self.procid]) if self.procid in routines else f"routine {self.procid}"
        return Key(None, f"{routine}({', '.join(names)})", self.is_descending, self.operators)


IndexKeys: TypeAlias = tuple[KeyNumbers, ...]

_KEY: Final = re.compile(
    r"(?:(?P<minus>-)?<(?P<procid>\d+)>)?\s*\(?(?P<columns>-?\d+(?:\s*,\s*-?\d+)*)\)?\s*\[(?P<operators>\d+)\]"
)


def index_keys(text: str) -> IndexKeys:
    """The keys in sysindices.indexkeys, read as LVARCHAR: ``1 [1], -2 [1]``, ``<145>(2, 3) [1]``.

    A number is that of a column, negative if it is descending; in brackets follows the operator class. A function has
    its procid in angle brackets, after a minus if it is descending, and the numbers of its arguments in parentheses.
    """
    return tuple(map(_key, _KEY.finditer(text)))


def _key(found: re.Match[str]) -> KeyNumbers:
    numbers = [int(number) for number in found["columns"].split(",")]
    is_descending = bool(found["minus"]) or numbers[0] < 0
    return KeyNumbers(
        int(found["procid"] or 0), tuple(map(abs, numbers)), is_descending, int(found["operators"])
    )


# --- columns ----------------------------------------------------------------------------------------------------------

_FLAGS: Final = 0xFE00
"""The bits of coltype that belong to the type: DISTINCT and what it is made of; NOT NULL belongs to the column."""


def column_type(
    code: int, length: int, extended_id: int | None, owner: str | None, name: str | None, source: int | None
) -> SqlType:
    """The type of a row of syscolumns and of its row of sysxtdtypes."""
    unsigned = code & 0xFFFF
    return SqlType(
        unsigned & 0xFF,
        length & 0xFFFF,
        extended_id or 0,
        (owner or "").rstrip(" "),
        (name or "").rstrip(" "),
        source or 0,
        unsigned & _FLAGS,
    )


_TEXT: Final = (
    TypeCode.CHAR,
    TypeCode.NCHAR,
    TypeCode.VARCHAR,
    TypeCode.NVARCHAR,
    TypeCode.LVARCHAR,
    TypeCode.BOOLEAN,
)
"""Types whose default is plain text in sysdefaults (documented)."""

_FUNCTIONS: Final = {"U": "USER", "T": "TODAY", "S": "DBSERVERNAME"}


def default_sql(sql_type: SqlType, kind: str, text: str) -> str | None:
    """The SQL of a default, after DEFAULT; None without one.

    Args:
        kind: sysdefaults.type: L literal, N null, C CURRENT, T TODAY, U USER, S DBSERVERNAME
        text: sysdefaults.default without the blanks after it
    """
    if kind == "L":
        return _literal(sql_type, text)
    if kind == "C":
        qualifier = sql_type.qualifier
        return f"CURRENT {qualifier.datetime_text()}" if qualifier else "CURRENT"
    return _FUNCTIONS.get(kind)


def _literal(sql_type: SqlType, text: str) -> str:
    if sql_type.kind in _TEXT:
        return _quoted(text)
    value = text.partition(" ")[2].strip(" ") or text  # the binary value precedes, in an encoding of 6 bits
    qualifier = sql_type.qualifier
    if qualifier is not None:
        word = "DATETIME" if sql_type.code == TypeCode.DATETIME else "INTERVAL"
        if value.upper().startswith(word):
            return value
        last = qualifier.datetime_text() if word == "DATETIME" else qualifier.interval_text()
        return f"{word}({value}) {last}"
    number = value.removeprefix("$")
    return _quoted(value) if sql_type.code == TypeCode.DATE or not _NUMBER.fullmatch(number) else number


_NUMBER: Final = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


# --- texts over several rows ------------------------------------------------------------------------------------------


def joined(chunks: Sequence[str], width: int) -> str:
    """The text of rows with a CHAR column of *width* bytes.

    A connection may strip CHAR values; the blanks that a row lost are restored if its characters are single bytes.
    A character of several bytes may have had no room; the blanks in its place are left out.
    """
    whole = [chunk.ljust(width) if chunk.isascii() else chunk for chunk in chunks]
    if not all(map(str.isascii, chunks)) and all(len(chunk.encode()) <= width for chunk in whole):  # UTF-8
        for number, following in enumerate(whole[1:]):
            text = whole[number].rstrip(" ")
            if len(text.encode()) + len(following[:1].encode()) > width:
                whole[number] = text
    return "".join(whole).strip(" ")


def without_parentheses(condition: str) -> str:
    """A condition without the parentheses around all of it."""
    while condition.startswith("(") and _closing(condition) == len(condition) - 1:
        condition = condition[1:-1].strip(" ")
    return condition


def _closing(text: str) -> int:
    """Where the first parenthesis closes, outside of quoted text; -1 if it does not."""
    depth, quote = 0, ""
    for place, character in enumerate(text):
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        elif character in "()":
            depth += 1 if character == "(" else -1
            if not depth:
                return place
    return -1
