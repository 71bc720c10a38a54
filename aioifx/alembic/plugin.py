"""The entry point that Alembic loads: it registers the implementation and the operations. Never: SQL.

Alembic before 1.20 iterates over what the entry point gives, and later versions expect a module: this module is both.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from alembic.runtime.plugins import Plugin


class _IterableModule(ModuleType):
    def __iter__(self) -> Iterator[ModuleType]:
        yield self


def setup(plugin: Plugin) -> None:
    """Import what registers itself. Alembic calls this while it is imported, so this module must not import Alembic."""
    from aioifx.alembic import impl as impl


sys.modules[__name__].__class__ = _IterableModule
