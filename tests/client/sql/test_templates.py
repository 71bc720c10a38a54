"""Template strings, turned into text with placeholders and values; nothing that they hold becomes SQL."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import aioifx
from aioifx.client.sql.scanner import scan
from aioifx.client.sql.templates import bind_template
from aioifx.errors import InterfaceError, SQLSyntaxError
from aioifx.server import ServerOptions, serve
from tests.template_strings import template as t


@pytest.mark.parametrize(
    ("made", "sql", "values"),
    [
        (t("select 1 from t"), "select 1 from t", ()),
        (t("{a}", a=1), "?", (1,)),
        (t("a = {a} and b<{b}", a="x", b=None), "a = ? and b<?", ("x", None)),
        (t("f({a},{a})", a=[1, 2]), "f(?,?)", ([1, 2], [1, 2])),
        (t("{a}{b}", a=1, b=2), "??", (1, 2)),
        (t("id in ({ids:list})", ids=[1, 2, 3]), "id in (?, ?, ?)", (1, 2, 3)),
        (t("values ({row:list}, {b})", row=("x",), b=2), "values (?, ?)", ("x", 2)),
        (t("select {c:identifier} from t", c="größe"), "select größe from t", ()),
        (t("select {c:identifier}", c='"a""?"'), 'select "a""?"', ()),
        (t("{d:identifier}:{o:identifier}.{t:identifier}", d="db", o="o", t="t"), "db:o.t", ()),
        (t("'o'.{t:identifier}::{t:identifier}", t="t"), "'o'.t::t", ()),
        (t("a = '?' and b = {b} -- ?\n", b=1), "a = '?' and b = ? -- ?\n", (1,)),
        (t("select {{c ?}} a = {a} /* ? */", a=1), "select {c ?} a = ? /* ? */", (1,)),
        (t("SET{{{a}, {b}}}", a=1, b=2), "SET{?, ?}", (1, 2)),
        (t("a = {a:}", a="?"), "a = ?", ("?",)),
        (t("{a + 1}", a=1), "?", (2,)),
    ],
)
def test_each_value_becomes_a_placeholder(made: Any, sql: str, values: tuple[Any, ...]) -> None:
    assert bind_template(made) == (sql, values)


def test_nested_templates_compose() -> None:
    where = t("a = {a} and {c:identifier} = {b}", a=1, c="c", b=2)
    assert bind_template(t("select {x} from t where {where} or d = {d}", x=0, where=where, d=3)) == (
        "select ? from t where a = ? and c = ? or d = ?",
        (0, 1, 2, 3),
    )


def test_a_list_may_have_templates() -> None:
    columns = [t("{name:identifier}", name=name) for name in ("a", "b")]
    rows = [t("({row:list})", row=row) for row in ((1, 2), (3, 4))]
    assert bind_template(
        t("insert into t ({columns:list}) values {rows:list}", columns=columns, rows=rows)
    ) == (
        "insert into t (a, b) values (?, ?), (?, ?)",
        (1, 2, 3, 4),
    )


def test_templates_may_be_nested_deeply() -> None:
    condition = t("a = {a}", a=0)
    for number in range(1, 5000):
        condition = t("{condition} or a = {number}", condition=condition, number=number)
    assert bind_template(condition) == ("a = ?" + " or a = ?" * 4999, tuple(range(5000)))


def test_the_text_is_the_same_with_any_values() -> None:
    first, second = (bind_template(t("a = {a} and b = {b}", a=a, b=b))[0] for a, b in ((1, "x"), ("'", None)))
    assert first == second


@pytest.mark.parametrize(
    ("made", "message", "caret"),
    [
        (t("a = {a!r}", a=1), r"^\{a!r\}: expected no conversion, got !r", "{a!r}"),
        (t("a = {a!s:list}", a=[1]), "expected no conversion, got !s", "{a!s"),
        (t("a = {a=}", a=1), "expected no conversion, got !r", "{a!r}"),
        (t("a = {a:>10}", a=1), "expected the format identifier, list or none, got '>10'", "{a:>10}"),
        (t("{b} {a.b:i}", a=SimpleNamespace(b=1), b=1), r"^\{a\.b:i\}: .* got 'i'", "{a.b:i}"),
        (t("in ({a:list})", a=()), r"^\{a:list\}: expected one value or more, got an empty tuple", "{a:"),
        (t("in ({a:list})", a="text"), "expected a list or tuple, got str", "{a:list}"),
        (t("in ({a:list})", a={1}), "expected a list or tuple, got set", "{a:list}"),
        (t("in ({a:list})", a=t("x")), "expected a list or tuple, got Template", "{a:list}"),
        (t("{c:identifier}", c="a.b"), r"^\{c:identifier\}: expected one identifier, got 'a\.b'", "{c:"),
        (t("{c:identifier}", c="x; drop"), "expected one identifier", "{c:identifier}"),
        (t("{c:identifier}", c=5), "expected a str, got int", "{c:identifier}"),
        (t("{c:identifier}", c=["a"]), "expected a str, got list", "{c:identifier}"),
        (t("{c:identifier}", c=t("a")), "expected a str, got Template", "{c:identifier}"),
        (t("{x} a = '{a}'", x=1, a=1), r"^\{a\}: expected a place where SQL takes a value", "{a}"),
        (t('a = "{a}"', a=1), "within a string", "{a}"),
        (t("-- {a}", a=1), "within a string, comment or word", "{a}"),
        (t("/* {a:list} */", a=[1]), "within a string, comment or word", "{a:list}"),
        (t("{{ {a} }}", a=1), "within a string, comment or word", "{a}"),
        (t("'{c:identifier}'", c="x"), "within a string, comment or word", "{c:identifier}"),
        (t('"{c:identifier}"', c="x"), "within a string, comment or word", "{c:identifier}"),
        (t("-- {c:identifier}", c="x"), "within a string, comment or word", "{c:identifier}"),
        (t("t_{c:identifier}", c="x"), "within a string, comment or word", "{c:identifier}"),
        (t("{c:identifier}2", c="x"), "within a string, comment or word", "{c:identifier}"),
        (t("{c:identifier}$", c='"x"'), "within a string, comment or word", "{c:identifier}"),
        (t("{c:identifier}{c:identifier}", c="x"), "within a string, comment or word", "{c:identifier}{"),
        (t('"y"{c:identifier}', c='"x"'), "within a string, comment or word", "{c:identifier}"),
        (t("= :{c:identifier}", c="x"), "within a string, comment or word", "{c:identifier}"),
        (t("a = {a}\nand b = ?", a=1), r"^the template has a \?, character 15 of its text", "?"),
        (t("a = ?"), r"the template has a \?, character 5 of its text", "?"),
    ],
)  # fmt: skip
def test_what_is_refused_points_into_the_template(made: Any, message: str, caret: str) -> None:
    with pytest.raises(InterfaceError, match=message) as raised:
        bind_template(made)
    (note,) = raised.value.__notes__
    _, line, under = note.splitlines()
    assert line[under.index("^") :].startswith(caret)


def test_an_error_of_a_nested_template_points_into_that() -> None:
    with pytest.raises(InterfaceError) as raised:
        bind_template(t("select 1 from t where {where}", where=t("a = {a!a}", a=1)))
    assert raised.value.__notes__ == ["template, column 5:\n    a = {a!a}\n        ^"]


def test_a_template_within_itself_is_refused() -> None:
    conditions: list[Any] = [t("a = {a}", a=1)]
    conditions.append(t("not ({all:list})", all=conditions))
    with pytest.raises(InterfaceError, match=r"^\{all:list\}: expected another template") as raised:
        bind_template(conditions[1])
    assert raised.value.__notes__ == ["template, column 6:\n    not ({all:list})\n         ^"]
    again = t("a = {a}", a=1)
    assert bind_template(t("{a} or {b}", a=again, b=again)) == ("a = ? or a = ?", (1, 1))


@pytest.mark.skipif(sys.version_info < (3, 14), reason="the stand-ins have expressions of one line")
def test_an_expression_of_several_lines_is_shown_in_one() -> None:
    with pytest.raises(InterfaceError, match=r"^\{max\( 1, 2, \)!r\}: expected no conversion") as raised:
        bind_template(eval('t"a = {max(\n  1,\n  2,\n)!r} and b = 1"'))
    assert raised.value.__notes__ == ["template, column 5:\n    a = {max( 1, 2, )!r} and b = 1\n        ^"]
    assert bind_template(eval('t"a = {max(\n  1,\n  2,\n)}"'))[1].label(1) == "{max( 1, 2, )}"


def test_a_value_without_an_expression_is_named_by_its_number() -> None:
    """As in a `Template` that was not written as a literal."""
    values = bind_template(t("a = {a} and b = {b}", a=1, b=2))[1]
    values.names = ("a", "")
    assert [values.label(number) for number in (1, 2)] == ["{a}", "2"]


@pytest.mark.parametrize("value", [5, None, b"x", SimpleNamespace(strings=("drop",), interpolations=())])
def test_only_templates_are_templates(value: Any) -> None:
    with pytest.raises(InterfaceError, match=f"^sql: expected a str, got {type(value).__name__}$"):
        bind_template(value)
    assert bind_template(t("{value}", value=value)) == ("?", (value,))


@given(st.text(), st.text("?'\"-/*{}\n a", max_size=20))
def test_no_value_is_in_the_text(value: str, static: str) -> None:
    static = static.replace("{", "{{").replace("}", "}}")
    try:
        sql, values = bind_template(t(f"select {static} {{value}}", value=value))
    except InterfaceError:
        return
    assert sql == f"select {static.replace('{{', '{').replace('}}', '}')} ?"
    assert values == (value,)
    assert scan(sql).placeholders == 1 or value == "\0"


def test_the_library_of_templates_is_not_imported() -> None:
    program = """
