"""Tests of applications that use Informix: the pytest plugin and its types. Never: imported by the rest of aioifx."""

from __future__ import annotations

import typing as _typing

__all__ = ["CommittedChanges", "Database", "Server"]

_LAZY = {
    "CommittedChanges": "aioifx.testing.changes",
    "Database": "aioifx.testing.server",
    "Server": "aioifx.testing.server",
}
"""Modules of the names, imported on use: pytest imports this package in every project where aioifx is installed."""

if _typing.TYPE_CHECKING:
    from aioifx.testing.changes import CommittedChanges
    from aioifx.testing.server import Database, Server
else:

    def __getattr__(name: str) -> object:
        if name not in _LAZY:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        definition = getattr(import_module(_LAZY[name]), name)
        definition.__module__ = __name__
        globals()[name] = definition
        return definition

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
