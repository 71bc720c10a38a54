"""The texts of views, and their columns, after a change of what they read. Never: how the rows of a view are read.

A view keeps its statement as it was written, with two changes: each ``*`` is the list of the columns that it stood for,
and RENAME changes names in it. A name that others in the text may use is kept as a label or an alias: ``b AS a`` for a
renamed column, ``u AS t`` for a renamed table.

Source: documented (Guide to SQL: Syntax): CREATE VIEW, an asterisk stands for the columns at that time; RENAME COLUMN
and RENAME TABLE, the text in sysviews is changed. assumed: the spelling of the changed text
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import count, islice
from typing import TypeAlias

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.schema import ColumnDef, Table, TableKind
from aioifx.server.sql.model.type_rules import CHAR_LIMIT, INTEGER, char
from aioifx.server.sql.syntax import nodes
from aioifx.server.sql.syntax.delimited import delimited
from aioifx.server.sql.syntax.tokens import Token, TokenKind, tokenize
from aioifx.server.sql.translate.relations import Relation
from aioifx.server.sql.translate.scopes import (
    ROWID,
    Context,
    ResolvedColumn,
    ResolvedNames,
    Source,
    view_statement,
)
from aioifx.server.sql.translate.select import Place, QueryTranslator

Edit: TypeAlias = tuple[int, int, str]
"""Two offsets in a text, and what replaces the characters between them."""


def edited(
    text: str, tokens: Sequence[Token], edits: Sequence[Edit], is_delimident: bool
) -> tuple[str, bool]:
    """The text with the edits, and whether double quotes delimit names in it, because one of these needs them."""
    if not is_delimident and any('"' in new for *_, new in edits):
        is_delimident = True
        edits = [*edits, *_strings_in_single_quotes(text, tokens)]
    for start, end, new in sorted(edits, reverse=True):
        text = text[: start - 1] + new + text[end - 1 :]
    return text, is_delimident


def _strings_in_single_quotes(text: str, tokens: Sequence[Token]) -> Iterator[Edit]:
    for token in tokens:
        if token.kind is TokenKind.STRING and text[token.offset - 1] == '"':
            yield token.offset, token.end, "'" + token.text.replace("'", "''") + "'"


# -- CREATE VIEW -------------------------------------------------------------------------------------------------------


def view_columns(names: Sequence[str], relation: Relation) -> tuple[ColumnDef, ...]:
    """The columns of a view with these names."""
    return tuple(
        ColumnDef(name, output.known_type, output.is_nullable)
        for name, output in zip(names, relation.outputs, strict=True)
    )


def with_full_names(node: nodes.CreateView, names: ResolvedNames, default_owner: str) -> nodes.CreateView:
    """The statement with lists of columns in place of stars, and in an ANSI database with the owners of tables.

    Args:
        names: those of its translation.
        default_owner: that of the schema.
    """
    text = _Text(node.text, node.offset, node.is_delimident)
    edits = [edit for star, sources in names.stars for edit in text.star(star, sources)]
    if default_owner:
        tables = [reference for reference, _ in names.tables]
        edits += (
            text.owned(each, default_owner)
            for each in tables
            if not (each.table.owner or each.table.database)
        )
    changed, is_delimident = text.changed(edits)
    return replace(node, text=changed, is_delimident=is_delimident)


# -- RENAME ------------------------------------------------------------------------------------------------------------


def with_table_renamed(table: Table, new: str, context: Context) -> Iterator[Table]:
    """The views that name a table, with another name of it."""

    def edits(text: _Text, statement: nodes.CreateView, names: ResolvedNames) -> Iterator[Edit]:
        for reference, found in names.tables:
            if found.tabid == table.tabid and reference.table.name == table.name and found.catalog == "main":
                is_hidden = not reference.table.owner and any(
                    isinstance(each, nodes.CommonTable) and each.name.text == new
                    for each in nodes.walk(statement.query)
                )
                yield text.table(reference, new, table.owner if is_hidden else "")

    return _changed(replace(table, name=new), edits, context)


def with_column_renamed(
    table: Table, renamed: Table, old: str, new: str, context: Context
) -> Iterator[Table]:
    """The views that name a column of a table, with another name of it; *renamed* is the table afterwards."""

    def edits(text: _Text, statement: nodes.CreateView, names: ResolvedNames) -> Iterator[Edit]:
        unlabelled = set(_unlabelled(statement))
        labels = _Labels(table, {new}, {old: new}, text, statement, _ordering(statement, new))
        yield from labels.told_apart(names)
        for each in names.columns:
            if each.column.origin == (table.tabid, old):
                is_labelled = each.node.offset not in unlabelled or each.column.name != old
                yield from text.column(each, labels.of(each), old, new, is_labelled=is_labelled)

    return _changed(renamed, edits, context)


class _Labels:
    """The names of sources before those of columns, where a name is to mean something else.

    Args:
        table: the one that changes.
        changed: the names of columns that it gets or loses.
        renamed: the new name of a column, by the old one.
        ordering: offsets of names that get their source in any case.
    """

    def __init__(
        self,
        table: Table,
        changed: set[str],
        renamed: Mapping[str, str],
        text: _Text,
        statement: nodes.CreateView,
        ordering: Container[int] = (),
    ) -> None:
        self._table = table
        self._changed = changed
        self._renamed = renamed
        self._text = text
        self._statement = statement
        self._ordering = ordering
        self._aliases: dict[int, str] = {}
        """New aliases by the offsets of entries of FROM, whose labels do not tell them from others."""

    def told_apart(self, names: ResolvedNames) -> Iterator[Edit]:
        """New aliases, and the names of columns that are not renamed.

        Raises:
            SqlError: -999, ROWID of the table has no other name, and a column is to have that name.
        """
        takes_rowid = ROWID in self._changed and self._table.column(ROWID) is None
        for each in names.columns:
            source, rivals = each.source, list(self._rivals(each))
            if takes_rowid and each.is_rowid and source is not None and source.table == self._table:
                raise SqlError(-999, token=f"ROWID in view {self._statement.view.name}")
            if source is not None and source.offset not in self._aliases:
                labels = [rival.label for rival in rivals]
                if (each.is_qualified or rivals) and (
                    source.label in labels or (rivals and not source.label)
                ):
                    self._aliases[source.offset] = self._text.unused_name(len(self._aliases))
        for item in nodes.walk(self._statement.query):
            if isinstance(item, nodes.TableRef | nodes.DerivedTable) and item.offset in self._aliases:
                yield self._text.alias(item, self._aliases[item.offset])
        for each in names.columns:
            label = self.of(each)
            if label and self._name(each) == each.base.name:
                name = each.base.name
                yield from self._text.column(each, label, name, name, is_labelled=True)

    def of(self, resolved: ResolvedColumn) -> str:
        """The name of its source, if the text is to have another one or needs it."""
        source = resolved.source
        if source is None:
            return ""
        if source.offset in self._aliases:
            return self._aliases[source.offset]
        is_needed = resolved.node.offset in self._ordering and self._name(resolved) != resolved.base.name
        is_needed = is_needed or any(self._rivals(resolved))
        return source.label if is_needed and not resolved.is_qualified else ""

    def _name(self, resolved: ResolvedColumn) -> str:
        """Its name after the change."""
        name = resolved.base.name
        is_own = resolved.base.origin == (self._table.tabid, name)
        return self._renamed.get(name, name) if is_own else name

    def _rivals(self, resolved: ResolvedColumn) -> Iterator[Source]:
        """The sources that its name may mean after the change, or later if its column is dropped.

        With the name of a pseudo column, it may mean that of its own source.
        """
        name, source = self._name(resolved), resolved.source
        if source is None or name not in self._changed:
            return
        is_gone = resolved.base.origin == (self._table.tabid, name)
        if name != resolved.base.name and any(each.name == name for each in source.pseudo):
            yield replace(source, label="")
        for other in resolved.others(is_gone=is_gone):
            if is_gone or other.column(name) is not None or _is_of(other, self._table):
                yield other


def _is_of(source: Source, table: Table) -> bool:
    """Whether the source has the table's own columns: those of a derived table keep their names."""
    return any(column.origin is not None and column.origin[0] == table.tabid for column in source.columns)


