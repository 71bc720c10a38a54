"""CREATE TABLE and ALTER TABLE: columns, defaults, constraints. Never: whether a default suits its column.

Invariants:
1. A constraint's name follows it (``PRIMARY KEY (k) CONSTRAINT pk_t``), as Informix requires.
2. ENABLED is the default and is dropped.

Source: the grammar is documented (Guide to SQL: Syntax, CREATE TABLE and ALTER TABLE).
"""

from __future__ import annotations

from aioifx.server.sql.syntax import nodes
from aioifx.server.sql.syntax.primaries import parse_number, parse_primary
from aioifx.server.sql.syntax.storage_clauses import (
    EXTRA_COLUMNS,
    LockMode,
    parse_filtering,
    parse_lock_mode,
    parse_put,
    parse_table_storage,
)
from aioifx.server.sql.syntax.token_stream import TokenStream, parse_owner, parse_qualified_name
from aioifx.server.sql.syntax.tokens import TokenKind
from aioifx.server.sql.syntax.types import parse_declared_type, parse_type
from aioifx.sqltypes import SqlType


def parse_if_not_exists(s: TokenStream) -> bool:
    """Read ``IF NOT EXISTS`` if present."""
    return s.accept("if", "not", "exists") is not None


def parse_create_table(s: TokenStream, offset: int) -> nodes.CreateTable | nodes.CreateTableAs:
    """Read a CREATE TABLE from the word after CREATE."""
    kind = s.accept_any("temp", "standard", "raw")
    temp = kind is not None and kind.text == "temp"
    s.expect("table")
    if_not_exists = parse_if_not_exists(s)
    table = parse_qualified_name(s)
    if not temp and _is_made_of_rows(s):
        return _create_table_as(s, offset, table, if_not_exists)
    of_type = parse_type(s) if not temp and s.accept("of", "type") else None
    columns: list[nodes.ColumnDef] = []
    constraints: list[nodes.Constraint] = []
    for item in (
        s.enclosed(_table_item if of_type is None else _table_constraint) if _has_items(s, of_type) else ()
    ):
        if isinstance(item, nodes.ColumnDef):
            columns.append(item)
        else:
            constraints.append(item)
    if not columns and of_type is None:
        raise s.refusal()
    no_log = temp and s.accept("with", "no", "log") is not None
    storage = parse_table_storage(s)
    no_log = no_log or (temp and s.accept("with", "no", "log") is not None)
    if s.at("under"):
        raise s.unsupported("CREATE TABLE UNDER")
    return nodes.CreateTable(
        offset,
        table,
        tuple(columns),
        tuple(constraints),
        temp,
        no_log,
        if_not_exists,
        storage.lock_mode,
        of_type,
        storage.first_extent,
        storage.next_extent,
        storage.fragments,
        kind is not None and kind.text == "raw",
    )


def _is_made_of_rows(s: TokenStream) -> bool:
    """Whether AS SELECT follows: no columns, or columns without a type."""
    if s.at("("):
        return s.at_name(1) and s.at_any(",", ")", "::", ahead=2)
    return not s.at("of", "type")


def _create_table_as(
    s: TokenStream, offset: int, table: nodes.QualifiedName, if_not_exists: bool
) -> nodes.CreateTableAs:
    items = s.enclosed(_result_column) if s.at("(") else ()
    storage = parse_table_storage(s)
    start = s.expect("as").offset
    query = s.grammar.query(s)
    if items:
        query = nodes.Query(
            start,
            nodes.Select(start, items, (nodes.DerivedTable(start, query, nodes.Name(start, "result")),)),
        )
    return nodes.CreateTableAs(offset, table, query, if_not_exists, **storage._asdict())


def _result_column(s: TokenStream) -> nodes.SelectItem:
    name = s.name()
    column = nodes.Column(name.offset, name.text)
    if s.accept("::"):
        return nodes.SelectItem(name.offset, nodes.Cast(name.offset, column, parse_type(s)), name)
    return nodes.SelectItem(name.offset, column, name)


def _has_items(s: TokenStream, of_type: SqlType | None) -> bool:
    """Whether parentheses follow: always, except for a typed table without constraints."""
    return of_type is None or s.at("(")


def _table_item(s: TokenStream) -> nodes.ColumnDef | nodes.Constraint:
    return _table_constraint(s) if _at_table_constraint(s) else parse_column(s)


