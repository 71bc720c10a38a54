"""Types and defaults in one form, whether a model or the catalog has them. Never: a connection."""

# pyright: reportPrivateUsage=false
# The affinity of a type has a private name.

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from sqlalchemy import types as sqltypes
from sqlalchemy.types import TypeEngine

_SYNONYMS: Final = (
    (r"^INT$", "INTEGER"),
    (r"^SERIAL(\(\d+\))?$", "INTEGER"),
    (r"^SERIAL8(\(\d+\))?$", "INT8"),
    (r"^BIGSERIAL(\(\d+\))?$", "BIGINT"),
    (r"^(NUMERIC|DEC)\b", "DECIMAL"),
    (r"^DECIMAL$", "DECIMAL(16)"),
    (r"^MONEY$", "MONEY(16)"),
    (r"^MONEY\((\d+)\)$", r"MONEY(\1,2)"),
    (r"^(FLOAT\(\d+\)|DOUBLE PRECISION|DOUBLE)$", "FLOAT"),
    (r"^REAL$", "SMALLFLOAT"),
    (r"^CHARACTER VARYING\b", "VARCHAR"),
    (r"^CHARACTER\b", "CHAR"),
    (r"^(N?CHAR|N?VARCHAR)$", r"\1(1)"),
    (r"^LVARCHAR$", "LVARCHAR(2048)"),
    (r"^(N?VARCHAR)\((\d+),\d+\)$", r"\1(\2)"),  # the space to reserve, which does not limit the values
    (r"^INTERVAL YEAR TO", "INTERVAL YEAR(4) TO"),
    (r"^INTERVAL (MONTH|DAY|HOUR|MINUTE|SECOND) TO", r"INTERVAL \1(2) TO"),
    (r"\bFRACTION$", "FRACTION(3)"),
)
"""Other names of a type, and arguments that are implied; applied in this order."""


def canonical_type(text: str) -> str:
    """The same text for each way to write one type, of those that a column can have.

    A SERIAL is the integer that it stores: models declare integers, and numbering is not compared.
    """
    text = _spaced(text)
    for pattern, replacement in _SYNONYMS:
        text = re.sub(pattern, replacement, text)
    return text


def without_owners(text: str) -> str:
    """A type in its one form, without the owners of types that the database defines."""
    return re.sub(r"""(['"]?)[\w$]+\1\.(?=[^\d])""", "", text)


def _spaced(text: str) -> str:
    """Text in capitals, with a blank only where one is needed."""
    text = re.sub(r"\s*([(),])\s*", r"\1", " ".join(text.upper().split()))
    return re.sub(r"\)(?=[A-Z])", ") ", text)


_QUOTED: Final = re.compile(r"'((?:[^']|'')*)'(?:\s*::\s*\w+)?")
_NUMBER: Final = re.compile(r"[-+]?\$?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
_FUNCTIONS: Final = (
    (r"^(CURRENT|SYSDATE)\b.*$", "CURRENT"),  # the catalog has no qualifier: it is that of the column
    (r"^SITENAME$", "DBSERVERNAME"),
    (r"^CURRENT_USER$", "USER"),
)
_TRUTH: Final = {"t": True, "true": True, "1": True, "f": False, "false": False, "0": False}


def canonical_default(sql: str | None, type_: TypeEngine[Any]) -> object:
    """A value that is equal for equal defaults of a column; None for no default and for NULL.

    Args:
        sql: what follows DEFAULT.
        type_: the column's.
    """
    if sql is None:
        return None
    sql = sql.strip()
    while sql.startswith("(") and sql.endswith(")"):
        sql = sql[1:-1].strip()
    if found := _QUOTED.fullmatch(sql):
        return _value(found[1].replace("''", "'"), type_)
    if _NUMBER.fullmatch(sql):
        return _value(sql, type_)
    sql = _spaced(sql)
    for pattern, replacement in _FUNCTIONS:
        sql = re.sub(pattern, replacement, sql)
    if sql in ("TRUE", "FALSE"):
        return sql == "TRUE"
    return None if sql == "NULL" else f"function {sql}"


def _value(text: str, type_: TypeEngine[Any]) -> object:
    """A literal, compared as its column compares values."""
    affinity = type_._type_affinity
    if affinity is sqltypes.Boolean:
        return _TRUTH.get(text.strip().lower(), text)
    if affinity in (sqltypes.Integer, sqltypes.Numeric, sqltypes.Float):
        try:
            return Decimal(text.replace("$", ""))
        except InvalidOperation:
            return text
    return text.rstrip(" ")
