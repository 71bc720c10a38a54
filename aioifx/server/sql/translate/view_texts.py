"""The texts of views, and their columns, after a change of what they read. Never: how the rows of a view are read.

A view keeps its statement as it was written, with two changes: each ``*`` is the list of the columns that it stood for,
and RENAME changes names in it. A name that others in the text may use is kept as a label or an alias: ``b AS a`` for a
renamed column, ``u AS t`` for a renamed table.

Source: documented (Guide to SQL: Syntax): CREATE VIEW, an asterisk stands for the columns at that time; RENAME COLUMN
and RENAME TABLE, the text in sysviews is changed. assumed: the spelling of the changed text
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Final, TypeAlias

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.schema import ColumnDef, Table, TableKind
from aioifx.server.sql.syntax import nodes
from aioifx.server.sql.syntax.tokens import Token, TokenKind, tokenize
from aioifx.server.sql.translate.relations import Relation
from aioifx.server.sql.translate.scopes import Context, ResolvedColumn, ResolvedNames, Source, view_statement
from aioifx.server.sql.translate.select import Place, QueryTranslator

_Edit: TypeAlias = tuple[int, int, str]
"""Two offsets in a text, and what replaces the characters between them."""

PLAIN: Final = re.compile(r"[a-z_][a-z0-9_$]*")
"""A name that needs no quotes."""


def delimited(name: str) -> str:
    """A name in Informix SQL, in quotes if it needs them."""
    return name if PLAIN.fullmatch(name) else '"' + name.replace('"', '""') + '"'


# -- CREATE VIEW -------------------------------------------------------------------------------------------------------


def view_columns(names: Sequence[str], relation: Relation) -> tuple[ColumnDef, ...]:
    """The columns of a view with these names."""
    return tuple(
        ColumnDef(name, output.known_type, output.is_nullable)
        for name, output in zip(names, relation.outputs, strict=True)
    )


def without_stars(node: nodes.CreateView, names: ResolvedNames) -> nodes.CreateView:
    """The statement with lists of columns in place of stars; *names* are those of its translation."""
    text = _Text(node.text, node.offset, node.is_delimident)
    edits = [edit for star, sources in names.stars for edit in text.star(star, sources)]
    changed, is_delimident = text.changed(edits)
    return replace(node, text=changed, is_delimident=is_delimident)


# -- RENAME ------------------------------------------------------------------------------------------------------------


def with_table_renamed(table: Table, new: str, context: Context) -> Iterator[Table]:
    """The views that name a table, with another name of it."""

    def edits(text: _Text, statement: nodes.CreateView, names: ResolvedNames) -> Iterator[_Edit]:
        for reference, found in names.tables:
            if found.tabid == table.tabid and reference.table.name == table.name and found.catalog == "main":
                yield text.table(reference, new)

    return _rewritten(table, edits, context)


def with_column_renamed(table: Table, old: str, new: str, context: Context) -> Iterator[Table]:
    """The views that name a column of a table, with another name of it."""

    def edits(text: _Text, statement: nodes.CreateView, names: ResolvedNames) -> Iterator[_Edit]:
        unlabelled = set(_unlabelled(statement))
        for each in names.columns:
            if each.column.origin == (table.tabid, old):
                hides = not each.is_qualified and any(source.column(new) for source in each.others())
                label = each.source.label if hides and each.source is not None else ""
                is_labelled = each.node.offset not in unlabelled or each.column.name != old
                yield from text.column(each, label, old, new, is_labelled=is_labelled)
            elif not each.is_qualified and each.column.name == new and each.source is not None:
                # The renamed column is another one of that name.
                if any(_is_of(source, table) for source in each.others()) and each.source.label:
                    yield text.qualified(each.node, each.source.label)

    return _rewritten(table, edits, context)


def _is_of(source: Source, table: Table) -> bool:
    """Whether the source has the table's own columns: those of a derived table keep their names."""
    return any(column.origin is not None and column.origin[0] == table.tabid for column in source.columns)


def _unlabelled(statement: nodes.CreateView) -> Iterator[int]:
    """The offsets of columns that give an entry of a select list its name."""
    body = statement.query.body
    named = body.items if statement.columns and isinstance(body, nodes.Select) else ()
    for item in nodes.walk(statement.query):
        if isinstance(item, nodes.SelectItem) and item.label is None and item not in named:
            if isinstance(item.expression, nodes.Column):
                yield item.expression.offset
            if isinstance(item.expression, nodes.Subscript):
                yield item.expression.operand.offset


