from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic.migration import MigrationContext
from alembic.operations import Operations
from sqlalchemy.ext.asyncio import AsyncEngine

from aioifx.alembic.operations import RenameIndexOp


def test_the_reverse_of_a_renamed_index_has_its_old_name() -> None:
    reverse = RenameIndexOp("i", "j", "ann").reverse()
    assert (reverse.old_name, reverse.new_name, reverse.schema) == ("j", "i", "ann")


async def test_an_index_is_renamed(engine: AsyncEngine) -> None:
    def migrate(connection: sa.Connection) -> list[str]:
        op: Any = Operations(MigrationContext.configure(connection))
        op.create_table("t", sa.Column("c", sa.Integer))
        op.create_index("i", "t", ["c"])
        op.rename_index("i", "j")
        names = connection.scalars(sa.text("SELECT idxname FROM informix.sysindexes WHERE tabid >= 100"))
        return [name.rstrip() for name in names]

    async with engine.begin() as connection:
        assert await connection.run_sync(migrate) == ["j"]
