"""Routines that the server itself has in one database, such as those of syscdcv1. Never: what a routine does.

Each is a function that takes the state of the calling session, then the arguments.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Final

from aioifx.server.catalog.cdc_tables import SYSCDC
from aioifx.server.engine import cdc_routines, push_tasks
from aioifx.server.engine.session_state import SessionState
from aioifx.server.sql.model.spl import Routine, SystemRoutine
from aioifx.server.sqlite.databases import SYSADMIN


def found(state: SessionState, database: str, name: str, count: int) -> Routine | None:
    """The routine of that name in *database*, with as many parameters as there are arguments, if it allows that."""
    routine = ROUTINES.get((database, name))
    if routine is None:
        return None
    required = len(routine.params) if routine.required is None else routine.required
    params = routine.params[: max(count, required)]
    return Routine(name, params, routine.returns, partial(routine.function, state))


ROUTINES: Final[Mapping[tuple[str, str], SystemRoutine]] = {
    **{(SYSCDC, name): routine for name, routine in cdc_routines.ROUTINES.items()},
    **{(SYSADMIN, name): routine for name, routine in push_tasks.ROUTINES.items()},
}
"""By database and name."""
