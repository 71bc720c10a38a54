"""An embedded Informix server for tests and demos: SQLI over TCP, SQLite behind it. Never: aioifx.client."""

from __future__ import annotations

from aioifx.server.listener import Server, ServerOptions, running, serve

__all__ = ["Server", "ServerOptions", "running", "serve"]
