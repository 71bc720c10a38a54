"""Operations that Alembic lacks: `op.rename_index`. Never: how Alembic's own operations run."""

from __future__ import annotations

from alembic.operations import MigrateOperation, Operations

from aioifx.alembic import ddl


@Operations.register_operation("rename_index")
class RenameIndexOp(MigrateOperation):
    """A new name for an index."""

    def __init__(self, old_name: str, new_name: str, schema: str | None = None) -> None:
        self.old_name = old_name
        self.new_name = new_name
        self.schema = schema

    @classmethod
    def rename_index(
        cls, operations: Operations, old_name: str, new_name: str, *, schema: str | None = None
    ) -> None:
        """Rename an index.

        Args:
            schema: its owner.
        """
        operations.invoke(cls(old_name, new_name, schema))

    def reverse(self) -> RenameIndexOp:
        return RenameIndexOp(self.new_name, self.old_name, self.schema)


@Operations.implementation_for(RenameIndexOp)
def rename_index(operations: Operations, operation: RenameIndexOp) -> None:
    """Run the operation."""
    operations.migration_context.impl.execute(
        ddl.RenameIndex(operation.old_name, operation.new_name, operation.schema)
    )