def _ordering(statement: nodes.CreateView, label: str) -> set[int]:
    """The offsets of keys of ORDER BY, if a select list has that label, which they would mean."""
    walked = list(nodes.walk(statement.query))
    if not any(
        isinstance(each, nodes.SelectItem) and each.label and each.label.text == label for each in walked
    ):
        return set()
    return {each.expression.offset for each in walked if isinstance(each, nodes.OrderItem)}


def _unlabelled(statement: nodes.CreateView) -> Iterator[int]:
    """The offsets of columns that give an entry of a select list its name."""
    body, is_ordered = statement.query.body, bool(statement.query.order_by)
    named = body.items if statement.columns and isinstance(body, nodes.Select) and not is_ordered else ()
    for item in nodes.walk(statement.query):
        if isinstance(item, nodes.SelectItem) and item.label is None and item not in named:
            if isinstance(item.expression, nodes.Column):
                yield item.expression.offset
            if isinstance(item.expression, nodes.Subscript):
                yield item.expression.operand.offset


_Edits: TypeAlias = Callable[["_Text", nodes.CreateView, ResolvedNames], Iterator[Edit]]


def _changed(table: Table, edits_of: _Edits, context: Context) -> Iterator[Table]:
    """The views whose texts or types of columns change because a table becomes *table*."""
    schema = context.schema.with_tables([table])
    dependents = context.schema.dependents(table.tabid)
    for view in sorted(dependents, key=lambda each: each.tabid):  # a view reads older ones
        if view.kind is not TableKind.VIEW:
            continue
        changed = _edited(view, edits_of, context)
        with suppress(SqlError):  # it reads what has been dropped
            relation = _translated(view_statement(changed), Context(schema, context.settings))
            named = [column.name for column in view.columns]
            changed = replace(changed, columns=view_columns(named, relation))
        if changed != view:
            schema = schema.with_tables([changed])
            yield changed


