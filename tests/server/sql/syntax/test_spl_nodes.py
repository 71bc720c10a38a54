from __future__ import annotations

from aioifx.server.sql.syntax import nodes, spl_nodes
from aioifx.server.sql.syntax.parser import parse


def test_the_statements_of_a_body_are_found_by_walking() -> None:
    text = "CREATE PROCEDURE p() IF 1 = 1 THEN FOR i = 1 TO 2 RETURN; END FOR; END IF; END PROCEDURE"
    kinds = [type(node) for node in nodes.walk(parse(text))]
    assert kinds.count(spl_nodes.Return) == 1
    assert [kinds.index(kind) for kind in (spl_nodes.CreateRoutine, spl_nodes.If, spl_nodes.For)] == sorted(
        kinds.index(kind) for kind in (spl_nodes.CreateRoutine, spl_nodes.If, spl_nodes.For)
    )
