"""Routines written in Python: signatures, and the registry of a server. Never: a call, SQLite."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from itertools import count

from aioifx.errors import InterfaceError
from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.storage import Form, form_of
from aioifx.server.sql.syntax.parser import parse_type_text
from aioifx.sqltypes import SqlType


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


class Routines:
    """The routines of one server, for all its databases; thread-safe, since each dict operation is atomic."""

    __slots__ = ("_known", "_versions", "version")

    def __init__(self, routines: Iterable[Routine] = ()) -> None:
        self._known = {routine.name: routine for routine in routines}
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
