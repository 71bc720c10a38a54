"""Routines written in SPL in the catalog: ifx_routines, sysprocedures, sysprocbody, sysproccolumns. Never: their calls.

Source: the columns and their letters are documented (SQL Reference, sysprocedures, sysprocbody, sysproccolumns).
assumed: sizes and costs are 0, since nothing of a routine is stored but its text.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from functools import lru_cache
from typing import Any, Final

from aioifx.server.catalog.sysrows import chunks, insert
from aioifx.server.sql.model.plan import PutRoutine, RoutineChange, Step
from aioifx.server.sql.model.spl import SplParameter, SplRoutine, SplTrigger
from aioifx.sqltypes import SqlType

ROUTINES_TABLE: Final = (
    'CREATE TABLE {catalog}."ifx_routines" (procid INTEGER PRIMARY KEY, noun TEXT NOT NULL)'
)
FIRST_PROCID: Final = 500
"""Lower numbers are those of the server's own routines, which are not listed here."""

_SPL: Final = 2
"""sysroutinelangs.langid of SPL (documented)."""
_DATA_SIZE: Final = 256
_ATTRIBUTES: Final = {"in": 1, "inout": 2, "out": 4}
"""sysproccolumns.paramattr of a parameter (documented)."""
_RESULT: Final = 5
_RESULT_OF_ROWS: Final = 3


def steps_of_routine(change: RoutineChange) -> Iterator[Step]:
    """Steps that store or remove a routine."""
    routine = change.routine
    yield Step('DELETE FROM main."ifx_routines" WHERE procid = ?', (routine.procid,))
    for table in ("sysprocedures", "sysprocbody", "sysproccolumns", "sysprocauth"):
        yield Step(f'DELETE FROM main."{table}" WHERE procid = ?', (routine.procid,))
    if not isinstance(change, PutRoutine):
        return
    yield insert("ifx_routines", (routine.procid, json.dumps(asdict(routine), separators=(",", ":"))))
    yield insert("sysprocedures", _sysprocedures_row(routine))
    yield from chunks("sysprocbody", (routine.procid, "T"), routine.text, _DATA_SIZE, first=1)
    yield from chunks("sysprocbody", (routine.procid, "D"), routine.document, _DATA_SIZE, first=1)
    for number, row in enumerate(_columns_of(routine), start=1):
        yield insert("sysproccolumns", (routine.procid, number, *row))
    grantee = "" if routine.is_dba else "public"
    if grantee:
        yield insert("sysprocauth", (routine.owner, grantee, routine.procid, "e"))


def _sysprocedures_row(routine: SplRoutine) -> tuple[str | int | float | None, ...]:
    is_iterator = "f"
    types = ",".join(str(type_).lower() for type_ in routine.types)
    mode = "T" if routine.trigger else "D" if routine.is_dba else "O"
    is_procedure = "t" if routine.is_procedure else "f"
    variant = "f" if routine.is_not_variant else "t"
    return (
        *(
            routine.name,
            routine.owner,
            routine.procid,
            mode,
            0,
            0,
            0,
            0,
            len(routine.parameters),
            is_procedure,
        ),
        *(routine.specific or None, None, "I", _SPL),
        *(types, variant, "f", "f", is_iterator, 0, None, None, None, 0.0, "f", None, None, "f", None, 0, 0),
        "en_US.819",
    )


def _columns_of(routine: SplRoutine) -> Iterator[tuple[str | int | None, ...]]:
    for parameter in routine.parameters:
        yield (parameter.name, *_type_of(parameter.type), _ATTRIBUTES[parameter.mode])
    for name, type_ in routine.results:
        attribute = _RESULT if len(routine.results) == 1 else _RESULT_OF_ROWS
        yield (name or None, *_type_of(type_), attribute)


def _type_of(type_: SqlType) -> tuple[int, int, int]:
    return int(type_.kind), type_.length, type_.extended_id


@lru_cache(maxsize=1024)
def routine_from_json(text: str, type_from: Callable[[Mapping[str, Any]], SqlType]) -> SplRoutine:
    """The routine that `steps_of_routine` stored."""
    fields: dict[str, Any] = json.loads(text)
    fields["parameters"] = tuple(
        SplParameter(each["name"], type_from(each["type"]), each["has_default"], each["mode"])
        for each in fields["parameters"]
    )
    fields["results"] = tuple((name, type_from(type_)) for name, type_ in fields["results"])
    if fields["trigger"]:
        fields["trigger"] = SplTrigger(**fields["trigger"])
    return SplRoutine(**fields)
