"""Name resolution: tables of the schema, columns of enclosing FROM clauses. Never: expressions, rules of types.

Invariants:
1. Every entry of a FROM clause gets its own SQLite alias (``s1``, ``s2``), so users' names never reach SQLite.
2. The columns of a derived table are ``c1``, ``c2``; only a stored table's columns keep their names.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Final

from aioifx.server.sql.builtin_types import bson
from aioifx.server.sql.complex_types import ComplexType, TypeName, is_named, with_parts
from aioifx.server.sql.errors import SqlError, placed_at
from aioifx.server.sql.frozen import Frozen
from aioifx.server.sql.model import plan
from aioifx.server.sql.model.schema import ColumnDef, Schema, Table, TableKind
from aioifx.server.sql.model.settings import Settings
from aioifx.server.sql.model.storage import Form, form_of
from aioifx.server.sql.model.type_rules import INTEGER, Family, family_of
from aioifx.server.sql.sqlite.tree import Column, Node, Parameter, Reference, call, sql, unquoted
from aioifx.server.sql.syntax import nodes
from aioifx.server.sql.syntax.parser import parse
from aioifx.sqltypes import SqlType

MAIN = ("main", "temp")
ROWID: Final = "rowid"
_DEEPEST_VIEW: Final = 32
_SHORTEST_OWNED: Final = 2
"""Parts of ``table.column``; a longer name begins with an owner."""


class SourceColumn(Frozen):
    """A column that an expression may name."""

    name: str
    sql: Node
    type: SqlType
    is_nullable: bool = True
    base: Node | None = None
    """For a field, its column."""
    document: Node | None = None
    """For a field of a document, the document."""
    path: str = ""
    """For a field of a document, the names that lead to it."""
    origin: tuple[int, str] | None = None
    """The tabid and name of the stored column of this database that it is, or whose field it is."""

    def field(self, name: str) -> SourceColumn | None:
        """A field of a row, or of a BSON document, where every name is one (documented: ``column.field``)."""
        base = self.base or self.sql
        if isinstance(self.type, ComplexType):
            index = self.type.field(name)
            if index is None:
                return None
            return SourceColumn(
                name,
                call("ifx_field", self.sql, index),
                self.type.parts[index],
                True,
                base,
                origin=self.origin,
            )
        if form_of(self.type) is Form.BSON:
            document = self.document or self.sql
            path = f"{self.path}.{name}" if self.path else name
            value = call("ifx_bson_get", document, path)
            return SourceColumn(name, value, bson(), True, base, document, path, self.origin)
        return None


@dataclass(slots=True)
class Source:
    """One entry of a FROM clause."""

    label: str
    """The alias, or the table's name."""
    alias: str
    """Its name in SQLite."""
    columns: tuple[SourceColumn, ...]
    table: Table | None = None
    """The stored table; None for views and other derived ones."""
    owner: str = ""
    offset: int = 0
    pseudo: tuple[SourceColumn, ...] = ()
    """Columns that ``*`` does not stand for, such as LEVEL."""

    def column(self, name: str, *, is_qualified: bool = False) -> SourceColumn | None:
        """The column of that name; ROWID for a stored table.

        A name alone is that of a pseudo column, even if there is a column of that name (assumed).
        """
        columns = (*self.columns, *self.pseudo) if is_qualified else (*self.pseudo, *self.columns)
        for column in columns:
            if column.name == name:
                return column
        return next(self.rowid(), None) if name == ROWID else None

    def rowid(self) -> Iterator[SourceColumn]:
        """ROWID of a stored table."""
        if self.table is not None and not self.table.generated:
            yield SourceColumn(ROWID, unquoted(self.alias, ROWID), INTEGER, is_nullable=False)

    def supplied_by_join(self) -> None:
        """The source with nullable columns, because an outer join may lack a row of it."""
        self.columns = tuple(replace(column, is_nullable=True) for column in self.columns)


class CommonTable(Frozen):
    """A table of a WITH clause."""

    alias: str
    columns: tuple[SourceColumn, ...]


