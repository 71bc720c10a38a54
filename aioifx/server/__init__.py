"""An embedded Informix server for tests and demos: SQLI over TCP, data in SQLite. Never: aioifx.client."""

from __future__ import annotations

import sys as _sys

from aioifx.server.host.faults import Fault, Faults
from aioifx.server.host.options import ServerOptions
from aioifx.server.host.server import Server, running, serve
from aioifx.server.protocol.quirks import Quirk
from aioifx.server.protocol.statement_log import StatementLog, StatementRecord
from aioifx.server.protocol.stats import ServerStats, SessionStats
from aioifx.server.sql.model.spl import Routine

__all__ = [
    "Fault",
    "Faults",
    "Quirk",
    "Routine",
    "Server",
    "ServerOptions",
    "ServerStats",
    "SessionStats",
    "StatementLog",
    "StatementRecord",
    "running",
    "serve",
]

# Tracebacks, reprs and pickles show the public path, so that the defining modules can move. What globals() has may be
# an import that is lazy.
for _name in __all__:
    getattr(_sys.modules[__name__], _name).__module__ = __name__
