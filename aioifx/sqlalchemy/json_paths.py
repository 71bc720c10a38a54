"""Paths to values of JSON documents, as parameters of Informix's functions. Never: the documents."""

# pyright: reportIncompatibleMethodOverride=false
# SQLAlchemy's type of a processor has a keyword.

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sqlalchemy import types as sqltypes
from sqlalchemy.engine import Dialect

from aioifx.sqlalchemy.composites import Process, quoted


class JSONIndex(sqltypes.JSON.JSONIndexType):
    """A key, or an index of an array."""

    def bind_processor(self, dialect: Dialect) -> Process:
        return lambda value: _path([value])

    def literal_processor(self, dialect: Dialect) -> Process:
        return lambda value: quoted(_path([value]))


class JSONPath(sqltypes.JSON.JSONPathType):
    """Keys and indexes, from the outermost on."""

    def bind_processor(self, dialect: Dialect) -> Process:
        return _path

    def literal_processor(self, dialect: Dialect) -> Process:
        return lambda value: quoted(_path(value))


def _path(keys: Iterable[Any]) -> str:
    texts = [str(key) for key in keys]
    if any("." in text for text in texts):
        raise ValueError("JSON: expected keys without a dot, which separates the keys of a path")
    return ".".join(texts)
