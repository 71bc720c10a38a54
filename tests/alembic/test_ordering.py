"""Foreign keys are dropped before indexes are created, and created after indexes are dropped."""

from __future__ import annotations

from typing import Any

from alembic.operations import ops

from aioifx.alembic.ordering import ordering


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
