"""The syntax tree: a statement before any name is resolved. Never: an inferred type.

Invariants:
1. Every node has `offset`, the character position of its first token in the statement, from 1. For a binary
   operator that is its left operand's; nodes whose errors point at the operator also have `operator_offset`.
2. Names are folded to lower case, unless they are in double quotes and DELIMIDENT is set.
3. Declared types are ready-made `SqlType`s: the parser has applied the defaults (DECIMAL is DECIMAL(16)).
4. Sequences are tuples; an absent part is None, an empty tuple or False.
5. Storage clauses and other text without effect here are checked by the parser and not represented.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from decimal import Decimal
from typing import Final, Literal, NamedTuple, TypeAlias, get_args

from aioifx.server.sql.frozen import Frozen
from aioifx.sqltypes import Qualifier, SqlType, Unit


class Node(Frozen):
    """A part of a statement, with its position."""

    offset: int


class Expression(Node):
    """A value or a condition."""


class Condition(Expression):
    """An expression that is true, false or unknown. Others are conditions if their type is BOOLEAN."""


class Statement(Node):
    """A statement that the parser reads."""


# --- Names --------------------------------------------------------------------


class Name(Node):
    """A simple name: of a column, a label, an alias, a constraint, a savepoint."""

    text: str


class Part(Name):
    """``variable[first, last]``, to which a routine assigns."""

    first: int
    last: int


class QualifiedName(Node):
    """``database@server:owner.name``, of which only the name is required."""

    name: str
    owner: str = ""
    database: str = ""
    server: str = ""

    def __str__(self) -> str:
        text = f"{self.owner}.{self.name}" if self.owner else self.name
        place = f"{self.database}@{self.server}" if self.server else self.database
        return f"{place}:{text}" if place else text


# --- Expressions: literals ----------------------------------------------------


class Null(Expression):
    """``NULL``"""


class Number(Expression):
    """An unsigned number as written; `value` is exact. An int has neither point nor exponent."""

    text: str
    value: int | Decimal


class String(Expression):
    """A quoted text, with doubled quotes unescaped."""

    value: str


class Parameter(Expression):
    """``?``; `index` counts from 0 in order of appearance."""

    index: int


class DatetimeLiteral(Expression):
    """``DATETIME(text) first TO last``; whether the text fits the qualifier is not checked yet."""

    text: str
    qualifier: Qualifier


class IntervalLiteral(Expression):
    """``INTERVAL(text) first TO last``; whether the text fits the qualifier is not checked yet."""

    text: str
    qualifier: Qualifier


class RowConstructor(Expression):
    """``ROW(value, ..)``"""

    values: tuple[Expression, ...]


CollectionKind: TypeAlias = Literal["set", "multiset", "list"]


class CollectionConstructor(Expression):
    """``SET{value, ..}``"""

    kind: CollectionKind
    elements: tuple[Expression, ...]


class MultisetQuery(Expression):
    """``MULTISET(SELECT [ITEM] ..)``"""

    query: Query
    is_item: bool = False


# --- Expressions: names and constants of the moment ---------------------------


class Variable(Expression):
    """A variable of a routine, or a value of a trigger's row, in place of its name; `index` counts from 0."""

    index: int
    name: str
    type: SqlType
    path: tuple[int, ...] = ()
    """The field of a ROW variable whose `type` it is: the indexes that lead to it."""


class Column(Expression):
    """``name`` or ``table.name``; `table` may also be an alias. ROWID is a column like any other."""

    name: str
    table: QualifiedName | None = None


class FieldAccess(Expression):
    """``owner.table.column.field.field``; shorter paths are a `Column` that the translator resolves."""

    operand: Column
    fields: tuple[str, ...]


class Star(Node):
    """``*`` or ``table.*`` in a select list."""

    table: QualifiedName | None = None


class SequenceValue(Expression):
    """``sequence.NEXTVAL`` or ``sequence.CURRVAL``."""

    sequence: QualifiedName
    kind: Literal["nextval", "currval"]


SessionWord: TypeAlias = Literal["today", "user", "sitename", "dbservername", "current_role", "default_role"]


class SessionConstant(Expression):
    """A word that stands for a value: TODAY, USER, SITENAME (or its twin DBSERVERNAME), CURRENT_ROLE."""

    name: SessionWord


