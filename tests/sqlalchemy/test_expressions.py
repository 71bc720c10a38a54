"""Expressions: the text, and what the embedded server makes of it."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy import exc, func, literal, select
from sqlalchemy.ext.asyncio import AsyncEngine

from tests.sqlalchemy.stock import ITEM, PART, Case, differences, load, other_texts, sql

I = ITEM.c  # noqa: E741 - as short as `c`
DAY = datetime.date(2024, 2, 29)
ONE = I.id == 1


def item(*columns: Any) -> Any:
    return select(*columns).where(ONE)


def ids(*conditions: Any) -> Any:
    return select(I.id).where(*conditions).order_by(I.id)


def which(condition: str) -> str:
    return f"SELECT item.id FROM item WHERE {condition} ORDER BY item.id"


def of_one(columns: str) -> str:
    return f"SELECT {columns} FROM item WHERE item.id = ?"


INTERVAL, MADE = "INTERVAL DAY(9) TO FRACTION(5)", "EXTEND(item.made, YEAR TO FRACTION(5))"
TRUE, FALSE = "'t'::BOOLEAN", "'f'::BOOLEAN"

CASES = {
    # parameters and constants
    "parameters of a select list have a type": Case(
        select(literal(7).label("n"), literal("x").label("s"), literal(DAY).label("d")),
        "SELECT ?::INTEGER AS n, ?::LVARCHAR AS s, ?::DATE AS d FROM informix.systables WHERE tabid = 1",
        [(7, "x", DAY)]),
    "a decimal keeps its digits": Case(select(literal(Decimal("1.23456")).label("n")),
        "SELECT ?::DECIMAL(32) AS n FROM informix.systables WHERE tabid = 1", [Decimal("1.23456")]),
    "the longer of two lengths": Case(
        select(literal("x", sa.String(3000)).label("s"), literal("y", sa.String(9)).label("t")),
        "SELECT ?::LVARCHAR(3000) AS s, ?::VARCHAR(9) AS t FROM informix.systables WHERE tabid = 1", [("x", "y")]),
    "NULL has a type": Case(
        select(sa.null().label("n")),
        "SELECT NULL::LVARCHAR AS n FROM informix.systables WHERE tabid = 1",
        [None],
    ),
    "an operand has the type of the other": Case(item((I.id + 5).label("n")), of_one("item.id + ? AS n"), [6]),
    "two parameters have a type": Case(
        ids(literal(1) + literal(2) == 3), which("?::INTEGER + ?::INTEGER = ?"), [1, 2, 3]
    ),
    "a parameter and NULL": Case(ids(literal(1).is_not(None)), which("?::INTEGER IS NOT NULL"), [1, 2, 3]),
    "true and false": Case(select(sa.true().label("t"), sa.false().label("f")),
        f"SELECT {TRUE} AS t, {FALSE} AS f FROM informix.systables WHERE tabid = 1", [(True, False)]),
    # conditions
    "BETWEEN as a value": Case(select(I.id.between(2, 3).label("b")).order_by(I.id),
        "SELECT CASE WHEN item.id BETWEEN ? AND ? THEN 't'::BOOLEAN "
        "WHEN NOT (item.id BETWEEN ? AND ?) THEN 'f'::BOOLEAN END AS b FROM item ORDER BY item.id",
        [False, True, True]),
    "NOT BETWEEN as a value": Case(item((~I.id.between(2, 3)).label("b")),
        of_one(
            "CASE WHEN item.id NOT BETWEEN ? AND ? THEN 't'::BOOLEAN "
            "WHEN NOT (item.id NOT BETWEEN ? AND ?) THEN 'f'::BOOLEAN END AS b"), [True]),
    "constant conditions as values": Case(
        item(sa.and_(I.fresh, sa.false()).label("f"), sa.or_(I.fresh, sa.true()).label("t")),
        of_one(f"{FALSE} AS f, {TRUE} AS t"), [(False, True)]),
    "a condition as a number": Case(
        select(sa.func.sum(sa.cast(I.id > 1, sa.Integer)).label("n"),
               sa.func.sum(sa.cast(I.fresh, sa.Integer)).label("m")),
        "SELECT sum(CAST(CASE WHEN item.id > ? THEN 1 WHEN NOT (item.id > ?) THEN 0 END AS INTEGER)) AS n, "
        "sum(CAST(CASE WHEN item.fresh THEN 1 WHEN NOT (item.fresh) THEN 0 END AS INTEGER)) AS m FROM item",
        [(2, 1)]),
    "a parameter as the condition of CASE": Case(item(sa.case((literal(True), 1), else_=0).label("n")),
        of_one("CASE WHEN ?::BOOLEAN = 't' THEN ?::INTEGER ELSE ?::INTEGER END AS n"), [1]),
    "true as a condition": Case(ids(sa.true()), which("1 = 1"), [1, 2, 3]),
    "false as a condition": Case(ids(sa.false()), which("1 = 0"), []),
    "a boolean column": Case(ids(I.fresh), which("item.fresh"), [1]),
    "not a boolean column": Case(ids(~I.fresh), which("NOT item.fresh"), [2]),
    "= true": Case(ids(I.fresh == sa.true()), which(f"item.fresh = {TRUE}"), [1]),
    "IS FALSE": Case(ids(I.fresh.is_(False)), which(f"item.fresh = {FALSE}"), [2]),
    "IS NOT TRUE": Case(ids(I.fresh.is_not(True)), which(f"DECODE(item.fresh, {TRUE}, 0, 1) = 1"), [2, 3]),
    "IS DISTINCT FROM": Case(ids(I.name.is_distinct_from("one")), which("DECODE(item.name, ?, 0, 1) = 1"), [2, 3]),
    "IS NOT DISTINCT FROM NULL": Case(ids(I.made.is_not_distinct_from(None)), which("item.made IS NULL"), [3]),
    "IS DISTINCT FROM NULL": Case(ids(I.made.is_distinct_from(None)), which("item.made IS NOT NULL"), [1, 2]),
    "IS DISTINCT FROM a column": Case(
        ids(literal("one").is_distinct_from(I.name)), which("DECODE(item.name, ?, 0, 1) = 1"), [2, 3]
    ),
    "IN": Case(ids(I.id.in_([1, 3])), which("item.id IN (__[POSTCOMPILE_id_1])"), [1, 3]),
    "an empty IN": Case(ids(I.id.in_([])), which("item.id IN (__[POSTCOMPILE_id_1])"), []),
    "an empty NOT IN": Case(ids(I.id.not_in([])), which("item.id NOT IN (__[POSTCOMPILE_id_1])"), [1, 2, 3]),
    "IN a query": Case(ids(I.id.in_(select(PART.c.item).order_by(PART.c.no))),
        which("item.id IN (SELECT part.item FROM part)"), [1, 2]),
    "a tuple IN": Case(
        select(PART.c.label).where(sa.tuple_(PART.c.item, PART.c.no).in_([(1, 2), (2, 1)])).order_by(PART.c.item),
        "SELECT part.label FROM part WHERE (__[POSTCOMPILE_param_1]) ORDER BY part.item", ["nut", None]),
    "a tuple NOT IN": Case(select(PART.c.label).where(sa.tuple_(PART.c.item, PART.c.no).not_in([(1, 2), (2, 1)])),
        "SELECT part.label FROM part WHERE NOT (__[POSTCOMPILE_param_1])", ["bolt"]),
    "an empty IN of tuples": Case(select(PART.c.label).where(sa.tuple_(PART.c.item, PART.c.no).in_([])),
        "SELECT part.label FROM part WHERE (__[POSTCOMPILE_param_1])", []),
    "LIKE with ESCAPE": Case(ids(I.name.like("%!%", escape="!")), which("item.name LIKE ? ESCAPE '!'"), [3]),
    "contains": Case(
        ids(I.name.contains("%", autoescape=True)), which("(item.name LIKE '%' || ? || '%' ESCAPE '/')"), [3]
    ),
    "ILIKE": Case(ids(I.name.ilike("O%")), which("lower(item.name) LIKE lower(?)"), [1, 3]),
    "MATCHES": Case(ids(I.name.match("[n-p]*e")), which("item.name MATCHES ?"), [1]),
    "NOT MATCHES with ESCAPE": Case(
        ids(~I.name.match("o*", escape="!")), which("item.name NOT MATCHES ? ESCAPE '!'"), [2]
    ),
    "a regular expression": Case(
        ids(I.name.regexp_match("^o", flags="i")), which("regex_match(item.name, ?, 3)"), None
    ),
    "not a regular expression": Case(ids(~I.name.regexp_match("^o")), which("NOT regex_match(item.name, ?)"), None),
    "replaced by a regular expression": Case(
        item(I.name.regexp_replace("o", "0").label("s")), of_one("regex_replace(item.name, ?, ?) AS s"), None
    ),
    # conditions as values
    "a comparison in a select list": Case(select((I.price > 2).label("b")).order_by(I.id),
        f"SELECT CASE WHEN item.price > ? THEN {TRUE} WHEN NOT (item.price > ?) THEN {FALSE} END AS b "
        "FROM item ORDER BY item.id", [False, True, None]),
    "NOT in a select list": Case(select((~I.fresh).label("b")).order_by(I.id),
        f"SELECT CASE WHEN NOT item.fresh THEN {TRUE} WHEN NOT (NOT item.fresh) THEN {FALSE} END AS b "
        "FROM item ORDER BY item.id", [False, True, None]),
    "EXISTS in a select list": Case(item(sa.exists().where(PART.c.item == I.id).label("b")),
        of_one(f"CASE WHEN EXISTS (SELECT * FROM part WHERE part.item = item.id) THEN {TRUE} ELSE {FALSE} END AS b"),
        [True]),
    "AND in a select list": Case(item(sa.and_(I.id > 0, I.fresh).label("b")),
        of_one(
            f"CASE WHEN item.id > ? AND item.fresh THEN {TRUE} "
            f"WHEN NOT (item.id > ? AND item.fresh) THEN {FALSE} END AS b"), [True]),
    "a comparison as an operand": Case(ids(I.fresh == (I.id == 1)),
        which(f"item.fresh = (CASE WHEN item.id = ? THEN {TRUE} WHEN NOT (item.id = ?) THEN {FALSE} END)"), [1, 2]),
    "a condition in ORDER BY": Case(select(I.id).order_by(I.name.is_(None), (I.id == 2).desc(), I.id),
        f"SELECT item.id FROM item ORDER BY CASE WHEN item.name IS NULL THEN {TRUE} ELSE {FALSE} END, "
        f"CASE WHEN item.id = ? THEN {TRUE} WHEN NOT (item.id = ?) THEN {FALSE} END DESC, item.id", [2, 1, 3]),
    # operators
    "CASE": Case(select(sa.case((I.price > 2, "dear"), else_="cheap").label("s")).order_by(I.id),
        "SELECT CASE WHEN (item.price > ?) THEN ?::LVARCHAR ELSE ?::LVARCHAR END AS s FROM item ORDER BY item.id",
        ["cheap", "dear", "cheap"]),
    "CASE of a value": Case(select(sa.case({1: "a", 2: "b"}, value=I.id, else_=None).label("s")).order_by(I.id),
        "SELECT CASE item.id WHEN ? THEN ?::LVARCHAR WHEN ? THEN ?::LVARCHAR END AS s " "FROM item ORDER BY item.id",
        ["a", "b", None]),
    "concatenation": Case(item((I.name + "!" + I.name).label("s"), func.concat("<", I.name, ">").label("t")),
        of_one("item.name || ? || item.name AS s, (?::LVARCHAR || item.name || ?::LVARCHAR) AS t"),
        [("one!one", "<one>")]),
    "arithmetic": Case(item((I.id % 2).label("a"), (I.id // 2).label("b"), (I.id / 2).label("c"), (-I.id).label("d")),
        of_one("MOD(item.id, ?) AS a, FLOOR(item.id / ?) AS b, item.id / ? AS c, -item.id AS d"),
        [(1, 0, Decimal("0.5"), -1)]),
    "bits": Case(
        item(I.id.bitwise_and(3).label("a"), I.id.bitwise_or(6).label("b"), I.id.bitwise_xor(3).label("c"),
             I.id.bitwise_not().label("d"), I.id.bitwise_lshift(4).label("e")),
        of_one(
            "BITAND(item.id, ?) AS a, BITOR(item.id, ?) AS b, BITXOR(item.id, ?) AS c, BITNOT(item.id) AS d, "
            "FLOOR(item.id * POW(2, ?::INTEGER))::BIGINT AS e"), [(1, 7, 2, -2, 16)]),
    "times and intervals": Case(
        item((I.sold + datetime.timedelta(days=1)).label("a"), (I.sold - datetime.timedelta(hours=1)).label("b"),
             (I.sold - datetime.datetime(2024, 2, 29)).label("c")),
        of_one(
            f"item.sold + ?::{INTERVAL} AS a, item.sold - ?::{INTERVAL} AS b, "
            "item.sold - ?::DATETIME YEAR TO FRACTION(5) AS c"),
        [(datetime.datetime(2024, 3, 1, 13, 14, 15, 123450), datetime.datetime(2024, 2, 29, 12, 14, 15, 123450),
          datetime.timedelta(hours=13, minutes=14, seconds=15, microseconds=123450))]),
    "intervals of other digits": Case(
        select(
            literal(datetime.timedelta(1, 2, 345678), sa.Interval(second_precision=6)).label("a"),
            literal(
                datetime.timedelta(99, 2, 345678), sa.Interval(second_precision=1, day_precision=2)
            ).label("b"),
            literal(datetime.timedelta(1, 2, 345678), sa.Interval(second_precision=0)).label("c"),
        ),
        f"SELECT ?::{INTERVAL} AS a, ?::INTERVAL DAY(2) TO FRACTION(1) AS b, ?::INTERVAL DAY(9) TO SECOND AS c "
        "FROM informix.systables WHERE tabid = 1",
        [(datetime.timedelta(1, 2, 345670), datetime.timedelta(99, 2, 300000), datetime.timedelta(1, 2))],
    ),
    "dates and intervals": Case(
        item((I.made + datetime.timedelta(days=1)).label("a"),
             (literal(datetime.timedelta(hours=1)) + I.made).label("b"),
             (I.made - datetime.timedelta(hours=1)).label("c"), (I.made + 1).label("d"),
             (I.made + datetime.timedelta(days=1) + datetime.timedelta(days=1)).label("e")),
        of_one(
            f"{MADE} + ?::{INTERVAL} AS a, ?::{INTERVAL} + {MADE} AS b, {MADE} - ?::{INTERVAL} AS c, "
            f"item.made + ? AS d, {MADE} + ?::{INTERVAL} + ?::{INTERVAL} AS e"),
        [(datetime.datetime(2024, 3, 1), datetime.datetime(2024, 2, 29, 1), datetime.datetime(2024, 2, 28, 23),
          datetime.date(2024, 3, 1), datetime.datetime(2024, 3, 2))]),
    "an interval in a condition": Case(ids(I.made + datetime.timedelta(days=1) > datetime.datetime(2024, 3, 1, 1)),
        which(f"{MADE} + ?::{INTERVAL} > ?"), [2]),
    "days between dates": Case(item((I.made - datetime.date(2024, 2, 1)).label("d")),
        of_one("(item.made - ?::DATE) UNITS DAY AS d"), [datetime.timedelta(days=28)]),
    "casts": Case(item(sa.cast(I.id, sa.String).label("s"), sa.cast("7", sa.Integer).label("n")),
        of_one("CAST(item.id AS LVARCHAR(32739)) AS s, CAST(? AS INTEGER) AS n"), [("1", 7)]),
    "a cast of a parameter of another type": Case(
        select(sa.cast(sa.type_coerce(literal(7), sa.Integer), sa.String(9)).label("s")),
        "SELECT CAST(?::INTEGER AS VARCHAR(9)) AS s FROM informix.systables WHERE tabid = 1", ["7"]),
    "a cast of NULL": Case(select(sa.cast(sa.null(), sa.Integer).label("n")),
        "SELECT CAST(NULL AS INTEGER) AS n FROM informix.systables WHERE tabid = 1", [None]),
    "a table of constants": Case(
        select(
            sa.values(sa.column("n", sa.Integer), sa.column("s", sa.String), name="v").data([(1, "a"), (2, None)])),
        "SELECT v.n, v.s FROM (SELECT ?::INTEGER, ?::LVARCHAR FROM informix.systables WHERE tabid = 1 UNION ALL "
        "SELECT ?::INTEGER, NULL::LVARCHAR FROM informix.systables WHERE tabid = 1) AS v (n, s)",
        [(1, "a"), (2, None)]),
}  # fmt: skip


def test_the_text_of_expressions() -> None:
    assert other_texts(CASES) == {}


async def test_the_values_of_expressions(engine: AsyncEngine) -> None:
    await load(engine)
    assert await differences(engine, CASES) == {}


async def test_a_cached_statement_takes_other_values(engine: AsyncEngine) -> None:
    await load(engine)
    async with engine.connect() as conn:
        for pairs in ([(1, 1)], [(1, 2), (2, 1)], []):
            found = select(PART.c.item, PART.c.no).where(sa.tuple_(PART.c.item, PART.c.no).in_(pairs))
            assert [tuple(row) for row in await conn.execute(found.order_by(PART.c.item))] == pairs


async def test_text_is_not_cut_in_a_select_list(engine: AsyncEngine) -> None:
    async with engine.connect() as conn:
        for length in (0, 2048):
            assert await conn.scalar(select(literal("x" * length).label("s"))) == "x" * length
        assert await conn.scalar(select(literal(None, sa.String).label("s"))) is None
        assert await conn.scalar(select(literal("x" * 3000, sa.String(3000)).label("s"))) == "x" * 3000
        with pytest.raises(exc.StatementError, match=r"text in a select list: expected at most 2048 bytes"):
            await conn.scalar(select(literal("ä" * 2049).label("s")))
        short = select(literal("x" * 6, sa.String(5)).label("s"))
        with pytest.raises(exc.StatementError, match=r"text in a select list: expected at most 5 bytes"):
            await conn.scalar(short)
        compiled = short.compile(dialect=engine.dialect, compile_kwargs={"literal_binds": True})
        assert await conn.scalar(sa.text(str(compiled))) == "x" * 6
        with pytest.raises(exc.StatementError, match=r"text in a select list: expected at most 4 bytes"):
            await conn.scalar(select(literal(b"abc", sa.BINARY(2)).label("s")))


@pytest.mark.parametrize(
    ("statement", "text"),
    [
        (ids(I.id.in_([1, 2])), which("item.id IN (1, 2)")),
        (ids(I.id.in_([])),
         which("item.id IN (SELECT NULL::INTEGER FROM informix.systables WHERE tabid = 1 AND 1 = 0)")),
        (ids(sa.tuple_(I.id, I.name).in_([(1, "it's")])), which("((item.id = 1 AND item.name = 'it''s'))")),
        (ids(sa.tuple_(I.id, I.name).in_([])), which("(1 = 0)")),
        (select(literal("a\nb").label("s")),
         "SELECT ('a' || CHR(10) || 'b') AS s FROM informix.systables WHERE tabid = 1"),
        (select(literal("a").label("s")), "SELECT 'a'::LVARCHAR AS s FROM informix.systables WHERE tabid = 1"),
        (select(literal(None).label("s")), "SELECT NULL::LVARCHAR AS s FROM informix.systables WHERE tabid = 1"),
        (item(sa.case((I.fresh, ""), else_="old").label("s")),
         "SELECT CASE WHEN item.fresh THEN ''::LVARCHAR ELSE 'old'::LVARCHAR END AS s "
         "FROM item WHERE item.id = 1"),
        (
            select(literal("a" * 2049).label("s")),  # a cast would cut it
            f"SELECT '{'a' * 2049}' AS s FROM informix.systables WHERE tabid = 1",
        ),
    ],
)  # fmt: skip
async def test_literals_in_place_of_parameters(engine: AsyncEngine, statement: Any, text: str) -> None:
    assert sql(statement, literal_binds=True) == text
    await load(engine)
    async with engine.connect() as conn:
        await conn.execute(sa.text(text.replace(":sysdual", r"\:sysdual")))


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        (I.name.regexp_match("x", flags="m"), "flags of a regular expression: expected 'i', got 'm'"),
        (I.id.between(1, 2, symmetric=True), "BETWEEN SYMMETRIC: Informix lacks it"),
        (~I.id.between(1, 2, symmetric=True), "BETWEEN SYMMETRIC: Informix lacks it"),
        (
            sa.tuple_(I.id, I.name).in_(select(PART.c.item, PART.c.label)),
            "IN of a tuple: expected a list of tuples",
        ),
    ],
)
def test_what_informix_lacks_is_an_error(expression: Any, message: str) -> None:
    with pytest.raises(exc.CompileError, match=message):
        sql(select(I.id).where(expression))
