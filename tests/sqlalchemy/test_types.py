"""Values of every type: to the embedded server and back, as parameters and as literals."""

from __future__ import annotations

import asyncio
import datetime as dt
import json
import uuid
from collections.abc import AsyncIterator
from decimal import Decimal
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy import exc, select
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

import aioifx
from aioifx.sqlalchemy import (
    BIGSERIAL,
    BSON,
    BYTE,
    DATETIME,
    INT8,
    INTERVAL,
    JSON,
    LIST,
    LVARCHAR,
    MONEY,
    MULTISET,
    NVARCHAR,
    ROW,
    SERIAL,
    SET,
    SMALLFLOAT,
    TEXT,
    TIME,
    VARCHAR,
    InformixDialect,
    insert,
)  # fmt: skip
from aioifx.sqlalchemy.types import COLSPECS
from aioifx.sqltypes import SqlType, TypeCode
from tests.sqlalchemy.stock import Case, differences, other_texts, sql

MOMENT = dt.datetime(2026, 5, 4, 9, 30, 1, 123450)

VALUES: list[tuple[Any, Any]] = [
    (sa.SmallInteger(), -5),
    (sa.Integer(), 5),
    (sa.BigInteger(), 2**40),
    (INT8(), -(2**40)),
    (sa.Float(), 1.5),
    (sa.Double(), 1e-20),
    (sa.Float(asdecimal=True), Decimal("1.5")),
    (SMALLFLOAT(), 0.25),
    (sa.Numeric(10, 2), Decimal("9.50")),
    (sa.Numeric(10, 0), Decimal(7)),
    (sa.Numeric(10, 2, asdecimal=False), 9.5),
    (sa.Numeric(), Decimal("1.25")),
    (MONEY(8, 2), Decimal("3.10")),
    (sa.CHAR(3), "abc"),
    (sa.NCHAR(3), "abc"),
    (sa.String(10), "it's"),
    (sa.String(300), "x" * 300),
    (sa.String(), "y"),
    (sa.Unicode(9), "é"),
    (VARCHAR(20, 5), "r"),
    (NVARCHAR(20), "n"),
    (LVARCHAR(), "z"),
    (sa.Boolean(), True),
    (sa.Boolean(), False),
    (sa.Date(), dt.date(2026, 5, 4)),
    (sa.DateTime(), MOMENT),
    (sa.Time(), MOMENT.time()),
    (DATETIME("year", "minute"), dt.datetime(2026, 5, 4, 9, 30)),
    (DATETIME("year", "day"), dt.date(2026, 5, 4)),
    (DATETIME("month", "day"), aioifx.Datetime(month=5, day=4)),
    (TIME("minute"), dt.time(9, 30)),
    (TIME("fraction", 2), dt.time(9, 30, 1, 120000)),
    (sa.Interval(), dt.timedelta(days=-4, hours=3, microseconds=10)),
    (sa.Interval(day_precision=3, second_precision=1), dt.timedelta(days=400, microseconds=100_000)),
    (INTERVAL("hour", "minute", leading=4), dt.timedelta(hours=1000, minutes=3)),
    (INTERVAL("second", "fraction", fraction=2), dt.timedelta(seconds=5.25)),
    (INTERVAL("year", "month"), aioifx.IntervalYM(-2, -6)),
    (sa.Uuid(), uuid.UUID(int=5)),
    (sa.UUID(), uuid.UUID(int=6)),
    (sa.Enum("a", "b"), "b"),
]
DOCUMENTS: list[tuple[Any, Any]] = [
    (sa.JSON(), {"a": [1, "it's"], "b": None}),
    (SET(sa.String(10)), {"a", "b"}),
    (MULTISET(sa.Integer), [1, 1]),
    (LIST(sa.Boolean), [True, False]),
    (LIST(INTERVAL("hour", "minute")), [dt.timedelta(minutes=90)]),
    (ROW({"street": sa.String(30), "at": TIME("minute")}), ("Main St", dt.time(9, 30))),
]
OBJECTS: list[tuple[Any, Any]] = [
    (BSON(), {"a": 1}),
    (sa.Text(), "long\ntext"),
    (TEXT(space="blobs"), ""),
    (sa.LargeBinary(), b"\0\1"),
    (BYTE(), b""),
    (sa.BLOB(), b"\0\2"),
    (sa.CLOB(), "text"),
    (sa.PickleType(), {"k": 1}),
]


