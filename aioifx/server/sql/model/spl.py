"""Routines in SPL, as the catalog has them, and in Python, with their registry. Never: a call, the body's meaning."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from itertools import count
from typing import Literal, NamedTuple, TypeAlias

from aioifx.errors import InterfaceError
from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.frozen import Frozen
from aioifx.server.sql.model.storage import Form, form_of
from aioifx.server.sql.model.type_rules import Family, family_of
from aioifx.server.sql.syntax.parser import parse_type_text
from aioifx.sqltypes import Column, SqlType


class Routine:
    """A procedure or function that SQL may call and Python runs.

    Attributes:
        name:     the name in SQL, in lower case.
        params:   names and SQL types of the parameters, in order.
        returns:  SQL types of the results; none for a procedure.
        variant:  whether equal arguments may have different results (documented: VARIANT, the default of Informix).
        function: called in the thread of the calling session. A `DatabaseError` that it raises is sent to the
                  client with its codes, or with -746 if it has none. Code -937 is sent with its SQLSTATE and text.

    Args:
        params: (name, type) pairs, ``("item", "VARCHAR(20)")``.
        returns: SQL types.
        function: takes the parameters by position. An SQL function returns a value, or a tuple if it has several
            results, or an iterable of either for several rows. The return value of a procedure is ignored.
        variant: False, as NOT VARIANT in Informix, lets CREATE INDEX use it for a functional index.

    Raises:
        InterfaceError: a name or type is invalid, or the function cannot run in a thread.
    """

    __slots__ = ("function", "name", "params", "returns", "variant")

    def __init__(
        self,
        name: str,
        params: Sequence[tuple[str, str]],
        returns: Sequence[str],
        function: Callable[..., object],
        *,
        variant: bool = True,
    ) -> None:
        if not name.isidentifier():
            raise InterfaceError(f"routine: expected an identifier, got {name!r}")
        if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
            raise InterfaceError(
                f"routine {name}: the function must not be async, because it runs in a thread"
            )
        if not returns and inspect.isgeneratorfunction(function):
            raise InterfaceError(f"routine {name}: a generator must have returns")
        self.name = name.lower()
        self.params = tuple((param.lower(), _type(name, type_)) for param, type_ in params)
        self.returns = tuple(_type(name, type_) for type_ in returns)
        self.function = function
        self.variant = variant
        if len({param for param, _ in self.params}) < len(self.params):
            raise InterfaceError(f"routine {name}: two parameters have the same name")

    @property
    def result(self) -> SqlType | None:
        """The type of its single result; None if it has none or several."""
        return self.returns[0] if len(self.returns) == 1 else None


def _type(routine: str, text: str) -> SqlType:
    try:
        type_ = parse_type_text(text)
    except SqlError as error:
        raise InterfaceError(f"routine {routine}: unknown type {text!r} ({error})") from None
    if form_of(type_) in (None, Form.SIMPLE_LARGE, Form.SMART_LARGE):
        raise InterfaceError(f"routine {routine}: unsupported type {text}")
    return type_


class SystemRoutine(NamedTuple):
    """A routine that the server itself has in one database."""

    params: Sequence[tuple[str, str]]
    returns: Sequence[str]
    function: Callable[..., object]
    """It takes the state of the calling session, then the arguments."""
    required: int | None = None
    """The number of parameters that need an argument; None: all."""


System: TypeAlias = Callable[[str], object]
"""Runs a command of SYSTEM; an int other than 0 is the status of its failure."""


class Routines:
    """The routines of one server, for all its databases; thread-safe, since each dict operation is atomic."""

    __slots__ = ("_known", "_versions", "system", "version")

    def __init__(self, routines: Iterable[Routine] = (), system: System | None = None) -> None:
        self._known = {routine.name: routine for routine in routines}
        self.system = system
        """What runs the commands of SYSTEM; None refuses them."""
        self._versions = count(1)
        self.version = 0
        """Changes whenever the meaning of a statement may have changed."""

    def add(self, routine: Routine) -> None:
        """Add *routine*, replacing any with the same name."""
        self._known[routine.name] = routine
        self.version = next(self._versions)

    def find(self, name: str) -> Routine | None:
        """The routine of that name."""
        return self._known.get(name)

    def remove(self, name: str) -> None:
        """Remove the routine of that name."""
        self._known.pop(name, None)
        self.version = next(self._versions)


__all__ = ["Routine", "Routines"]


ParameterMode = Literal["in", "out", "inout"]

UNRESOLVED = -674
"""No routine of that name with such parameters (documented)."""
AMBIGUOUS = -9700
"""Several routines fit (documented)."""


class SplParameter(Frozen):
    """One parameter."""

    name: str
    type: SqlType
    has_default: bool = False
    mode: ParameterMode = "in"


class SplTrigger(Frozen):
    """The table of a trigger procedure, and the names of its old and new rows; a name is empty if not given."""

    table: str
    old: str = ""
    new: str = ""


class SplRoutine(Frozen):
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
    def outputs(self) -> tuple[SplParameter, ...]:
        """The OUT and INOUT parameters."""
        return tuple(parameter for parameter in self.parameters if parameter.mode != "in")

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of its result; one without a name is ``(expression)`` (documented: SELECT's).

        assumed: the values of OUT and INOUT parameters follow, under their names.
        """
        results = tuple(Column(name or "(expression)", type_) for name, type_ in self.results)
        return *results, *(Column(each.name, each.type) for each in self.outputs)

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
    """Whether its parameters have these types; lengths and OUT parameters do not count (documented: signature)."""
    own = [parameter.type for parameter in routine.parameters if parameter.mode != "out"]
    return [_kind(type_) for type_ in own] == [_kind(type_) for type_ in types]


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
