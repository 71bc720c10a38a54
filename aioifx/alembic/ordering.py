"""The order of operations in scripts that autogenerate writes. Never: which operations there are.

A foreign key has an index on its columns, and Informix refuses another one on them (-350). So keys are dropped before
indexes are created, and created after indexes are dropped.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from alembic.operations import ops

Hook = Callable[[Any, Any, list[ops.MigrationScript]], None]
"""The option `process_revision_directives` of an environment."""

_DROPPED_FIRST: Final = 0
_CREATED_LAST: Final = 2


def ordering(hook: Hook | None) -> Hook:
    """A hook that orders the operations of scripts, and then calls another hook."""

    def ordered(context: Any, revision: Any, scripts: list[ops.MigrationScript]) -> None:
        for script in scripts:
            for operations in (*script.upgrade_ops_list, *script.downgrade_ops_list):
                for each in operations.ops:
                    if isinstance(each, ops.ModifyTableOps):
                        each.ops = sorted(each.ops, key=_place)
        if hook is not None:
            hook(context, revision, scripts)

    return ordered


def _place(operation: ops.MigrateOperation) -> int:
    if isinstance(operation, ops.DropConstraintOp) and operation.constraint_type == "foreignkey":
        return _DROPPED_FIRST
    return _CREATED_LAST if isinstance(operation, ops.CreateForeignKeyOp) else 1
