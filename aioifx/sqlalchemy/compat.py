"""Differences between SQLAlchemy 2.0 and 2.1. Never: the dialect.

Renamed in 2.1: `await_only` to `await_`.
"""

# pyright: reportAttributeAccessIssue=false, reportUnknownVariableType=false
# One of the two names is unknown to the installed SQLAlchemy.

from __future__ import annotations

from collections.abc import Awaitable
from typing import TYPE_CHECKING, TypeVar

T = TypeVar("T")

if TYPE_CHECKING:

    def await_(awaitable: Awaitable[T]) -> T:
        """Wait for *awaitable* in the event loop, from code that SQLAlchemy runs in a greenlet."""
        ...

else:
    try:
        from sqlalchemy.util.concurrency import await_
    except ImportError:
        from sqlalchemy.util.concurrency import await_only as await_

__all__ = ["await_"]
