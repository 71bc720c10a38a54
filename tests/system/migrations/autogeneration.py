"""Autogenerate as users run it: differences become Python, and the Python runs."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic.autogenerate import compare_metadata, produce_migrations, render_python_code
from alembic.migration import MigrationContext
from alembic.operations import Operations

OPTIONS = {
    "compare_type": True,
    "compare_server_default": True,
    "autogenerate_plugins": ["alembic.autogenerate.*", "alembic.ext.checkconstraint_byname"],
}


def differences(connection: sa.Connection, metadata: sa.MetaData) -> list[Any]:
    """What autogenerate finds to do: `alembic check` fails unless it is nothing."""
    found: list[Any] = compare_metadata(MigrationContext.configure(connection, opts=OPTIONS), metadata)
    return found


def migrate(connection: sa.Connection, metadata: sa.MetaData) -> str:
    """Run the upgrade that autogenerate writes; return its downgrade."""
    context = MigrationContext.configure(connection, opts=OPTIONS)
    script = produce_migrations(context, metadata)
    assert script.upgrade_ops is not None and script.downgrade_ops is not None
    context.opts["process_revision_directives"](context, None, [script])
    upgrade, downgrade = (
        render_python_code(operations, migration_context=context)
        for operations in (script.upgrade_ops, script.downgrade_ops)
    )
    run(connection, upgrade)
    return downgrade


def run(connection: sa.Connection, body: str) -> None:
    """Run the body of a migration."""
    names: dict[str, Any] = {"op": Operations(MigrationContext.configure(connection, opts=OPTIONS)), "sa": sa}
    exec(f"import aioifx.sqlalchemy as informix\nif True:\n    {body}", names)
