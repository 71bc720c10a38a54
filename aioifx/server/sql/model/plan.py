"""A translated statement: description, parameters, an action that runs without parsing. Never: Informix SQL.

Invariants:
1. `parameters[i]` is bound as ``?{i+1}`` in every statement of the plan; one need not use all of them.
   `parameters.bind` converts the Python value of a parameter to its SQLite value.
2. All values inside SQLite are in storage form; `columns` defines how the values of a Query's rows are loaded.
3. Statements call the functions of `sqlite_functions`, and one that the engine must register on each connection:

   ``ifx_serial(column, value)``
       the number to store in the serial column *column* of `Change.table`, for the value given (0: the next
       number; a new greatest value: advances the counter; NULL: -391 with the column's path).
       Called once per inserted row. The last number assigned is sent in the completion message.

4. A plan is valid as long as its `PlanKey` is. A Definition must run under the write lock with the generations
   that it was translated with. If the schema has changed in the meantime, translate again.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple, TypeAlias

from aioifx.server.sql.frozen import Frozen
from aioifx.server.sql.model.schema import Constraint, Index, Table, TriggerEvent, UserType
from aioifx.server.sql.model.spl import Routine, SplRoutine
from aioifx.server.sql.sqlite.render import Composed
from aioifx.sqltypes import Column, SqlType
from aioifx.wire.opcodes import StatementType


class PlanKey(NamedTuple):
    """The inputs of a translation: the same statement with the same key has the same plan."""

    text: str
    database: str
    generation: str
    temp_generation: str
    delimident: bool
    user: str = ""
    routines: int = 0


class Parameter(Frozen):
    """One ``?``, in the order of the statement's text."""

    type: SqlType | None
    """The type that the context requires; None if it requires no type, so the value's own type is used."""
    is_compared: bool = False
    """Whether the value is only compared with `type`: then it is neither truncated nor rounded."""
    is_exact: bool = False
    """Whether rounding the value to `type` is an error: an operand of integer arithmetic."""
    column: str = ""
    """The column it is assigned to, for errors."""


class Verb(Enum):
    """The kind of a Change; determines how locks and violations are reported."""

    INSERT = "INSERT"
    UPDATE = "UPDATE"
    DELETE = "DELETE"


class Undo(Enum):
    """How a rollback undoes a step on the temp schema, so that the transaction need not be exclusive."""

    DROP = "DROP"
    """What the step creates is dropped."""
    KEEP = "KEEP"
    """The step drops a table, and is left to COMMIT."""


class Step(Frozen):
    """One SQLite statement, with literal values bound to its plain ``?``s."""

    sql: str
    values: tuple[str | int | float | None, ...] = ()
    duplicate: tuple[int, int, str] | None = None
    """SQLCODE, ISAM code and token if this step fails on a unique key (-371 of CREATE UNIQUE INDEX)."""
    visits_rows: bool = False
    """Whether it visits all rows of a table, so that it must be interruptible."""
    undo: Undo | None = None
    """None if only a rollback of SQLite undoes it."""


class Query(Frozen):
    """Rows. With `for_update` the write lock is taken when the cursor opens."""

    sql: Composed
    tables: tuple[Table, ...] = ()
    """The tables that it reads, for lock errors."""
    for_update: bool = False
    update_columns: tuple[str, ...] = ()
    """The columns of FOR UPDATE OF; empty for all."""
    has_rowid: bool = False
    """Whether each SQLite row has its rowid as an extra last column (FOR UPDATE on one table)."""
    transfers: bool = False
    """Whether it writes files at the client: then it runs with the first fetch, not when the cursor opens."""
    keeps: bool = False
    """Whether it has BYTE or TEXT columns. It calls ``ifx_keep(value, cursor)``, which keeps a value until the
    cursor is closed. The cursor's number is bound after all parameters."""
    keyed_sql: Composed | None = None
    """`sql` with the rowid as an extra last column; None unless its rows are rows of one stored table, unordered."""
    locked_tables: tuple[Table, ...] = ()
    """Those of `tables` that other sessions can change."""
    row_sql: Composed | None = None
    """`keyed_sql` for the row with one rowid, which is bound after all else; without SKIP and FIRST."""
    fires: tuple[Change, ...] = ()
    """The runs of the SELECT triggers that it activates, one for each table."""


class Event(Frozen):
    """An event of triggers, with the columns that get values from the statement; all of them for DELETE."""

    kind: TriggerEvent
    columns: tuple[str, ...] = ()


class Filtering(Frozen):
    """How a Change files rows that violate constraints and unique indexes in FILTERING mode."""

    violations: Table | None
    """The violations table; None if it is not started."""
    diagnostics: Table | None
    new: Composed | None = None
    """`ByRow.each` with the violations table in place of the table, and without checks of NOT NULL; None for DELETE.
    That of UPDATE changes a copy of the row. That of MERGE inserts the new row."""


