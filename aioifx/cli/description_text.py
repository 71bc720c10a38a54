"""The description of a table as lines for people. Never: a query, how lines are printed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final

from aioifx.catalog.ddl import constraint_text
from aioifx.catalog.definitions import Relation, Storage
from aioifx.catalog.description import Description
from aioifx.catalog.names import owned
from aioifx.cli.output import StyledLine
from aioifx.cli.row_texts import Table
from aioifx.errors import visible
from aioifx.sqltypes import Column, SqlType, TypeCode

_MARGIN: Final = " " * 4
_COLUMNS: Final = tuple(
    Column(name, SqlType(TypeCode.LVARCHAR, 255)) for name in ("column", "type", "nullable", "default")
)


def description_lines(description: Description, width: int | None, only: str = "") -> Iterator[StyledLine]:
    """The lines of a description.

    Args:
        width: of the terminal; None: lines of any length.
        only: the title of the one part that is wanted; empty for all.
    """
    relation = description.relation
    if not only:
        yield from _head(relation)
    if relation.columns and only in ("", "columns"):
        if not only:
            yield ()
        rows = [
            (column.name, column.type, "yes" if column.nullable else "no", column.default or "")
            for column in relation.columns
        ]
        yield from Table(_COLUMNS, width).page(rows)
    for title, texts in _sections(description).items():
        if only in ("", title):
            yield from islice(_section(title, texts), 1 if only else 0, None)  # without the empty line


def _sections(description: Description) -> dict[str, Iterable[str]]:
    """The texts of each part, by its title."""
    relation = description.relation
    return {
        "constraints": map(constraint_text, relation.constraints),
        "indexes": (
            f"{'unique ' if index.unique else ''}{owned(index.owner, index.name)} ({', '.join(index.keys)})"
            + (f" using {index.method}" if index.method != "btree" else "")
            + ("" if not index.clustered else ", clustered")
            + ("" if not index.state else f", {index.state}")
            for index in relation.indexes
        ),
        "referenced by": (
            f"{owned(each.owner, each.table)}, constraint {each.constraint}" for each in description.children
        ),
        "triggers": (each.sql + ("" if not each.state else f"\n{each.state}") for each in relation.triggers),
        "definition": [relation.sql] if relation.sql else [],
        "privileges": _privileges(description),
    }


def _head(relation: Relation) -> Iterator[StyledLine]:
    name = visible(owned(relation.owner, relation.name))
    kind = f"raw {relation.kind}" if relation.raw else relation.kind
    yield (
        (f"{kind} ", ""),
        (name, "bold"),
        (f" for {visible(relation.target)}" if relation.target else "", ""),
    )
    facts: list[str] = []
    if relation.row_type:
        facts.append(f"of type {relation.row_type}")
    if relation.storage is not None:
        facts += _storage(relation.storage)
    if relation.external is not None:
        facts += [f"format {relation.external.format}", *relation.external.files]
    if (sequence := relation.sequence) is not None:
        facts += [
            f"from {sequence.start} by {sequence.increment}",
            f"at least {sequence.minimum}",
            f"at most {sequence.maximum}",
            "cycles" if sequence.cycles else "ends",
            f"cache {sequence.cache}",
        ]
    if facts:
        yield ((visible(", ".join(facts)), "dim"),)


def _storage(storage: Storage) -> Iterator[str]:
    if storage.dbspace:
        yield f"in {storage.dbspace}"
    if storage.fragments:
        yield storage.fragments
    if storage.extent_size:
        yield f"extents of {storage.extent_size} and {storage.next_size} KB"
    if storage.lock_mode:
        yield f"locks of a {storage.lock_mode}"


def _privileges(description: Description) -> Iterator[str]:
    for grant in description.grants:
        option = ", may grant them" if grant.grantable else ""
        yield f"{grant.grantee}: {', '.join(grant.privileges)}{option}"


def _section(title: str, texts: Iterable[str]) -> Iterator[StyledLine]:
    """Texts of one or more lines under a title, if there are any."""
    lines = [line for text in texts for line in text.splitlines()]
    if lines:
        yield ()
        yield ((f"{title}:", "bold"),)
        yield from (((_MARGIN + visible(line), ""),) for line in lines)
