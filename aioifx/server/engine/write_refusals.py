"""Writes that a whole server refuses: as a secondary server, or with a full disk. Never: the text of a statement.

Source: documented: ISAM -140, the server is a secondary one, and -131, the disk is full; a secondary server without
UPDATABLE_SECONDARY is read-only, but for temporary tables WITH NO LOG. Observed: another temporary table is -229 with
-140 (IBM's OpenAdmin Tool). Documented: -271, -346, -240, -261 and -212 name what could not be written. Assumed: the
SQLCODE of a refused definition, and of NEXTVAL, is that of a change in the catalog.
"""

from __future__ import annotations

from typing import Final

from aioifx.server.engine.session_state import SessionState
from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.plan import Change, Definition, Plan, Verb
from aioifx.server.sql.model.schema import Table
from aioifx.server.sqlite.databases import WriteRefusal
from aioifx.wire.opcodes import StatementType

_CHANGES: Final = {Verb.INSERT: -271, Verb.UPDATE: -346, Verb.DELETE: -240}
_NEW_TABLES: Final = (
    StatementType.CREATE_TABLE,
    StatementType.CREATE_SCHEMA,
    StatementType.START_VIOLATIONS,
    StatementType.CREATE_TEMP_TABLE,
    StatementType.SELECT_INTO_TEMP,
)


_REPLICATED: Final = -19816
_RESHAPING: Final = (
    StatementType.ALTER_TABLE,
    StatementType.DROP_TABLE,
    StatementType.RENAME_TABLE,
    StatementType.RENAME_COLUMN,
)

_OF_THE_CATALOG: Final = (
    StatementType.GRANT,
    StatementType.REVOKE,
    StatementType.CREATE_ROLE,
    StatementType.DROP_ROLE,
    StatementType.UPDATE_STATISTICS,
)


def check_change(state: SessionState, change: Change) -> None:
    """Raise SqlError if the server refuses this INSERT, UPDATE or DELETE."""
    refusal = state.databases.refusal
    if refusal is None:
        return
    if refusal is WriteRefusal.DISK_FULL:
        is_refused = change.verb is Verb.INSERT  # rows are updated in place
    else:
        is_refused = not change.table.is_temp or change.table.is_logged
    if is_refused:
        raise SqlError(_CHANGES[change.verb], refusal, change.table.name)


def check_definition(state: SessionState, plan: Plan, definition: Definition) -> None:
    """Raise SqlError if the server refuses this statement, which changes the schema.

    A table with full-row logging keeps its columns and its name (documented: "cannot perform this operation on a table
    defined for replication"; assumed: the SQLCODE, and which statements).
    """
    captured = state.current.database.captured
    if captured and plan.type in _RESHAPING:
        for change in definition.changes:
            if change.table.tabid in captured and not change.table.is_temp:
                known = state.current.database.table_names
                raise SqlError(_REPLICATED, token=known.get(change.table.tabid, change.table.name))
    refusal = state.databases.refusal
    if refusal is None:
        return
    table = definition.changes[0].table if definition.changes else None
    sqlcode = _code_of(plan.type, table)
    if refusal is WriteRefusal.SECONDARY:
        if table is not None and table.is_temp and not table.is_logged:
            return
        sqlcode = sqlcode or _CHANGES[_verb_of(plan.type)]
    if sqlcode:
        raise SqlError(sqlcode, refusal, table.name if table is not None else "")


def _code_of(type_: StatementType, table: Table | None) -> int:
    """The SQLCODE of a definition that needs space; 0 for others."""
    if type_ in _NEW_TABLES:
        return -229 if table is not None and table.is_temp else -261
    return -212 if type_ is StatementType.CREATE_INDEX else 0


def check_other(state: SessionState, type_: StatementType) -> None:
    """Raise SqlError if a secondary server refuses a statement that has no effect here, such as GRANT."""
    if state.databases.refusal is WriteRefusal.SECONDARY and type_ in _OF_THE_CATALOG:
        raise SqlError(_CHANGES[_verb_of(type_)], WriteRefusal.SECONDARY)


def check_sequence(state: SessionState) -> None:
    """Raise SqlError if a secondary server refuses NEXTVAL, which changes the sequence."""
    if state.databases.refusal is WriteRefusal.SECONDARY:
        raise SqlError(_CHANGES[Verb.UPDATE], WriteRefusal.SECONDARY)


def check_database(state: SessionState) -> None:
    """Raise SqlError if the server refuses CREATE DATABASE and DROP DATABASE."""
    refusal = state.databases.refusal
    if refusal is not None:
        raise SqlError(-330, refusal)


def _verb_of(type_: StatementType) -> Verb:
    """The change that a definition makes in the system catalog."""
    if type_.name.startswith("CREATE") or type_ is StatementType.GRANT:
        return Verb.INSERT
    if type_.name.startswith("DROP") or type_ in (StatementType.REVOKE, StatementType.TRUNCATE):
        return Verb.DELETE
    return Verb.UPDATE
