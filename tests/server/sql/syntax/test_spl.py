from __future__ import annotations

import pytest

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.syntax import spl_nodes
from aioifx.server.sql.syntax.parser import parse
from aioifx.server.sql.syntax.spl_nodes import CreateRoutine, DropRoutine


def routine(text: str) -> CreateRoutine:
    tree = parse(text)
    assert isinstance(tree, CreateRoutine)
    return tree


def test_the_header_has_parameters_results_and_options() -> None:
    text = (
        "CREATE DBA FUNCTION IF NOT EXISTS ann.f(a INT DEFAULT 5, OUT b CHAR(3), c LIKE t.k) RETURNING INT AS n,"
        " DATE SPECIFIC f1 WITH (NOT VARIANT); RETURN 1, TODAY; END FUNCTION DOCUMENT 'one', ' two'"
        " WITH LISTING IN 'list_of_f'"
    )
    tree = routine(text)
    assert (tree.kind, str(tree.name), tree.is_dba, tree.if_not_exists) == ("function", "ann.f", True, True)
    found = [(each.name, each.mode, each.default is not None) for each in tree.parameters]
    assert found == [("a", "in", True), ("b", "out", False), ("c", "in", False)]
    like = tree.parameters[2].type
    assert isinstance(like, spl_nodes.LikeColumn) and (like.table.name, like.column.text) == ("t", "k")
    assert [(each.name, str(each.type)) for each in tree.results] == [("n", "INTEGER"), ("", "DATE")]
    assert (tree.specific, tree.is_not_variant, tree.document) == ("f1", True, "one two")
    assert tree.text == text


def test_a_parameter_may_be_called_as_a_mode() -> None:
    tree = routine("CREATE PROCEDURE p(in INT, out INT DEFAULT 3, inout LIKE t.k) END PROCEDURE")
    found = [(each.name, each.mode) for each in tree.parameters]
    assert found == [("in", "in"), ("out", "in"), ("inout", "in")]


def test_a_trigger_procedure_names_its_table_and_rows() -> None:
    tree = routine("CREATE PROCEDURE p() REFERENCING OLD AS o NEW AS n FOR t; END PROCEDURE")
    assert tree.trigger is not None
    assert (tree.trigger.table.name, tree.trigger.old, tree.trigger.new) == ("t", "o", "n")
    assert routine("CREATE PROCEDURE p() FOR t REFERENCING NEW AS n; END PROCEDURE").trigger is not None


def test_drop_has_a_signature() -> None:
    tree = parse("DROP FUNCTION IF EXISTS ann.f(INT, CHAR(3))")
    assert isinstance(tree, DropRoutine) and tree.types is not None
    found = (tree.kind, tree.if_exists, [str(each) for each in tree.types])
    assert found == ("function", True, ["INTEGER", "CHAR(3)"])
    specific = parse("DROP SPECIFIC ROUTINE f1")
    assert isinstance(specific, DropRoutine) and (specific.is_specific, specific.types) == (True, None)


@pytest.mark.parametrize("type_", ["BYTE", "TEXT"])
@pytest.mark.parametrize(
    "header", ["(a REFERENCES {})", "(INOUT a REFERENCES {})", "() RETURNING REFERENCES {};"]
)
def test_simple_large_objects_are_refused_by_name(type_: str, header: str) -> None:
    with pytest.raises(SqlError) as caught:
        parse(f"CREATE PROCEDURE p{header.format(type_)} END PROCEDURE")
    assert (caught.value.sqlcode, caught.value.token) == (-999, f"REFERENCES {type_}")


@pytest.mark.parametrize(
    ("text", "sqlcode", "place"),
    [
        ("CREATE PROCEDURE p() LET i = ; END PROCEDURE", -201, "; END"),
        ("CREATE PROCEDURE p() RETURN ?; END PROCEDURE", -201, "?"),
        ("CREATE PROCEDURE p() END FUNCTION", -201, "FUNCTION"),
        ("CREATE PROCEDURE p() LET i = 1 END PROCEDURE", -201, "END"),
        ("CREATE PROCEDURE p(a REFERENCES TEXT) END PROCEDURE", -999, "REFERENCES"),
        ("CREATE PROCEDURE p() EXTERNAL NAME 'x' LANGUAGE C END PROCEDURE", -999, "EXTERNAL"),
        ("CREATE FUNCTION f() RETURNING INT WITH (SELCONST = 1); RETURN 1; END FUNCTION", -999, "SELCONST"),
        ("CREATE PROCEDURE FROM 'p.sql'", -999, "FROM"),
        ("CREATE OR REPLACE PROCEDURE IF NOT EXISTS p() END PROCEDURE", -201, "CREATE"),
    ],
)
def test_errors_have_their_offset_in_the_whole_text(text: str, sqlcode: int, place: str) -> None:
    with pytest.raises(SqlError) as caught:
        parse(text)
    assert (caught.value.sqlcode, caught.value.offset) == (sqlcode, text.index(place) + 1)
