from __future__ import annotations

import pytest

import aioifx
from aioifx import Capture, CdcError, Column, InterfaceError
from aioifx.cdc.tables import table_of
from aioifx.sqltypes import SqlType, TypeCode
from aioifx.testing.messages import LOGGED
from aioifx.testing.script import listening
from tests.cdc.peer import COLUMNS, DSN, CdcPeer
from tests.codecs.samples import BOOLEAN, INTEGER, JSON

DESCRIBED = [
    *COLUMNS, Column("doc", JSON), Column("flag", BOOLEAN), Column("tags", SqlType(TypeCode.SET)),
    Column("late", INTEGER),
]  # fmt: skip


async def described(capture: Capture, columns: list[Column] = DESCRIBED, warnings: int = LOGGED) -> object:
    async with listening(CdcPeer(columns=columns, warnings=warnings)) as listener:
        async with aioifx.connect(DSN, port=listener.port) as conn:
            return await table_of(conn, capture, "stores")


async def test_columns_that_cannot_be_captured_are_left_out() -> None:
    table = await described(Capture("informix.Orders"))
    assert isinstance(table, tuple)
    name, layout, make = table
    assert name == "stores:informix.orders"
    assert [column.name for column in layout.columns] == ["id", "name", "flag"]
    assert make((1, "a", True))["flag"] is True


async def test_named_columns_keep_their_order() -> None:
    table = await described(Capture("informix.orders", ["NAME", "id"]))
    assert isinstance(table, tuple)
    assert [column.name for column in table[1].columns] == ["name", "id"]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (["nothing"], "columns: stores:informix.orders has no column 'nothing'"),
        (["doc"], "columns: 'doc' of stores:informix.orders cannot be captured, because it is JSON"),
        (["late"], "cannot be captured, because it follows a collection"),
    ],
)
async def test_a_named_column_must_be_capturable(columns: list[str], message: str) -> None:
    with pytest.raises(InterfaceError, match=message):
        await described(Capture("informix.orders", columns))


async def test_a_table_needs_a_column() -> None:
    with pytest.raises(InterfaceError, match="has no column that can be captured"):
        await described(Capture("informix.orders"), [Column("doc", JSON)])


async def test_a_database_needs_a_log() -> None:
    with pytest.raises(CdcError, match=r"CDC_E_DBNOTLOGGED .*: the database stores is not logged") as caught:
        await described(Capture("informix.orders"), warnings=0)
    assert "ondblog" in caught.value.__notes__[0]
