"""GOTO: a block with labels as a loop over its parts, of which a jump chooses the first. Never: other statements.

Source: labels are documented (Guide to SQL: Syntax, GOTO and << Label >> statements); the codes by their messages.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.schema import Schema
from aioifx.server.sql.model.settings import Settings
from aioifx.server.sql.syntax import nodes, spl_nodes
from aioifx.server.sql.translate.spl_calls import CallSource
from aioifx.server.sql.translate.spl_source import Loop

NO_LABEL: Final = -26027
LABEL_TWICE: Final = -26028
IN_HANDLER: Final = -26029
_LABELLED: Final = (spl_nodes.Labelled, spl_nodes.For, spl_nodes.While, spl_nodes.Foreach)

Statements: TypeAlias = Sequence[spl_nodes.SplStatement]


class GotoSource(CallSource):
    """The source of one routine, with its labels and jumps."""

    def __init__(self, schema: Schema, settings: Settings) -> None:
        super().__init__(schema, settings)
        self._labels: dict[str, int] = {}  # of the routine, with their offsets
        self._goals: set[str] = set()  # those that a GOTO names
        self._in_reach: dict[str, tuple[Loop, str, int]] = {}  # with the number of the part, and its place
        self._in_handler = False

    def _find_labels(self, body: spl_nodes.Block) -> None:
        """Find the labels of a routine.

        Raises:
            SqlError: -26028, one occurs twice.
        """
        for node in nodes.walk(body):
            if isinstance(node, spl_nodes.Goto):
                self._goals.add(node.label)
            elif isinstance(node, _LABELLED) and node.label:
                if node.label in self._labels:
                    raise SqlError(LABEL_TWICE, token=node.label, offset=node.offset)
                self._labels[node.label] = node.offset

    def _in_parts(self, block: spl_nodes.Block, write: Callable[[Statements], None]) -> None:
        """Write the statements of a block; in a loop over the parts that begin with its labels, if a GOTO names one."""
        parts: list[list[spl_nodes.SplStatement]] = [[]]
        labels: list[str] = []
        for statement in block.statements:
            label = statement.label if isinstance(statement, _LABELLED) else ""
            if label in self._goals:
                labels.append(label)
                parts.append([])
            parts[-1].append(statement)
        if not labels:
            write(block.statements)
            return
        loop, place = Loop(self._number(), "goto", ""), self._place()
        self._line(f"{place} = 0")
        self._in_reach |= {label: (loop, place, number) for number, label in enumerate(labels, start=1)}
        with self._looped(loop, block.offset, "while True:"):
            for number, part in enumerate(parts):
                with self._indented(f"if {place} <= {number}:"), self._branch():
                    write(part)
            self._line("break")
        for label in labels:
            del self._in_reach[label]

    def _goto(self, node: spl_nodes.Goto) -> None:
        """A jump to a label of this block or of one around it.

        Raises:
            SqlError: -26029, it is in a handler; -26027, no such label; -999, it would lead into another block.
        """
        if self._in_handler:
            raise SqlError(IN_HANDLER, offset=node.offset)
        if node.label not in self._in_reach:
            if node.label not in self._labels:
                raise SqlError(NO_LABEL, token=node.label, offset=node.offset)
            raise SqlError(-999, token="GOTO INTO A BLOCK", offset=self._labels[node.label])
        loop, place, number = self._in_reach[node.label]
        self._line(f"{place} = {number}")
        self._jump(loop, "continue")

    def _require_no_handler(self, node: spl_nodes.Labelled) -> None:
        """Raise -26029 for a label in a handler."""
        if self._in_handler:
            raise SqlError(IN_HANDLER, offset=node.offset)
