from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import sqlalchemy as sa
from alembic.operations import ops
from alembic.util import CommandError

from aioifx.alembic.impl import InformixImpl, ordering
from aioifx.sqlalchemy import InformixDialect
from tests.alembic.scripts import script

NOTE = "-- MODIFY drops the column's own constraints, and foreign keys that reference it"


@pytest.mark.parametrize(
    ("options", "definition"),
    [
        ({"type_": sa.BigInteger()}, "c BIGINT NOT NULL"),
        ({"nullable": True}, "c INTEGER"),
        ({"server_default": sa.text("7")}, "c INTEGER DEFAULT 7 NOT NULL"),
        ({"server_default": "7", "nullable": True}, "c INTEGER DEFAULT 7"),
        ({"server_default": None, "existing_server_default": sa.text("7")}, "c INTEGER NOT NULL"),
        ({"nullable": True, "existing_server_default": sa.text("7")}, "c INTEGER DEFAULT 7"),
        (
            {"type_": sa.String(9), "existing_server_default": sa.DefaultClause("x")},
            "c VARCHAR(9) DEFAULT 'x' NOT NULL",
        ),
        ({"type_": sa.BigInteger(), "autoincrement": True}, "c BIGSERIAL NOT NULL"),
        ({"type_": sa.BigInteger(), "existing_autoincrement": True}, "c BIGSERIAL NOT NULL"),
        ({"type_": sa.String(9), "existing_autoincrement": True}, "c VARCHAR(9) NOT NULL"),
    ],
)
def test_a_changed_column_is_defined_as_a_whole(options: dict[str, Any], definition: str) -> None:
    given = {"existing_type": sa.Integer(), "existing_nullable": False} | options
    (modify,) = script(lambda op: op.alter_column("t", "c", **given))
    assert modify == f"{NOTE} ALTER TABLE t MODIFY ({definition})"


def test_one_statement_changes_a_column_and_another_renames_it() -> None:
    statements = script(
        lambda op: op.alter_column(
            "t",
            "c",
            new_column_name="d",
            type_=sa.Integer(),
            nullable=False,
            server_default=sa.text("0"),
            schema="ann",
        )
    )
    assert statements == [
        f'{NOTE} ALTER TABLE "ann".t MODIFY (c INTEGER DEFAULT 0 NOT NULL)',
        'RENAME COLUMN "ann".t.c TO d',
    ]


@pytest.mark.parametrize(
    ("options", "missing"),
    [
        ({"nullable": True}, "existing_type"),
        ({"type_": sa.Integer()}, "existing_nullable"),
        ({"server_default": "x"}, "existing_type, existing_nullable"),
    ],
)
def test_a_script_needs_what_the_catalog_would_tell(options: dict[str, Any], missing: str) -> None:
    with pytest.raises(
        CommandError, match=f"alter_column t.c: {missing}: expected, as MODIFY repeats the column"
    ):
        script(lambda op: op.alter_column("t", "c", **options))


@pytest.mark.parametrize(
    "operation",
    [
        lambda op: op.alter_column("t", "c", comment="unused"),
        lambda op: op.create_table_comment("t", "unused"),
    ],
)
def test_comments_are_left_out_with_a_warning(operation: Callable[[Any], object]) -> None:
    with pytest.warns(UserWarning, match="Informix has no comments"):
        assert script(operation) == []


def test_a_tables_comments_are_left_out() -> None:
    statements = script(
        lambda op: op.create_table("t", sa.Column("c", sa.Integer, comment="unused"), comment="unused")
    )
    assert statements == ["CREATE TABLE t ( c INTEGER )"]
    assert script(lambda op: op.drop_table_comment("t")) == []


def test_an_index_that_a_key_has_is_not_in_a_script() -> None:
    statements = script(
        lambda op: op.create_table(
            "t", sa.Column("c", sa.Integer, primary_key=True, index=True, autoincrement=False)
        )
    )
    assert statements == ["CREATE TABLE t ( c INTEGER NOT NULL, PRIMARY KEY (c) )"]


def test_the_current_time_is_written_without_the_qualifier_that_its_column_adds() -> None:
    impl = InformixImpl(InformixDialect(), None, True, None, None, {})
    texts = [
        impl.render_ddl_sql_expr(default, is_server_default=True)
        for default in (sa.func.now(), sa.func.current_timestamp(), sa.true(), sa.false(), sa.text("USER"))
    ]
    assert texts == ["CURRENT_TIMESTAMP", "CURRENT_TIMESTAMP", "'t'", "'f'", "USER"]


def test_indexes_are_compared_by_columns_functions_and_directions() -> None:
    impl = InformixImpl(InformixDialect(), None, True, None, None, {})
    a, b = sa.Column("a", sa.Integer), sa.Column("b", sa.Integer)
    sa.Table("t", sa.MetaData(), a, b)

    def is_equal(one: Any, other: Any, is_unique: bool = False) -> bool:
        indexes = [
            sa.Index("i", *one, _table=a.table),
            sa.Index("i", *other, unique=is_unique, _table=a.table),
        ]
        return impl.compare_indexes(*indexes).is_equal

    assert is_equal([a, b], [a, b])
    assert is_equal([sa.func.total(a, b)], [sa.text("total(a, b)")])
    assert is_equal([a.desc()], [sa.desc("a")])
    assert not is_equal([a, b], [b, a])
    assert not is_equal([a], [a.desc()])
    assert not is_equal([a], [a], is_unique=True)
    assert not is_equal([sa.func.total(a, b)], [sa.text("total(b, a)")])


def test_operations_on_a_table_are_ordered_before_the_hook_of_the_environment_sees_them() -> None:
    index, key = ops.CreateIndexOp("i", "t", ["a"]), ops.DropConstraintOp("f", "t", "foreignkey")
    drop, create = ops.DropIndexOp("i", "t"), ops.CreateForeignKeyOp("f", "t", "u", ["a"], ["id"])
    table = ops.CreateTableOp("u", [])
    upgrade = ops.UpgradeOps([table, ops.ModifyTableOps("t", [index, key])])
    downgrade = ops.DowngradeOps([ops.ModifyTableOps("t", [create, drop])])
    seen: list[Any] = []

    def hook(context: Any, revision: Any, scripts: list[ops.MigrationScript]) -> None:
        seen.extend([context, revision, scripts])

    scripts = [ops.MigrationScript("r", upgrade, downgrade)]
    ordering(hook)("context", "revision", scripts)
    assert seen == ["context", "revision", scripts]
    assert upgrade.ops[0] is table
    modified: list[Any] = [upgrade.ops[1], downgrade.ops[0]]
    assert [each.ops for each in modified] == [[key, index], [drop, create]]
    ordering(None)("context", "revision", scripts)
