from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from sqlite3 import Connection
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from aioifx.server.catalog import catalog
from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.settings import Settings
from aioifx.server.sql.model.type_rules import DATE, INTEGER, decimal, varchar
from aioifx.server.sql.runtime import sqlite_functions
from aioifx.server.sql.sqlite.render import render
from aioifx.server.sql.sqlite.tree import Case, Literal, Node, Operation, Parameter, call, query_sql, sql
from aioifx.server.sql.syntax import nodes
from aioifx.server.sql.syntax.parser import parse
from aioifx.server.sql.translate.closure_expressions import ClosureExpressions, Unknown
from aioifx.server.sql.translate.scopes import Context
from aioifx.server.sql.translate.spl_program import expression
from aioifx.server.sql.translate.variables import expression_with_variables

SETTINGS = Settings(user="ann")
ERRORS: list[SqlError] = []
TYPES = {"i": INTEGER, "j": INTEGER, "d": decimal(8, 2), "s": varchar(20), "c": varchar(5), "day": DATE}
INTEGERS = st.none() | st.integers(-3, 3) | st.sampled_from([2**31 - 1, 1 - 2**31])
TEXTS = st.none() | st.sampled_from(["", "a", "a ", "b", "ab", "1", "12"])
DECIMALS = st.none() | st.sampled_from(["0", "1", "1.5", "-2.25", "12"])
DAYS = st.none() | st.integers(0, 9)
VALUES = {"i": INTEGERS, "j": INTEGERS, "d": DECIMALS, "s": TEXTS, "c": TEXTS, "day": DAYS}
NONE = dict.fromkeys(VALUES)

NUMBERS: st.SearchStrategy[str] = st.deferred(
    lambda: (
        st.sampled_from(["i", "j", "d", "0", "1", "2.5", "-3", "(day - day)"])
        | st.tuples(NUMBERS, st.sampled_from("+-*/"), NUMBERS).map(lambda p: f"({p[0]} {p[1]} {p[2]})")
        | NUMBERS.map(lambda n: f"NVL({n}, 7)")
        | NUMBERS.map(lambda n: f"ABS({n})")
        | st.tuples(CONDITIONS, NUMBERS).map(lambda p: f"CASE WHEN {p[0]} THEN {p[1]} ELSE 5 END")
        | STRINGS.map(lambda s: f"LENGTH({s})")
    )
)
STRINGS: st.SearchStrategy[str] = st.deferred(
    lambda: (
        st.sampled_from(["s", "c", "'a'", "'it''s'", "i"])
        | st.tuples(STRINGS, STRINGS).map(lambda p: f"({p[0]} || {p[1]})")
        | STRINGS.map(lambda s: f"UPPER({s})")
        | STRINGS.map(lambda s: f"DECODE({s}, 'a', 'x', NULL, 'n', 'z')")
    )
)
CONDITIONS: st.SearchStrategy[str] = st.deferred(
    lambda: (
        st.tuples(NUMBERS, st.sampled_from(["=", "<>", "<", "<=", ">", ">="]), NUMBERS).map(" ".join)
        | st.tuples(STRINGS, st.sampled_from(["=", "<>", "<", ">="]), STRINGS).map(" ".join)
        | NUMBERS.map(lambda n: f"{n} IS NULL")
        | STRINGS.map(lambda s: f"{s} IS NOT NULL")
        | st.tuples(NUMBERS, NUMBERS, NUMBERS).map(lambda p: f"{p[0]} IN ({p[1]}, {p[2]})")
        | st.tuples(STRINGS, STRINGS).map(lambda p: f"{p[0]} NOT IN ({p[1]}, 'a')")
        | st.tuples(NUMBERS, NUMBERS).map(lambda p: f"{p[0]} BETWEEN {p[1]} AND 2")
        | STRINGS.map(lambda s: f"{s} LIKE 'a%'")
        | st.tuples(CONDITIONS, st.sampled_from(["AND", "OR"]), CONDITIONS).map(lambda p: f"({' '.join(p)})")
        | CONDITIONS.map(lambda c: f"(NOT {c})")
    )
)


def tree_of(text: str, *, is_condition: bool) -> nodes.Expression:
    query = parse(f"SELECT 1 FROM t WHERE {text}" if is_condition else f"SELECT {text} FROM t")
    assert isinstance(query, nodes.Query) and isinstance(query.body, nodes.Select)
    tree = query.body.where if is_condition else query.body.items[0].expression
    assert tree is not None and not isinstance(tree, nodes.Star)
    return tree