@pytest.fixture
async def connection(engine: AsyncEngine) -> AsyncIterator[AsyncConnection]:
    async with engine.connect() as conn:
        yield conn


def table_of(type_: Any) -> sa.Table:
    key = sa.Column("id", sa.Integer, primary_key=True)
    return sa.Table("item", sa.MetaData(), key, sa.Column("value", type_), prefixes=["TEMP"])


async def stored(conn: AsyncConnection, type_: Any, *values: Any) -> list[Any]:
    """The values as a column of the type returns them."""
    table = table_of(type_)
    await conn.execute(sa.schema.CreateTable(table))
    try:
        for value in values:
            await conn.execute(table.insert().values(value=value))
        return [*await conn.scalars(sa.select(table.c.value).order_by(table.c.id))]
    finally:
        await conn.execute(sa.schema.DropTable(table))


def literal(value: Any, type_: Any) -> Any:
    return sa.literal(value, type_, literal_execute=True)


def wide_table(values: list[tuple[Any, Any]]) -> sa.Table:
    """A table with a column for each type."""
    columns = [sa.Column(f"c{number}", type_) for number, (type_, _) in enumerate(values)]
    return sa.Table("item", sa.MetaData(), sa.Column("id", sa.Integer, primary_key=True), *columns)


async def test_values_are_stored_and_returned(connection: AsyncConnection) -> None:
    table, values = wide_table(VALUES + DOCUMENTS), [value for _, value in VALUES + DOCUMENTS]
    names = table.columns.keys()[1:]
    literals = [literal(value, type_) for type_, value in VALUES + DOCUMENTS]
    await connection.execute(sa.schema.CreateTable(table))
    for row in (values, literals, [None] * len(values)):
        await connection.execute(table.insert().values(dict(zip(names, row, strict=True))))
    rows = [list(row)[1:] for row in await connection.execute(table.select().order_by(table.c.id))]
    assert rows[:2] == [values, values]
    assert rows[2] == [None] * len(values)
    assert [type(value) for value in rows[0][:-1]] == [
        type(value) for value in values[:-1]
    ]  # a ROW is a Record


async def test_values_are_compared(connection: AsyncConnection) -> None:
    table = wide_table(VALUES)
    columns = list(table.columns)[1:]
    same = [column == value for column, (_, value) in zip(columns, VALUES, strict=True)]
    literals = [
        column == literal(value, column.type) for column, (_, value) in zip(columns, VALUES, strict=True)
    ]
    await connection.execute(sa.schema.CreateTable(table))
    row = {column.name: value for column, (_, value) in zip(columns, VALUES, strict=True)}
    await connection.execute(table.insert().values(row))
    for conditions in (same, literals):
        assert (await connection.scalars(sa.select(table.c.id).where(*conditions))).all() == [1]


async def test_values_without_asyncio_are_the_same(url: str) -> None:
    everything = VALUES + DOCUMENTS + OBJECTS
    table = wide_table(everything)
    names = table.columns.keys()[1:]

    def store() -> list[Any]:
        engine = sa.create_engine(url)
        with engine.connect() as conn:
            table.metadata.create_all(conn)
            conn.execute(table.insert(), dict(zip(names, (value for _, value in everything), strict=True)))
            row = conn.execute(table.select()).one()
        engine.dispose()
        return list(row)[1:]

    assert await asyncio.to_thread(store) == [value for _, value in everything]


