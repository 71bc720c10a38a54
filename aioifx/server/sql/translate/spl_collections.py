"""Changes of the elements of a collection variable: their Python source. Never: what they do with the elements."""

from __future__ import annotations

from typing import Final

from aioifx.server.sql.complex_types import COLLECTIONS, ComplexType
from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.schema import Schema
from aioifx.server.sql.model.settings import Settings
from aioifx.server.sql.model.type_rules import INTEGER
from aioifx.server.sql.runtime.collection_variables import ElementCursor, deleted, inserted, updated
from aioifx.server.sql.syntax import nodes, spl_nodes
from aioifx.server.sql.translate.spl_goto import GotoSource
from aioifx.server.sql.translate.spl_source import Variable

NO_CURSOR: Final = -507
"""No cursor of that name (documented: list of messages)."""
_HELPERS: Final = {"_cursor": ElementCursor, "_deleted": deleted, "_inserted": inserted, "_updated": updated}


class CollectionSource(GotoSource):
    """The source of one routine, with its changes of elements."""

    def __init__(self, schema: Schema, settings: Settings) -> None:
        super().__init__(schema, settings)
        self._namespace.update(_HELPERS)
        self._element_cursors: dict[str, tuple[str, str]] = {}
        """The place of each cursor over a variable whose loop is around, and that of the variable."""

    def _change_elements(self, node: spl_nodes.ChangeElements) -> None:
        """INSERT, UPDATE or DELETE of TABLE(variable).

        Raises:
            SqlError: -667, no such variable; -999, not of a collection; -507, no loop around has the cursor.
        """
        variable = self._target(node.variable)
        type_ = self._collection_type(variable, node.variable)
        stored = self._read(node.variable.text, variable)
        if node.verb == "insert":
            stored = f"(None if {variable.source} is _missing else {variable.source})"
        cursor = self._cursor_of(node, variable)
        arguments = [stored]
        if node.value is not None:
            arguments.append(self._value(node.value, type_.element))
        if node.verb == "insert":
            arguments.append("None" if node.position is None else self._value(node.position, INTEGER))
        else:
            arguments.append(cursor)
        if node.verb != "delete":
            place = f"type{self._number()}"
            self._namespace[place] = type_
            arguments.append(place)
        around = [place for place, source in self._element_cursors.values() if source == variable.source]
        arguments.append(f"({''.join(f'{place}, ' for place in around)})")
        verb = {"insert": "_inserted", "update": "_updated", "delete": "_deleted"}[node.verb]
        self._line(f"{variable.source} = {verb}({', '.join(arguments)})")
        self._gets_value(variable)

    def _collection_type(self, variable: Variable, name: nodes.Name) -> ComplexType:
        type_ = variable.type
        if not isinstance(type_, ComplexType) or type_.code not in COLLECTIONS:
            raise SqlError(-999, token="TABLE(VARIABLE)", offset=name.offset)
        return type_

    def _cursor_of(self, node: spl_nodes.ChangeElements, variable: Variable) -> str:
        if node.cursor is None:
            return "None"
        place, source = self._element_cursors.get(node.cursor.text, ("", ""))
        if source != variable.source:
            raise SqlError(NO_CURSOR, token=node.cursor.text, offset=node.cursor.offset)
        return place

    def _open_elements(self, node: spl_nodes.Foreach) -> str:
        """Source of a cursor over a variable whose loop changes its current element; its place, empty for others.

        Raises:
            SqlError: -999, the query is not of all elements in their order.
        """
        changes = [
            each
            for each in nodes.walk(node.body)
            if isinstance(each, spl_nodes.ChangeElements)
            and each.cursor is not None
            and each.cursor.text == node.cursor
        ]
        if not node.cursor or not changes:
            return ""
        name = _variable_of(node.source)
        if name is None:
            raise SqlError(-999, token="TABLE(VARIABLE)", offset=node.offset)
        variable = self._target(nodes.Name(name.offset, name.name))
        self._collection_type(variable, changes[0].variable)
        place = f"cursor{self._number()}"
        self._line(f"{place} = _cursor({self._read(name.name, variable)})")
        self._element_cursors[node.cursor] = place, variable.source
        return place


def _variable_of(source: nodes.Query | nodes.Execute) -> nodes.Column | None:
    """The variable whose elements a query reads, all in their order; None for another query."""
    if not isinstance(source, nodes.Query) or source.order_by or source.common_tables:
        return None
    body = source.body
    if not isinstance(body, nodes.Select) or len(body.from_items) != 1:
        return None
    item = body.from_items[0]
    if body != nodes.Select(body.offset, body.items, body.from_items, first=body.first):
        return None
    if any(isinstance(each, nodes.Aggregate) for item in body.items for each in nodes.walk(item)):
        return None
    if not isinstance(item, nodes.ElementTable) or not isinstance(item.collection, nodes.Column):
        return None
    return item.collection