class Current(Expression):
    """``CURRENT [q]``, and ``SYSDATE``, which is ``CURRENT YEAR TO FRACTION(5)``."""

    qualifier: Qualifier


# --- Expressions: operators ---------------------------------------------------


class Subscript(Expression):
    """``column[first, last]``; `last` is None when only one number was written."""

    operand: Column
    first: int
    last: int | None


class Unary(Expression):
    """A sign."""

    operator: Literal["-", "+"]
    operand: Expression


class Ancestor(Expression):
    """``PRIOR value`` or ``CONNECT_BY_ROOT value``: the value for the parent of a row, or for its root."""

    kind: Literal["prior", "root"]
    operand: Expression


ArithmeticOperator: TypeAlias = Literal["+", "-", "*", "/", "||"]


class Binary(Expression):
    """Arithmetic and ``||``."""

    operator: ArithmeticOperator
    left: Expression
    right: Expression
    operator_offset: int


ComparisonOperator: TypeAlias = Literal["=", "<>", "<", "<=", ">", ">="]


class Comparison(Condition):
    """``left operator right``; ``!=`` becomes ``<>``."""

    operator: ComparisonOperator
    left: Expression
    right: Expression
    operator_offset: int


class Quantified(Condition):
    """``left operator ANY (query)`` or ``ALL (query)``; SOME is ANY."""

    operator: ComparisonOperator
    left: Expression
    quantifier: Literal["any", "all"]
    query: Query
    operator_offset: int


class And(Condition):
    """Two or more conditions of which none is an `And` written without parentheses."""

    operands: tuple[Expression, ...]


class Or(Condition):
    """Two or more conditions of which none is an `Or` written without parentheses."""

    operands: tuple[Expression, ...]


class Not(Condition):
    """``NOT condition``; ``NOT IN``, ``NOT LIKE`` and similar nodes have `is_negated`."""

    operand: Expression


class IsNull(Condition):
    """``operand IS [NOT] NULL``"""

    operand: Expression
    is_negated: bool


class Between(Condition):
    """``operand [NOT] BETWEEN low AND high``"""

    operand: Expression
    low: Expression
    high: Expression
    is_negated: bool


class InList(Condition):
    """``operand [NOT] IN (item, ..)``"""

    operand: Expression
    items: tuple[Expression, ...]
    is_negated: bool


class InCollection(Condition):
    """``operand [NOT] IN collection``, without parentheses."""

    operand: Expression
    collection: Expression
    is_negated: bool = False


class InQuery(Condition):
    """``operand [NOT] IN (SELECT ..)``"""

    operand: Expression
    query: Query
    is_negated: bool


class Exists(Condition):
    """``EXISTS (SELECT ..)``; its negation is a `Not`."""

    query: Query


class Match(Condition):
    """``operand [NOT] LIKE | MATCHES pattern [ESCAPE escape]``"""

    kind: Literal["like", "matches"]
    operand: Expression
    pattern: Expression
    escape: Expression | None
    is_negated: bool


class Cast(Expression):
    """``operand::type`` or ``CAST(operand AS type)``"""

    operand: Expression
    type: SqlType


class When(Node):
    """One branch of a CASE: a condition, or a value to compare with the CASE's operand."""

    condition: Expression
    result: Expression


class Case(Expression):
    """Both forms of CASE; `operand` is None in the searched one, `otherwise` when there is no ELSE."""

    operand: Expression | None
    branches: tuple[When, ...]
    otherwise: Expression | None


class Units(Expression):
    """``operand UNITS unit``"""

    operand: Expression
    unit: Unit


class Extend(Expression):
    """``EXTEND(operand [, q])``"""

    operand: Expression
    qualifier: Qualifier | None


TrimSide: TypeAlias = Literal["both", "leading", "trailing"]


class Trim(Expression):
    """``TRIM([[BOTH | LEADING | TRAILING] [characters] FROM] operand)``"""

    side: TrimSide
    characters: Expression | None
    operand: Expression


# --- Expressions: calls -------------------------------------------------------