import sys
before = "string.templatelib" in sys.modules
import aioifx.dbapi, aioifx.client.api.queries, aioifx.client.sql.templates
assert before or "string.templatelib" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True)


# -- injection --------------------------------------------------------------------------------------------------------

ATTACKS = [
    "'", "''", '"', '""', "\\", "\\'", ";", "--", "/*", "*/", "{", "}", "?", "??", ":a", ":1", "%", "%s", "%(a)s", "$1",
    "' OR '1'='1", "1 OR 1=1", "'; DROP TABLE victim; --", "x'); DROP TABLE victim; --", '"; DROP TABLE victim; --',
    "victim; DROP TABLE victim", "victim WHERE 1=1", "id, id", "id FROM victim UNION SELECT id", "(SELECT 1)", "*",
    "{value}", "{value:identifier}", "'||(SELECT 1 FROM systables)||'", "\n--\n", "\t", "\r\n", " ", "a b", "a.b",
    "a:b", "\u02bc OR 1=1", "\uff07", "“", "größe", "名前", "😀", "e\u0301", "\u202e", "\0",
]  # fmt: skip
"""Text that would be other SQL, or end a literal, if it became part of the statement."""

HOSTILE = [wrapped for text in ATTACKS for wrapped in (text, f"id{text}", f'"{text}"', f"'{text}' -- ")]