class ByRow(Frozen):
    """The texts of a Change, to be run row by row because each row activates triggers, or may be filtered."""

    search: Composed | None
    """The SELECT of rowids (UPDATE, DELETE) or of new rows (INSERT, MERGE), read in full before the first change;
    None for a single row."""
    each: Composed
    """The statement for one row. The row of `search` of INSERT and MERGE is bound alone; for UPDATE and DELETE the
    rowid is bound after the parameters."""
    width: int = 0
    """The number of the parameters before the rowid."""
    is_merge: bool = False
    """Whether each row of `search` begins with the rowid of the row that it updates, or NULL."""
    is_instead: bool = False
    """Whether nothing runs but the actions: each row of `search` has the old and the new values of a view's row."""
    filtering: Filtering | None = None


class Change(Frozen):
    """INSERT, UPDATE or DELETE on one table; rows affected as SQLite counts them."""

    verb: Verb
    sql: Composed
    table: Table
    cursor: str = ""
    """The cursor of WHERE CURRENT OF. The rowid of its current row is bound after all parameters, as
    ``?{len(parameters)+1}``."""
    update_columns: tuple[str, ...] = ()
    """The columns that an UPDATE sets, to be checked against FOR UPDATE OF (-364)."""
    search: Composed | None = None
    """A SELECT of the rows that the statement reads, without side effects, for tests of locks. None if it reads none,
    or with WHERE CURRENT OF."""
    locked_tables: tuple[Table, ...] = ()
    """Those of the tables in `search` that other sessions can change."""
    events: tuple[Event, ...] = ()
    """The events of triggers that it is: two for MERGE, none for TRUNCATE."""
    by_row: ByRow | None = None
    """How to run it row by row; only for a table with triggers that it activates, or whose rows may be filtered."""


class PutTable(Frozen):
    """Store this table in the catalog, replacing any with the same tabid."""

    table: Table


class RemoveTable(Frozen):
    """Remove this table from the catalog."""

    table: Table


class PutType(Frozen):
    """Store this type in the catalog."""

    type: UserType


class RemoveType(Frozen):
    """Remove this type from the catalog."""

    type: UserType


class PutRoutine(Frozen):
    """Store this routine in the catalog, replacing any with the same procid."""

    routine: SplRoutine


class RemoveRoutine(Frozen):
    """Remove this routine from the catalog."""

    routine: SplRoutine


CatalogChange: TypeAlias = PutTable | RemoveTable
RoutineChange: TypeAlias = PutRoutine | RemoveRoutine
TypeChange: TypeAlias = PutType | RemoveType


class Verified(Frozen):
    """Objects that SET enables on a table with a violations table, which gets the rows that violate them."""

    table: Table
    items: tuple[Constraint | Index, ...]
    filtering: Filtering


class Definition(Frozen):
    """DDL: `steps` in SQLite, then the changes of the catalog (`catalog.steps_of`), all or nothing."""

    steps: tuple[Step, ...] = ()
    changes: tuple[CatalogChange, ...] = ()
    types: tuple[TypeChange, ...] = ()
    routines: tuple[RoutineChange, ...] = ()
    verified: tuple[Verified, ...] = ()
    """If rows violate them, these are filed, and nothing is changed."""


class FilledTable(Frozen):
    """SELECT .. INTO TEMP and CREATE TABLE .. AS: a definition, then the INSERT of the rows, which are counted."""

    definition: Definition
    fill: Change


class Unload(Frozen):
    """INSERT .. SELECT into an external table: the rows of a query, with the table's columns, and their file."""

    query: Query
    table: Table


class CallRoutine(Frozen):
    """EXECUTE: a routine written in Python, through a cursor when it has results."""

    routine: Routine
    arguments: Composed | None
    """The SELECT whose single row has the arguments in storage form; None without arguments."""
    locked_tables: tuple[Table, ...] = ()
    """The tables in `arguments` that other sessions can change."""


class TriggeredAction(Frozen):
    """A statement of a trigger. All its texts have the old values of the row bound first, then the new ones."""

    action: Change | CallRoutine | CallSpl | None
    """None for a built-in function, which `into` contains."""
    into: Composed | None = None
    """The UPDATE of INTO: the results are bound after the old and new values, and then the rowid."""
    columns: tuple[str, ...] = ()
    """The columns that `into` sets."""
    has_references: bool = False
    """Whether the routine reads and sets columns of the row: WITH TRIGGER REFERENCES."""


class TriggerBranch(Frozen):
    """``[WHEN (condition)] (action, ..)``"""

    condition: Composed | None
    """The SELECT of the condition's truth value; None without WHEN."""
    actions: tuple[TriggeredAction, ...]


class TriggerPlan(Frozen):
    """A trigger, translated."""

    before: tuple[TriggerBranch, ...]
    each_row: tuple[TriggerBranch, ...]
    after: tuple[TriggerBranch, ...]


class CallSpl(Frozen):
    """EXECUTE of a routine written in SPL, through a cursor when it has results."""

    routine: SplRoutine
    arguments: Composed | None
    """As `CallRoutine.arguments`; a parameter left to its default has no argument."""
    given: tuple[int, ...]
    """The index of the parameter that each argument is for."""
    locked_tables: tuple[Table, ...] = ()
    """As `CallRoutine.locked_tables`."""


