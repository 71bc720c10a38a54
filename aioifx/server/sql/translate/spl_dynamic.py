"""Dynamic SQL in a routine: the Python source of its statements. Never: what they do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.schema import Schema
from aioifx.server.sql.model.settings import Settings
from aioifx.server.sql.model.type_rules import LONG_TEXT
from aioifx.server.sql.syntax import nodes, spl_nodes
from aioifx.server.sql.translate.spl_source import NOT_DECLARED, LoopSource
from aioifx.sqltypes import SqlType

IN_USE: Final = -26057
"""The name of a statement or cursor has another meaning (documented: list of messages)."""


class DynamicSource(LoopSource):
    """The source of one routine, with its statements of dynamic SQL."""

    def __init__(self, schema: Schema, settings: Settings) -> None:
        super().__init__(schema, settings)
        self._is_dynamic = False

    def _dynamic(self, node: spl_nodes.Dynamic) -> None:
        self._is_dynamic = True
        match node:
            case spl_nodes.Prepare():
                self._line(f"_dynamic.prepare({self._new(node.name)}, {self._value(node.text, LONG_TEXT)})")
            case spl_nodes.DeclareCursor():
                declared = f"{self._new(node.cursor)}, {node.statement.text!r}, {node.hold}"
                self._line(f"_dynamic.declare({declared})")
            case spl_nodes.OpenCursor():
                types = self._types([self._given(name) for name in node.values])
                values = self._sources([name.text for name in node.values])
                self._line(f"_dynamic.open({node.cursor.text!r}, {types}, ({values}))")
            case spl_nodes.FetchCursor():
                self._fetch(node)
            case spl_nodes.EndCursor():
                self._line(f"_dynamic.{node.verb}({node.name.text!r})")

    def _fetch(self, node: spl_nodes.FetchCursor) -> None:
        """FETCH, which leaves its variables as they are after the last row (assumed)."""
        targets = self._targets(node.targets)
        row = f"row{self._number()}"
        types = self._types([target.type for target in targets])
        self._line(f"{row} = _dynamic.fetch({node.cursor.text!r}, {types})")
        places = "".join(f"{target.source}, " for target in targets)
        with self._indented(f"if {row} is not None:"), self._branch():
            self._line(f"{places} = {row}")
            self._gets_value(*targets)

    def _new(self, name: nodes.Name) -> str:
        """The name of a statement or cursor, which is not that of a variable (documented: DECLARE statement)."""
        if self._variables.find(name.text) is not None:
            raise SqlError(IN_USE, token=name.text, offset=name.offset)
        return repr(name.text)

    def _given(self, name: nodes.Name) -> SqlType:
        type_ = self._variables.type_of(name.text)
        if type_ is None:
            raise SqlError(NOT_DECLARED, token=name.text, offset=name.offset)
        return type_

    def _types(self, types: Sequence[SqlType]) -> str:
        """The place of types in the namespace of the source."""
        place = f"types{self._number()}"
        self._namespace[place] = tuple(types)
        return place