async def test_large_values_are_stored_and_returned(connection: AsyncConnection) -> None:
    got = {repr(type_): await stored(connection, type_, value, None) for type_, value in OBJECTS}
    assert got == {repr(type_): [value, None] for type_, value in OBJECTS}


async def test_functions_of_integers_are_integers(connection: AsyncConnection) -> None:
    table = table_of(sa.Integer)
    await connection.execute(sa.schema.CreateTable(table))
    await connection.execute(table.insert(), [{"value": 1}, {"value": 2}])
    row = (await connection.execute(sa.select(sa.func.sum(table.c.value), sa.func.count()))).one()
    assert [repr(value) for value in row] == ["3", "2"]
    await connection.execute(sa.schema.DropTable(table))


@pytest.mark.parametrize("kind", [TypeCode.DECIMAL, TypeCode.FLOAT])
def test_a_decimal_from_the_server_is_an_integer(kind: TypeCode) -> None:
    process = sa.Integer().dialect_impl(InformixDialect()).result_processor(InformixDialect(), SqlType(kind))
    assert process is not None
    assert repr([process(Decimal("6.0")), process(None)]) == "[6, None]"


async def test_bytes_of_other_classes_are_stored(connection: AsyncConnection) -> None:
    assert await stored(connection, sa.LargeBinary(), bytearray(b"a"), memoryview(b"b")) == [b"a", b"b"]


async def test_none_is_the_null_of_json(connection: AsyncConnection) -> None:
    table = table_of(sa.JSON())
    await connection.execute(sa.schema.CreateTable(table))
    await connection.execute(table.insert(), [{"value": None}, {"value": sa.null()}, {"value": {}}])
    found = await connection.scalars(sa.select(table.c.id).where(table.c.value.is_(None)))
    assert found.all() == [1, 2]
    await connection.execute(sa.schema.DropTable(table))


async def test_json_in_text_is_decoded(connection: AsyncConnection) -> None:
    query = sa.text("SELECT FIRST 1 '[1]' AS a, NULL::lvarchar AS b FROM systables").columns(
        a=sa.JSON, b=sa.JSON
    )
    assert (await connection.execute(query)).one() == ([1], None)


async def test_json_has_the_functions_of_the_engine(url: str) -> None:
    def loads(text: str) -> Any:
        return json.loads(text, parse_float=Decimal)

    def dumps(value: Any) -> str:
        return json.dumps(value, default=str)

    engine = create_async_engine(url, json_serializer=dumps, json_deserializer=loads)
    table = table_of(JSON())
    async with engine.connect() as conn:
        await conn.execute(sa.schema.CreateTable(table))
        await conn.execute(table.insert().values(value={"price": 1.5, "on": dt.date(2026, 5, 4)}))
        value = await conn.scalar(sa.select(table.c.value))
    await engine.dispose()
    assert repr(value) == "{'price': Decimal('1.5'), 'on': '2026-05-04'}"


async def test_an_aware_datetime_is_refused(engine: AsyncEngine) -> None:
    aware = MOMENT.replace(tzinfo=dt.UTC)
    table = table_of(sa.DateTime(timezone=True))
    async with engine.connect() as conn:
        await conn.execute(sa.schema.CreateTable(table))
        with pytest.raises(exc.DBAPIError, match=r"aware datetime: .* option timezone"):
            await conn.execute(table.insert().values(value=aware))
        with pytest.raises(exc.CompileError, match="option timezone"):
            rendered(aware, sa.DateTime())


def rendered(value: Any, type_: Any) -> str:
    process = type_.dialect_impl(InformixDialect()).literal_processor(InformixDialect())
    assert process is not None
    text: str = process(value)
    return text