class DropRoutine(Frozen):
    """DROP PROCEDURE, DROP FUNCTION and DROP ROUTINE."""

    name: str


class BeginWork(Frozen):
    """BEGIN WORK: -535 when one is open, -256 in an unlogged database."""


class CommitWork(Frozen):
    """COMMIT WORK: -255 when none is open."""


class RollbackWork(Frozen):
    """ROLLBACK WORK, or, with a savepoint, back to it. `savepoint` is "" for the latest, None for all."""

    savepoint: str | None = None


class SetSavepoint(Frozen):
    """SAVEPOINT n: moves an older one of the same name unless `is_unique`."""

    name: str
    is_unique: bool = False


class ReleaseSavepoint(Frozen):
    """RELEASE SAVEPOINT n."""

    name: str


class SetLockMode(Frozen):
    """SET LOCK MODE. `seconds` is 0 for NOT WAIT and None for WAIT without a limit."""

    seconds: int | None


class Isolation(Enum):
    """Isolation levels by Informix's names."""

    DIRTY_READ = "DIRTY READ"
    COMMITTED_READ = "COMMITTED READ"
    LAST_COMMITTED = "COMMITTED READ LAST COMMITTED"
    CURSOR_STABILITY = "CURSOR STABILITY"
    REPEATABLE_READ = "REPEATABLE READ"


class SetIsolation(Frozen):
    """SET ISOLATION, for the session."""

    level: Isolation
    retains_update_locks: bool = False


class SetTransaction(Frozen):
    """SET TRANSACTION, for the transaction; None for an option that is not given."""

    level: Isolation | None = None
    is_read_only: bool | None = None


class SetConstraints(Frozen):
    """SET CONSTRAINTS .. DEFERRED or IMMEDIATE, for the transaction."""

    constrids: tuple[int, ...] | None
    """None for ALL."""
    is_deferred: bool


class SetEncryption(Frozen):
    """SET ENCRYPTION PASSWORD."""

    password: str
    hint: str


class SetOption(Frozen):
    """SET ENVIRONMENT and other settings that are stored with little effect; `name` in upper case."""

    name: str
    value: str | None = None


class OpenDatabase(Frozen):
    """DATABASE d [EXCLUSIVE]."""

    name: str
    is_exclusive: bool = False


class CloseDatabase(Frozen):
    """CLOSE DATABASE."""


class Logging(Enum):
    """The log mode of a database."""

    NONE = "NONE"
    UNBUFFERED = "UNBUFFERED"
    BUFFERED = "BUFFERED"


class CreateDatabase(Frozen):
    """CREATE DATABASE; the new one becomes the current one. MODE ANSI is refused in translation."""

    name: str
    logging: Logging = Logging.NONE
    if_not_exists: bool = False


class DropDatabase(Frozen):
    """DROP DATABASE."""

    name: str
    if_exists: bool = False


class LockTable(Frozen):
    """LOCK TABLE: -524 outside a transaction, except in a database without transactions."""

    table: Table
    is_exclusive: bool


class UnlockTable(Frozen):
    """UNLOCK TABLE: -327 in a transaction."""

    table: Table


class Nothing(Frozen):
    """Statements without effect here: UPDATE STATISTICS, GRANT, SET EXPLAIN .. ."""


Action: TypeAlias = (
    Query
    | Change
    | Definition
    | FilledTable
    | Unload
    | CallRoutine
    | CallSpl
    | DropRoutine
    | BeginWork
    | CommitWork
    | RollbackWork
    | SetSavepoint
    | ReleaseSavepoint
    | SetLockMode
    | SetIsolation
    | SetTransaction
    | SetConstraints
    | SetEncryption
    | SetOption
    | OpenDatabase
    | CloseDatabase
    | CreateDatabase
    | DropDatabase
    | LockTable
    | UnlockTable
    | Nothing
)


class Plan(Frozen):
    """A statement, translated."""

    type: StatementType
    action: Action
    columns: tuple[Column, ...] = ()
    """The columns of SQ_DESCRIBE: results of SELECT and EXECUTE, targets of INSERT, SET columns of UPDATE, else none.
    Types have no flags; NOT NULL is `Column.is_nullable`; `Column.start` is left 0 for the codec's side."""
    parameters: tuple[Parameter, ...] = ()
    attach: tuple[tuple[str, str], ...] = ()
    """Other databases in the texts: (database, alias to attach its file under)."""
    refresh: frozenset[str | Table] = frozenset()
    """What the engine fills before it runs the plan: session tables such as ``sysdatabases``, and external tables."""

    @property
    def returns_rows(self) -> bool:
        """Whether it is run through a cursor."""
        match self.action:
            case Query():
                return True
            case CallRoutine():
                return bool(self.action.routine.returns)
            case CallSpl():
                return bool(self.action.routine.columns)
            case _:
                return False
