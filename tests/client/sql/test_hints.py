"""One hint for each usual mistake with parameters, and none without a mistake."""

from __future__ import annotations

from typing import Any

import pytest

import aioifx
from aioifx.client.sql.hints import did_you_mean, hint_for_text, hint_for_values
from aioifx.errors import DataError, InterfaceError, SQLSyntaxError
from aioifx.server import running

QUERY = "select tabname from systables where tabid = "


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("a = $1", "the placeholder is ?, not $1"),
        ("a = %s", "the placeholder is ?, not %s"),
        ("a = %(size)s", "the placeholder is ?, not %(size)s"),
        ("a = :size", "pass the value of :size as named="),
        ("a = :1", "pass the value of :1 as named="),
        ("a = ?", ""),
        ("a = '$1 %s :size'", ""),
        ('a = "$1"', ""),
        ("a = 1 -- $1\n", ""),
        ("a = 1 {:size}", ""),
        ("a = b::int", ""),
        ("a from db:t", ""),
        ("a = datetime(12:30) hour to minute", ""),
        ("a = b$1", ""),
        ("a = 5 %size", ""),
    ],
)
def test_a_placeholder_of_another_driver_is_found(text: str, hint: str) -> None:
    assert hint_for_text(f"select {text}") == hint


@pytest.mark.parametrize("sql", ["$" * 300_000, "%(a" * 100_000, "$1" * 0 + "%" * 300_000, "'" * 300_001])
def test_hostile_texts_are_read_in_linear_time(sql: str) -> None:
    assert hint_for_text(sql) == ""


def test_values_that_fit_get_no_hint() -> None:
    assert hint_for_values("a = ?", 1, (1,)) == ""
    assert hint_for_values("a = ?", 1, (1, 2)) == ""


MAPPING = "pass a mapping as named=, and write :name in the statement"
ONE_BY_ONE = "pass the values one by one: (sql, *values)"


@pytest.mark.parametrize(
    ("sql", "args", "kind", "hint"),
    [
        ("$1", (), SQLSyntaxError, "the placeholder is ?, not $1"),
        ("%s", (), SQLSyntaxError, "the placeholder is ?, not %s"),
        (":size", (), SQLSyntaxError, "pass the value of :size as named="),
        ("$1", (1,), InterfaceError, "the placeholder is ?, not $1"),
        ("%s", (1,), InterfaceError, "the placeholder is ?, not %s"),
        (":size", (1,), InterfaceError, "pass the value of :size as named="),
        (":size", ({"size": 1},), InterfaceError, MAPPING),
        ("%(size)s", ({"size": 1},), InterfaceError, MAPPING),
        ("?", ({"size": 1},), DataError, MAPPING),
        ("?", ((1,),), DataError, ONE_BY_ONE),
        ("?", ([1],), DataError, ONE_BY_ONE),
        ("? or tabid = ?", ((1, 2),), InterfaceError, ONE_BY_ONE),
    ],
)
async def test_a_mistake_gets_one_hint(
    sql: str, args: tuple[Any, ...], kind: type[Exception], hint: str
) -> None:
    async with running("d") as dsn, aioifx.connect(dsn) as conn:
        for call in (conn.fetch, conn.fetch, conn.execute):
            with pytest.raises(kind) as caught:
                await call(QUERY + sql, *args)
            said = [str(caught.value), *getattr(caught.value, "__notes__", ())]
            assert "\n".join(said).count(hint) == 1
        assert await conn.fetchval(QUERY + "?", 1) == "systables"


async def test_a_mapping_where_a_sequence_is_expected_gets_a_hint() -> None:
    async with running("d") as dsn, aioifx.connect(dsn) as conn:
        await conn.execute("create temp table t (n integer)")
        with pytest.raises(InterfaceError, match=MAPPING):
            await conn.cursor().execute("select n from t where n = ?", {"n": 1})
        with pytest.raises(InterfaceError, match="row 0: .*" + MAPPING):
            await conn.executemany("insert into t values (?)", [{"n": 1}])  # type: ignore[list-item]  # pyright: ignore
        assert await conn.fetchval("select count(*) from t") == 0


def test_a_message_offers_the_most_similar_name() -> None:
    assert did_you_mean("OPTOFF", ["OPTOFC", "OPTCOMPIND"]) == "; did you mean 'OPTOFC'?"
    assert did_you_mean("XYZ", ["OPTOFC"]) == ""