@dataclass(slots=True)
class Scope:
    """The sources of one SELECT, with the enclosing scopes."""

    sources: list[Source] = field(default_factory=list[Source])
    parent: Scope | None = None
    common: dict[str, CommonTable] = field(default_factory=dict[str, CommonTable])
    correlated: list[tuple[nodes.Column, SourceColumn]] = field(
        default_factory=list[tuple[nodes.Column, SourceColumn]]
    )
    """Columns of these sources that subqueries have named so far."""
    ancestors: Mapping[str, Scope] = field(default_factory=dict[str, "Scope"])
    """The scopes of PRIOR and CONNECT_BY_ROOT, by `nodes.Ancestor.kind`."""
    paths: Mapping[int, SourceColumn] = field(default_factory=dict[int, SourceColumn])
    """The values of SYS_CONNECT_BY_PATH, and of calls with statement-local variables, by the offsets of the calls."""

    def of_ancestor(self, kind: str) -> Scope | None:
        """The scope of PRIOR or CONNECT_BY_ROOT in this query or one around it."""
        return next((each.ancestors[kind] for each in self.outward() if kind in each.ancestors), None)

    def path(self, offset: int) -> SourceColumn | None:
        """The value of the call at that offset."""
        return next((each.paths[offset] for each in self.outward() if offset in each.paths), None)

    def outward(self) -> Iterator[Scope]:
        """This scope and those around it."""
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.parent

    def find(self, node: nodes.Column | nodes.FieldAccess) -> tuple[Scope, SourceColumn]:
        """The column of a name, and the scope that has it; or the field of a path that is not a column.

        Raises:
            SqlError: -217 no such column, -522 no such table in FROM, -324 ambiguous.
        """
        if isinstance(node, nodes.FieldAccess):
            found = self._field(node.operand, node.fields)
            return found or self._column(node.operand)
        try:
            return self._column(node)
        except SqlError as missing:
            if node.table is None or node.table.database:
                raise
            found = self._field(node)
            if found is None:
                raise missing from None
            return found

    def _field(self, node: nodes.Column, fields: tuple[str, ...] = ()) -> tuple[Scope, SourceColumn] | None:
        """The field of ``column.field..`` or ``table.column.field..``; None if there is no such column.

        Raises:
            SqlError: -217, no such field.
        """
        assert node.table is not None
        path = [name for name in (node.table.owner, node.table.name, node.name) if name]
        for size in range(1, len(path) + bool(fields)):
            owner = path[0] if size > _SHORTEST_OWNED else ""
            table = nodes.QualifiedName(node.offset, path[size - 2], owner) if size > 1 else None
            column = nodes.Column(node.offset, path[size - 1], table)
            try:
                self._column(column)
            except SqlError:
                continue
            return self._column(column, (*path[size:], *fields))
        return None

    def _column(self, node: nodes.Column, fields: tuple[str, ...] = ()) -> tuple[Scope, SourceColumn]:
        scope: Scope | None = self
        label_known = False
        while scope is not None:
            found, label_known = scope._here(node, label_known)
            if found is not None:
                found = _followed(found, fields, node)
                if scope is not self:
                    scope.correlated.append((node, found))
                return scope, found
            scope = scope.parent
        if node.table is not None and not label_known:
            raise SqlError(-522, token=node.table.name, offset=node.offset)
        raise SqlError(-217, token=node.name, offset=node.offset)

    def _here(self, node: nodes.Column, label_known: bool) -> tuple[SourceColumn | None, bool]:
        found: SourceColumn | None = None
        for source in self.sources:
            if node.table is not None and not _meant(source, node.table):
                continue
            label_known = label_known or node.table is not None
            column = source.column(node.name, is_qualified=node.table is not None)
            if column is not None and found is not None:
                raise SqlError(-324, token=node.name, offset=node.offset)
            found = found or column
        return found, label_known

    def resolved(self, node: nodes.Column | nodes.FieldAccess) -> ResolvedColumn:
        """What a name means, as `find`."""
        scope, column = self.find(node)
        for source in scope.sources:
            for each in (*source.columns, *source.pseudo, *source.rowid()):
                if column == each or (column.base is not None and column.base == each.sql):
                    return ResolvedColumn(node, column, source, self, each)
        return ResolvedColumn(node, column, None, self, column)

    def starred(self, star: nodes.Star) -> Iterator[SourceColumn]:
        """The columns that ``*`` or ``table.*`` stands for."""
        for source in self.starred_sources(star):
            yield from source.columns

    def starred_sources(self, star: nodes.Star) -> list[Source]:
        """The sources whose columns ``*`` or ``table.*`` stands for.

        Raises:
            SqlError: -522, there is no such table.
        """
        sources = [each for each in self.sources if star.table is None or _meant(each, star.table)]
        if not sources:
            assert star.table is not None
            raise SqlError(-522, token=star.table.name, offset=star.offset)
        return sources

    def common_table(self, name: str) -> CommonTable | None:
        """The table of a WITH clause of this query or one around it."""
        return next((each.common[name] for each in self.outward() if name in each.common), None)


def _followed(column: SourceColumn, fields: tuple[str, ...], node: nodes.Column) -> SourceColumn:
    """The field at the end of a path."""
    for name in fields:
        field_ = column.field(name)
        if field_ is None:
            raise SqlError(-217, token=name, offset=node.offset)
        column = field_
    return column


def _meant(source: Source, name: nodes.QualifiedName) -> bool:
    return source.label == name.name and name.owner in ("", source.owner)


