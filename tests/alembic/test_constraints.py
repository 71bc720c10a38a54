from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic.migration import MigrationContext
from alembic.operations import Operations
from sqlalchemy.ext.asyncio import AsyncEngine

TABLES = (
    "CREATE TABLE p (a SERIAL NOT NULL, b INTEGER DEFAULT 3 NOT NULL, n VARCHAR(20),"
    " PRIMARY KEY (a) CONSTRAINT pk_p, UNIQUE (b) CONSTRAINT un_b, CHECK (b > 0) CONSTRAINT ck_b,"
    " UNIQUE (a, b) CONSTRAINT un_ab)",
    "CREATE TABLE c (a INTEGER, b INTEGER, FOREIGN KEY (a) REFERENCES p (a) ON DELETE CASCADE CONSTRAINT fk_a,"
    " FOREIGN KEY (b) REFERENCES p (b) CONSTRAINT fk_b)",
)


def description(connection: sa.Connection) -> dict[str, Any]:
    inspector = sa.inspect(connection)
    found: dict[str, Any] = {}
    for table in ("p", "c"):
        columns = inspector.get_columns(table)
        found[table] = {
            "columns": {
                each["name"]: (str(each["type"]), each["nullable"], each["default"]) for each in columns
            },
            "serial": [each["name"] for each in columns if each.get("autoincrement") is True],
            "key": inspector.get_pk_constraint(table),
            "unique": sorted(
                (each["name"], each["column_names"]) for each in inspector.get_unique_constraints(table)
            ),
            "checks": sorted(
                (each["name"], each["sqltext"]) for each in inspector.get_check_constraints(table)
            ),
            "references": sorted(
                (each["name"], each["referred_columns"], each.get("options"))
                for each in inspector.get_foreign_keys(table)
            ),
        }
    return found


async def changed(engine: AsyncEngine, table: str, column: str, **options: Any) -> tuple[Any, Any]:
    """The description of both tables before and after one `alter_column`."""

    def migrate(connection: sa.Connection) -> tuple[Any, Any]:
        for sql in TABLES:
            connection.exec_driver_sql(sql)
        before = description(connection)
        op = Operations(MigrationContext.configure(connection))
        op.alter_column(table, column, **options)
        return before, description(connection)

    async with engine.begin() as connection:
        return await connection.run_sync(migrate)


async def test_a_modified_key_keeps_its_constraints_its_default_and_the_keys_that_reference_it(
    engine: AsyncEngine,
) -> None:
    before, after = await changed(engine, "p", "b", type_=sa.BigInteger())
    assert before["p"]["columns"]["b"] == ("INTEGER", False, "3")
    assert after["p"]["columns"]["b"] == ("BIGINT", False, "3")
    before["p"]["columns"]["b"] = after["p"]["columns"]["b"]
    assert after == before


async def test_a_modified_serial_stays_one(engine: AsyncEngine) -> None:
    before, after = await changed(engine, "p", "a", type_=sa.BigInteger())
    assert after["p"]["serial"] == before["p"]["serial"] == ["a"]
    assert after["p"]["columns"]["a"][:2] == ("BIGINT", False)
    before["p"]["columns"]["a"] = after["p"]["columns"]["a"]
    assert after == before


async def test_a_modified_foreign_key_is_added_again(engine: AsyncEngine) -> None:
    before, after = await changed(engine, "c", "a", nullable=False)
    assert after["c"]["columns"]["a"][1] is False
    assert [name for name, *_ in after["c"]["references"]] == ["fk_a", "fk_b"]
    assert after["c"]["references"] == before["c"]["references"]


async def test_a_column_without_constraints_is_only_modified(engine: AsyncEngine) -> None:
    before, after = await changed(
        engine, "p", "n", type_=sa.String(40), server_default="x", new_column_name="m"
    )
    assert after["p"]["columns"]["m"] == ("VARCHAR(40)", True, "'x'")
    assert after["p"]["unique"] == before["p"]["unique"]


async def test_a_check_of_a_renamed_column_is_added_again(engine: AsyncEngine) -> None:
    def migrate(connection: sa.Connection) -> Any:
        connection.exec_driver_sql(TABLES[0])
        op = Operations(MigrationContext.configure(connection))
        op.alter_column("p", "b", new_column_name="Amount", type_=sa.BigInteger())
        op.alter_column("p", "Amount", type_=sa.Integer(), new_column_name="amount")
        return sa.inspect(connection).get_check_constraints("p")

    async with engine.begin() as connection:
        (check,) = await connection.run_sync(migrate)
        assert (check["name"], check["sqltext"]) == ("ck_b", "amount > 0")


async def test_foreign_keys_of_tables_of_other_owners_stay(engine: AsyncEngine) -> None:
    tables = (
        'CREATE TABLE "ann".p (a INTEGER NOT NULL, PRIMARY KEY (a) CONSTRAINT pk_p)',
        'CREATE TABLE "bob".c (a INTEGER, FOREIGN KEY (a) REFERENCES "ann".p ON DELETE CASCADE CONSTRAINT fk_bob)',
        'CREATE TABLE mine (a INTEGER, FOREIGN KEY (a) REFERENCES "ann".p CONSTRAINT fk_mine)',
    )

    def migrate(connection: sa.Connection) -> list[Any]:
        for sql in tables:
            connection.exec_driver_sql(sql)
        op = Operations(MigrationContext.configure(connection))
        op.alter_column("p", "a", server_default="7", schema="ann")
        inspector = sa.inspect(connection)
        return [
            (key["name"], key["referred_schema"], key["referred_table"], key.get("options"))
            for child, owner in (("c", "bob"), ("mine", inspector.default_schema_name))
            for key in inspector.get_foreign_keys(child, owner)
        ]

    async with engine.begin() as connection:
        result = await connection.run_sync(migrate)
        assert result == [("fk_bob", "ann", "p", {"ondelete": "CASCADE"}), ("fk_mine", "ann", "p", {})]
