"""Types of Informix, and the conversion of values."""

from __future__ import annotations

from aioifx.sqlalchemy import InformixDialect
from aioifx.sqlalchemy.types import COLSPECS


def test_the_dialect_has_the_types_of_the_module() -> None:
    assert {**COLSPECS}.items() <= InformixDialect().colspecs.items()