@pytest.fixture(scope="module")
def connection() -> Iterator[Connection]:
    with closing(sqlite3.connect(":memory:")) as made:
        sqlite_functions.register(made, SETTINGS, ERRORS.append)
        yield made


def both(
    connection: Connection, text: str, values: dict[str, Any], *, is_condition: bool
) -> tuple[object, object]:
    """The result of SQLite and that of the closure; an error is its SQLCODE."""
    tree, names = expression_with_variables(tree_of(text, is_condition=is_condition), TYPES.get)
    context = Context(catalog.empty_schema(), SETTINGS, statement=tree)
    node = expression(tree, None if is_condition else varchar(255), context)
    bound = tuple(values[name] for name in names)
    named = {str(number): value for number, value in enumerate(bound, 1)}  # 3.12.1 takes ?1 for a name
    by_sqlite: object
    by_closure: object
    try:
        by_sqlite = connection.execute(f"SELECT {render(node)}", named).fetchone()[0]
        by_sqlite = by_sqlite == 1 if is_condition else by_sqlite
    except sqlite3.OperationalError as error:
        if not str(error).startswith("user-defined function"):
            raise Unknown from None
        by_sqlite = ERRORS[-1].sqlcode
    namespace: dict[str, Any] = {}
    closures = ClosureExpressions(namespace, SETTINGS)
    variables = [(f"v_{name}", TYPES[name] == INTEGER) for name in names]
    source = (closures.truth if is_condition else closures.value)(node, variables)
    exec(f"def f({', '.join(name for name, _ in variables)}):\n    return {source}", namespace)
    try:
        by_closure = namespace["f"](*bound)
        by_closure = bool(by_closure) if is_condition else by_closure
    except SqlError as error:
        by_closure = error.sqlcode
    return by_sqlite, by_closure


@given(CONDITIONS, st.fixed_dictionaries(VALUES))
@example("NOT i IN (j, 1)", {**NONE, "i": 2})
@example("s = 'a' OR s <> 'a'", NONE)
@example("0 IN (i, i)", NONE)
@example("s = 'a'", {**NONE, "s": "a "})
@example("c NOT IN ('b', s)", {**NONE, "c": "a", "s": "a "})
@example("d > 9", {**NONE, "d": "12"})
def test_a_condition_is_true_where_it_is_in_sqlite(
    connection: Connection, text: str, values: dict[str, Any]
) -> None:
    try:
        by_sqlite, by_closure = both(connection, text, values, is_condition=True)
    except (SqlError, Unknown):  # the translator refuses it, or it is too deep
        return
    assert by_closure == by_sqlite


@given(NUMBERS | STRINGS, st.fixed_dictionaries(VALUES))
@example("i + 1", {**NONE, "i": 2**31 - 1})
@example("DECODE('a' || 'a', NULL, 'n', 'z')", NONE)
def test_a_value_is_that_of_sqlite(connection: Connection, text: str, values: dict[str, Any]) -> None:
    try:
        by_sqlite, by_closure = both(connection, text, values, is_condition=False)
    except (SqlError, Unknown):
        return
    assert by_closure == by_sqlite


def nested(depth: int) -> Node:
    node: Node = Literal("1")
    for _ in range(depth):
        node = Operation("||", node, Literal("1"))
    return node


@pytest.mark.parametrize(
    "node",
    [
        sql("({})", query_sql("SELECT 1")),
        call("count", Parameter(1)),
        Operation("<", Operation("<", Literal("a"), Literal("b")), Literal("c")),
        Literal(2**64),
        Literal(b"x"),
        nested(50),
        Case(((Literal(1), Literal(2)),) * 200),
    ],
)
def test_the_rest_is_left_to_sqlite(node: Node) -> None:
    with pytest.raises(Unknown):
        ClosureExpressions({}, Settings()).value(node, [("v1", False)])


@pytest.mark.parametrize(
    "node", [nested(39), Case(((Literal(1), Literal(2)),) * 100), call("coalesce", *[Parameter(1)] * 99, 1)]
)
def test_python_compiles_what_is_not_too_deep(node: Node) -> None:
    compile(ClosureExpressions({}, Settings()).value(node, [("v1", False)]), "test", "eval")


def test_integers_are_added_in_python() -> None:
    namespace: dict[str, Any] = {}
    source = ClosureExpressions(namespace, Settings()).value(
        call("ifx_add", Parameter(1), 1, 2 << 16 | 4), [("v1", True)]
    )
    assert "ifx_add" not in source
    exec(f"def f(v1):\n    return {source}", namespace)
    assert namespace["f"](4) == 5
    with pytest.raises(SqlError, match="-1215"):
        namespace["f"](2**31 - 1)