class Call(Expression):
    """``routine(argument, ..)``; ``SUBSTRING(s FROM p FOR n)`` is a call with s, p, n."""

    routine: QualifiedName
    arguments: tuple[Expression, ...]
    named: tuple[NamedArgument, ...] = ()
    """The arguments after those, by their names."""

    @property
    def declares(self) -> bool:
        """Whether it has statement-local variables."""
        values = (*self.arguments, *(each.value for each in self.named))
        return any(isinstance(each, LocalVariable) for each in values)

    @property
    def name(self) -> str:
        """The routine's simple name."""
        return self.routine.name


class LocalVariable(Expression):
    """``name # type``, a statement-local variable, as the argument for an OUT or INOUT parameter."""

    name: str
    type: SqlType


class NamedArgument(Node):
    """``name = value`` among the arguments of a routine."""

    name: str
    value: Expression


AggregateName: TypeAlias = Literal["count", "sum", "avg", "min", "max", "stdev", "variance", "range"]
AGGREGATES: Final[frozenset[str]] = frozenset(get_args(AggregateName))


class Aggregate(Expression):
    """An aggregate; `argument` is None for ``COUNT(*)`` only."""

    name: AggregateName
    argument: Expression | None
    is_distinct: bool = False


class FrameBound(Node):
    """One end of a window frame; `count` belongs to preceding and following, None meaning UNBOUNDED."""

    kind: Literal["preceding", "current", "following"]
    count: Expression | None = None


class Frame(Node):
    """``ROWS | RANGE BETWEEN start AND end``; without BETWEEN the end is the current row."""

    unit: Literal["rows", "range"]
    start: FrameBound
    end: FrameBound


class Window(Expression):
    """``function OVER (PARTITION BY .. ORDER BY .. frame)``"""

    function: Call | Aggregate
    partition_by: tuple[Expression, ...]
    order_by: tuple[OrderItem, ...]
    frame: Frame | None


class Subquery(Expression):
    """A query where a value is expected."""

    query: Query


# --- Queries ------------------------------------------------------------------


class SelectItem(Node):
    """One entry of a select list."""

    expression: Expression | Star
    label: Name | None = None


class TableRef(Node):
    """A table, view or synonym, with its alias."""

    table: QualifiedName
    alias: Name | None = None


class DerivedTable(Node):
    """``[LATERAL] (SELECT ..) [AS] alias (columns)``, also written ``TABLE(MULTISET(SELECT ..))``."""

    query: Query
    alias: Name | None = None
    columns: tuple[Name, ...] = ()
    is_lateral: bool = False


class CollectionTable(Node):
    """``TABLE(SET{element, ..}) alias (columns)``: one column, at least one element."""

    kind: Literal["set", "multiset", "list"]
    elements: tuple[Expression, ...]
    alias: Name | None = None
    columns: tuple[Name, ...] = ()


class ElementTable(Node):
    """``TABLE(collection) alias (columns)``: the elements of a column, a subquery or a cast."""

    collection: Expression
    alias: Name | None = None
    columns: tuple[Name, ...] = ()


class RoutineTable(Node):
    """``TABLE(FUNCTION call) alias (columns)``: the rows that a routine returns."""

    call: Call
    alias: Name | None = None
    columns: tuple[Name, ...] = ()


class Join(Node):
    """An ANSI join; `condition` is None for CROSS JOIN only."""

    kind: Literal["inner", "left", "right", "full", "cross"]
    left: FromItem
    right: FromItem
    condition: Expression | None


class OuterTables(Node):
    """Old style ``OUTER table`` or ``OUTER (table, ..)``: subservient to the others in its list."""

    items: tuple[FromItem, ...]


FromItem: TypeAlias = (
    TableRef | DerivedTable | CollectionTable | ElementTable | RoutineTable | Join | OuterTables
)


class OrderItem(Node):
    """One key of an ordering; a position is a `Number`. `nulls_first` is None if not specified."""

    expression: Expression
    is_descending: bool = False
    nulls_first: bool | None = None


class Hierarchy(Node):
    """``[START WITH condition] CONNECT BY [NOCYCLE] condition``"""

    start: Expression | None
    condition: Expression
    is_nocycle: bool = False


RowCount: TypeAlias = Number | Parameter | Column | Variable
"""Of SKIP, FIRST and LIMIT; in a routine the name of a variable, which translation replaces."""