def _edited(view: Table, edits_of: _Edits, context: Context) -> Table:
    """The view with edits of its text; the same object without any, or if its names cannot be resolved."""
    statement = view_statement(view)
    for gone in (
        None,
        INTEGER,
        char(CHAR_LIMIT),
    ):  # the types of columns that have been dropped are not known
        names = ResolvedNames()
        try:
            _translated(statement, Context(context.schema, context.settings, names=names, gone=gone))
            break
        except SqlError:
            continue
    else:
        return view
    text = _Text(statement.text, statement.offset, statement.is_delimident)
    edits = set(edits_of(text, statement, names))  # a name may be translated twice
    if not edits:
        return view
    changed, is_delimident = text.changed(sorted(edits))
    return replace(view, view=changed, is_delimident=is_delimident)


def _translated(statement: nodes.CreateView, context: Context) -> Relation:
    return QueryTranslator(context).query(statement.query, None, Place.VIEW)


class _Text:
    """The text of a view, and the edits that change names in it.

    Args:
        start: the offset of its first character.
    """

    def __init__(self, text: str, start: int, is_delimident: bool) -> None:
        self._text = text
        self._start = start - 1
        self._is_delimident = is_delimident
        self._tokens = tokenize(text, delimident=is_delimident)
        self._places = {token.offset: place for place, token in enumerate(self._tokens)}

    def _place(self, node: nodes.Node) -> int:
        return self._places[node.offset - self._start]

    def _path(self, node: nodes.Node) -> list[int]:
        """The places of the names in ``a.b.c``."""
        path = [self._place(node)]
        while self._tokens[path[-1] + 1].text in (".", ":", "@"):
            path.append(path[-1] + 2)
        return path

    @staticmethod
    def _replaced(token: Token, text: str) -> Edit:
        return token.offset, token.end, text

    def star(self, star: nodes.Star, sources: Sequence[Source]) -> Iterator[Edit]:
        """``*`` as a list of columns; that of a derived table, whose columns do not change, may stay.

        Raises:
            SqlError: -999, the columns of a stored table cannot be told from others.
        """
        names = [column.name for source in sources for column in source.columns]
        labels = [source.label for source in sources]
        listed: list[str] = []
        for source in sources:
            own = [column.name for column in source.columns]
            has_names = len(set(own)) == len(own) and not any(name.startswith("(") for name in own)
            if labels.count(source.label) > 1 or not (
                source.label or (has_names and all(names.count(name) == 1 for name in own))
            ):
                if any(column.origin for each in sources for column in each.columns):
                    raise SqlError(-999, token="*", offset=star.offset)
                return
            prefix = f"{delimited(source.label)}." if source.label else ""
            listed += (prefix + delimited(name) for name in own) if has_names else (f"{prefix}*",)
        place = self._place(star)
        last = self._path(star)[-1] if star.table is not None else place
        yield self._tokens[place].offset, self._tokens[last].end, ", ".join(listed)

    def table(self, reference: nodes.TableRef, new: str, owner: str) -> Edit:
        """Another name of a table; the old one becomes the alias, unless it has one.

        Args:
            owner: the table's, unless the name is enough.
        """
        token = self._tokens[self._path(reference)[-1]]
        alias = "" if reference.alias is not None else f" AS {delimited(reference.table.name)}"
        prefix = f"{delimited(owner)}." if owner else ""
        return self._replaced(token, prefix + delimited(new) + alias)

    def owned(self, reference: nodes.TableRef, owner: str) -> Edit:
        """The name of a table after its owner."""
        token = self._tokens[self._path(reference)[-1]]
        return token.offset, token.offset, f"{delimited(owner)}."

    def alias(self, item: nodes.TableRef | nodes.DerivedTable, new: str) -> Edit:
        """Another alias of an entry of FROM."""
        if item.alias is not None:
            return self._replaced(self._tokens[self._place(item.alias)], new)
        last = self._path(item)[-1]
        if isinstance(item, nodes.DerivedTable):
            last = next(self._ends(self._place(item)))
        end = self._tokens[last].end
        return end, end, f" AS {new}"

    def _ends(self, place: int) -> Iterator[int]:
        """The places after this one where all parentheses are closed."""
        depth = 0
        for number, token in enumerate(self._tokens[place:], start=place):
            depth += (token.text == "(") - (token.text == ")")
            if token.text == ")" and depth == 0:
                yield number

    def unused_name(self, number: int) -> str:
        """A name that the text does not contain."""
        used = {token.text for token in self._tokens}
        names = (name for name in (f"x{n}" for n in count()) if name not in used)
        return next(islice(names, number, None))

    def column(
        self, resolved: ResolvedColumn, label: str, old: str, new: str, *, is_labelled: bool
    ) -> Iterator[Edit]:
        """Another name of a column; the old one becomes the label of an entry of a select list.

        Args:
            label: the source's, unless the name is enough.
        """
        path = self._path(resolved.node)
        found = [place for place in path if self._tokens[place].text == old]
        token = self._tokens[found[0] if resolved.is_field else found[-1]]
        start = self._tokens[path[0]].offset if label else token.offset
        yield start, token.end, f"{delimited(label)}.{delimited(new)}" if label else delimited(new)
        if not is_labelled:
            end = self._tokens[path[-1]].end
            if self._tokens[path[-1] + 1].text == "[":
                end = next(each.end for each in self._tokens[path[-1] + 1 :] if each.text == "]")
            yield end, end, f" AS {delimited(old)}"

    def changed(self, edits: Sequence[Edit]) -> tuple[str, bool]:
        """See `edited`."""
        return edited(self._text, self._tokens, edits, self._is_delimident)


# -- ALTER TABLE -------------------------------------------------------------------------------------------------------


def with_new_columns(table: Table, before: Table, context: Context) -> Iterator[Table]:
    """The views that change because a table has changed to *table*: the types of their columns, or their texts.

    A name in a text gets its table where it would mean an added column, or another one in place of a dropped column.
    Otherwise a view that reads a dropped column stays as it is: its use fails with -217, until a column of that name is
    added (documented: Database Design, "When the basis of the view changes"; ALTER TABLE, "How Dropping a Column
    Affects Views").
    """
    columns, old = ({column.name for column in each.columns} for each in (table, before))

    def edits(text: _Text, statement: nodes.CreateView, names: ResolvedNames) -> Iterator[Edit]:
        return _Labels(before, columns ^ old, {}, text, statement).told_apart(names)

    return _changed(table, edits, context)
