"""Routines that the server itself has in one database, such as those of syscdcv1. Never: what a routine does.

Each is a function that takes the state of the calling session, then the arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from aioifx.server.sql.model.spl import Routine

if TYPE_CHECKING:
    from aioifx.server.engine.session_state import SessionState


class SystemRoutine(NamedTuple):
    """A routine of one database."""

    params: Sequence[tuple[str, str]]
    returns: Sequence[str]
    function: Callable[..., object]
    required: int | None = None
    """The number of parameters that need an argument; None: all."""


def found(state: SessionState, database: str, name: str, count: int) -> Routine | None:
    """The routine of that name in *database*, with as many parameters as there are arguments, if it allows that."""
    routine = ROUTINES.get((database, name))
    if routine is None:
        return None
    required = len(routine.params) if routine.required is None else routine.required
    params = routine.params[: max(count, required)]
    return Routine(name, params, routine.returns, partial(routine.function, state))


ROUTINES: Final[Mapping[tuple[str, str], SystemRoutine]] = {}
"""By database and name."""
