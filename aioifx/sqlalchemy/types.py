"""Types of Informix, and the conversion of values. Never: DDL."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

COLSPECS: Final[Mapping[type[Any], type[Any]]] = {}
"""The dialect's implementation of SQLAlchemy's generic types."""
