from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import sqlalchemy as sa
from alembic.migration import MigrationContext
from alembic.operations import Operations
from sqlalchemy import exc
from sqlalchemy.ext.asyncio import AsyncEngine

from aioifx.alembic.ddl import RenameIndexOp
from tests.alembic.scripts import script


@pytest.mark.parametrize(
    ("operation", "sql"),
    [
        (lambda op: op.add_column("t", sa.Column("c", sa.Integer)), "ALTER TABLE t ADD (c INTEGER)"),
        (lambda op: op.add_column("t", sa.Column("c", sa.Integer, nullable=False, server_default=sa.text("7"))),
         "ALTER TABLE t ADD (c INTEGER DEFAULT 7 NOT NULL)"),
        (lambda op: op.add_column("t", sa.Column("c", sa.Integer), schema="ann"),
         'ALTER TABLE "ann".t ADD (c INTEGER)'),
        (lambda op: op.drop_column("t", "c"), "ALTER TABLE t DROP (c)"),
        (lambda op: op.drop_column("t", "c", schema="ann"), 'ALTER TABLE "ann".t DROP (c)'),
        (lambda op: op.drop_constraint("u", "t"), "ALTER TABLE t DROP CONSTRAINT u"),
        (lambda op: op.alter_column("t", "c", new_column_name="d"), "RENAME COLUMN t.c TO d"),
        (lambda op: op.alter_column("t", "c", new_column_name="d", schema="ann"), 'RENAME COLUMN "ann".t.c TO d'),
        (lambda op: op.rename_table("t", "u"), "RENAME TABLE t TO u"),
        (lambda op: op.rename_table("t", "u", schema="ann"), 'RENAME TABLE "ann".t TO u'),
        (lambda op: op.rename_index("i", "j"), "RENAME INDEX i TO j"),
        (lambda op: op.rename_index("i", "j", schema="ann"), 'RENAME INDEX "ann".i TO j'),
        (lambda op: op.rename_table("Mixed", "Order"), 'RENAME TABLE "Mixed" TO "Order"'),
    ],
)  # fmt: skip
def test_operations_are_written_as_informix_reads_them(operation: Callable[[Any], object], sql: str) -> None:
    assert script(operation) == [sql]


def test_a_column_with_a_foreign_key_is_added_in_two_statements_or_in_one() -> None:
    def column() -> sa.Column[Any]:
        return sa.Column("p", sa.Integer, sa.ForeignKey("parents.id", name="fk", ondelete="CASCADE"))

    added, constraint = script(lambda op: op.add_column("t", column()))
    assert added == "ALTER TABLE t ADD (p INTEGER)"
    assert "FOREIGN KEY" in constraint and "fk" in constraint
    assert script(lambda op: op.add_column("t", column(), inline_references=True)) == [
        "ALTER TABLE t ADD (p INTEGER REFERENCES parents (id) ON DELETE CASCADE)"
    ]


@pytest.mark.parametrize(
    ("operation", "error"),
    [
        (lambda op: op.add_column("t", sa.Column("c", sa.Integer), if_not_exists=True),
         "add_column: Informix has no IF NOT EXISTS for columns"),
        (lambda op: op.drop_column("t", "c", if_exists=True), "drop_column: Informix has no IF EXISTS for columns"),
    ],
)  # fmt: skip
def test_conditions_that_informix_lacks_are_refused(operation: Callable[[Any], object], error: str) -> None:
    with pytest.raises(exc.CompileError, match=error):
        script(operation)


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
