from __future__ import annotations

import pytest

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.settings import Settings
from aioifx.server.sql.model.type_rules import INTEGER
from aioifx.server.sql.syntax import nodes
from aioifx.server.sql.translate.spl_scopes import Variable
from aioifx.server.sql.translate.spl_source import RoutineSource
from tests.server.sql.workbench import Workbench


class Source(RoutineSource):
    """One with a variable ``a`` and a variable ``i`` of a loop."""

    def __init__(self) -> None:
        super().__init__(Workbench().schema, Settings())
        self._variables.known |= {"a": Variable("v1", INTEGER), "i": Variable("v2", INTEGER, is_loop=True)}

    def value(self, tree: nodes.Expression) -> tuple[str, int]:
        """The source of an INTEGER, and the number of statements that are left to SQLite."""
        return self._value(tree, INTEGER), len(self._embedded)

    def target(self, name: str) -> Variable:
        """The variable that a statement sets."""
        return self._target(nodes.Name(7, name))


def test_an_expression_is_source_or_left_to_sqlite() -> None:
    column = nodes.Column(1, "a")
    assert Source().value(column) == ("v1", 0)
    name = nodes.QualifiedName(1, "not_yet")
    assert Source().value(nodes.Call(1, name, (column,))) == ("_host.value(_program, 0, (v1, ))", 1)


@pytest.mark.parametrize(("name", "sqlcode"), [("b", -667), ("i", -660)])
def test_a_statement_sets_only_its_variables(name: str, sqlcode: int) -> None:
    assert Source().target("a").source == "v1"
    with pytest.raises(SqlError) as caught:
        Source().target(name)
    assert (caught.value.sqlcode, caught.value.token, caught.value.offset) == (sqlcode, name, 7)