def view_statement(view: Table) -> nodes.CreateView:
    """The statement that a view is stored as."""
    return _view_statement(view.view, view.is_delimident)


@lru_cache(maxsize=256)
def _view_statement(text: str, is_delimident: bool) -> nodes.CreateView:
    statement = parse(text, delimident=is_delimident)
    assert isinstance(statement, nodes.CreateView)
    return statement


class ResolvedColumn(Frozen):
    """A name of a column, or of a field of one, in the text of a view."""

    node: nodes.Column | nodes.FieldAccess
    column: SourceColumn
    source: Source | None
    """None for a field of a document."""
    scope: Scope
    """Where it is named."""
    base: SourceColumn
    """The column; for a field, the one whose field it is."""

    @property
    def is_field(self) -> bool:
        """Whether it is a field of a column."""
        return self.column != self.base

    @property
    def is_rowid(self) -> bool:
        """Whether it is ROWID, not a column of that name."""
        return self.source is not None and self.base in self.source.rowid()

    @property
    def is_qualified(self) -> bool:
        """Whether the text names the source as well."""
        name = self.node.operand if isinstance(self.node, nodes.FieldAccess) else self.node
        if not self.is_field:
            return name.table is not None
        first = (name.table.owner or name.table.name) if name.table is not None else name.name
        return first != self.base.name

    def others(self, *, is_gone: bool) -> Iterator[Source]:
        """The other sources that the name may refer to if they have such a column.

        Args:
            is_gone: whether its own source has no such column any longer.
        """
        for scope in self.scope.outward():
            yield from (source for source in scope.sources if source is not self.source)
            if not is_gone and any(source is self.source for source in scope.sources):
                return


@dataclass(slots=True)
class ResolvedNames:
    """What the names in the text of a view mean, so that it can be rewritten."""

    tables: list[tuple[nodes.TableRef, Table]] = field(default_factory=list[tuple[nodes.TableRef, Table]])
    columns: list[ResolvedColumn] = field(default_factory=list[ResolvedColumn])
    stars: list[tuple[nodes.Star, list[Source]]] = field(
        default_factory=list[tuple[nodes.Star, list[Source]]]
    )