class Select(Node):
    """One SELECT up to its HAVING, with the SKIP and FIRST after the word SELECT (LIMIT there is FIRST)."""

    items: tuple[SelectItem, ...]
    from_items: tuple[FromItem, ...]
    where: Expression | None = None
    group_by: tuple[Expression, ...] = ()
    having: Expression | None = None
    is_distinct: bool = False
    skip: RowCount | None = None
    first: RowCount | None = None
    hierarchy: Hierarchy | None = None


class SetOperation(Node):
    """Two parts combined, left to right; EXCEPT becomes MINUS. A part in parentheses is a `Query`."""

    operator: Literal["union", "intersect", "minus"]
    is_all: bool
    left: QueryBody
    right: QueryBody
    operator_offset: int


class CommonTable(Node):
    """``name [(columns)] AS (query)`` in a WITH clause."""

    name: Name
    columns: tuple[Name, ...]
    query: Query


class ForUpdate(Node):
    """``FOR UPDATE [OF columns]``; no columns means any."""

    columns: tuple[Name, ...] = ()


class IntoTemp(Node):
    """``INTO TEMP table [WITH NO LOG]``"""

    table: Name
    no_log: bool = False


class Query(Statement):
    """A whole SELECT: a statement, a subquery, or a query in parentheses, with trailing SKIP and LIMIT."""

    body: QueryBody
    common_tables: tuple[CommonTable, ...] = ()
    is_recursive: bool = False
    order_by: tuple[OrderItem, ...] = ()
    skip: RowCount | None = None
    limit: RowCount | None = None
    for_update: ForUpdate | None = None
    for_read_only: bool = False
    into_temp: IntoTemp | None = None
    orders_siblings: bool = False
    """Whether `order_by` is that of ORDER SIBLINGS BY."""


QueryBody: TypeAlias = Select | SetOperation | Query


# --- Statements that change rows ----------------------------------------------


class Insert(Statement):
    """INSERT of one row (`values`) or of a query's rows (`query`); exactly one of the two is not None.

    No `columns` means all of them.
    """

    table: QualifiedName
    columns: tuple[Name, ...]
    values: tuple[Expression, ...] | None
    query: Query | None


class Assignment(Node):
    """``c = e``, ``(c, ..) = (e, ..)`` or ``* = (e, ..)``, for which `columns` is None.

    A `Subquery` among the values of the last two forms gives as many values as it has columns. So the numbers
    of columns and values are not compared here.
    """

    columns: tuple[Name, ...] | None
    values: tuple[Expression, ...]


class CurrentOf(Node):
    """``WHERE CURRENT OF cursor``"""

    cursor: Name


class Update(Statement):
    """UPDATE."""

    table: TableRef
    assignments: tuple[Assignment, ...]
    where: Expression | CurrentOf | None


class Delete(Statement):
    """DELETE."""

    table: TableRef
    where: Expression | CurrentOf | None


class MergeInsert(Node):
    """``WHEN NOT MATCHED THEN INSERT [(columns)] VALUES (..)``"""

    columns: tuple[Name, ...]
    values: tuple[Expression, ...]


class Merge(Statement):
    """MERGE; at least one of `update`, `delete` and `insert` is present, and at most one of the first two."""

    target: TableRef
    source: TableRef | DerivedTable
    condition: Expression
    update: tuple[Assignment, ...] = ()
    has_delete: bool = False
    insert: MergeInsert | None = None


class Truncate(Statement):
    """TRUNCATE."""

    table: QualifiedName


# --- Tables -------------------------------------------------------------------


class Default(Node):
    """``DEFAULT value``: a literal (signed or not), Null, SessionConstant or Current; `text` as written."""

    value: Expression
    text: str


class NotNull(Node):
    """``NOT NULL [CONSTRAINT name] [mode]``"""

    name: QualifiedName | None = None
    is_disabled: bool = False
    filtering: str = ""


class PrimaryKey(Node):
    """``PRIMARY KEY [(columns)] [CONSTRAINT name] [mode]``"""

    columns: tuple[Name, ...]
    name: QualifiedName | None = None
    is_disabled: bool = False
    filtering: str = ""


class Unique(Node):
    """``UNIQUE [(columns)] [CONSTRAINT name] [mode]``"""

    columns: tuple[Name, ...]
    name: QualifiedName | None = None
    is_disabled: bool = False
    filtering: str = ""


