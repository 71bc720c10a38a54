"""A query whose changes are to be pushed. Never: a connection."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from aioifx.errors import InterfaceError

_NAME: Final = r'([^\W\d][\w$]*+|"[^"\0]++")'
_OWNER: Final = r"""([^\W\d][\w$]*+|"[^"\0]++"|'[^'\0]++')"""
_TABLE: Final = re.compile(rf"{_NAME}:{_OWNER}\.{_NAME}")


@dataclass(frozen=True, slots=True)
class Watch:
    """A table and a query on it: its rows are pushed when they are inserted, updated or deleted.

    Args:
        table: ``database:owner.table``. The database is logged; the table has a primary key or a unique index.
        query: ``SELECT columns FROM table WHERE condition``, without joins, subqueries and large objects.
        label: returned with each event; empty: none.

    Raises:
        InterfaceError: *table* has another form, or *query* is not a SELECT.
    """

    table: str
    query: str
    label: str = ""

    def __post_init__(self) -> None:
        for name in ("table", "query", "label"):
            value: object = getattr(self, name)
            if not isinstance(value, str):
                raise InterfaceError(f"{name}: expected a str, got {type(value).__name__}")
        if not _TABLE.fullmatch(self.table):
            raise InterfaceError(f"table: expected database:owner.table, got {self.table[:60]!r}")
        if not re.match(r"\s*select\b", self.query, re.IGNORECASE):
            raise InterfaceError(f"query: expected a SELECT, got {self.query[:60]!r}")


def names_of(watch: Watch) -> tuple[str, str, str]:
    """Database, owner and table, as the server has them: names without quotes are in lower case."""
    matched = _TABLE.fullmatch(watch.table)
    assert matched is not None  # checked when it was made
    database, owner, table = matched.groups()
    return _bare(database, str.lower), _bare(owner), _bare(table, str.lower)


def _bare(name: str, fold: Callable[[str], str] = str) -> str:
    """A name without its quotes; one without quotes is folded."""
    return name[1:-1] if name[0] in "\"'" else fold(name)


def registration(watch: Watch) -> dict[str, object]:
    """The attributes by which a query is registered (documented; observed: JDBC 15)."""
    database, owner, table = names_of(watch)
    return {
        "table": table,
        "owner": owner,
        "database": database,
        "query": watch.query,
        "label": watch.label or None,
    }
