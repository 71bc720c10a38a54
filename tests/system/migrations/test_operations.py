"""Operations on the embedded server: what one migration may do, and what is left when it fails."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
import sqlalchemy as sa
from alembic.migration import MigrationContext
from alembic.operations import Operations
from sqlalchemy import exc
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

import aioifx.server
from tests.alembic.scripts import script


async def operate(engine: AsyncEngine, *operations: Callable[[Any], object]) -> None:
    """Run operations as one migration."""

    def run(connection: sa.Connection) -> None:
        context = MigrationContext.configure(connection)
        with context.begin_transaction():
            for operation in operations:
                operation(Operations(context))

    async with engine.connect() as connection:
        await connection.run_sync(run)


async def inspected(engine: AsyncEngine, read: Callable[[sa.Inspector], Any]) -> Any:
    async with engine.connect() as connection:
        return await connection.run_sync(lambda sync: read(sa.inspect(sync)))


def create_t(op: Operations) -> None:
    op.create_table(
        "t",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("a", sa.String(20), server_default="x"),
        sa.Column("b", sa.Integer, nullable=False),
        sa.Column("day", sa.Date),
        sa.Column("price", sa.Numeric(9, 2)),
        sa.UniqueConstraint("b", name="u_b"),
        sa.CheckConstraint("b > 0", name="c_b"),
    )
    op.create_index("i_a", "t", ["a"])


ROWS: list[dict[str, Any]] = [
    {"a": "one", "b": 1, "day": dt.date(2026, 5, 4), "price": Decimal("1.50")},
    {"a": None, "b": 2, "day": None, "price": None},
]


def insert_rows(op: Operations) -> None:
    columns: list[Any] = [sa.column("a", sa.String), sa.column("b", sa.Integer)]
    table = sa.table("t", *columns, sa.column("day", sa.Date), sa.column("price", sa.Numeric(9, 2)))
    op.bulk_insert(table, ROWS)


async def rows(engine: AsyncEngine, sql: str) -> list[tuple[Any, ...]]:
    async with engine.connect() as connection:
        return [tuple(row) for row in await connection.execute(sa.text(sql))]


async def test_a_migration_that_fails_changes_nothing(engine: AsyncEngine) -> None:
    await operate(engine, create_t)
    with pytest.raises(exc.DBAPIError):
        await operate(
            engine,
            insert_rows,
            lambda op: op.add_column("t", sa.Column("c", sa.Integer)),
            lambda op: op.rename_table("t", "u"),
            lambda op: op.drop_column("u", "nothing"),
        )
    assert await inspected(engine, lambda inspector: inspector.get_table_names()) == ["t"]
    columns = await inspected(engine, lambda inspector: inspector.get_columns("t"))
    assert [each["name"] for each in columns] == ["id", "a", "b", "day", "price"]
    assert await rows(engine, "SELECT * FROM t") == []


async def test_rows_are_inserted(engine: AsyncEngine) -> None:
    await operate(engine, create_t, insert_rows)
    expected = [(1, *ROWS[0].values()), (2, *ROWS[1].values())]
    assert await rows(engine, "SELECT * FROM t ORDER BY id") == expected


async def test_a_script_inserts_the_same_rows(engine: AsyncEngine) -> None:
    await operate(engine, create_t)
    async with engine.begin() as connection:
        for statement in script(insert_rows):
            await connection.exec_driver_sql(statement)
    expected = [(1, *ROWS[0].values()), (2, *ROWS[1].values())]
    assert await rows(engine, "SELECT * FROM t ORDER BY id") == expected


@pytest.mark.parametrize("recreate", ["auto", "always"])
async def test_a_batch_keeps_rows_constraints_and_indexes(engine: AsyncEngine, recreate: Any) -> None:
    def change(op: Operations) -> None:
        with op.batch_alter_table("t", recreate=recreate) as batch:
            batch.alter_column("b", type_=sa.BigInteger())
            batch.add_column(sa.Column("c", sa.Integer, server_default=sa.text("7"), nullable=False))
            batch.drop_column("day")
            batch.alter_column("price", new_column_name="cost")
            batch.create_unique_constraint("u_a", ["a", "b"])

    await operate(engine, create_t, insert_rows, change)
    found = await rows(engine, "SELECT id, a, b, cost, c FROM t ORDER BY id")
    assert found == [(1, "one", 1, Decimal("1.50"), 7), (2, None, 2, None, 7)]

    def described(inspector: sa.Inspector) -> Any:
        columns = {each["name"]: each for each in inspector.get_columns("t")}
        return (
            {name: str(each["type"]) for name, each in columns.items()},
            columns["a"]["default"],
            columns["id"].get("autoincrement"),
            sorted(str(each["name"]) for each in inspector.get_unique_constraints("t")),
            [each["name"] for each in inspector.get_check_constraints("t")],
            [each["name"] for each in inspector.get_indexes("t")],
        )

    types, default, autoincrement, uniques, checks, indexes = await inspected(engine, described)
    assert types == {
        "id": "INTEGER",
        "a": "VARCHAR(20)",
        "b": "BIGINT",
        "cost": "DECIMAL(9, 2)",
        "c": "INTEGER",
    }
    result = (default, autoincrement, uniques, checks, indexes)
    assert result == ("'x'", True, ["u_a", "u_b"], ["c_b"], ["i_a"])


async def test_tables_and_indexes_have_conditions(engine: AsyncEngine) -> None:
    await operate(
        engine,
        lambda op: op.create_table("t", sa.Column("c", sa.Integer)),
        lambda op: op.create_table("t", sa.Column("d", sa.Integer), if_not_exists=True),
        lambda op: op.create_index("i", "t", ["c"]),
        lambda op: op.create_index("i", "t", ["c"], if_not_exists=True),
        lambda op: op.drop_index("i", if_exists=True),
        lambda op: op.drop_index("i", if_exists=True),
        lambda op: op.drop_table("t", if_exists=True),
        lambda op: op.drop_table("t", if_exists=True),
    )
    assert await inspected(engine, lambda inspector: inspector.get_table_names()) == []


async def test_a_database_without_logging_takes_migrations() -> None:
    async with aioifx.server.running(log_mode="unlogged") as dsn:
        engine = create_async_engine(dsn.replace("informix://", "informix+aioifx://") + "&autocommit=true")
        await operate(
            engine, create_t, insert_rows, lambda op: op.alter_column("t", "a", type_=sa.String(40))
        )
        assert await rows(engine, "SELECT a, b FROM t ORDER BY id") == [("one", 1), (None, 2)]
        await engine.dispose()


async def test_a_unique_index_on_a_foreign_key_is_a_constraint(engine: AsyncEngine) -> None:
    await operate(
        engine,
        lambda op: op.create_table("parents", sa.Column("id", sa.Integer, primary_key=True)),
        lambda op: op.create_table("t", sa.Column("a", sa.Integer, sa.ForeignKey("parents.id", name="f"))),
        lambda op: op.create_index("i", "t", ["a"], unique=True),
        lambda op: op.execute("INSERT INTO parents VALUES (1)"),
        lambda op: op.execute("INSERT INTO t VALUES (1)"),
    )
    with pytest.raises(exc.IntegrityError):
        await operate(engine, lambda op: op.execute("INSERT INTO t VALUES (1)"))
    await operate(
        engine,
        lambda op: op.drop_index("i", table_name="t", if_exists=True),
        lambda op: op.drop_index("i", table_name="t", if_exists=True),
        lambda op: op.execute("INSERT INTO t VALUES (1)"),
    )
    assert await rows(engine, "SELECT a FROM t") == [(1,), (1,)]
    assert await inspected(engine, lambda inspector: inspector.get_foreign_keys("t")[0]["name"]) == "f"


def test_a_unique_index_on_a_foreign_key_is_a_constraint_in_a_script() -> None:
    def migrate(op: Operations) -> None:
        op.create_index("i", "t", ["a"], unique=True, informix_constraint=True)
        op.drop_index("i", table_name="t", informix_constraint=True)

    assert script(migrate) == [
        "ALTER TABLE t ADD CONSTRAINT UNIQUE (a) CONSTRAINT i",
        "ALTER TABLE t DROP CONSTRAINT i",
    ]


@pytest.mark.parametrize("existing", [sa.String(1), sa.Enum("a", "b", name="e", create_constraint=True)])
async def test_the_check_of_an_enumeration_takes_the_place_of_the_old_one(
    engine: AsyncEngine, existing: Any
) -> None:
    wanted = sa.Enum("a", "b", "ccc", name="e", create_constraint=True)
    await operate(
        engine,
        lambda op: op.create_table("t", sa.Column("a", sa.Enum("a", "b", name="e", create_constraint=True))),
        lambda op: op.execute("INSERT INTO t VALUES ('a')"),
        lambda op: op.alter_column("t", "a", existing_type=existing, type_=wanted, existing_nullable=True),
        lambda op: op.execute("INSERT INTO t VALUES ('ccc')"),
    )
    assert await rows(engine, "SELECT a FROM t") == [("a",), ("ccc",)]
    checks = await inspected(engine, lambda inspector: inspector.get_check_constraints("t"))
    assert [(each["name"], "'ccc'" in each["sqltext"]) for each in checks] == [("e", True)]


async def test_a_batch_that_copies_a_table_keeps_the_foreign_keys_that_reference_it(
    engine: AsyncEngine,
) -> None:
    def copy(op: Operations) -> None:
        with op.batch_alter_table("p", recreate="always") as batch:
            batch.add_column(sa.Column("n", sa.Integer, server_default="4"))

    await operate(
        engine,
        lambda op: op.create_table("p", sa.Column("id", sa.Integer, primary_key=True)),
        lambda op: op.create_table(
            "c", sa.Column("a", sa.Integer, sa.ForeignKey("p.id", name="f_c", ondelete="CASCADE"))
        ),
        lambda op: op.execute("INSERT INTO p VALUES (1)"),
        lambda op: op.execute("INSERT INTO c VALUES (1)"),
        copy,
    )
    assert await rows(engine, "SELECT * FROM p") == [(1, 4)]
    assert await rows(engine, "SELECT * FROM c") == [(1,)]
    (key,) = await inspected(engine, lambda inspector: inspector.get_foreign_keys("c"))
    assert (key["name"], key["referred_table"], key["options"]) == ("f_c", "p", {"ondelete": "CASCADE"})