class Check(Node):
    """``CHECK (condition) [CONSTRAINT name] ..``; `text` is the condition as written, not its parentheses."""

    condition: Expression
    text: str
    name: QualifiedName | None = None
    is_disabled: bool = False
    filtering: str = ""
    is_not_validated: bool = False
    """NOVALIDATE: the rows that exist are not checked."""


class ForeignKey(Node):
    """``[FOREIGN KEY (columns)] REFERENCES parent [(parent_columns)] [ON DELETE CASCADE] [CONSTRAINT name] ..``

    No `parent_columns` means the parent's primary key.
    """

    columns: tuple[Name, ...]
    parent: QualifiedName
    parent_columns: tuple[Name, ...]
    cascades: bool = False
    name: QualifiedName | None = None
    is_disabled: bool = False
    filtering: str = ""
    is_not_validated: bool = False
    """NOVALIDATE: the rows that exist are not checked."""
    has_disabled_index: bool = False
    """INDEX DISABLED."""


Constraint: TypeAlias = PrimaryKey | Unique | Check | ForeignKey
"""Constraints that may also be table constraints. A column's own constraint has that column in `columns`."""


class ColumnDef(Node):
    """One column. A SERIAL column is not `not_null` by its type alone, only if declared."""

    name: Name
    type: SqlType
    default: Default | None = None
    not_null: NotNull | None = None
    constraints: tuple[Constraint, ...] = ()
    serial_start: int | None = None
    space: str = ""
    """The blobspace of a BYTE or TEXT column; empty for the table's own space."""


class Fragment(NamedTuple):
    """A fragment of a table or index, or a property of its distribution, as sysfragments shows it."""

    strategy: str
    """Its letter in sysfragments.strategy: R, E, N, L, and I for IN dbspace (documented)."""
    position: int
    """Its number from 0; -3 for the key, -2 for the interval, -1 for the dbspaces of intervals (documented)."""
    dbspace: str = ""
    partition: str = ""
    """Its own name, or that of its dbspace."""
    expression: str = ""


class CreateTable(Statement):
    """CREATE TABLE and CREATE TEMP TABLE; of the storage clauses, only the lock mode and the extents are kept.

    A typed table has the type of OF TYPE instead of columns.
    """

    table: QualifiedName
    columns: tuple[ColumnDef, ...]
    constraints: tuple[Constraint, ...] = ()
    is_temp: bool = False
    no_log: bool = False
    if_not_exists: bool = False
    lock_mode: Literal["row", "page", "table"] | None = None
    of_type: SqlType | None = None
    first_extent: int | None = None
    """KB."""
    next_extent: int | None = None
    """KB."""
    fragments: tuple[Fragment, ...] = ()
    is_raw: bool = False


class External(NamedTuple):
    """The files of an external table, in UNLOAD's format."""

    files: tuple[str, ...]
    delimiter: str = "|"
    max_errors: int | None = None
    reject_file: str = ""


class CreateExternalTable(Statement):
    """CREATE EXTERNAL TABLE, with columns of its own or those of another table (`same_as`)."""

    table: QualifiedName
    columns: tuple[ColumnDef, ...]
    same_as: QualifiedName | None
    external: External
    if_not_exists: bool = False


class StartViolations(Statement):
    """START VIOLATIONS TABLE FOR table [USING violations, diagnostics] [MAX ROWS count]"""

    table: QualifiedName
    names: tuple[Name, Name] | None = None
    maximum: int | None = None


class StopViolations(Statement):
    """STOP VIOLATIONS TABLE FOR table"""

    table: QualifiedName


class CreateTableAs(Statement):
    """``CREATE TABLE table [(column [:: type], ..)] .. AS query``: the columns that are listed, or all of the query.

    Also ``SELECT .. INTO [STANDARD | RAW] table`` (`is_select`).
    """

    table: QualifiedName
    query: Query
    if_not_exists: bool = False
    lock_mode: Literal["row", "page", "table"] | None = None
    first_extent: int | None = None
    """KB."""
    next_extent: int | None = None
    """KB."""
    fragments: tuple[Fragment, ...] = ()
    is_select: bool = False


