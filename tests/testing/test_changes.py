"""The changes that a test has committed."""

from __future__ import annotations

import pytest

import aioifx
from aioifx.server import running
from aioifx.testing.changes import capturing


async def test_what_was_committed_is_returned_once() -> None:
    async with running() as dsn, aioifx.connect(dsn) as conn:
        await conn.execute("CREATE TABLE item (id SERIAL PRIMARY KEY, name VARCHAR(20))")
        await conn.execute("CREATE TABLE untouched (a INT)")
        await conn.execute("INSERT INTO item VALUES (0, 'before')")
        async with capturing(dsn) as changes:
            assert await changes.committed() == []
            await conn.execute("INSERT INTO item VALUES (0, 'pen')")
            async with conn.transaction():
                await conn.execute("UPDATE item SET name = 'cup' WHERE id = 1")
                await conn.execute("DELETE FROM item WHERE id = 2")
            with pytest.raises(ZeroDivisionError):
                async with conn.transaction():
                    await conn.execute("DELETE FROM item")
                    raise ZeroDivisionError
            found = await changes.committed()
            assert {change.table for change in found} == {f"{conn.database}:informix.item"}
            assert [(change.kind, change.before, change.after) for change in found] == [
                ("insert", None, (2, "pen")),
                ("update", (1, "before"), (1, "cup")),
                ("delete", (2, "pen"), None),
            ]
            await conn.execute("DELETE FROM item")
            assert [change.kind for change in await changes.committed()] == ["delete"]
        await conn.execute("ALTER TABLE item ADD more INT")


async def test_a_database_without_a_log_has_no_changes() -> None:
    async with running(log_mode="unlogged") as dsn:
        with pytest.raises(aioifx.CdcError, match="CDC_E_DBNOTLOGGED"):
            async with capturing(dsn):
                pass
