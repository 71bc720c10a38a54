from __future__ import annotations

import pytest

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.settings import Settings
from aioifx.server.sql.syntax import nodes, spl_nodes
from aioifx.server.sql.translate.spl_loops import LoopSource
from tests.server.sql.workbench import Workbench


class Source(LoopSource):
    """Two loops in each other: one with the label ``o``, and a FOR."""

    def jumped(self, verb: str, label: str = "", kind: spl_nodes.LoopKind | None = None) -> list[str]:
        """The source of both loops with one statement."""
        block = spl_nodes.Block(1, (), (), ())
        outer = spl_nodes.While(1, None, block, "o")
        inner = spl_nodes.For(1, nodes.Name(1, "i"), (), block)
        leave = spl_nodes.Leave(5, "exit" if verb == "exit" else "continue", kind, label, None)
        with self._loop(outer, "while True:"), self._loop(inner, "for i in x:"):
            self._jump(self._loop_of(leave), leave.verb)
        return [line.strip() for line in self._lines if "check" not in line]


def source() -> Source:
    return Source(Workbench().schema, Settings())


def test_the_innermost_loop_is_left_at_once() -> None:
    assert source().jumped("exit") == ["while True:", "for i in x:", "break"]
    assert source().jumped("continue", kind="for")[-1] == "continue"


def test_an_outer_loop_is_left_through_the_inner_ones() -> None:
    lines = source().jumped("continue", "o")
    (flag,) = {line.split()[0] for line in lines if line.startswith("x")}
    assert lines[2:4] == [f"{flag} = 2", "break"]
    assert lines[4:] == [
        f"if {flag} == 1:",
        f"{flag} = 0",
        "break",
        f"if {flag} == 2:",
        f"{flag} = 0",
        "continue",
    ]


def test_there_must_be_such_a_loop() -> None:
    for label, kind in (("x", None), ("", "foreach")):
        with pytest.raises(SqlError) as caught:
            source().jumped("exit", label, kind)  # type: ignore[arg-type]
        assert (caught.value.sqlcode, caught.value.offset) == (-201, 5)