class AddColumn(Node):
    """``ADD (column .. [BEFORE before])``, one of them for each column."""

    column: ColumnDef
    before: Name | None = None


class DropColumn(Node):
    """``DROP (column)``, one of them for each column."""

    column: Name


class ModifyColumn(Node):
    """``MODIFY (column ..)``, one of them for each column; the definition replaces all of the old one."""

    column: ColumnDef


class AddConstraint(Node):
    """``ADD CONSTRAINT ..``, one of them for each constraint."""

    constraint: Constraint


class DropConstraint(Node):
    """``DROP CONSTRAINT name``, one of them for each name."""

    name: QualifiedName


class SetTableType(Node):
    """TYPE (RAW) or TYPE (STANDARD) in ALTER TABLE."""

    is_raw: bool


AlterAction: TypeAlias = AddColumn | DropColumn | ModifyColumn | AddConstraint | DropConstraint | SetTableType


class AlterTable(Statement):
    """ALTER TABLE; no actions are left if all of them were about storage."""

    table: QualifiedName
    actions: tuple[AlterAction, ...]
    lock_mode: Literal["row", "page", "table"] | None = None


# --- Other definitions --------------------------------------------------------


class IndexPart(Node):
    """One key of an index: a column, or a function of columns."""

    key: Name | Call
    is_descending: bool = False


class CreateIndex(Statement):
    """CREATE INDEX."""

    index: QualifiedName
    table: QualifiedName
    parts: tuple[IndexPart, ...]
    is_unique: bool = False
    is_clustered: bool = False
    if_not_exists: bool = False
    is_disabled: bool = False
    filtering: str = ""
    fragments: tuple[Fragment, ...] = ()


class CreateView(Statement):
    """CREATE VIEW; `text` is the whole statement as written."""

    view: QualifiedName
    columns: tuple[Name, ...]
    query: Query
    text: str
    if_not_exists: bool = False
    has_check_option: bool = False
    is_delimident: bool = False
    """Whether double quotes delimit names in `text`."""


class CreateSchema(Statement):
    """CREATE SCHEMA AUTHORIZATION: the CREATE and GRANT statements in it, in order."""

    owner: str
    statements: tuple[Statement, ...]


class CreateSynonym(Statement):
    """CREATE [PUBLIC | PRIVATE] SYNONYM; public by default."""

    synonym: QualifiedName
    target: QualifiedName
    is_private: bool = False
    if_not_exists: bool = False


class SequenceOptions(Node):
    """The options as written, None where absent; `no_maximum`, `no_minimum` for NOMAXVALUE and NOMINVALUE."""

    start: int | None = None
    """START WITH, or RESTART WITH in ALTER SEQUENCE."""
    has_restart: bool = False
    """RESTART, with or without a number."""
    increment: int | None = None
    maximum: int | None = None
    no_maximum: bool = False
    minimum: int | None = None
    no_minimum: bool = False
    cycles: bool | None = None
    cache: int | None = None
    """0 for NOCACHE."""
    is_ordered: bool | None = None


class CreateSequence(Statement):
    """CREATE SEQUENCE."""

    sequence: QualifiedName
    options: SequenceOptions
    if_not_exists: bool = False


class AlterSequence(Statement):
    """ALTER SEQUENCE."""

    sequence: QualifiedName
    options: SequenceOptions


DropKind: TypeAlias = Literal["table", "view", "index", "synonym", "sequence", "role", "trigger"]


class Drop(Statement):
    """DROP of anything but a database; `restrict` is RESTRICT where CASCADE is the default (tables, views)."""

    kind: DropKind
    name: QualifiedName
    if_exists: bool = False
    is_restricted: bool = False


class CreateRowType(Statement):
    """``CREATE ROW TYPE name (field type, ..) [UNDER supertype]``; `row` has the fields of this type alone."""

    name: QualifiedName
    row: SqlType | None
    supertype: SqlType | None = None
    if_not_exists: bool = False


class CreateDistinctType(Statement):
    """``CREATE DISTINCT TYPE name AS base``"""

    name: QualifiedName
    base: SqlType
    if_not_exists: bool = False


class DropType(Statement):
    """``DROP ROW TYPE name RESTRICT`` or ``DROP TYPE name RESTRICT``"""

    name: QualifiedName
    is_row: bool
    if_exists: bool = False


