"""Translated queries and their composition: one SELECT, two combined, ORDER BY. Never: Informix's tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol, TypeAlias

from aioifx.server.sql.frozen import Frozen
from aioifx.server.sql.model.type_rules import INTEGER, Family, family_of
from aioifx.server.sql.sqlite.tree import Node, Piece, Query, listed, query_sql, sql, unquoted
from aioifx.server.sql.translate.large_objects import kept
from aioifx.server.sql.translate.scopes import Source
from aioifx.server.sql.translate.sqlite_ddl import collated
from aioifx.server.sql.translate.typed import Typed, cast
from aioifx.sqltypes import Column, SqlType

Types: TypeAlias = Sequence[SqlType] | None


class Rows(Protocol):
    """A query whose rows are not ordered yet."""

    @property
    def names(self) -> tuple[str, ...]:
        """The column names in SQ_DESCRIBE."""
        ...

    @property
    def outputs(self) -> tuple[Typed, ...]:
        """The columns."""
        ...

    @property
    def is_one_row(self) -> bool:
        """Whether it always returns one row."""
        ...

    def query(self, types: Types = None) -> Query:
        """The query; its columns are cast to *types* and named c1, c2, ..."""
        ...

    def part(self, types: Types) -> Query:
        """The query as one part of a compound select, its columns with the collations of their types."""
        ...


class Block(Frozen):
    """One SELECT up to its HAVING."""

    names: tuple[str, ...]
    outputs: tuple[Typed, ...]
    tail: Piece
    """From FROM on."""
    is_distinct: bool = False
    is_grouped: bool = False
    is_one_row: bool = False
    sources: tuple[Source, ...] = ()
    """The sources in its FROM clause."""

    def query(self, types: Types = None) -> Query:
        """The whole SELECT; DISTINCT compares rows by the collations of their types."""
        return self._text(types, self.is_distinct)

    def part(self, types: Types) -> Query:
        """The SELECT within a UNION."""
        return self._text(types, True)

    def _text(self, types: Types, is_collated: bool) -> Query:
        columns: list[Node] = []
        for number, output in enumerate(self.outputs, start=1):
            type_ = types[number - 1] if types is not None else output.type
            value = output.sql if type_ is None else cast(output, type_)
            columns.append(sql("{} AS c{}", collated(value, type_) if is_collated else value, number))
        distinct = "DISTINCT " if self.is_distinct else ""
        return query_sql("SELECT {}{}{}", distinct, listed(columns), self.tail)

    def with_rowid(self, alias: str) -> Block:
        """This block with the rowid after its columns."""
        rowid = Typed(unquoted(alias, "rowid"), INTEGER, is_nullable=False)
        return replace(self, names=(*self.names, "rowid"), outputs=(*self.outputs, rowid))


class Combined(Frozen):
    """UNION, INTERSECT or MINUS of two queries."""

    operator: str
    left: Rows
    right: Rows
    outputs: tuple[Typed, ...]
    """The columns, with the common types."""

    @property
    def names(self) -> tuple[str, ...]:
        """The column names of the first part."""
        return self.left.names

    @property
    def is_one_row(self) -> bool:
        """False, since the number of rows is never known."""
        return False

    def query(self, types: Types = None) -> Query:
        """Both parts cast to the common types, then to *types*."""
        common = tuple(output.known_type for output in self.outputs)
        query = query_sql("{} {} {}", self.left.part(common), self.operator, _wrapped(self.right, common))
        if types is None or tuple(types) == common:
            return query
        columns = (
            sql("{} AS c{}", cast(replace(output, sql=unquoted("", number)), type_), number)
            for number, (output, type_) in enumerate(zip(self.outputs, types, strict=True), start=1)
        )
        return query_sql("SELECT {} FROM ({})", listed(columns), query)

    def part(self, types: Types) -> Query:
        """As the left part of another compound select, which SQLite evaluates from left to right."""
        return self.query(types)


def _wrapped(rows: Rows, types: Types) -> Query:
    query = rows.part(types)
    return query if isinstance(rows, Block) else query_sql("SELECT * FROM ({})", query)


class Relation(Frozen):
    """A whole query: its WITH clause, its rows, their order, SKIP and FIRST."""

    rows: Rows
    common: Piece = ""
    order: Piece = ""
    limit: Piece = ""

    @property
    def names(self) -> tuple[str, ...]:
        """The column names in SQ_DESCRIBE."""
        return self.rows.names

    @property
    def outputs(self) -> tuple[Typed, ...]:
        """The columns."""
        return self.rows.outputs

    @property
    def is_one_row(self) -> bool:
        """Whether it always returns one row."""
        return self.rows.is_one_row and not self.limit

    def query(self, types: Types = None) -> Query:
        """The whole query."""
        return query_sql("{}{}{}{}", self.common, self.rows.query(types), self.order, self.limit)

    def part(self, types: Types) -> Query:
        """As a part of a compound select, where SQLite allows neither WITH nor ORDER BY nor LIMIT."""
        if self.common or self.order or self.limit:
            return query_sql("SELECT * FROM ({})", self.query(types))
        return self.rows.part(types)

    def described(self) -> tuple[Column, ...]:
        """The columns for SQ_DESCRIBE."""
        return tuple(
            Column(name, output.known_type, output.is_nullable)
            for name, output in zip(self.names, self.outputs, strict=True)
        )


class _Kept(Frozen):
    """The rows of a compound select with BYTE and TEXT values that are kept."""

    rows: Rows
    outputs: tuple[Typed, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The column names."""
        return self.rows.names

    @property
    def is_one_row(self) -> bool:
        """Whether it always returns one row."""
        return self.rows.is_one_row

    def query(self, types: Types = None) -> Query:
        """The query; *types* are those of the rows."""
        numbers = range(1, len(self.outputs) + 1)
        columns = (
            sql("{} AS c{}", output.sql, number) for number, output in zip(numbers, self.outputs, strict=True)
        )
        return query_sql("SELECT {} FROM ({})", listed(columns), self.rows.query(types))

    part = query


def keeping(relation: Relation, parameter: int) -> Relation:
    """The query of a cursor, whose BYTE and TEXT values are kept; see `large_objects.kept`."""
    rows = relation.rows
    if isinstance(rows, Block):
        outputs = tuple(kept(output, parameter) for output in rows.outputs)
        return replace(relation, rows=replace(rows, outputs=outputs))
    named = (replace(output, sql=unquoted("", number)) for number, output in enumerate(rows.outputs, start=1))
    return replace(relation, rows=_Kept(rows, tuple(kept(output, parameter) for output in named)))


def is_shown(type_: SqlType) -> bool:
    """Whether this server can send values of the type."""
    return family_of(type_) is not Family.OTHER
