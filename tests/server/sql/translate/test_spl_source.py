from __future__ import annotations

import pytest

from aioifx.server.engine.engine import Engine
from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.settings import Settings
from aioifx.server.sql.model.type_rules import DATE, INTEGER
from aioifx.server.sql.syntax import nodes, spl_nodes
from aioifx.server.sql.syntax.parser import parse_type_text
from aioifx.server.sql.syntax.spl_nodes import LikeColumn
from aioifx.server.sql.translate.scopes import Context
from aioifx.server.sql.translate.spl_source import (
    LoopSource,
    RoutineSource,
    Variable,
    Variables,
    declared_type,
)
from tests.server.sql.workbench import Workbench
from tests.server.talking import query, run, run_all


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


@pytest.mark.parametrize(
    ("name", "first", "last", "sqlcode"),
    [
        ("s", 0, 1, -306),
        ("s", 3, 2, -306),
        ("s", 1, 6, -306),
        ("a", 1, 1, -999),
        ("i", 1, 1, -660),
        ("x", 1, 1, -667),
    ],
)
def test_a_part_lies_within_a_text(name: str, first: int, last: int, sqlcode: int) -> None:
    source = Source()
    source._declare("s", parse_type_text("CHAR(5)"))
    with pytest.raises(SqlError) as caught:
        source._targets([nodes.Part(7, name, first, last)])
    assert (caught.value.sqlcode, caught.value.offset) == (sqlcode, 7)


ADDRESS = """CREATE ROW TYPE zip_t (code INT, suffix CHAR(2));
CREATE ROW TYPE address_t (city VARCHAR(10) NOT NULL, zip zip_t);
CREATE TABLE person (id INT, home address_t);
INSERT INTO person VALUES (1, ROW('Bath', ROW(12345, 'AB')::zip_t)::address_t);
CREATE PROCEDURE add_one(INOUT n INT) LET n = n + 1; END PROCEDURE"""
ROWS = "DEFINE r ROW(a INT, b VARCHAR(10)); DEFINE h address_t; DEFINE n INT;"
READ = "LET r = ROW(1, 'x'); SELECT home INTO h FROM person;"


@pytest.mark.parametrize(
    ("body", "value"),
    [
        (f"{READ} RETURN r.b || h.city || h.zip.code;", "xBath12345"),
        (f"{READ} LET h.zip.code = h.zip.code + 1; LET h.city, r.b = UPPER(h.city), 'y'; RETURN h;",
         "ROW('BATH',ROW(12346      ,'AB'))"),
        (f"{READ} LET h.zip = ROW(1, 'XYZ')::zip_t; RETURN h.zip.code || h.zip.suffix;", "1XY"),
        (f"{READ} LET h.zip = NULL; LET n = h.zip.code; IF n IS NULL THEN RETURN 'null'; END IF;", "null"),
        (f"{READ} SELECT id + 6, home.city INTO r.a, r.b FROM person WHERE id = r.a; RETURN r.a || r.b;", "7Bath"),
        (f"{READ} FOREACH SELECT id INTO r.a FROM person LET r.a = r.a + 4; END FOREACH; RETURN r.a;", "5"),
        (f"{READ} UPDATE person SET home = h WHERE id = r.a AND person.id = 1; RETURN r.b[1,1];", "x"),
        (f"{READ} BEGIN ON EXCEPTION IN (-391) LET r.b = 'required'; END EXCEPTION; LET h.city = NULL; END RETURN r.b;",
         "required"),
        (f"{READ} LET person = 1; RETURN person;", "1"),
    ],
)  # fmt: skip
def test_fields_of_rows_are_variables(engine: Engine, body: str, value: str) -> None:
    run_all(engine, *ADDRESS.split(";\n"))
    run(engine, f"CREATE FUNCTION f() RETURNING LVARCHAR; {ROWS} DEFINE person INT; {body} END FUNCTION")
    assert query(engine, "EXECUTE FUNCTION f()") == [(value,)]


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ("LET r.a = 1;", (-696, "r.a")),
        ("LET r = NULL; LET r.a = 1;", (-696, "r.a")),
        ("LET n = r.a;", (-696, "r")),
        (f"{READ} LET r.c = 1;", (-667, "r.c")),
        (f"{READ} LET h.zip.x = 1;", (-667, "h.zip.x")),
        (f"{READ} LET n.a = 1;", (-667, "n.a")),
        (f"{READ} LET n = r.c;", (-667, "r")),
        (f"{READ} LET r.b[1] = 'x';", (-999, "[]")),
        (f"{READ} CALL add_one(r.a);", (-9752, "n")),
        (f"{READ} CALL add_one(person.n);", (-9752, "n")),
    ],
)
def test_fields_must_exist_and_have_a_row(engine: Engine, body: str, error: tuple[int, str]) -> None:
    run_all(engine, *ADDRESS.split(";\n"))
    with pytest.raises(SqlError) as caught:
        run(engine, f"CREATE PROCEDURE p() {ROWS} {body} END PROCEDURE")
        run(engine, "EXECUTE PROCEDURE p()")
    assert (caught.value.sqlcode, caught.value.token) == error


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


class Loops(LoopSource):
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


def loops() -> Loops:
    return Loops(Workbench().schema, Settings())


def test_the_innermost_loop_is_left_at_once() -> None:
    assert loops().jumped("exit") == ["while True:", "for i in x:", "break"]
    assert loops().jumped("continue", kind="for")[-1] == "continue"


def test_an_outer_loop_is_left_through_the_inner_ones() -> None:
    lines = loops().jumped("continue", "o")
    (flag,) = {line.split()[0] for line in lines if line.startswith("x")}
    assert lines[2:4] == [f"{flag} = 2", "break"]
    assert lines[4:] == [
        f"if {flag} == 1:", f"{flag} = 0", "break", f"if {flag} == 2:", f"{flag} = 0", "continue",
    ]  # fmt: skip


def test_there_must_be_such_a_loop() -> None:
    for label, kind in (("x", None), ("", "foreach")):
        with pytest.raises(SqlError) as caught:
            loops().jumped("exit", label, kind)  # type: ignore[arg-type]
        assert (caught.value.sqlcode, caught.value.offset) == (-201, 5)