# --- Columns -----------------------------------------------------------------


def parse_column(s: TokenStream) -> nodes.ColumnDef:
    """Read a column with its default and constraints."""
    if s.at("constraint") and s.at_any("primary", "unique", "check", "foreign", "not", ahead=2):
        raise s.refusal()
    name = s.name()
    declared = parse_declared_type(s)
    default: nodes.Default | None = None
    not_null: nodes.NotNull | None = None
    nullable = False
    constraints: list[nodes.Constraint] = []
    while True:
        if s.at("default") and default is None:
            default = _default(s)
        elif s.at("not", "null") and not (not_null or nullable):
            offset = s.expect("not", "null").offset
            not_null = nodes.NotNull(offset, *_name_and_mode(s))
        elif s.at("null") and not (not_null or nullable):
            s.advance()
            nullable = True
        elif (constraint := _column_constraint(s, name)) is not None:
            constraints.append(constraint)
        else:
            break
    return nodes.ColumnDef(
        name.offset,
        name,
        declared.type,
        default,
        not_null,
        tuple(constraints),
        declared.serial_start,
        declared.space,
    )


def _default(s: TokenStream) -> nodes.Default:
    start = s.expect("default")
    first = s.token
    value = _default_value(s)
    return nodes.Default(start.offset, value, s.written(first.offset, s.last_end))


def _default_value(s: TokenStream) -> nodes.Expression:
    """Read a literal or a word that stands for a value; Informix has no other expressions as defaults."""
    token = s.token
    if s.at_any("-", "+"):
        sign = s.advance()
        return nodes.Unary(sign.offset, "-" if sign.text == "-" else "+", parse_number(s))
    if token.kind is TokenKind.NUMBER:
        return parse_number(s)
    value = parse_primary(s, conditional=False)
    literals = (
        nodes.Null
        | nodes.String
        | nodes.SessionConstant
        | nodes.Current
        | nodes.DatetimeLiteral
        | nodes.IntervalLiteral
    )
    if not isinstance(value, literals):
        raise s.refusal(token)
    return value


# --- Constraints -------------------------------------------------------------


def _column_constraint(s: TokenStream, column: nodes.Name) -> nodes.Constraint | None:
    offset = s.token.offset
    if s.accept("primary", "key"):
        return nodes.PrimaryKey(offset, (column,), *_name_and_mode(s))
    if s.accept_any("unique", "distinct"):
        return nodes.Unique(offset, (column,), *_name_and_mode(s))
    if s.at("check", "("):
        return _check(s)
    if s.at("references"):
        return _reference(s, offset, (column,))
    return None


def _at_table_constraint(s: TokenStream) -> bool:
    return (
        s.at("primary", "key", "(")
        or (s.at_any("unique", "distinct", "check") and s.at("(", ahead=1))
        or s.at("foreign", "key", "(")
    )


def _table_constraint(s: TokenStream) -> nodes.Constraint:
    offset = s.token.offset
    if s.accept("primary", "key"):
        columns = s.names_enclosed()
        return nodes.PrimaryKey(offset, columns, *_name_and_mode(s))
    if s.accept_any("unique", "distinct"):
        columns = s.names_enclosed()
        return nodes.Unique(offset, columns, *_name_and_mode(s))
    if s.at("check"):
        return _check(s)
    s.expect("foreign", "key")
    return _reference(s, offset, s.names_enclosed())


def _check(s: TokenStream) -> nodes.Check:
    offset = s.expect("check").offset
    opening = s.expect("(")
    condition = s.grammar.condition(s)
    closing = s.expect(")")
    text = s.written(opening.end, closing.offset)
    return nodes.Check(offset, condition, text, *_name_and_mode(s), _is_not_validated(s))


def _reference(s: TokenStream, offset: int, columns: tuple[nodes.Name, ...]) -> nodes.ForeignKey:
    s.expect("references")
    parent = parse_qualified_name(s)
    parent_columns = s.names_enclosed() if s.at("(") else ()
    cascade = s.accept("on", "delete", "cascade") is not None
    name, disabled, filtering = _name_and_mode(s)
    unchecked = _is_not_validated(s)
    index_disabled = s.accept("index", "disabled") is not None
    return nodes.ForeignKey(
        offset, columns, parent, parent_columns, cascade, name, disabled, filtering, unchecked, index_disabled
    )


