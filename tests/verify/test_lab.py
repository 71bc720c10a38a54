"""Names, preparation and cleanup: a check leaves nothing behind, also where it lost its connection."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

import aioifx
from aioifx.errors import DatabaseError, class_for
from aioifx.server import running
from aioifx.server.sqlite.databases import LogMode
from aioifx.verify.lab import CannotTry, Lab, describe_error

_OBJECTS = (
    "CREATE TEMP TABLE vfy_temp (a INT)",
    "CREATE TABLE vfy_table (a INT)",
    "CREATE VIEW vfy_view AS SELECT a FROM vfy_table",
    "CREATE SEQUENCE vfy_seq",
    "CREATE ROW TYPE vfy_row (a INT)",
    "CREATE DISTINCT TYPE vfy_own AS INT",
    "CREATE TABLE vfy_typed (r vfy_row, o vfy_own)",
    "CREATE SYNONYM vfy_syn FOR vfy_table",
    "SELECT tabid FROM informix.systables WHERE tabid = 1 INTO TEMP vfy_into",
)


@pytest.fixture(params=list(LogMode))
async def lab(request: pytest.FixtureRequest) -> AsyncIterator[Lab]:
    async with running(log_mode=request.param) as dsn:
        lab = Lab(lambda **options: aioifx.connect(dsn, **options), "aioifx_test_")
        await lab.open()
        yield lab
        await lab.close()


async def own_names(conn: aioifx.Connection[Any]) -> list[str]:
    tables = await conn.fetch("SELECT tabname FROM informix.systables WHERE tabname LIKE 'aioifx_%'")
    types = await conn.fetch("SELECT name FROM informix.sysxtdtypes WHERE name LIKE 'aioifx_%'")
    return [row[0] for row in (*tables, *types)]


@pytest.mark.parametrize("in_transaction", [True, False])
async def test_everything_that_a_check_creates_is_dropped(lab: Lab, in_transaction: bool) -> None:
    await lab.start(in_transaction=in_transaction)
    await lab.prepare(*_OBJECTS)
    assert len(await own_names(lab.conn)) >= 7
    await lab.clean()
    assert await own_names(lab.conn) == []
    assert not lab.conn.is_in_transaction()
    assert lab.left_behind == []
    with pytest.raises(aioifx.UndefinedTable):
        await lab.run("SELECT * FROM vfy_temp")


async def test_a_failed_repetition_does_not_change_the_order_of_drops(lab: Lab) -> None:
    await lab.start(in_transaction=False)
    await lab.prepare("CREATE ROW TYPE vfy_row (a INT)", "CREATE TABLE vfy_typed (r vfy_row)")
    with pytest.raises(aioifx.DatabaseError):
        await lab.run("CREATE ROW TYPE vfy_row (b INT)")
    await lab.clean()
    assert lab.left_behind == []


async def test_the_next_connection_drops_what_a_lost_one_has_left(lab: Lab) -> None:
    await lab.start(in_transaction=False)
    await lab.prepare(*_OBJECTS)
    lab.conn.terminate()
    await lab.clean()
    assert not lab.is_connected
    await lab.open()
    assert await own_names(lab.conn) == []
    assert lab.left_behind == []


async def test_what_cannot_be_dropped_is_reported(lab: Lab) -> None:
    await lab.start(in_transaction=False)
    await lab.prepare("CREATE ROW TYPE vfy_row (a INT)")
    await lab.conn.execute("CREATE TABLE other (r aioifx_test_row)")
    await lab.clean()
    assert lab.left_behind == ["DROP ROW TYPE aioifx_test_row RESTRICT: SQLCODE -9630"]


async def test_names_of_a_check_have_the_prefix_of_the_run() -> None:
    lab = Lab(lambda **_: pytest.fail("nothing connects"), "aioifx_ab_")
    assert lab.named("SELECT vfy_t.a, xvfy_b FROM vfy_t") == "SELECT aioifx_ab_t.a, xvfy_b FROM aioifx_ab_t"


async def test_a_refused_connection_keeps_a_check_from_being_tried(lab: Lab) -> None:
    with pytest.raises(CannotTry, match="another connection failed with SQLCODE -329"):
        async with lab.another(database="nosuch"):
            pass


@pytest.mark.parametrize("sqlcode", [-271, -388, -12053])
def test_missing_space_or_privileges_refute_nothing(sqlcode: int) -> None:
    lab = Lab(lambda **_: pytest.fail("nothing connects"), "x")
    assert lab.is_unable(class_for(sqlcode)("", sqlcode=sqlcode))
    assert not lab.is_unable(DatabaseError("", sqlcode=-201))


def test_errors_are_described_without_names() -> None:
    found = describe_error(DatabaseError("table secret", sqlcode=-206, isamcode=-111))
    assert found == "SQLCODE -206 (ISAM -111)"
    assert describe_error(aioifx.ConnectionLost("db1:9088 is gone")) == "a lost connection"
    assert describe_error(aioifx.ProtocolError("tag 77")) == "ProtocolError: tag 77"
