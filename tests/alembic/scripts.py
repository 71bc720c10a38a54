"""The statements that operations write into a script."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

from alembic.migration import MigrationContext
from alembic.operations import Operations

from aioifx.sqlalchemy import InformixDialect


def script(operations: Callable[[Any], object]) -> list[str]:
    """Run operations without a server; the statements, each without its semicolon."""
    buffer = io.StringIO()
    options = {"as_sql": True, "output_buffer": buffer}
    operations(Operations(MigrationContext.configure(dialect=InformixDialect(), opts=options)))
    return [" ".join(each.split()) for each in buffer.getvalue().split(";\n") if each.strip()]
