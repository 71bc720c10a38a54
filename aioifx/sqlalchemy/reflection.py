"""Reflection: tables, columns, constraints and indexes in SQLAlchemy's form. Never: a query of its own, DDL.

Names are those of the catalog: lower case unless they were delimited. A schema is an owner, ``database:owner`` or
``database@server:owner``. Without a schema, all tables are found that need no owner. In an ANSI database
these are those of the user. Elsewhere they are those of all owners, because table names are unique there.

Source: documented: Database Object Name (Guide to SQL Syntax), system catalog tables (Guide to SQL Reference)

Invariants:
1. The number of statements does not depend on the number of tables: every ``get_multi_*`` reads a `Catalog`, which an
   Inspector keeps in its cache. Methods for one table are those for several.
2. Indexes that belong to a constraint alone (their names start with a blank) are no indexes of the user.
"""

# pyright: reportUnknownMemberType=false, reportUntypedFunctionDecorator=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportIncompatibleMethodOverride=false
# SQLAlchemy's base class and its decorator `reflection.cache` are annotated in part.

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any, Final, TypeAlias, TypeVar, cast

from sqlalchemy import exc
from sqlalchemy.engine import Connection, ObjectKind, ObjectScope, reflection
from sqlalchemy.engine.default import DefaultDialect
from sqlalchemy.engine.interfaces import (
    ReflectedCheckConstraint,
    ReflectedColumn,
    ReflectedForeignKeyConstraint,
    ReflectedIndex,
    ReflectedPrimaryKeyConstraint,
    ReflectedUniqueConstraint,
)

from aioifx.catalog.tables import ConstraintEntry, TableEntry
from aioifx.catalog.texts import Place, without_parentheses
from aioifx.sqlalchemy.catalog import (
    Catalog,
    database_is_ansi,
    described_columns,
    owners,
    sequence_names,
    temp_table_names,
)
from aioifx.sqlalchemy.reflected import NUMBERED, column, foreign_key, index_of, names_of, options_of

_T = TypeVar("_T")

_Key: TypeAlias = tuple[str | None, str]
"""Schema and name of a table."""

_KINDS: Final = {"T": ObjectKind.TABLE, "E": ObjectKind.TABLE, "V": ObjectKind.VIEW}
"""By systables.tabtype; synonyms are reflected by name only."""


class InformixInspector(reflection.Inspector):
    """The Inspector of `sqlalchemy.inspect`, with what only Informix has."""

    def get_synonym_names(self, schema: str | None = None) -> list[str]:
        """Names of the synonyms. They are reflected like the tables and views that they stand for."""
        with self._operation_context() as connection:
            dialect = cast(InformixReflection, self.dialect)
            return dialect.get_synonym_names(connection, schema, info_cache=self.info_cache)


