"""The source of loops, and of EXIT and CONTINUE, also out of inner loops and handlers. Never: what a loop repeats."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.schema import Schema
from aioifx.server.sql.model.settings import Settings
from aioifx.server.sql.syntax import nodes, spl_nodes
from aioifx.server.sql.translate.spl_scopes import Loop, Verb
from aioifx.server.sql.translate.spl_source import RoutineSource


class LoopSource(RoutineSource):
    """The source of one routine, with the loops around the statement that is compiled."""

    def __init__(self, schema: Schema, settings: Settings) -> None:
        super().__init__(schema, settings)
        self._loops: list[Loop] = []
        self._loops_outside: list[Loop] = []  # around the handler that is compiled
        self._jumps: list[tuple[Loop, Verb]] = []  # from that handler to those loops

    @contextmanager
    def _loop(
        self, node: spl_nodes.For | spl_nodes.While | spl_nodes.Foreach, head: str
    ) -> Generator[None, None, None]:
        kinds: dict[type[nodes.Node], spl_nodes.LoopKind] = {
            spl_nodes.For: "for",
            spl_nodes.Foreach: "foreach",
            spl_nodes.While: "while",
        }
        kind = kinds[type(node)]
        if isinstance(node, spl_nodes.While) and node.condition is None:
            kind = "loop"
        if any(node.label and loop.label == node.label for loop in self._loops):
            raise SqlError(-201, offset=node.offset)
        loop = Loop(self._number(), kind, node.label)
        with self._nested(node.offset), self._indented(head), self._branch():
            self._loops.append(loop)
            self._line("_host.check()")
            yield
            self._loops.pop()
        # An EXIT or CONTINUE of an outer loop has left this one: go on outwards.
        for outer in self._loops:
            if outer.is_left:
                if outer is self._loops[-1]:
                    flag = f"x{outer.number}"
                    with self._indented(f"if {flag} == 1:"):
                        self._line(f"{flag} = 0")
                        self._line("break")
                    with self._indented(f"if {flag} == 2:"):
                        self._line(f"{flag} = 0")
                        self._line("continue")
                else:
                    self._line(f"if x{outer.number}: break")

    def _jump(self, loop: Loop, verb: Verb) -> None:
        if loop not in self._loops:
            self._jumps.append((loop, verb))
            self._line(f"return {len(self._jumps)}")
            return
        if loop is self._loops[-1]:
            self._line("break" if verb == "exit" else "continue")
            return
        loop.is_left = True
        flag = f"x{loop.number}"
        if flag not in self._places:
            self._places.append(flag)
        self._line(f"{flag} = {1 if verb == 'exit' else 2}")
        self._line("break")

    def _loop_of(self, node: spl_nodes.Leave) -> Loop:
        """The loop that EXIT or CONTINUE means.

        Raises:
            SqlError: -201, there is no such loop.
        """
        for loop in (*reversed(self._loops), *reversed(self._loops_outside)):
            is_kind = (
                node.kind is None or loop.kind == node.kind or (node.kind == "loop" and loop.label != "")
            )
            if (loop.label == node.label) if node.label else is_kind:
                return loop
        raise SqlError(-201, offset=node.offset)
