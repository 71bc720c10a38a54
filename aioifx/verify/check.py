"""A check of what is assumed of servers, as data or as a coroutine, and its outcome. Never: a list of checks."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from typing import Final, NamedTuple, TypeAlias

from aioifx.errors import DatabaseError, QueryTimeout
from aioifx.sqltypes import Value
from aioifx.verify.lab import Lab, Refuted, describe_error

ONE_ROW: Final = "FROM informix.systables WHERE tabid = 1"
"""The clauses of a SELECT of one row, in any database."""

ANY_ERROR: Final = -1
"""In place of an SQLCODE that is not known."""

_MAX_SHOWN: Final = 300
"""Characters of a statement, or of rows, in a message."""

Rows: TypeAlias = Sequence[tuple[object, ...]]
Run: TypeAlias = Callable[[Lab], Awaitable[None]]


class Outcome(Enum):
    """The outcome of a check."""

    HELD = "held"
    REFUTED = "refuted"
    NOT_TRIED = "could not be tried"


@dataclass(frozen=True, slots=True)
class Check:
    """One fact about servers that aioifx assumes, and a way to prove or refute it."""

    name: str
    """Short and unique, for ``--only``."""
    fact: str
    """What is assumed, as a sentence."""
    marks: tuple[str, ...]
    """Where it is assumed: ``module: definition``, which has the word "assumed" in it or above it."""
    run: Run
    """Returns if the fact holds; raises `Refuted` or `CannotTry`."""
    in_transaction: bool = True
    """Whether the check runs in a transaction that is rolled back after it."""


class Step(NamedTuple):
    """One statement of a check, and its expected result."""

    sql: str
    """Names that start with ``vfy_`` get a prefix that is unique to the run."""
    params: tuple[Value, ...] = ()
    rows: Rows | None = None
    """The expected rows; None: anything, for a statement without rows."""
    sqlcode: int = 0
    """The expected SQLCODE; 0: none."""
    offset: int = -1
    """The expected offset of the error; -1: any."""
    token: str = ""
    """The end of the error's token; empty: any."""
    types: tuple[str, ...] = ()
    """The expected types of the columns; empty: any."""
    names: tuple[str, ...] = ()
    """The expected names of the columns; empty: any."""


def rows(sql: str, *expected: tuple[object, ...], params: Sequence[Value] = ()) -> Step:
    """A query and its rows."""
    return Step(sql, tuple(params), expected)


def gives(expression: str, expected: object, *params: Value, type: str = "") -> Step:
    """An expression of SQL, its value and, unless empty, its type."""
    return Step(f"SELECT {expression} {ONE_ROW}", params, [(expected,)], types=(type,) if type else ())


def fails(sql: str, sqlcode: int, *params: Value, offset: int = -1, token: str = "") -> Step:
    """A statement that ends with an error."""
    return Step(sql, params, None, sqlcode, offset, token)


def refused(expression: str, sqlcode: int, *params: Value) -> Step:
    """An expression of SQL that ends with an error."""
    return fails(f"SELECT {expression} {ONE_ROW}", sqlcode, *params)


def does(sql: str, *params: Value) -> Step:
    """A statement that succeeds."""
    return Step(sql, params)


def sql_check(
    name: str,
    fact: str,
    marks: str | tuple[str, ...],
    *steps: Step,
    setup: Sequence[str] = (),
    ansi: bool | None = None,
    logged: bool | None = None,
    single_byte: bool = False,
) -> Check:
    """A check of statements of SQL. A failure of *setup* means that it cannot be tried.

    Args:
        ansi: the kind of database that it needs; None: any.
        logged: the kind of database that it needs; None: any.
        single_byte: whether it needs a database in which each character is one byte.
    """

    async def run(lab: Lab) -> None:
        lab.require_database(ansi=ansi, logged=logged, single_byte=single_byte)
        await lab.prepare(*setup)
        for step in steps:
            await _try(lab, step)

    return Check(name, fact, (marks,) if isinstance(marks, str) else marks, run)


async def _try(lab: Lab, step: Step) -> None:
    """Raise `Refuted` unless *step* has the expected result."""
    shown = _shortened(step.sql)
    try:
        found, columns = await lab.query(step.sql, *step.params)
    except DatabaseError as error:
        if (
            not error.connection_usable
            or isinstance(error, QueryTimeout)
            or (lab.is_unable(error) and error.sqlcode != step.sqlcode)
        ):
            raise
        if error.sqlcode != step.sqlcode and step.sqlcode != ANY_ERROR:
            raise Refuted(f"{shown}: expected {_expected(step)}, got {describe_error(error)}") from error
        if step.offset not in (-1, error.offset):
            raise Refuted(f"{shown}: expected offset {step.offset}, got {error.offset}") from error
        if not (error.token or "").endswith(step.token):
            raise Refuted(f"{shown}: the name in the error is another one") from error
        return
    got = [tuple(row) for row in found]
    if step.sqlcode or (step.rows is not None and not are_same(got, step.rows)):
        raise Refuted(f"{shown}: expected {_expected(step)}, got {describe_rows(got)}")
    for expected, described in ((step.types, columns.types), (step.names, columns.names)):
        if expected and expected != described:
            raise Refuted(f"{shown}: expected {', '.join(expected)}, got {', '.join(described)}")


def _expected(step: Step) -> str:
    if step.sqlcode:
        return "an error" if step.sqlcode == ANY_ERROR else f"SQLCODE {step.sqlcode}"
    return "success" if step.rows is None else describe_rows(step.rows)


def are_same(found: Rows, expected: Rows) -> bool:
    """Whether rows are equal and their values have the same types: 1, True and Decimal(1) differ."""
    return len(found) == len(expected) and all(
        len(left) == len(right) and all(map(_is_same, left, right))
        for left, right in zip(found, expected, strict=True)
    )


def _is_same(found: object, expected: object) -> bool:
    if isinstance(found, Decimal) and isinstance(expected, Decimal):
        return found.compare_total(expected) == 0 or found == expected
    return type(found) is type(expected) and found == expected


def describe_rows(found: Rows) -> str:
    """Rows as a message shows them."""
    if len(found) == 1:
        return _shortened(", ".join(map(repr, found[0])))
    return _shortened(f"{len(found)} rows" + "".join(f"; {', '.join(map(repr, row))}" for row in found[:5]))


def _shortened(text: str) -> str:
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}..."