_Edits: TypeAlias = Callable[["_Text", nodes.CreateView, ResolvedNames], Iterator[_Edit]]


def _rewritten(table: Table, edits_of: _Edits, context: Context) -> Iterator[Table]:
    for view in context.schema.dependents(table.tabid):
        if view.kind is not TableKind.VIEW:
            continue
        statement, names = view_statement(view), ResolvedNames()
        try:
            _translated(statement, Context(context.schema, context.settings, names=names))
        except SqlError:
            continue  # it reads what has been dropped
        text = _Text(statement.text, statement.offset, statement.is_delimident)
        edits = set(edits_of(text, statement, names))  # a name may be translated twice
        if edits:
            changed, is_delimident = text.changed(sorted(edits))
            yield replace(view, view=changed, is_delimident=is_delimident)


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
    def _replaced(token: Token, text: str) -> _Edit:
        return token.offset, token.end, text

    def star(self, star: nodes.Star, sources: Sequence[Source]) -> Iterator[_Edit]:
        """``*`` as a list of columns, unless one of them has no name."""
        names = [(source.label, column.name) for source in sources for column in source.columns]
        if len(set(names)) < len(names) or any(name.startswith("(") for _, name in names):
            return
        listed = (
            f"{delimited(label)}.{delimited(name)}" if label else delimited(name) for label, name in names
        )
        place = self._place(star)
        last = self._path(star)[-1] if star.table is not None else place
        yield self._tokens[place].offset, self._tokens[last].end, ", ".join(listed)

    def table(self, reference: nodes.TableRef, new: str) -> _Edit:
        """Another name of a table; the old one becomes the alias, unless it has one."""
        token = self._tokens[self._path(reference)[-1]]
        alias = "" if reference.alias is not None else f" AS {delimited(reference.table.name)}"
        return self._replaced(token, delimited(new) + alias)

    def qualified(self, node: nodes.Node, label: str) -> _Edit:
        """The name of a column after that of its source."""
        start = self._tokens[self._place(node)].offset
        return start, start, f"{delimited(label)}."

    def column(
        self, resolved: ResolvedColumn, label: str, old: str, new: str, *, is_labelled: bool
    ) -> Iterator[_Edit]:
        """Another name of a column; the old one becomes the label of an entry of a select list.

        Args:
            label: the source's, unless the name is enough.
        """
        path = self._path(resolved.node)
        found = [place for place in path if self._tokens[place].text == old]
        is_field = resolved.column.name != old or isinstance(resolved.node, nodes.FieldAccess)
        token = self._tokens[found[0] if is_field else found[-1]]
        yield self._replaced(token, f"{delimited(label)}.{delimited(new)}" if label else delimited(new))
        if not is_labelled:
            end = self._tokens[path[-1]].end
            if self._tokens[path[-1] + 1].text == "[":
                end = next(each.end for each in self._tokens[path[-1] + 1 :] if each.text == "]")
            yield end, end, f" AS {delimited(old)}"

    def changed(self, edits: Sequence[_Edit]) -> tuple[str, bool]:
        """The text with the edits, and whether double quotes delimit names in it, because one of these needs them."""
        is_delimident = self._is_delimident or any('"' in text for *_, text in edits)
        if is_delimident and not self._is_delimident:
            edits = [*edits, *self._strings()]
        text = self._text
        for start, end, new in sorted(edits, reverse=True):
            text = text[: start - 1] + new + text[end - 1 :]
        return text, is_delimident

    def _strings(self) -> Iterator[_Edit]:
        """Strings in double quotes, in single quotes."""
        for token in self._tokens:
            if token.kind is TokenKind.STRING and self._text[token.offset - 1] == '"':
                yield self._replaced(token, "'" + token.text.replace("'", "''") + "'")


# -- ALTER TABLE -------------------------------------------------------------------------------------------------------


def with_new_columns(table: Table, context: Context) -> Iterator[Table]:
    """The views whose columns have other types since a table has changed to *table*.

    A view that reads a dropped column stays as it is: its use fails (documented: -217).
    """
    schema = context.schema.with_tables([table])
    dependents = context.schema.dependents(table.tabid)
    for view in sorted(dependents, key=lambda each: each.tabid):  # a view reads older ones
        if view.kind is not TableKind.VIEW:
            continue
        try:
            relation = _translated(view_statement(view), Context(schema, context.settings))
            columns = view_columns([column.name for column in view.columns], relation)
        except SqlError:
            continue
        if columns != view.columns:
            changed = replace(view, columns=columns)
            schema = schema.with_tables([changed])
            yield changed
