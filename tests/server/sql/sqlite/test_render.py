from __future__ import annotations

import ast
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import aioifx
from aioifx.server.sql.sqlite import render as rendering
from aioifx.server.sql.sqlite import tree
from aioifx.server.sql.sqlite.render import Composed, filled, identifier, render, string, template
from aioifx.server.sql.sqlite.tree import (
    Call,
    Case,
    Column,
    In,
    Insert,
    Is,
    Literal,
    Node,
    Not,
    Operation,
    Parameter,
    Reference,
    call,
    listed,
    logic,
    query_sql,
    sql,
)

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))


@given(TEXTS)
def test_sqlite_reads_a_literal_as_its_text(text: str) -> None:
    connection = sqlite3.connect(":memory:")
    assert connection.execute(f"SELECT {string(text)}").fetchone() == (text,)
    connection.close()


@given(TEXTS.filter(lambda text: text and "\x00" not in text))
def test_sqlite_reads_an_identifier_as_its_name(text: str) -> None:
    connection = sqlite3.connect(":memory:")
    found = connection.execute(f"SELECT 1 AS {identifier(text)}")
    assert found.description[0][0] == text
    connection.close()


LITERALS = (
    st.none()
    | st.integers(-(2**63) + 1, 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS
)


@given(LITERALS | st.binary())
def test_sqlite_reads_a_literal_as_its_value(value: float | str | bytes | None) -> None:
    with closing(sqlite3.connect(":memory:")) as connection:
        assert connection.execute(f"SELECT {render(Literal(value))}").fetchone() == (value,)


A, B = Column("s1", "a b"), Column("", "c1", is_quoted=False)


@pytest.mark.parametrize(
    ("node", "text"),
    [
        (Column("", 'a"b'), '"a""b"'),
        (Parameter(3), "?3"),
        (Reference("main", 101, "s2"), 'main."t101" AS s2'),
        (call("f", A, 1, "x"), "f(s1.\"a b\", 1, 'x')"),
        (Operation("||", A, B), '(s1."a b" || c1)'),
        (tree.Collated(B, "RTRIM"), "c1 COLLATE RTRIM"),
        (logic("AND", [A, B]), '(s1."a b" AND c1)'),
        (logic("OR", [A]), 's1."a b"'),
        (Not(B), "(NOT c1)"),
        (Is(B), "(c1 IS NULL)"),
        (Is(B, is_negated=True), "(c1 IS NOT NULL)"),
        (In(B, (A, B), is_negated=True), '(c1 NOT IN (s1."a b", c1))'),
        (In(B, (query_sql("SELECT {}", A),)), '(c1 IN (SELECT s1."a b"))'),
        (Case(((B, A),)), '(CASE WHEN c1 THEN s1."a b" END)'),
        (Case(((B, A),), B), '(CASE WHEN c1 THEN s1."a b" ELSE c1 END)'),
        (
            Insert('main."t1"', ("a", "b"), query_sql("VALUES ({})", B)),
            'INSERT INTO main."t1" ("a", "b") VALUES (c1)',
        ),
        (sql("LIMIT {} OFFSET {}", 3, "7"), "LIMIT 3 OFFSET 7"),
        (listed([A, "x", 3], " + "), 's1."a b" + x + 3'),
    ],
)
def test_each_node_has_its_text(node: Node, text: str) -> None:
    assert render(node) == text


def test_a_node_is_no_text() -> None:
    with pytest.raises(TypeError, match="without render"):
        f"{A}"
    with pytest.raises(TypeError, match=r"without Composed\.text"):
        f"{Composed(A)}"


def test_a_statement_knows_its_tables_and_is_given_the_values_that_it_uses(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(rendering, "NUMBERS_ARE_NAMES", False)
    table, other = Reference("main", 101, "s1"), Reference("ifx_other_1", 7, "s2")
    query = Composed(
        query_sql("SELECT {}, {} FROM {}, {}, {}", Parameter(3), Literal("?9"), table, other, table)
    )
    assert query.references == (table, other)
    assert [each.number for each in query.references] == [1, 2]
    assert query.bound((10, 20, 30, 40)) == (10, 20, 30)
    assert Composed(sql("SELECT 1")).bound((10,)) == ()
    assert query == Composed(query.tree)
    assert query != Composed(sql("SELECT 1"))


def test_parameters_have_names_where_the_sqlite3_module_takes_numbers_for_names(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(rendering, "NUMBERS_ARE_NAMES", True)
    query = Composed(sql("SELECT {}, {}, {}, {}", Parameter(3), Literal("?2"), Parameter(1), Parameter(3)))
    with closing(sqlite3.connect(":memory:")) as connection:
        found = connection.execute(query.text, query.bound(("a", "b", "c"))).fetchone()
    assert found == ("c", "?2", "a", "c")


@given(TEXTS, st.text("ab\"'", min_size=1))
def test_a_stored_condition_keeps_its_columns_apart(value: str, name: str) -> None:
    node = Call("f", (Column("", name), Literal(value), Column("", "b")))
    parts = template(node)
    assert parts[1::2] == (name, "b")
    assert filled(parts) == render(node)
    assert filled(parts, "NEW") == f'f(NEW.{identifier(name)}, {string(value)}, NEW."b")'


# -- who writes SQLite's SQL, and who reads it -------------------------------------------------------------------------

SERVER = Path(aioifx.__file__).with_name("server")
OF_DDL = {"alter_table", "ddl", "object_modes", "select_plan", "sqlite_ddl"}
"""Modules of `translate` that write a definition's steps, which are texts."""
WRITES = re.compile(
    r"\b(SELECT|INSERT INTO|UPDATE \S+ SET|DELETE FROM|VALUES|CASE WHEN|COLLATE|WHERE)\b|\bifx_\w+\("
)
READS = {"startswith", "endswith", "replace", "find", "index", "split", "partition", "removeprefix", "count"}


def written(source: str) -> list[str]:
    """The pieces of f-strings that look like SQLite's SQL."""
    strings = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.JoinedStr))
    pieces = (each.value for node in strings for each in node.values if isinstance(each, ast.Constant))
    return [piece for piece in pieces if isinstance(piece, str) and WRITES.search(piece)]


def read(source: str) -> list[str]:
    """The places where the text of a statement is searched or taken apart."""
    found: list[str] = []
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Attribute(ast.Attribute(ast.Name("name" | "token"))):
                pass  # a name in Informix SQL
            case ast.Attribute(ast.Attribute(attr="text" | "sql"), attr) if attr in READS:
                found.append(ast.unparse(node))
            case ast.Compare(ops=[ast.In() | ast.NotIn()], comparators=[ast.Attribute(attr="text" | "sql")]):
                found.append(ast.unparse(node))
            case ast.Call(ast.Attribute(ast.Name("re")), arguments) if "sql" in ast.unparse(node):
                found.append(f"{ast.unparse(node)} of {len(arguments)} arguments")
    return found


@pytest.mark.exhaustive
def test_only_render_writes_sqlites_queries_and_nothing_reads_them() -> None:
    for path in sorted((SERVER / "sql" / "translate").glob("*.py")):
        if path.stem not in OF_DDL:
            assert (path.name, written(path.read_text("utf-8"))) == (path.name, [])
    for folder in ("engine", "sqlite", "catalog", "sql/translate", "sql/sqlite"):
        for path in sorted((SERVER / folder).glob("*.py")):
            assert (path.name, read(path.read_text("utf-8"))) == (path.name, [])


def test_a_text_that_is_written_or_read_elsewhere_is_found() -> None:
    assert written('value = f"ifx_add({left}, {right})"') == ["ifx_add("]
    assert written("value = f'{name} of {table}'") == []
    assert read("if query.sql.startswith('SELECT'): pass") == ["query.sql.startswith"]
    assert read("found = ' IN (' in query.sql.text") == ["' IN (' in query.sql.text"]
    assert read("re.sub(PATTERN, '', change.sql)") != []
    assert read("connection.execute(query.text)") == []