class InformixReflection(DefaultDialect):
    """The part of the dialect that reads the catalog."""

    inspector = InformixInspector
    zone: dt.tzinfo | None = None
    """The option timezone of the connections, as far as it is known: in the URL, or of the first connection."""

    # -- names --------------------------------------------------------------------------------------------------------

    @reflection.cache
    def get_schema_names(self, connection: Connection, **kw: Any) -> list[str]:
        """The owners of tables, views and synonyms, and the user, who may own nothing yet."""
        return sorted({*owners(connection), str(self.default_schema_name)})

    @reflection.cache
    def get_table_names(self, connection: Connection, schema: str | None = None, **kw: Any) -> list[str]:
        return self._names(connection, schema, "TE", kw)

    @reflection.cache
    def get_view_names(self, connection: Connection, schema: str | None = None, **kw: Any) -> list[str]:
        return self._names(connection, schema, "V", kw)

    @reflection.cache
    def get_synonym_names(self, connection: Connection, schema: str | None = None, **kw: Any) -> list[str]:
        """The synonyms of a schema, public and private."""
        return self._names(connection, schema, "SP", kw)

    @reflection.cache
    def get_sequence_names(self, connection: Connection, schema: str | None = None, **kw: Any) -> list[str]:
        place = Place.of(schema)
        return sequence_names(connection, place, is_ansi=self._is_ansi(connection, place))

    @reflection.cache
    def get_temp_table_names(self, connection: Connection, schema: str | None = None, **kw: Any) -> list[str]:
        """The temporary tables of the session."""
        return temp_table_names(connection)

    @reflection.cache
    def get_temp_view_names(self, connection: Connection, schema: str | None = None, **kw: Any) -> list[str]:
        """None: Informix has no temporary views."""
        return []

    def _names(self, connection: Connection, schema: str | None, kinds: str, kw: dict[str, Any]) -> list[str]:
        catalog = self._catalog(connection, schema, None, kw)
        return sorted(entry.name for entry in catalog.tables(connection).values() if entry.kind in kinds)

    # -- existence ----------------------------------------------------------------------------------------------------

    @reflection.cache
    def has_table(
        self, connection: Connection, table_name: str, schema: str | None = None, **kw: Any
    ) -> bool:
        """Whether a table, view, synonym or temporary table has this name."""
        self._ensure_has_table_connection(connection)
        return dict(self.has_multi_table(connection, [table_name], schema, **kw))[schema, table_name]

    def has_multi_table(
        self, connection: Connection, table_names: Sequence[str], schema: str | None = None, **kw: Any
    ) -> Iterable[tuple[_Key, bool]]:
        known = set(self._catalog(connection, schema, table_names, kw).tables(connection))
        if schema is None and not known.issuperset(table_names):
            known.update(self.get_temp_table_names(connection, **kw))
        return [((schema, name), name in known) for name in table_names]

    @reflection.cache
    def has_sequence(
        self, connection: Connection, sequence_name: str, schema: str | None = None, **kw: Any
    ) -> bool:
        return sequence_name in self.get_sequence_names(connection, schema, **kw)

    @reflection.cache
    def has_index(
        self, connection: Connection, table_name: str, index_name: str, schema: str | None = None, **kw: Any
    ) -> bool:
        """Whether a table has this index, or a unique constraint that stands for it on a foreign key's columns."""
        if not self.has_table(connection, table_name, schema, **kw):
            return False
        keys = [
            key["constrained_columns"] for key in self.get_foreign_keys(connection, table_name, schema, **kw)
        ]
        names = {index["name"] for index in self.get_indexes(connection, table_name, schema, **kw)}
        uniques = self.get_unique_constraints(connection, table_name, schema, **kw)
        return index_name in names.union(each["name"] for each in uniques if each["column_names"] in keys)

    # -- one table ----------------------------------------------------------------------------------------------------

    @reflection.cache
    def get_columns(
        self, connection: Connection, table_name: str, schema: str | None = None, **kw: Any
    ) -> list[ReflectedColumn]:
        return self._single(self.get_multi_columns, connection, table_name, schema, kw)

    @reflection.cache
    def get_pk_constraint(
        self, connection: Connection, table_name: str, schema: str | None = None, **kw: Any
    ) -> ReflectedPrimaryKeyConstraint:
        return self._single(self.get_multi_pk_constraint, connection, table_name, schema, kw)

    @reflection.cache
    def get_foreign_keys(
        self, connection: Connection, table_name: str, schema: str | None = None, **kw: Any
    ) -> list[ReflectedForeignKeyConstraint]:
        return self._single(self.get_multi_foreign_keys, connection, table_name, schema, kw)

    @reflection.cache
    def get_unique_constraints(
        self, connection: Connection, table_name: str, schema: str | None = None, **kw: Any
    ) -> list[ReflectedUniqueConstraint]:
        return self._single(self.get_multi_unique_constraints, connection, table_name, schema, kw)

    @reflection.cache
    def get_check_constraints(
        self, connection: Connection, table_name: str, schema: str | None = None, **kw: Any
    ) -> list[ReflectedCheckConstraint]:
        return self._single(self.get_multi_check_constraints, connection, table_name, schema, kw)

    @reflection.cache
    def get_indexes(
        self, connection: Connection, table_name: str, schema: str | None = None, **kw: Any
    ) -> list[ReflectedIndex]:
        return self._single(self.get_multi_indexes, connection, table_name, schema, kw)

    @reflection.cache
    def get_table_options(
        self, connection: Connection, table_name: str, schema: str | None = None, **kw: Any
    ) -> dict[str, Any]:
        return self._single(self.get_multi_table_options, connection, table_name, schema, kw)

    @reflection.cache
    def get_view_definition(
        self, connection: Connection, view_name: str, schema: str | None = None, **kw: Any
    ) -> str:
        """The CREATE VIEW statement as the server keeps it."""
        catalog = self._catalog(connection, schema, [view_name], kw)
        entry = catalog.tables(connection).get(view_name)
        text = catalog.views(connection).get(entry.source) if entry else None
        if text is None:
            raise exc.NoSuchTableError(_full_name(schema, view_name))
        return text

    def _single(
        self,
        multiple: Callable[..., Iterable[tuple[_Key, _T]]],
        connection: Connection,
        name: str,
        schema: str | None,
        kw: dict[str, Any],
    ) -> _T:
        wanted = {"filter_names": [name], "scope": ObjectScope.ANY, "kind": ObjectKind.ANY}
        found = dict(multiple(connection, schema=schema, **wanted, **kw))
        if (schema, name) not in found:
            raise exc.NoSuchTableError(_full_name(schema, name))
        return found[schema, name]

    # -- several tables -----------------------------------------------------------------------------------------------

    def get_multi_columns(
        self, connection: Connection, **kw: Any
    ) -> Iterator[tuple[_Key, list[ReflectedColumn]]]:
        catalog = self._catalog_of(connection, kw)
        columns = catalog.columns(connection)
        has_serials = any(one.type.code in NUMBERED for each in columns.values() for one in each)
        for key, entry in self._selected(connection, catalog, kw):
            primary = _primary_key(catalog, connection, entry) if has_serials else []
            found = columns.get(entry.source, ())
            if entry.is_foreign:
                found = described_columns(connection, self._full_name(*key))
            yield key, [column(one, primary, self.zone) for one in found]
        for key in self._selected_temps(connection, catalog, kw):
            described = described_columns(connection, self.identifier_preparer.quote(key[1]))
            yield key, [column(one, [], self.zone) for one in described]

    def get_multi_pk_constraint(
        self, connection: Connection, **kw: Any
    ) -> Iterator[tuple[_Key, ReflectedPrimaryKeyConstraint]]:
        def key_of(catalog: Catalog, entry: TableEntry) -> ReflectedPrimaryKeyConstraint:
            for constraint in _constraints(catalog, connection, entry, "P"):
                names = _columns_of(catalog, connection, entry, constraint)
                return {"name": constraint.name, "constrained_columns": names}
            return reflection.ReflectionDefaults.pk_constraint()

        return self._multiple(connection, kw, key_of, reflection.ReflectionDefaults.pk_constraint)

    def get_multi_foreign_keys(
        self, connection: Connection, **kw: Any
    ) -> Iterator[tuple[_Key, list[ReflectedForeignKeyConstraint]]]:
        def keys_of(catalog: Catalog, entry: TableEntry) -> list[ReflectedForeignKeyConstraint]:
            return [
                foreign_key(constraint, _columns_of(catalog, connection, entry, constraint))
                for constraint in _constraints(catalog, connection, entry, "R")
            ]

        return self._multiple(connection, kw, keys_of, list)

    def get_multi_unique_constraints(
        self, connection: Connection, **kw: Any
    ) -> Iterator[tuple[_Key, list[ReflectedUniqueConstraint]]]:
        def uniques_of(catalog: Catalog, entry: TableEntry) -> list[ReflectedUniqueConstraint]:
            return [
                {"name": each.name, "column_names": _columns_of(catalog, connection, entry, each)}
                for each in _constraints(catalog, connection, entry, "U")
            ]

        return self._multiple(connection, kw, uniques_of, list)

    def get_multi_check_constraints(
        self, connection: Connection, **kw: Any
    ) -> Iterator[tuple[_Key, list[ReflectedCheckConstraint]]]:
        def checks_of(catalog: Catalog, entry: TableEntry) -> list[ReflectedCheckConstraint]:
            texts = catalog.checks(connection)
            return [
                {"name": each.name, "sqltext": without_parentheses(texts.get(each.constrid, ""))}
                for each in _constraints(catalog, connection, entry, "C")
            ]

        return self._multiple(connection, kw, checks_of, list)

    def get_multi_indexes(
        self, connection: Connection, **kw: Any
    ) -> Iterator[tuple[_Key, list[ReflectedIndex]]]:
        def indexes_of(catalog: Catalog, entry: TableEntry) -> list[ReflectedIndex]:
            found = catalog.indexes(connection).get(entry.source, ())
            return [index_of(index) for index in found if not index.is_of_constraint]

        return self._multiple(connection, kw, indexes_of, list)

    def get_multi_table_options(
        self, connection: Connection, **kw: Any
    ) -> Iterator[tuple[_Key, dict[str, Any]]]:
        return self._multiple(connection, kw, lambda _, entry: options_of(entry), dict)

    def _multiple(
        self,
        connection: Connection,
        kw: dict[str, Any],
        found_of: Callable[[Catalog, TableEntry], _T],
        nothing: Callable[[], _T],
    ) -> Iterator[tuple[_Key, _T]]:
        """What *found_of* finds for each table that was asked for; *nothing* for temporary tables."""
        catalog = self._catalog_of(connection, kw)
        for key, entry in self._selected(connection, catalog, kw):
            yield key, found_of(catalog, entry)
        for key in self._selected_temps(connection, catalog, kw):
            yield key, nothing()

    # -- the catalog --------------------------------------------------------------------------------------------------

    def _catalog_of(self, connection: Connection, kw: dict[str, Any]) -> Catalog:
        return self._catalog(connection, kw.get("schema"), kw.get("filter_names"), kw)

    def _catalog(
        self, connection: Connection, schema: str | None, names: Collection[str] | None, kw: dict[str, Any]
    ) -> Catalog:
        """The catalog of a schema, or of some of its tables: that of the Inspector's cache, or a new one."""
        cache: dict[Any, Any] = {} if kw.get("info_cache") is None else kw["info_cache"]
        whole: Catalog | None = cache.get(("informix catalog", schema, None))
        if whole is not None and (names is None or whole.has_read(names)):
            return whole
        key = ("informix catalog", schema, None if names is None else frozenset(names))
        found: Catalog | None = cache.get(key)
        if found is None:
            place = Place.of(schema)
            found = cache[key] = Catalog(place, names, is_ansi=self._is_ansi(connection, place))
        return found

    def _selected(
        self, connection: Connection, catalog: Catalog, kw: dict[str, Any]
    ) -> Iterator[tuple[_Key, TableEntry]]:
        """The tables that a method for several was asked for, with their keys."""
        names, kind = kw.get("filter_names"), kw.get("kind", ObjectKind.TABLE)
        if ObjectScope.DEFAULT not in kw.get("scope", ObjectScope.DEFAULT):
            return
        for name, entry in catalog.tables(connection).items():
            is_named = names is not None and name in names
            if names is not None and not is_named:
                continue
            found = _KINDS.get(entry.kind)
            if (found is not None and found in kind) or (found is None and is_named):
                yield (kw.get("schema"), name), entry

    def _selected_temps(self, connection: Connection, catalog: Catalog, kw: dict[str, Any]) -> Iterator[_Key]:
        """The temporary tables that a method for several was asked for."""
        names, kind = kw.get("filter_names"), kw.get("kind", ObjectKind.TABLE)
        scope = kw.get("scope", ObjectScope.DEFAULT)
        if kw.get("schema") is not None or ObjectScope.TEMPORARY not in scope or ObjectKind.TABLE not in kind:
            return
        if names is not None and catalog.tables(connection).keys() >= set(names):
            return
        for name in self.get_temp_table_names(connection, info_cache=kw.get("info_cache")):
            if names is None or name in names:
                yield None, name

    def _full_name(self, schema: str | None, name: str) -> str:
        quote = self.identifier_preparer
        return quote.quote(name) if schema is None else f"{quote.quote_schema(schema)}.{quote.quote(name)}"

    def _is_ansi(self, connection: Connection, place: Place) -> bool:
        """Whether names without an owner are those of the user; asked once for each database."""
        if place.owner is not None:
            return False
        known: dict[str, bool] = self.__dict__.setdefault("_ansi_databases", {})
        if place.database not in known:
            known[place.database] = database_is_ansi(connection, place)
        return known[place.database]


def _constraints(
    catalog: Catalog, connection: Connection, entry: TableEntry, kinds: str
) -> Iterator[ConstraintEntry]:
    for constraint in catalog.constraints(connection).get(entry.source, ()):
        if constraint.kind in kinds:
            yield constraint


def _columns_of(
    catalog: Catalog, connection: Connection, entry: TableEntry, constraint: ConstraintEntry
) -> list[str]:
    """The columns of a primary key, unique constraint or foreign key: those of its index."""
    for index in catalog.indexes(connection).get(entry.source, ()):
        if index.name == constraint.index_name:
            return names_of(index.keys)
    return []


def _primary_key(catalog: Catalog, connection: Connection, entry: TableEntry) -> list[str]:
    constraint = next(_constraints(catalog, connection, entry, "P"), None)
    return [] if constraint is None else _columns_of(catalog, connection, entry, constraint)


def _full_name(schema: str | None, name: str) -> str:
    return name if schema is None else f"{schema}.{name}"