def test_literals_do_not_depend_on_the_session() -> None:
    assert rendered(dt.date(2026, 5, 4), sa.Date()) == "MDY(5,4,2026)"
    assert rendered(MOMENT, sa.DateTime()) == "DATETIME(2026-05-04 09:30:01.12345) YEAR TO FRACTION(5)"
    assert rendered(MOMENT.date(), sa.DateTime()).startswith("DATETIME(2026-05-04 00:00:00.00000)")
    assert rendered(MOMENT, DATETIME("year", "minute")) == "DATETIME(2026-05-04 09:30) YEAR TO MINUTE"
    assert rendered(MOMENT.time(), TIME("second")) == "DATETIME(09:30:01) HOUR TO SECOND"
    assert rendered(dt.timedelta(hours=-30), INTERVAL("day", "hour", leading=3)) == (
        "INTERVAL(-1 06) DAY(3) TO HOUR"
    )
    assert rendered(Decimal("1E+3"), sa.Numeric()) == "1000"
    assert rendered(True, sa.Boolean()) == "'t'::boolean"
    assert rendered({"a": "it's"}, sa.JSON()) == """'{"a": "it''s"}'::JSON"""
    assert [rendered(value, sa.JSON()) for value in (None, sa.JSON.NULL)] == ["NULL", "'null'::JSON"]
    assert rendered({"b": "x", "a": 1}, ROW({"a": sa.Integer, "b": sa.String(5)})) == "ROW(1,'x')"
    assert rendered((1, None), ROW({"a": sa.Integer, "b": sa.String(5)})) == "ROW(1,NULL)"


@pytest.mark.parametrize(
    ("type_", "value"),
    [
        (sa.LargeBinary(), b"x"),
        (BSON(), {}),
        (SET(sa.Date), {dt.date(2026, 5, 4)}),
        (LIST(sa.LargeBinary), [b"x"]),
        (sa.Numeric(), Decimal("NaN")),
        (sa.DateTime(), dt.time(9, 30)),
    ],
    ids=repr,
)
def test_what_has_no_literal_is_refused(type_: Any, value: Any) -> None:
    statement = sa.select(sa.literal(value, type_))
    with pytest.raises(exc.CompileError):
        statement.compile(dialect=InformixDialect(), compile_kwargs={"literal_binds": True})


@pytest.mark.parametrize(
    "make",
    [
        lambda: DATETIME("year", "hours"),
        lambda: DATETIME("second", "year"),
        lambda: TIME("fraction", 6),
        lambda: INTERVAL("month", "day"),
        lambda: INTERVAL("day", "hour", leading=10),
        lambda: INTERVAL("day", "fraction", fraction=0),
    ],
)
def test_a_qualifier_that_informix_lacks_is_refused(make: Any) -> None:
    with pytest.raises(exc.ArgumentError):
        make()


def test_types_are_instances_of_the_generic_ones() -> None:
    generic: list[tuple[Any, type[Any]]] = [
        (INT8(), sa.BigInteger),
        (BIGSERIAL(), sa.BigInteger),
        (SERIAL(), sa.Integer),
        (SMALLFLOAT(), sa.Float),
        (MONEY(8, 2), sa.Numeric),
        (LVARCHAR(9), sa.String),
        (VARCHAR(9, 3), sa.VARCHAR),
        (TEXT(), sa.Text),
        (BYTE(), sa.LargeBinary),
        (DATETIME(), sa.DateTime),
        (TIME(), sa.Time),
        (JSON(), sa.JSON),
    ]
    assert [type_ for type_, base in generic if not isinstance(type_, base)] == []
    assert INTERVAL()._type_affinity is sa.Interval
    assert INTERVAL(leading=3).as_generic().day_precision == 3
    assert [DATETIME("year", last).python_type for last in ("hour", "day", "month")] == [
        dt.datetime,
        dt.date,
        aioifx.Datetime,
    ]
    assert INTERVAL("year", "month").python_type is aioifx.IntervalYM