RenameKind: TypeAlias = Literal["table", "index", "sequence", "constraint"]


class RenameObject(Statement):
    """RENAME TABLE | INDEX | SEQUENCE | CONSTRAINT name TO new_name."""

    kind: RenameKind
    name: QualifiedName
    new_name: Name


class RenameColumn(Statement):
    """RENAME COLUMN table.column TO new_name."""

    table: QualifiedName
    column: Name
    new_name: Name


class UpdateStatistics(Statement):
    """UPDATE STATISTICS; no table means all."""

    table: QualifiedName | None = None


# --- Databases, rights --------------------------------------------------------


class DatabaseName(Node):
    """``database[@server]``, also written as a string, such as ``'//server/database'``."""

    name: str
    server: str = ""


class CreateDatabase(Statement):
    """CREATE DATABASE; without a WITH clause it is unlogged. MODE ANSI is refused by the parser."""

    database: DatabaseName
    log: Literal["none", "unbuffered", "buffered"] = "none"
    if_not_exists: bool = False


class DropDatabase(Statement):
    """DROP DATABASE."""

    database: DatabaseName
    if_exists: bool = False


class OpenDatabase(Statement):
    """DATABASE name [EXCLUSIVE]."""

    database: DatabaseName
    is_exclusive: bool = False


class CloseDatabase(Statement):
    """CLOSE DATABASE."""


class RenameDatabase(Statement):
    """RENAME DATABASE name TO new_name."""

    database: DatabaseName
    new_name: Name


class Privilege(Node):
    """``select``, ``insert``, ``dba``, ``all``, ``execute``, ..., or a role's name; with columns for some."""

    name: str
    columns: tuple[Name, ...] = ()


class Grant(Statement):
    """GRANT; no `target` for database privileges and roles; `grantees` are users, roles, ``public``."""

    privileges: tuple[Privilege, ...]
    target: QualifiedName | None
    grantees: tuple[Name, ...]


class Revoke(Statement):
    """REVOKE; fields as in `Grant`."""

    privileges: tuple[Privilege, ...]
    target: QualifiedName | None
    grantees: tuple[Name, ...]


class CreateRole(Statement):
    """CREATE ROLE."""

    role: Name
    if_not_exists: bool = False


# --- Transactions and locks ---------------------------------------------------


class BeginWork(Statement):
    """BEGIN [WORK]."""


class CommitWork(Statement):
    """COMMIT [WORK]."""


class RollbackWork(Statement):
    """ROLLBACK [WORK] of the whole transaction."""


class RollbackToSavepoint(Statement):
    """ROLLBACK [WORK] TO SAVEPOINT [name]; without a name to the latest."""

    savepoint: Name | None


class Savepoint(Statement):
    """SAVEPOINT name [UNIQUE]."""

    savepoint: Name
    is_unique: bool = False


class ReleaseSavepoint(Statement):
    """RELEASE SAVEPOINT name."""

    savepoint: Name


class LockTable(Statement):
    """LOCK TABLE name IN SHARE | EXCLUSIVE MODE."""

    table: QualifiedName
    is_exclusive: bool


class UnlockTable(Statement):
    """UNLOCK TABLE name."""

    table: QualifiedName


# --- SET ----------------------------------------------------------------------


class SetLockMode(Statement):
    """SET LOCK MODE TO NOT WAIT (0 seconds), WAIT n (n), WAIT (None: no limit)."""

    seconds: int | None


IsolationLevel: TypeAlias = Literal[
    "dirty read", "committed read", "last committed", "cursor stability", "repeatable read"
]


class SetIsolation(Statement):
    """SET ISOLATION; ``COMMITTED READ LAST COMMITTED`` is the level "last committed"."""

    level: IsolationLevel
    retain_update_locks: bool = False


class SetTransaction(Statement):
    """SET TRANSACTION; None where not specified. SERIALIZABLE becomes "repeatable read"."""

    is_read_only: bool | None = None
    level: IsolationLevel | None = None


class SetConstraints(Statement):
    """SET CONSTRAINTS ALL (no names) or names, IMMEDIATE or DEFERRED."""

    constraints: tuple[QualifiedName, ...]
    is_deferred: bool


ObjectKind: TypeAlias = Literal["constraints", "indexes", "triggers"]