def test_there_are_200_hostile_texts() -> None:
    assert len(set(HOSTILE)) == len(HOSTILE) == 200


@pytest.mark.exhaustive
async def test_hostile_values_come_back_as_they_were() -> None:
    options = ServerOptions(
        databases=("shop:en_US.utf8",), seed="create table victim (id int, value lvarchar(200));"
    )
    async with (
        serve(options) as server,
        aioifx.connect(server.dsn, locale="auto") as conn,
        conn.transaction(),
    ):
        for number, value in enumerate(HOSTILE):
            await conn.execute(t("insert into victim values ({number}, {value})", number=number, value=value))
            query = t(
                "select id, value from victim where value in ({all:list}) and id = {n}", all=[value], n=number
            )
            assert await conn.fetch(query) == [(number, value)]
        assert await conn.fetchval("select count(*) from victim") == 200


@pytest.mark.exhaustive
async def test_hostile_identifiers_are_refused_or_name_exactly_one_column() -> None:
    accepted: list[str] = []
    options = ServerOptions(databases=("shop:en_US.utf8",), seed="create table victim (id int);")
    environment = {"DELIMIDENT": "y"}
    async with (
        serve(options) as server,
        aioifx.connect(server.dsn, locale="auto", environment=environment) as conn,
    ):
        for name in [*HOSTILE, "", "x" * 500]:
            try:
                await conn.execute(t("create temp table made ({name:identifier} int)", name=name))
            except (InterfaceError, SQLSyntaxError):  # the server refuses line ends within quotes
                continue
            async with await conn.prepare("select * from made") as statement:
                (column,) = statement.columns
            assert column.name == (name[1:-1].replace('""', '"') if name[0] == '"' else name)
            assert await conn.fetch(t("select {name:identifier} from made", name=name)) == []
            await conn.execute("drop table made")
            accepted.append(name)
        assert await conn.fetchval("select count(*) from victim") == 0
    assert {"größe", "名前", '"a b"', '"--"', '"?"'} <= set(accepted)
    assert all(name.replace("$", "_").isidentifier() or name[0] == name[-1] == '"' for name in accepted)
