"""CREATE, DROP, RENAME of tables, indexes, views and synonyms -> Plans. Never: ALTER TABLE, rows of the catalog."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final, TypeAlias

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model import plan
from aioifx.server.sql.model.plan import Definition, FilledTable, Plan, PutTable, RemoveTable, Step, Undo
from aioifx.server.sql.model.schema import LOCK_LEVELS, ConstraintKind, Index, Table, TableKind, require_row
from aioifx.server.sql.sqlite.render import render
from aioifx.server.sql.syntax import nodes
from aioifx.server.sql.translate.alter_table import alter_table, renamed_column, without_foreign_keys
from aioifx.server.sql.translate.constraints import TableBuilder, check_columns, column_of
from aioifx.server.sql.translate.external_tables import (
    create_external_table,
    drop_external_table,
    external_table,
)
from aioifx.server.sql.translate.filtering import require_no_violations_table
from aioifx.server.sql.translate.from_clause import FromClause
from aioifx.server.sql.translate.index_keys import index_part
from aioifx.server.sql.translate.object_modes import FILTERING_OF_DUPLICATES, definable
from aioifx.server.sql.translate.scopes import MAIN, Context, ResolvedNames, Scope
from aioifx.server.sql.translate.select import Place, QueryTranslator
from aioifx.server.sql.translate.select_plan import filling, finished, result_columns
from aioifx.server.sql.translate.sequences import (
    alter_sequence,
    create_sequence,
    drop_sequence,
    exists_already,
    rename_sequence,
)
from aioifx.server.sql.translate.sqlite_ddl import (
    check_steps,
    creation_steps,
    drop_check_steps,
    drop_index_steps,
    index_steps,
    release_steps,
)
from aioifx.server.sql.translate.triggers import create_trigger, drop_trigger
from aioifx.server.sql.translate.user_types import columns_of_type, user_type_plan, with_type_numbers
from aioifx.server.sql.translate.view_texts import view_columns, with_full_names, with_table_renamed
from aioifx.server.sql.translate.views import require_simple
from aioifx.server.sql.translate.violations_tables import (
    check_alterable,
    start_violations,
    stop_violations,
    violations_dropped_with,
)
from aioifx.wire.opcodes import StatementType

_Statement: TypeAlias = (
    nodes.CreateTable
    | nodes.CreateTableAs
    | nodes.CreateExternalTable
    | nodes.StartViolations
    | nodes.StopViolations
    | nodes.AlterTable
    | nodes.CreateIndex
    | nodes.CreateView
    | nodes.CreateSynonym
    | nodes.CreateSequence
    | nodes.AlterSequence
    | nodes.Drop
    | nodes.RenameObject
    | nodes.RenameColumn
    | nodes.CreateTrigger
    | nodes.CreateRowType
    | nodes.CreateDistinctType
    | nodes.DropType
)


def ddl_plan(statement: _Statement, context: Context) -> Plan:
    """The plan of a DDL statement.

    Raises:
        SqlError: -349, no database is open; others for invalid names and types.
    """
    if not context.schema.database:
        raise SqlError(-349)
    match statement:
        case nodes.CreateTable():
            return _create_table(statement, context)
        case nodes.CreateTableAs():
            return _create_table_as(statement, context)
        case nodes.CreateExternalTable():
            return _create_external_table(statement, context)
        case nodes.StartViolations():
            return start_violations(statement, context)
        case nodes.StopViolations():
            return stop_violations(statement, context)
        case nodes.AlterTable():
            table = definable(statement.table, context)
            check_alterable(table, statement, context)
            return Plan(StatementType.ALTER_TABLE, alter_table(statement, table, context))
        case nodes.CreateIndex():
            return _create_index(statement, context)
        case nodes.CreateView():
            return _create_view(statement, context)
        case nodes.CreateSynonym():
            return _create_synonym(statement, context)
        case nodes.Drop():
            return _drop(statement, context)
        case nodes.RenameObject():
            return _rename(statement, context)
        case nodes.RenameColumn():
            table = definable(statement.table, context)
            check_alterable(table, statement, context)
            return Plan(StatementType.RENAME_COLUMN, renamed_column(statement, table, context))
        case nodes.CreateSequence():
            return _create_sequence(statement, context)
        case nodes.AlterSequence():
            return alter_sequence(statement, context)
        case nodes.CreateTrigger():
            return create_trigger(statement, context)
        case nodes.CreateRowType() | nodes.CreateDistinctType() | nodes.DropType():
            return user_type_plan(statement, context)


def _new_name(name: nodes.QualifiedName, context: Context) -> str:
    """The owner of a new object; its name must be free.

    Raises:
        SqlError: -310, it exists.
    """
    if name.database not in ("", context.schema.database):
        raise SqlError(-999, token=str(name), offset=name.offset)
    if _existing(name, context) is not None:
        raise SqlError(-310, token=name.name, offset=name.offset)
    return name.owner or context.settings.user


def _existing(name: nodes.QualifiedName, context: Context) -> Table | None:
    return context.schema.existing(name.name, name.owner)


_NOTHING: Final = plan.Nothing()


# --- Tables -----------------------------------------------------------------------------------------------------------


def _create_table(node: nodes.CreateTable, context: Context) -> Plan:
    type_ = StatementType.CREATE_TEMP_TABLE if node.is_temp else StatementType.CREATE_TABLE
    name = node.table
    existing = context.schema.table(name.name) if node.is_temp else _existing(name, context)
    is_there = existing is not None and existing.is_temp == node.is_temp
    if is_there and node.if_not_exists:
        return Plan(type_, _NOTHING)
    if is_there and node.is_temp:
        raise SqlError(-958, token=node.table.name, offset=node.table.offset)
    owner = context.settings.user if node.is_temp else _new_name(node.table, context)
    columns = tuple(column_of(column, context) for column in node.columns)
    type_id = 0
    if node.of_type is not None:
        columns, type_id = columns_of_type(node.of_type, context)
    check_columns(columns, node.offset)
    require_row(columns, node.offset)
    types: tuple[plan.TypeChange, ...] = ()
    if not node.is_temp:
        columns, types = with_type_numbers(columns, context)
    table = Table(
        context.schema.next_temp_tabid if node.is_temp else context.schema.next_tabid,
        node.table.name,
        owner,
        columns,
        is_temp=node.is_temp,
        is_logged=not node.no_log,
        is_raw=node.is_raw,
        catalog="temp" if node.is_temp else "main",
        lock_level=LOCK_LEVELS[node.lock_mode],
        type_id=type_id,
    )
    table = _constrained(_with_storage(table, node), node, context)
    steps = tuple(creation_steps(table, context.schema.table_of))
    return Plan(type_, Definition(steps, (PutTable(table),), types))


def _create_table_as(node: nodes.CreateTableAs, context: Context) -> Plan:
    """CREATE TABLE AS, SELECT INTO: a table with the columns and rows of a query.

    Only SERIAL columns are NOT NULL (assumed).

    Source: assumed: the type of a SELECT INTO a permanent table is that of INTO TEMP

    Raises:
        SqlError: as CREATE TABLE and SELECT INTO TEMP.
    """
    if node.if_not_exists and _existing(node.table, context) is not None:
        return Plan(StatementType.CREATE_TABLE, _NOTHING)
    owner = _new_name(node.table, context)
    relation = QueryTranslator(context).query(node.query, None, Place.STATEMENT)
    columns = tuple(
        replace(column, is_nullable=not column.is_serial) for column in result_columns(relation, node.query)
    )
    check_columns(columns, node.offset)
    require_row(columns, node.offset)
    columns, types = with_type_numbers(columns, context)
    table = Table(
        context.schema.next_tabid, node.table.name, owner, columns, lock_level=LOCK_LEVELS[node.lock_mode]
    )
    table = _with_storage(table, node)
    steps = tuple(creation_steps(table, context.schema.table_of))
    action = FilledTable(Definition(steps, (PutTable(table),), types), filling(table, relation, context))
    type_ = StatementType.SELECT_INTO_TEMP if node.is_select else StatementType.CREATE_TABLE
    return finished(type_, action, node, context)


def _create_external_table(node: nodes.CreateExternalTable, context: Context) -> Plan:
    if node.if_not_exists and _existing(node.table, context) is not None:
        return Plan(StatementType.CREATE_TABLE, _NOTHING)
    return create_external_table(node, context, _new_name(node.table, context))


def _with_storage(table: Table, node: nodes.CreateTable | nodes.CreateTableAs) -> Table:
    table = replace(table, fragments=node.fragments)
    if node.first_extent is not None:
        table = replace(table, first_extent=node.first_extent)
    return table if node.next_extent is None else replace(table, next_extent=node.next_extent)


def _constrained(table: Table, node: nodes.CreateTable, context: Context) -> Table:
    builder = TableBuilder(context, table, context.schema.next_constrid)
    for column in node.columns:
        if column.not_null is not None:
            builder.not_null(column.name.text, column.not_null)
    constraints = [constraint for column in node.columns for constraint in column.constraints]
    for constraint in (*constraints, *node.constraints):
        builder.constraint(constraint)
    return builder.table


def _drop(node: nodes.Drop, context: Context) -> Plan:
    match node.kind:
        case "table":
            return _drop_table(node, context)
        case "index":
            return _drop_index(node, context)
        case "view" | "synonym":
            return _drop_object(node, context)
        case "role":
            return Plan(StatementType.DROP_ROLE, _NOTHING)
        case "trigger":
            return drop_trigger(node, context)
        case "sequence":
            return drop_sequence(node, context)


def _drop_table(node: nodes.Drop, context: Context) -> Plan:
    external = external_table(node.name, context)
    if external is not None:
        return drop_external_table(external, _dependents(node, external, context))
    try:
        table = definable(node.name, context)
    except SqlError as error:
        if error.sqlcode == -206 and node.if_exists:
            return Plan(StatementType.DROP_TABLE, _NOTHING)
        raise
    steps: list[Step] = []
    changes: list[plan.CatalogChange] = []
    if not table.is_temp:
        for child in _children(table, context):
            freed, more = without_foreign_keys(child, table.tabid, context)
            steps += more
            changes.append(PutTable(freed))
        changes += _dependents(node, table, context)
    dropped = (*violations_dropped_with(table, node, context), table)
    for each in dropped:
        steps += release_steps(each)
        steps.append(Step(f"DROP TABLE {each.source}", undo=Undo.KEEP if each.is_temp else None))
    changes += map(RemoveTable, dropped)
    return Plan(StatementType.DROP_TABLE, Definition(tuple(steps), tuple(changes)))


def _dependents(node: nodes.Drop, table: Table, context: Context) -> list[RemoveTable]:
    """The views and synonyms that are dropped with a table, unless RESTRICT is given.

    Raises:
        SqlError: -886, RESTRICT and there are dependents, or foreign keys of other tables (documented; assumed:
            synonyms).
    """
    dependents = [RemoveTable(each) for each in context.schema.dependents(table.tabid)]
    if node.is_restricted and (dependents or next(_children(table, context), None) is not None):
        raise SqlError(-886, token=table.name, offset=node.name.offset)
    return dependents


def _children(table: Table, context: Context) -> Iterator[Table]:
    """The other tables with foreign keys to this one, each once."""
    seen = {table.tabid}
    for reference in context.schema.references_to(table.tabid):
        if reference.child.tabid not in seen:
            seen.add(reference.child.tabid)
            yield reference.child


# --- Indexes ----------------------------------------------------------------------------------------------------------


def _create_index(node: nodes.CreateIndex, context: Context) -> Plan:
    if context.schema.index(node.index.name, node.index.owner) is not None:
        if node.if_not_exists:
            return Plan(StatementType.CREATE_INDEX, _NOTHING)
        raise SqlError(-316, token=node.index.name, offset=node.index.offset)
    table = definable(node.table, context)
    parts = tuple(index_part(part, table, context) for part in node.parts)
    if any(index.parts == parts for index in table.indexes):
        raise SqlError(-350, offset=node.offset)
    if (node.is_disabled or node.filtering) and table.is_temp:
        raise SqlError(-891, offset=node.offset)
    if node.filtering and not node.is_unique:
        raise SqlError(-999, token=FILTERING_OF_DUPLICATES, offset=node.offset)
    if node.filtering:
        require_no_violations_table(table, node.table.offset, context)
    owner = node.index.owner or context.settings.user
    index = Index(
        node.index.name,
        owner,
        parts,
        node.is_unique,
        node.is_clustered,
        node.is_disabled,
        node.fragments,
        node.filtering,
    )
    steps = tuple(index_steps(table, index, duplicate=(-371, -100, "")))
    changed = replace(table, indexes=(*table.indexes, index))
    return Plan(StatementType.CREATE_INDEX, Definition(steps, (PutTable(changed),)))


def _drop_index(node: nodes.Drop, context: Context) -> Plan:
    found = context.schema.index(node.name.name, node.name.owner)
    if found is None:
        if node.if_exists:
            return Plan(StatementType.DROP_INDEX, _NOTHING)
        raise SqlError(-319, token=node.name.name, offset=node.name.offset)
    table, index = found
    if table.constraint_of_index(index.name) is not None:
        raise SqlError(-319, token=index.name, offset=node.name.offset)
    kept = tuple(each for each in table.indexes if each.name != index.name)
    definition = Definition(tuple(drop_index_steps(table, index)), (PutTable(replace(table, indexes=kept)),))
    return Plan(StatementType.DROP_INDEX, definition)


# --- Views, synonyms, names -------------------------------------------------------------------------------------------


def _create_view(node: nodes.CreateView, context: Context) -> Plan:
    if node.if_not_exists and _existing(node.view, context) is not None:
        return Plan(StatementType.CREATE_VIEW, _NOTHING)
    owner = _new_name(node.view, context)
    if node.has_check_option:
        require_simple(node, context)
    for each in nodes.walk(node.query):
        if isinstance(each, nodes.Parameter | nodes.IntoTemp):
            raise SqlError(-201, offset=each.offset)
    context.names = ResolvedNames()
    relation = QueryTranslator(context).query(node.query, None, Place.VIEW)
    node = with_full_names(node, context.names, context.schema.default_owner)
    names = [name.text for name in node.columns] or list(relation.names)
    if len(names) != len(relation.outputs):
        raise SqlError(-236, offset=node.offset)
    if any(name.startswith("(") for name in names):
        raise SqlError(-249, offset=node.offset)
    for table in context.tables.values():
        if table.is_temp:
            raise SqlError(-206, -111, token=table.name, offset=node.offset)
    columns = view_columns(names, relation)
    check_columns([column for column in columns if not column.is_serial], node.offset)
    view = Table(
        context.schema.next_tabid,
        node.view.name,
        owner,
        columns,
        TableKind.VIEW,
        view=node.text,
        is_delimident=node.is_delimident,
        depends_on=tuple(context.read),
    )
    return Plan(StatementType.CREATE_VIEW, Definition(_reading_steps(node, view, context), (PutTable(view),)))


def _reading_steps(node: nodes.CreateView, view: Table, context: Context) -> tuple[Step, ...]:
    """The step that fails if SQLite cannot read the view, unless it reads what is attached or filled for a query.

    Raises:
        SqlError: -999, views are nested too deeply.
    """
    reading = Context(context.schema.with_tables([view]), context.settings)
    clause = FromClause(reading, Scope(), QueryTranslator(reading))
    reference = nodes.TableRef(node.view.offset, replace(node.view, owner=view.owner))
    rows = clause.joined([reference], None)
    return () if reading.attach or reading.refresh else (Step(f"EXPLAIN SELECT * FROM {render(rows)}"),)


def _create_sequence(node: nodes.CreateSequence, context: Context) -> Plan:
    existing = _existing(node.sequence, context)
    if existing is not None and node.if_not_exists:
        return Plan(StatementType.CREATE_SEQUENCE, _NOTHING)
    if existing is not None and existing.kind is TableKind.SEQUENCE:
        raise exists_already(node.sequence)
    return create_sequence(node, context, _new_name(node.sequence, context))


def _create_synonym(node: nodes.CreateSynonym, context: Context) -> Plan:
    if node.if_not_exists and _existing(node.synonym, context) is not None:
        return Plan(StatementType.CREATE_SYNONYM, _NOTHING)
    owner = _new_name(node.synonym, context)
    target = context.sequence(node.target) or context.table(node.target)
    kind = TableKind.PRIVATE_SYNONYM if node.is_private else TableKind.SYNONYM
    synonym = Table(context.schema.next_tabid, node.synonym.name, owner, kind=kind)
    database = node.target.database
    if database and database != context.schema.database and target.kind is not TableKind.SEQUENCE:
        synonym = replace(synonym, foreign_name=(database, target.owner, target.name))
    elif target.is_temp or target.catalog not in MAIN or target.generated:
        raise SqlError(-999, token="CREATE SYNONYM", offset=node.offset)
    else:
        depends_on = target.tabid, *target.depends_on
        synonym = replace(synonym, synonym_of=target.tabid, depends_on=depends_on)
    return Plan(StatementType.CREATE_SYNONYM, Definition((), (PutTable(synonym),)))


_SYNONYMS: Final = frozenset({TableKind.SYNONYM, TableKind.PRIVATE_SYNONYM})


def _drop_object(node: nodes.Drop, context: Context) -> Plan:
    """DROP VIEW and DROP SYNONYM."""
    is_view = node.kind == "view"
    type_ = StatementType.DROP_VIEW if is_view else StatementType.DROP_SYNONYM
    found = context.schema.table(node.name.name, node.name.owner)
    wanted = frozenset({TableKind.VIEW}) if is_view else _SYNONYMS
    if found is None or found.kind not in wanted or found.is_system:
        if node.if_exists:
            return Plan(type_, _NOTHING)
        codes = (-206, -111) if is_view else (-218, 0)
        raise SqlError(*codes, token=node.name.name, offset=node.name.offset)
    return Plan(type_, Definition((), (*_dependents(node, found, context), RemoveTable(found))))


def _rename(node: nodes.RenameObject, context: Context) -> Plan:
    match node.kind:
        case "table":
            table = definable(node.name, context)
            _new_name(nodes.QualifiedName(node.new_name.offset, node.new_name.text, table.owner), context)
            renamed = replace(table, name=node.new_name.text)
            views = with_table_renamed(table, renamed.name, context)
            changed = (renamed, *views)
            return Plan(StatementType.RENAME_TABLE, Definition((), tuple(map(PutTable, changed))))
        case "index":
            return _rename_index(node, context)
        case "constraint":
            return _rename_constraint(node, context)
        case "sequence":
            _new_name(nodes.QualifiedName(node.new_name.offset, node.new_name.text, node.name.owner), context)
            return rename_sequence(node, context)


def _rename_index(node: nodes.RenameObject, context: Context) -> Plan:
    found = context.schema.index(node.name.name, node.name.owner)
    if found is None:
        raise SqlError(-319, token=node.name.name, offset=node.name.offset)
    if context.schema.index(node.new_name.text, node.name.owner) is not None:
        raise SqlError(-316, token=node.new_name.text, offset=node.new_name.offset)
    table, old = found
    new = replace(old, name=node.new_name.text)
    constraints = tuple(
        replace(each, index=new.name) if each.index == old.name else each for each in table.constraints
    )
    indexes = tuple(new if each.name == old.name else each for each in table.indexes)
    changed = replace(table, indexes=indexes, constraints=constraints)
    steps = (*drop_index_steps(table, old), *index_steps(table, new))
    return Plan(StatementType.RENAME_INDEX, Definition(steps, (PutTable(changed),)))


def _rename_constraint(node: nodes.RenameObject, context: Context) -> Plan:
    """RENAME CONSTRAINT (documented; assumed: the type of the statement is that of RENAME INDEX)."""
    found = context.schema.constraint(node.name.name, node.name.owner)
    if found is None or node.name.owner not in ("", found[1].owner):
        raise SqlError(-623, token=node.name.name, offset=node.name.offset)
    if context.schema.constraint(node.new_name.text, node.name.owner) is not None:
        raise SqlError(-743, token=node.new_name.text, offset=node.new_name.offset)
    table, old = found
    new = replace(old, name=node.new_name.text)
    changed = replace(table, constraints=tuple(new if each is old else each for each in table.constraints))
    steps: tuple[Step, ...] = ()
    if old.kind is ConstraintKind.CHECK:
        steps = (*drop_check_steps(table, old), *check_steps(changed, new))
    return Plan(StatementType.RENAME_INDEX, Definition(steps, (PutTable(changed),)))
