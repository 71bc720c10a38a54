"""Parameters: their number, their types, and what is refused before it is sent."""

from __future__ import annotations

import pytest

from aioifx.errors import DataError, InterfaceError
from aioifx.sqltypes import SqlType, TypeCode
from aioifx.testing.messages import EOT, column, described, done, ints, takes
from aioifx.testing.script import PREPARE, closing, opening, release
from aioifx.wire.opcodes import StatementType
from tests.scripted import C1, INTEGER, played, talking


async def test_a_value_that_is_compared_may_exceed_the_described_type() -> None:
    async with talking(
        (PREPARE, described(1, C1)),
        ("Id(1) DescribeInput", takes(SqlType(TypeCode.SMALLINT, 2))),
        (opening(1, bound=True), ints(4) + done(1) + EOT),
        closing(1),
    ) as (conn, _):
        assert await conn.fetch("select c1 from t where a < ?", 100_000) == [(4,)]


async def test_a_value_that_is_stored_may_not() -> None:
    async with talking(
        (PREPARE, described(1, column("a", TypeCode.SMALLINT, 2), kind=StatementType.INSERT)),
        ("Id(1) DescribeInput", takes(SqlType(TypeCode.SMALLINT, 2))),
        release(1),
    ) as (conn, _):
        with pytest.raises(DataError, match="parameter 1"):
            await conn.execute("insert into t values(?)", 100_000)


A, B = column("a", TypeCode.INTEGER, 4), column("b", TypeCode.CHAR, 5)


async def test_nor_among_values_of_other_kinds() -> None:
    async with talking(
        (PREPARE, described(1, A, B, kind=StatementType.INSERT)),
        ("Id(1) DescribeInput", takes(SqlType(TypeCode.CHAR, 5))),
        release(1),
    ) as (conn, _):
        with pytest.raises(DataError, match=r"parameter 1: text of 8 bytes does not fit CHAR\(5\)") as caught:
            await conn.execute("insert into t values (1, ?)", "too long")
        assert (caught.value.parameter, caught.value.column) == (1, "b")


@pytest.mark.parametrize(
    ("values", "type"), [("1, f(?)", B.type), ("1, ? || 'a'", B.type), ("1, ?", SqlType(TypeCode.CHAR, 3))]
)
async def test_a_value_is_checked_only_if_it_is_described_as_its_column(values: str, type: SqlType) -> None:
    async with talking(
        (PREPARE, described(1, A, B, kind=StatementType.INSERT)),
        ("Id(1) DescribeInput", takes(type)),
        ("Id(1) Bind Execute", done(1) + EOT),
        release(1),
    ) as (conn, _):
        assert (await conn.execute(f"insert into t values ({values})", "too long")).rowcount == 1


@pytest.mark.parametrize("case", ["bind_owner", "bind_no_owner"])
async def test_parameters_name_the_owners_that_were_described(case: str) -> None:
    async with talking(played("owners15", case), statement_cache_size=0) as (conn, _):
        for sql, value in (
            ("insert into boolt values (?)", True),
            ("insert into lvt values (?)", "x"),
            ("insert into jsont values (?)", "{}"),
        ):
            async with await conn.prepare(sql) as statement:
                await statement.execute(value)
                await statement.execute(None)
                if value is True:
                    await statement.execute(None)


@pytest.mark.parametrize(
    ("sql", "args"),
    [
        ("select c1 from t", (1,)),
        ("select c1 from t where a = ?", ()),
        ("select c1 from t where a = ?", (1, 2)),
        ("insert into t values('?', ?)", (1, 2)),
        ("delete from t", (1,)),
    ],
)
async def test_a_wrong_number_of_parameters_is_refused_before_anything_is_sent(
    sql: str, args: tuple[int, ...]
) -> None:
    async with talking() as (conn, peer):
        for call in (conn.fetch, conn.fetchrow, conn.fetchval, conn.execute):
            with pytest.raises(InterfaceError, match=f"parameters?, got {len(args)}"):
                await call(sql, *args)
        with pytest.raises(InterfaceError, match=f"parameters?, got {len(args)}"):
            await conn.cursor().execute(sql, args)
        with pytest.raises(InterfaceError, match=f"parameters?, got {len(args)}"):
            await anext(conn.stream(sql, *args))
        assert peer.received == b""


async def test_a_value_of_the_wrong_type_is_refused_before_it_is_bound() -> None:
    class Stranger:
        pass

    async with talking(
        (PREPARE, described(2, C1)), ("Id(2) DescribeInput", takes(INTEGER, INTEGER)), release(2)
    ) as (conn, _):
        with pytest.raises(DataError, match="parameter 2"):
            await conn.fetch("select c1 from t where a = ? and b = ?", 1, Stranger())


async def test_a_prepared_statement_refuses_a_wrong_number_too() -> None:
    async with (
        talking(
            (PREPARE, described(2, kind=StatementType.DELETE)),
            ("Id(2) DescribeInput", takes(INTEGER)),
            ("Id(2) Bind(1) Execute", done(1) + EOT),
            release(2),
        ) as (conn, peer),
        await conn.prepare("delete from t where a = ?") as statement,
    ):
        for args in ((), (1, 2)):
            with pytest.raises(InterfaceError, match="expected 1 parameter, got"):
                await statement.execute(*args)
        assert len(peer.groups) == 2
        await statement.execute(1)