def test_types_are_copied_and_compared_by_their_arguments() -> None:
    for type_ in (
        DATETIME("year", "minute"),
        TIME("fraction", 2),
        INTERVAL("hour", "minute", 4),
        VARCHAR(9, 3),
    ):
        copy = type_.copy()
        assert repr(copy) == repr(type_)
        assert copy._static_cache_key == type_._static_cache_key
    assert DATETIME("year", "minute")._static_cache_key != DATETIME("year", "second")._static_cache_key


def test_the_dialect_has_the_types_of_the_module() -> None:
    assert {**COLSPECS}.items() <= InformixDialect().colspecs.items()


DOC = sa.Table("doc", sa.MetaData(), sa.Column("x", sa.JSON))
X = DOC.c.x
VALUE = {"a": {"s": "text", "n": 5, "f": 1.5, "t": True, "l": [1, 2, "last"]}}


def of_doc(expression: str, path: str = "?") -> str:
    return f"SELECT {expression.format(f'doc.x::BSON, {path}')} AS v FROM doc"


PATHS = {
    "a path": Case(
        select(X[("a", "s")].as_string().label("v")), of_doc("BSON_VALUE_LVARCHAR({0})"), ["text"]
    ),
    "keys": Case(
        select(X["a"]["l"][2].as_string().label("v")),
        of_doc("BSON_VALUE_LVARCHAR({0})", "? || '.' || ? || '.' || ?"),
        ["last"],
    ),
    "a number": Case(select(X["a", "n"].as_integer().label("v")), of_doc("BSON_VALUE_BIGINT({0})"), [5]),
    "a float": Case(select(X["a", "f"].as_float().label("v")), of_doc("BSON_VALUE_DOUBLE({0})"), [1.5]),
    "a decimal": Case(
        select(X["a", "f"].as_numeric(6, 2).label("v")),
        of_doc("CAST(BSON_VALUE_DOUBLE({0}) AS DECIMAL(6,2))"),
        [Decimal("1.50")],
    ),
    "a truth": Case(
        select(X["a", "n"].as_integer().label("v")).where(
            X["a", "t"].as_boolean(), X["a", "f"].as_float() > 1
        ),
        of_doc("BSON_VALUE_BIGINT({0})")
        + " WHERE BSON_VALUE_BOOLEAN(doc.x::BSON, ?) AND BSON_VALUE_DOUBLE(doc.x::BSON, ?) > ?",
        [5],
    ),
    "nothing": Case(select(X["b"].as_string().label("v")), of_doc("BSON_VALUE_LVARCHAR({0})"), [None]),
}


async def test_values_of_documents(engine: AsyncEngine) -> None:
    assert other_texts(PATHS) == {}
    assert sql(select(X["a", 1].as_string()), literal_binds=True).startswith(
        "SELECT BSON_VALUE_LVARCHAR(doc.x::BSON, 'a.1')"
    )
    async with engine.begin() as conn:
        await conn.run_sync(DOC.metadata.create_all)
        await conn.execute(DOC.insert().values(x=VALUE))
    assert await differences(engine, PATHS) == {}
    async with engine.connect() as conn:
        with pytest.raises(exc.StatementError, match="JSON: expected keys without a dot"):
            await conn.execute(select(X["a.b"].as_string()))


@pytest.mark.parametrize("expression", [X["a"], X["a"] == "b"])
def test_a_value_has_a_type(expression: Any) -> None:
    with pytest.raises(exc.CompileError, match=r"JSON: expected as_string\(\)"):
        sql(select(expression))


# -- text_type --------------------------------------------------------------------------------------------------------


TEXTS = sa.Table(
    "note",
    sa.MetaData(),
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("body", sa.Text),
    sa.Column("title", sa.UnicodeText(5)),
    sa.Column("author", sa.TEXT),
    sa.Column("blob", TEXT),
    sa.Index("ix_body", "title"),
)


