from __future__ import annotations

import subprocess
import sys
from importlib.metadata import entry_points
from types import ModuleType
from typing import Any

import alembic.op
import pytest
from alembic.ddl.impl import DefaultImpl

from aioifx.alembic.impl import InformixImpl
from aioifx.sqlalchemy import InformixDialect


def test_alembic_finds_the_implementation_of_the_dialect() -> None:
    assert DefaultImpl.get_by_dialect(InformixDialect()) is InformixImpl
    assert callable(alembic.op.rename_index)  # type: ignore[attr-defined]


def test_the_entry_point_is_a_module_and_gives_itself_when_iterated() -> None:
    (entry,) = entry_points(group="alembic.plugins", name="aioifx")
    plugin: Any = entry.load()
    assert list(plugin) == [plugin]
    assert callable(plugin.setup)
    assert isinstance(plugin, ModuleType)


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "first",
    ["alembic", "aioifx.alembic.plugin", "aioifx.alembic.impl", "aioifx.alembic.ddl", "aioifx.sqlalchemy"],
)
def test_the_order_of_imports_does_not_matter(first: str) -> None:
    # A process of its own, because a module is imported once.
    code = (
        f"import {first}, alembic, aioifx.alembic.impl as impl\n"
        "from alembic.ddl.impl import _impls\n"
        "assert _impls['informix'] is impl.InformixImpl"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=50)