def _name_and_mode(s: TokenStream) -> tuple[nodes.QualifiedName | None, bool, str]:
    """Read ``[CONSTRAINT [owner.]name] [mode]``; returns whether it is DISABLED and the letter of FILTERING, too."""
    name = _owned_name(s) if s.accept("constraint") else None
    filtering = parse_filtering(s)
    mode = None if filtering else s.accept_any("enabled", "disabled")
    return name, mode is not None and mode.text == "disabled", filtering


def _is_not_validated(s: TokenStream) -> bool:
    """Read NOVALIDATE, which only foreign keys and CHECK have (documented: ADD CONSTRAINT)."""
    return s.accept("novalidate") is not None


def _owned_name(s: TokenStream) -> nodes.QualifiedName:
    offset = s.token.offset
    owner = parse_owner(s)
    return nodes.QualifiedName(offset, s.name().text, owner)


# --- ALTER TABLE -------------------------------------------------------------


def parse_alter_table(s: TokenStream, offset: int) -> nodes.AlterTable:
    """Read an ALTER TABLE from the word TABLE."""
    s.expect("table")
    table = parse_qualified_name(s)
    actions: list[nodes.AlterAction] = []
    lock_mode: LockMode | None = None
    while True:
        if s.at("lock", "mode"):
            lock_mode = parse_lock_mode(s)
        else:
            actions += _actions(s)
        if not s.accept(","):
            return nodes.AlterTable(offset, table, tuple(actions), lock_mode)


def _actions(s: TokenStream) -> tuple[nodes.AlterAction, ...]:
    """Read one action, which may concern several columns."""
    if s.at_any("add", "drop") and s.at_any(*EXTRA_COLUMNS, ahead=1) and not s.at_name(2):
        s.advance()
        s.advance()
        return ()
    if s.accept("add"):
        return _added(s)
    if s.accept("drop"):
        return _dropped(s)
    if s.accept("modify"):
        return _modified(s)
    if s.accept("type", "("):
        kind = s.expect_any("raw", "standard")
        s.expect(")")
        return (nodes.SetTableType(kind.offset, kind.text == "raw"),)
    if s.at("put"):
        parse_put(s)
        return ()
    raise s.refusal()


def _added(s: TokenStream) -> tuple[nodes.AlterAction, ...]:
    if s.at("constraint") and (s.at("(", ahead=1) or _at_constraint_after(s)):
        s.advance()
        return s.enclosed(_added_constraint) if s.at("(") else (_added_constraint(s),)
    return s.enclosed(_added_column) if s.at("(") else (_added_column(s),)


def _at_constraint_after(s: TokenStream) -> bool:
    return (
        s.at("primary", "key", ahead=1)
        or s.at("foreign", "key", ahead=1)
        or (s.at_any("unique", "distinct", "check", ahead=1) and s.at("(", ahead=2))
    )


def _added_constraint(s: TokenStream) -> nodes.AddConstraint:
    constraint = _table_constraint(s)
    return nodes.AddConstraint(constraint.offset, constraint)


def _added_column(s: TokenStream) -> nodes.AddColumn:
    column = parse_column(s)
    return nodes.AddColumn(column.offset, column, s.name() if s.accept("before") else None)


def _dropped(s: TokenStream) -> tuple[nodes.AlterAction, ...]:
    if s.at("constraint") and (s.at("(", ahead=1) or s.at_name(1) or s.ahead(1).kind is TokenKind.STRING):
        s.advance()
        return s.enclosed(_dropped_constraint) if s.at("(") else (_dropped_constraint(s),)
    return s.enclosed(_dropped_column) if s.at("(") else (_dropped_column(s),)


def _dropped_constraint(s: TokenStream) -> nodes.DropConstraint:
    name = _owned_name(s)
    return nodes.DropConstraint(name.offset, name)


def _dropped_column(s: TokenStream) -> nodes.DropColumn:
    name = s.name()
    return nodes.DropColumn(name.offset, name)


def _modified(s: TokenStream) -> tuple[nodes.AlterAction, ...]:
    if s.accept("next", "size") or s.accept("extent", "size"):
        s.integer()
        return ()
    return s.enclosed(_modified_column) if s.at("(") else (_modified_column(s),)


def _modified_column(s: TokenStream) -> nodes.ModifyColumn:
    column = parse_column(s)
    return nodes.ModifyColumn(column.offset, column)
