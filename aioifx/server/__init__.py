"""An embedded Informix server for tests and demos: SQLI over TCP, SQLite behind it. Never: aioifx.client."""

from __future__ import annotations

from aioifx.server.listener import Server, ServerOptions, running, serve
from aioifx.server.sql.registered import Routine
from aioifx.server.stats import ServerStats, SessionStats

__all__ = ["Routine", "Server", "ServerOptions", "ServerStats", "SessionStats", "running", "serve"]