class SetObjectMode(Statement):
    """``SET kind, .. FOR table`` or ``SET kind name, ..``, and a mode."""

    kinds: tuple[ObjectKind, ...]
    table: QualifiedName | None
    names: tuple[QualifiedName, ...]
    """Names of objects of one kind, if there is no table."""
    is_disabled: bool
    filtering: str
    """The letter of FILTERING, as `schema.Constraint.filtering`."""
    is_not_validated: bool = False


class SetRole(Statement):
    """SET ROLE name | NULL | NONE (both None) | DEFAULT ("default")."""

    role: Name | None


class SetEnvironment(Statement):
    """SET ENVIRONMENT name 'value'; name and bare-word values in lower case."""

    name: str
    value: str


class SetEncryption(Statement):
    """SET ENCRYPTION PASSWORD 'password' [WITH HINT 'hint']."""

    password: str
    hint: str


class SetOption(Statement):
    """A SET without effect here: `name` such as "explain" or "pdqpriority"; `value` its words."""

    name: str
    value: str


# --- Routines -----------------------------------------------------------------


class Execute(Statement):
    """EXECUTE PROCEDURE or EXECUTE FUNCTION."""

    kind: Literal["procedure", "function"]
    routine: QualifiedName
    arguments: tuple[Expression | NamedArgument, ...]


# --- Triggers -----------------------------------------------------------------


class TriggeredCall(Node):
    """``EXECUTE .. [INTO column, ..] [WITH TRIGGER REFERENCES]`` in a trigger."""

    call: Execute
    targets: tuple[Name, ...] = ()
    has_references: bool = False


TriggeredStatement: TypeAlias = Insert | Update | Delete | TriggeredCall


class TriggerBranch(Node):
    """``[WHEN (condition)] (action, ..)``"""

    condition: Expression | None
    actions: tuple[TriggeredStatement, ...]


TriggerEvent: TypeAlias = Literal["insert", "update", "delete", "select"]


class CreateTrigger(Statement):
    """CREATE TRIGGER; `action` is the text from the first of BEFORE, FOR EACH ROW and AFTER to the last ``)``."""

    trigger: QualifiedName
    event: TriggerEvent
    columns: tuple[Name, ...]
    """The columns of UPDATE OF; empty for all."""
    table: QualifiedName
    old: Name | None
    new: Name | None
    before: tuple[TriggerBranch, ...]
    each_row: tuple[TriggerBranch, ...]
    after: tuple[TriggerBranch, ...]
    action: str
    if_not_exists: bool = False
    is_instead: bool = False
    is_disabled: bool = False
    is_delimident: bool = False
    """Whether double quotes delimit names in `action`."""


class RoutineDefinition(Statement):
    """CREATE or DROP of a routine; see `spl_nodes`."""


_BRANCHES: Final[dict[type[Node], tuple[str, ...]]] = {}


def _branches(kind: type[Node]) -> tuple[str, ...]:
    """The fields that may have nodes; found once, because a statement is walked several times."""
    names = _BRANCHES.get(kind)
    if names is None:
        own = (field.name for field in fields(kind) if field.type not in ("int", "str", "bool"))
        names = _BRANCHES[kind] = tuple(own)
    return names


def children(node: Node) -> Iterator[Node]:
    """The nodes directly below, in the order of the fields."""
    for name in _branches(type(node)):
        value: object = getattr(node, name)
        if isinstance(value, Node):
            yield value
        elif isinstance(value, tuple):
            yield from (item for item in value if isinstance(item, Node))  # pyright: ignore


def walk(node: Node) -> Iterator[Node]:
    """The node and all below it, each before what is below it, subqueries included."""
    pending = [node]
    while pending:
        current = pending.pop()
        yield current
        pending.extend(reversed(list(children(current))))


def bound_count(node: Node) -> int:
    """The number of values that are bound to ``?`` and variables at or below the node."""
    return max((each.index + 1 for each in walk(node) if isinstance(each, Parameter | Variable)), default=0)


def parameters(node: Node) -> list[Parameter]:
    """Every ``?`` at or below the node, in order of appearance in the text."""
    return sorted((each for each in walk(node) if isinstance(each, Parameter)), key=lambda each: each.index)
