"""Routines written in Python: signatures, and the register of those that a server knows. Never: a call, SQLite."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from itertools import count

from aioifx.errors import InterfaceError
from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.storage import form_of
from aioifx.server.sql.syntax.parser import parse_type_text
from aioifx.sqltypes import SqlType


class Routine:
    """A procedure or function that SQL may call and Python runs.

    Attributes:
        name:     as SQL writes it; in lower case.
        params:   names and SQL types of the parameters, in order.
        returns:  SQL types of the results; none for a procedure.
        function: what runs, in the thread of the session that calls. A `DatabaseError` that it raises reaches the
                  client with its codes; without any, it is -746.
    """

    __slots__ = ("function", "name", "params", "returns")

    def __init__(
        self,
        name: str,
        params: Sequence[tuple[str, str]],
        returns: Sequence[str],
        function: Callable[..., object],
    ) -> None:
        """Args:     params: (name, type) pairs, ``("item", "VARCHAR(20)")``; returns: types, in SQL's words.
                     function: takes the parameters by position. A function of SQL gives a value, or a tuple of them
                     where it has several results; an iterable of such for several rows. What a procedure gives is
                     ignored.
        Raises:   InterfaceError: a name or type is wrong, or the function cannot be run in a thread.
        """
        if not name.isidentifier():
            raise InterfaceError(f"routine: {name!r} is not a name")
        if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
            raise InterfaceError(f"routine {name}: its function must not be async, for it runs in a thread")
        if not returns and inspect.isgeneratorfunction(function):
            raise InterfaceError(f"routine {name}: a generator needs results that it gives")
        self.name = name.lower()
        self.params = tuple((param.lower(), _type(name, type_)) for param, type_ in params)
        self.returns = tuple(_type(name, type_) for type_ in returns)
        self.function = function
        if len({param for param, _ in self.params}) < len(self.params):
            raise InterfaceError(f"routine {name}: two parameters have one name")

    @property
    def result(self) -> SqlType | None:
        """The type of its one result; None if it has another number of them."""
        return self.returns[0] if len(self.returns) == 1 else None


def _type(routine: str, text: str) -> SqlType:
    try:
        type_ = parse_type_text(text)
    except SqlError as fault:
        raise InterfaceError(f"routine {routine}: {text!r} is not a type ({fault})") from None
    if form_of(type_) is None:
        raise InterfaceError(f"routine {routine}: values of type {text} are not served")
    return type_


class Routines:
    """The routines of one server, in all of its databases; used by many threads, for each step on the dict is one."""

    __slots__ = ("_known", "_versions", "version")

    def __init__(self, routines: Iterable[Routine] = ()) -> None:
        self._known = {routine.name: routine for routine in routines}
        self._versions = count(1)
        self.version = 0
        """Another one whenever a statement may mean something else than before."""

    def add(self, routine: Routine) -> None:
        """Know *routine* from now on, instead of what had its name before."""
        self._known[routine.name] = routine
        self.version = next(self._versions)

    def find(self, name: str) -> Routine | None:
        """The routine of that name."""
        return self._known.get(name)

    def remove(self, name: str) -> None:
        """Forget the routine of that name."""
        self._known.pop(name, None)
        self.version = next(self._versions)


__all__ = ["Routine", "Routines"]
