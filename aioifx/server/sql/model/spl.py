"""Routines written in SPL: signature, results and text, as the catalog has them. Never: a call, the body's meaning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.type_rules import Family, family_of
from aioifx.sqltypes import Column, SqlType

ParameterMode = Literal["in", "out", "inout"]

UNRESOLVED = -674
"""No routine of that name with such parameters (documented)."""
AMBIGUOUS = -9700
"""Several routines fit (documented)."""


@dataclass(frozen=True, slots=True)
class SplParameter:
    """One parameter."""

    name: str
    type: SqlType
    has_default: bool = False
    mode: ParameterMode = "in"


@dataclass(frozen=True, slots=True)
class SplTrigger:
    """The table of a trigger procedure, and the names of its old and new rows; a name is empty if not given."""

    table: str
    old: str = ""
    new: str = ""


@dataclass(frozen=True, slots=True)
class SplRoutine:
    """A procedure or function of a database, as CREATE declared it."""

    procid: int
    name: str
    owner: str
    is_procedure: bool
    parameters: tuple[SplParameter, ...]
    results: tuple[tuple[str, SqlType], ...]
    """Names, empty without AS, and types after RETURNING."""
    text: str
    """The whole CREATE statement."""
    is_delimident: bool = False
    """Whether double quotes delimit names in `text`."""
    is_dba: bool = False
    specific: str = ""
    trigger: SplTrigger | None = None
    document: str = ""
    is_not_variant: bool = False

    @property
    def types(self) -> tuple[SqlType, ...]:
        """The types of the parameters."""
        return tuple(parameter.type for parameter in self.parameters)

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of its result; one without a name is ``(expression)`` (documented: SELECT's)."""
        return tuple(Column(name or "(expression)", type_) for name, type_ in self.results)

    @property
    def result(self) -> SqlType | None:
        """The type of its single result; None if it has none or several."""
        return self.results[0][1] if len(self.results) == 1 else None

    def accepts(self, positional: int, named: Sequence[str] = ()) -> bool:
        """Whether so many arguments by position, and these by name, give a value to each parameter."""
        names = [parameter.name for parameter in self.parameters]
        if positional + len(named) > len(names) or not set(named) <= set(names[positional:]):
            return False
        return all(
            index < positional or parameter.name in named or parameter.has_default
            for index, parameter in enumerate(self.parameters)
        )


def has_signature(routine: SplRoutine, types: Sequence[SqlType]) -> bool:
    """Whether its parameters have these types; lengths do not count (documented: routine signature)."""
    return [_kind(type_) for type_ in routine.types] == [_kind(type_) for type_ in types]


def _kind(type_: SqlType) -> tuple[int, int]:
    return int(type_.kind), type_.extended_id


def resolved(
    found: Sequence[SplRoutine], name: str, types: Sequence[SqlType | None], named: Sequence[str], offset: int
) -> SplRoutine:
    """The routine that a call means: the same types count more than the same family of types.

    Args:
        types: of the arguments by position; None for NULL and ``?``.
        named: the names of the others.

    Raises:
        SqlError: -674, none accepts the arguments; -9700, several fit equally.
    """
    fitting = [routine for routine in found if routine.accepts(len(types), named)]
    if not fitting:
        raise SqlError(UNRESOLVED, token=name, offset=offset)
    scores = [(_score(routine, types), routine) for routine in fitting]
    best = max(score for score, _ in scores)
    chosen = [routine for score, routine in scores if score == best]
    if len(chosen) > 1:
        raise SqlError(AMBIGUOUS, token=name, offset=offset)
    return chosen[0]


def _score(routine: SplRoutine, types: Sequence[SqlType | None]) -> tuple[int, int]:
    """How well the parameters fit, and fewer parameters left to their defaults before more."""
    points = 0
    for type_, target in zip(types, routine.types, strict=False):
        if type_ is None:
            continue
        if _kind(type_) == _kind(target):
            points += 3
        elif family_of(type_) is family_of(target):
            points += 2
        elif family_of(type_) in _NUMBERS and family_of(target) in _NUMBERS:
            points += 1
    return points, -len(routine.parameters)


_NUMBERS = frozenset({Family.INTEGER, Family.DECIMAL, Family.FLOAT})
