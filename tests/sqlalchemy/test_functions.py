"""Functions: the text, and what the embedded server makes of it."""

from __future__ import annotations

from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy import exc, func, select
from sqlalchemy.ext.asyncio import AsyncEngine

from tests.sqlalchemy.stock import ITEM, PART, Case, differences, load, other_texts, sql

I = ITEM.c  # noqa: E741 - as short as `c`


def item(*columns: Any) -> Any:
    return select(*columns).where(I.id == 1)


def of_one(columns: str) -> str:
    return f"SELECT {columns} FROM item WHERE item.id = ?"


CASES = {
    "the fields of a time": Case(
        item(*(sa.extract(field, I.sold).label(field) for field in ("year", "month", "day", "hour", "minute"))),
        of_one(
            "YEAR(item.sold) AS year, MONTH(item.sold) AS month, DAY(item.sold) AS day, "
            "EXTEND(item.sold, HOUR TO HOUR)::CHAR(2)::INTEGER AS hour, "
            "EXTEND(item.sold, MINUTE TO MINUTE)::CHAR(2)::INTEGER AS minute"), [(2024, 2, 29, 13, 14)]),
    "more fields": Case(
        item(*(sa.extract(field, I.made).label(f"x{field}") for field in ("quarter", "dow", "doy", "second"))),
        of_one(
            "TRUNC((MONTH(item.made) + 2) / 3) AS xquarter, WEEKDAY(item.made) AS xdow, "
            "(DATE(item.made) - MDY(1, 1, YEAR(item.made)) + 1) AS xdoy, "
            "EXTEND(item.made, SECOND TO SECOND)::CHAR(2)::INTEGER AS xsecond"), [(1, 4, 60, 0)]),
    "functions of strings": Case(
        item(func.substring(I.name, 2, 2).label("a"), func.char_length(I.name).label("b"),
             func.upper("x").label("c")),
        of_one(
            "SUBSTR(item.name, ?::INTEGER, ?::INTEGER) AS a, char_length(item.name) AS b, upper(?::LVARCHAR) AS c"),
        [("ne", 3, "X")]),
    "coalesce": Case(select(func.coalesce(PART.c.label, "none").label("s")).order_by(PART.c.item, PART.c.no),
        "SELECT coalesce(part.label, ?::LVARCHAR) AS s FROM part ORDER BY part.item, part.no",
        ["bolt", "nut", "none"]),
    "greatest and least": Case(item(func.greatest(I.id, 5).label("a"), func.least(I.id, 5).label("b")),
        of_one(
            "CASE WHEN item.id >= ?::INTEGER THEN item.id WHEN NOT (item.id >= ?::INTEGER) THEN ?::INTEGER END AS a, "
            "CASE WHEN item.id <= ?::INTEGER THEN item.id WHEN NOT (item.id <= ?::INTEGER) THEN ?::INTEGER END AS b"),
        [(5, 1)]),
    "an argument that must be a literal": Case(select(func.dbinfo("dbname").label("s")),
        "SELECT DBINFO('dbname') AS s FROM informix.systables WHERE tabid = 1", ["demo"]),
    "aggregates of some rows": Case(
        select(func.sum(I.id).filter(I.fresh).label("a"), func.count().filter(I.id > 1).label("b"),
               func.count(I.fresh.distinct()).filter(I.id > 0).label("c")),
        "SELECT sum(CASE WHEN item.fresh THEN item.id END) AS a, count(CASE WHEN (item.id > ?) THEN 1 END) AS b, "
        "count(DISTINCT CASE WHEN (item.id > ?) THEN item.fresh END) AS c FROM item", [(1, 2, 2)]),
    "aggregates of a sample": Case(
        select(func.var_samp(I.id).label("a"), func.stddev_samp(I.id).label("b")),
        "SELECT VARIANCE(item.id) AS a, STDEV(item.id) AS b FROM item", [(1, 1)]),
    "a window": Case(
        select(
            func.row_number().over(order_by=I.id.desc()).label("a"),
            func.sum(I.id).over(partition_by=I.name, order_by=I.id, rows=(None, 0)).label("b"),
        ).order_by(I.id),
        "SELECT row_number() OVER (ORDER BY item.id DESC) AS a, sum(item.id) OVER (PARTITION BY item.name "
        "ORDER BY item.id ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS b FROM item ORDER BY item.id",
        [(3, 1), (2, 2), (1, 3)],
    ),
    "a window's frame": Case(select(func.sum(I.id).over(order_by=I.id, rows=(-1, 1)).label("a")).order_by(I.id),
        "SELECT sum(item.id) OVER (ORDER BY item.id ROWS BETWEEN __[POSTCOMPILE_param_1] PRECEDING AND "
        "__[POSTCOMPILE_param_2] FOLLOWING) AS a FROM item ORDER BY item.id", [3, 6, 5]),
}  # fmt: skip


def test_the_text_of_functions() -> None:
    assert other_texts(CASES) == {}


async def test_the_values_of_functions(engine: AsyncEngine) -> None:
    await load(engine)
    assert await differences(engine, CASES) == {}


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (func.now(), "CURRENT YEAR TO FRACTION(5)"),
        (func.current_timestamp(), "CURRENT YEAR TO FRACTION(5)"),
        (func.localtimestamp(), "CURRENT YEAR TO FRACTION(5)"),
        (func.current_date(), "TODAY"),
        (func.today(), "TODAY"),
        (func.current_time(), "CURRENT HOUR TO FRACTION(5)"),
        (func.localtime(), "CURRENT HOUR TO FRACTION(5)"),
        (func.sysdate(), "SYSDATE"),
        (func.current_user(), "USER"),
        (func.session_user(), "USER"),
    ],
)
async def test_functions_that_are_words(engine: AsyncEngine, function: Any, text: str) -> None:
    statement = select(function.label("x"))
    assert sql(statement) == f"SELECT {text} AS x FROM informix.systables WHERE tabid = 1"
    async with engine.connect() as conn:
        assert (await conn.execute(statement)).scalar() is not None


async def test_a_cached_window_takes_other_frames(engine: AsyncEngine) -> None:
    await load(engine)
    async with engine.connect() as conn:
        for count, total in ((1, 3), (2, 6)):
            window = func.sum(I.id).over(order_by=I.id, rows=(0, count)).label("a")
            assert (await conn.scalars(select(window).order_by(I.id))).first() == total


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        (sa.extract("century", I.made), "EXTRACT: expected year, month, day"),
        (func.aggregate_strings(I.name, ","), "Informix has no aggregate that joins strings"),
    ],
)
def test_what_informix_lacks_is_an_error(expression: Any, message: str) -> None:
    with pytest.raises(exc.CompileError, match=message):
        sql(select(expression))
