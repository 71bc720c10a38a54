from __future__ import annotations

import pytest

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.type_rules import DATE, INTEGER
from aioifx.server.sql.syntax import nodes
from aioifx.server.sql.syntax.parser import parse_type_text
from aioifx.server.sql.syntax.spl_nodes import LikeColumn
from aioifx.server.sql.translate.scopes import Context
from aioifx.server.sql.translate.spl_scopes import Variable, Variables, declared_type
from tests.server.sql.workbench import Workbench


def test_an_inner_block_hides_variables() -> None:
    outer = Variables({"a": Variable("v1", INTEGER), "b": Variable("v2", INTEGER)})
    inner = Variables({"a": Variable("v3", DATE)}, outer)
    assert [inner.type_of(name) for name in ("a", "b", "c")] == [DATE, INTEGER, None]


def test_like_takes_the_type_of_a_column() -> None:
    bench = Workbench("CREATE TABLE t (k SERIAL, v VARCHAR(9))")
    context = Context(bench.schema, bench.settings)
    table = nodes.QualifiedName(1, "t")
    assert declared_type(LikeColumn(1, table, nodes.Name(1, "k")), context) == INTEGER
    with pytest.raises(SqlError, match="-217"):
        declared_type(LikeColumn(1, table, nodes.Name(1, "x")), context)
    with pytest.raises(SqlError, match="-999"):
        declared_type(parse_type_text("BLOB"), context)