@pytest.mark.parametrize("is_argument", [True, False])
async def test_generic_text_may_be_lvarchar(url: str, is_argument: bool) -> None:
    option = "lvarchar(4000)"
    engine = (
        create_async_engine(url, text_type=option)
        if is_argument
        else create_async_engine(sa.make_url(url).update_query_dict({"text_type": option}))
    )
    async with engine.begin() as conn:
        await conn.run_sync(TEXTS.metadata.create_all)
        columns = await conn.run_sync(lambda sync: sa.inspect(sync).get_columns("note"))
        assert [str(column["type"].compile(engine.dialect)) for column in columns[1:]] == [
            "LVARCHAR(4000)",
            "LVARCHAR(5)",
            "LVARCHAR(4000)",
            "TEXT",
        ]
        long = "x" * 4000
        await conn.execute(TEXTS.insert(), [{"id": 1, "body": long}, {"id": 2, "body": "b", "title": "t"}])
        await conn.execute(TEXTS.insert().values([{"id": 3, "body": long}, {"id": 4, "body": "c"}]))
        found = (
            sa.select(TEXTS.c.id, sa.literal(long, sa.Text))
            .where(TEXTS.c.body == long, sa.or_(TEXTS.c.author.is_(None), TEXTS.c.author != long))
            .order_by(TEXTS.c.body)
        )
        assert (await conn.execute(found)).all() == [(1, long), (3, long)]
        with pytest.raises(exc.StatementError, match="text in a select list: expected at most 4000 bytes"):
            await conn.execute(sa.select(sa.literal(long + "x", sa.Text)))
        upsert = insert(TEXTS).on_conflict_do_update()
        await conn.execute(upsert, {"id": 1, "body": long[1:]})
        assert await conn.scalar(sa.select(TEXTS.c.body).where(TEXTS.c.id == 1)) == long[1:]
        for statement in (
            TEXTS.insert().values(id=5, body=long + "y"),
            TEXTS.update().values(body=long + "y"),
            upsert.values(id=1, body=long + "y"),
            insert(TEXTS).values(id=1, body="b").on_conflict_do_update(set_={"body": long + "y"}),
        ):
            with pytest.raises(exc.DataError, match=r"column body(, parameter|: text of 4001 bytes)"):
                await conn.execute(statement)
    await engine.dispose()


@pytest.mark.parametrize(
    ("option", "text"), [(None, "TEXT"), ("text", "TEXT"), ("LVARCHAR", "LVARCHAR(2048)")]
)
def test_text_is_text_unless_the_option_says_lvarchar(option: str | None, text: str) -> None:
    for type_ in (sa.Text(), sa.TEXT()):
        assert type_.compile(InformixDialect(text_type=option)) == text
    if option:
        dialect = InformixDialect()
        dialect.create_connect_args(sa.make_url(f"informix://db1/shop?text_type={option}"))
        assert sa.Text().compile(dialect) == text


@pytest.mark.parametrize("option", ["varchar", "lvarchar(0)", "lvarchar(32740)", "lvarchar(x)", "", 7])
def test_another_text_type_is_an_error_that_names_the_option(option: Any) -> None:
    with pytest.raises(exc.ArgumentError, match=r"^text_type: expected text, lvarchar or lvarchar\(n\)"):
        InformixDialect(text_type=option)


async def test_a_comparison_of_text_is_an_error_that_names_the_option(engine: AsyncEngine) -> None:
    async with engine.connect() as conn:
        await conn.exec_driver_sql("CREATE TABLE note (id INT, body TEXT)")
        for statement in (
            sa.select(TEXTS.c.id).where(TEXTS.c.body == "b"),
            sa.select(TEXTS.c.id).order_by(TEXTS.c.body),
            sa.select(TEXTS.c.body).distinct(),
        ):
            with pytest.raises(
                exc.ProgrammingError,
                match="create its table with text_type=lvarchar in the URL, or bytes as VARBINARY",
            ):
                await conn.execute(statement)