@dataclass(slots=True)
class Context:
    """The inputs and intermediate results of one statement's translation."""

    schema: Schema
    settings: Settings
    parameters: dict[int, plan.Parameter] = field(default_factory=dict[int, plan.Parameter])
    tables: dict[str, Table] = field(default_factory=dict[str, Table])
    attach: dict[str, str] = field(default_factory=dict[str, str])
    read: dict[int, Table] = field(default_factory=dict[int, Table])
    """The tables and views of the current database that were named, also inside views, by tabid."""
    refresh: set[str | Table] = field(default_factory=set["str | Table"])
    aliases: int = 0
    views: int = 0
    """The current nesting depth of views."""
    statement: nodes.Node | None = None
    """The whole statement."""
    marks: int = 0
    transfers: bool = False
    """Whether it calls LOTOFILE."""
    names: ResolvedNames | None = None
    """Filled while the text of a view is translated to rewrite it."""
    gone: SqlType | None = None
    """The type that columns get which do not exist any longer; None if they are errors."""
    inner_views: list[Node] | None = None
    """The common tables for the views inside the view that is translated."""

    @contextmanager
    def view_inside(self, offset: int) -> Generator[None, None, None]:
        """Context of the translation of a view.

        Raises:
            SqlError: -999, views are nested too deeply, or a view contains itself; others, in the text of the view.
        """
        if self.views >= _DEEPEST_VIEW:
            raise SqlError(-999, token="VIEW", offset=offset)
        self.views += 1
        names, self.names = self.names, None  # of another text
        try:
            with placed_at(offset):
                yield
        finally:
            self.views -= 1
            self.names = names

    def mark(self) -> int:
        """An unused number for a reference to a sequence."""
        self.marks += 1
        return self.marks

    def alias(self) -> str:
        """A name that the statement has not used yet."""
        self.aliases += 1
        return f"s{self.aliases}"

    def parameter(
        self,
        node: nodes.Parameter,
        type_: SqlType | None,
        *,
        compared: bool = False,
        exact: bool = False,
        column: str = "",
    ) -> Parameter:
        """A ``?`` with the type that its context requires; the first requirement counts."""
        known = self.parameters.get(node.index)
        if known is None or known.type is None:
            self.parameters[node.index] = plan.Parameter(type_, compared, exact, column)
        return Parameter(node.index + 1)

    def gathered_parameters(self, statement: nodes.Node) -> tuple[plan.Parameter, ...]:
        """All parameters of the statement, in order."""
        count = nodes.bound_count(statement)
        return tuple(self.parameters.get(index, plan.Parameter(None)) for index in range(count))

    def table(self, name: nodes.QualifiedName) -> Table:
        """The table or view of a name, resolving synonyms.

        Raises:
            SqlError: -206 no such table, -329 no such database, -349 no database open.
        """
        schema = self._schema_of(name)
        table = schema.table(name.name, name.owner)
        if table is not None and table.foreign_name:
            database, owner, table_name = table.foreign_name
            return self.table(nodes.QualifiedName(name.offset, table_name, owner, database))
        if table is not None and table.synonym_of:
            table = schema.table_of(table.synonym_of)
        if table is None or table.kind not in _READABLE:
            raise SqlError(-206, -111, token=name.name, offset=name.offset)
        if table.is_system and not table.columns:
            raise SqlError(-999, token=table.name, offset=name.offset)
        self._note(table, schema.database)
        return table

    def sequence(self, name: nodes.QualifiedName) -> Table | None:
        """The sequence of a name, resolving synonyms; None if it is not a sequence.

        Raises:
            SqlError: -329 no such database, -349 no database open.
        """
        schema = self._schema_of(name)
        table = schema.table(name.name, name.owner)
        if table is not None and table.synonym_of:
            table = schema.table_of(table.synonym_of)
        return table if table is not None and table.kind is TableKind.SEQUENCE else None

    def need_database(self, name: nodes.QualifiedName) -> None:
        """Check the database of a routine's name; all databases have the same routines.

        Raises:
            SqlError: -349 no database open, -329 and -908 unknown name.
        """
        self._schema_of(name)

    def _schema_of(self, name: nodes.QualifiedName) -> Schema:
        if name.server and name.server != self.settings.server:
            raise SqlError(-908, token=name.server, offset=name.offset)
        if not name.database:
            if not self.schema.database:
                raise SqlError(-349, offset=name.offset)
            return self.schema
        schema = self.schema.foreign(name.database)
        if schema is None:
            raise SqlError(-329, -111, token=name.database, offset=name.offset)
        return schema

    @property
    def locked_tables(self) -> tuple[Table, ...]:
        """The tables named so far that other sessions can change."""
        return tuple(
            table
            for table in self.tables.values()
            if not (table.is_temp or table.generated or table.is_system)
        )

    def _note(self, table: Table, database: str) -> None:
        if table.external is not None:
            if table.catalog != "main":
                raise SqlError(-999, token="external table of another database")
            self.refresh.add(table)
        if table.catalog == "main" and (not table.generated or table.external is not None):
            self.read[table.tabid] = table
        if not table.view:
            self.tables[table.source] = table
        if table.refresh:
            self.refresh.add(table.refresh)
        if not table.generated and table.catalog not in MAIN:
            self.attach[database] = table.catalog

    def resolved(self, type_: SqlType) -> SqlType:
        """A declared type with the types of the database in place of their names.

        Raises:
            SqlError: -9628, no such type.
        """
        if isinstance(type_, TypeName):
            known = self.schema.type_named(type_.extended_name, type_.owner)
            if known is None:
                raise SqlError(-9628, token=type_.extended_name, offset=type_.offset)
            return known.type
        if not isinstance(type_, ComplexType) or is_named(type_):
            return type_
        parts = tuple(self.resolved(part) for part in type_.parts)
        return type_ if parts == type_.parts else with_parts(type_, parts)

    def source(self, table: Table, label: str, offset: int = 0) -> Source:
        """A stored table as an entry of FROM."""
        alias = self.alias()
        columns = tuple(
            SourceColumn(c.name, _column(table, alias, c), c.type, c.is_nullable) for c in table.columns
        )
        if self.names is not None and table.catalog == "main":
            columns = tuple(replace(each, origin=(table.tabid, each.name)) for each in columns)
        return Source(label, alias, columns, table, table.owner, offset)


_READABLE: Final = (TableKind.TABLE, TableKind.VIEW, TableKind.EXTERNAL)


def _column(table: Table, alias: str, column: ColumnDef) -> Node:
    """A column in SQLite; a smart large object of another database cannot be read through this one's locators."""
    if table.catalog not in MAIN and family_of(column.type) is Family.SMART_LARGE:
        return call("ifx_raise", -999, f"{column.type} of another database")
    return Column(alias, column.name)


def derived_columns(
    alias: str, names: Iterable[str], columns: Iterable[tuple[SqlType, bool]]
) -> tuple[SourceColumn, ...]:
    """The columns of a derived table, by position."""
    return tuple(
        SourceColumn(name, unquoted(alias, number), type_, nullable)
        for number, (name, (type_, nullable)) in enumerate(zip(names, columns, strict=True), start=1)
    )


def stored_rows(table: Table, alias: str) -> Node:
    """A stored table in FROM."""
    if table.is_temp or table.is_system or table.generated:
        return sql("{} AS {}", table.source, alias)
    return Reference(table.catalog, table.tabid, alias)
