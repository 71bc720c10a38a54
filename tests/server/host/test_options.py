from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from aioifx.errors import InterfaceError
from aioifx.server.host.options import ServerOptions
from aioifx.server.host.server import running


async def test_a_wrong_option_is_named() -> None:
    with pytest.raises(InterfaceError, match="log_mode: expected one of unlogged, logged, ansi, got 'loged'"):
        async with running(log_mode="loged"):
            pass
    with pytest.raises(InterfaceError, match=r"database: expected valid database names, got '\.\./demo'"):
        ServerOptions(("../demo",))
    with pytest.raises(InterfaceError, match="databases: expected a tuple of names, got int"):
        ServerOptions(7)  # type: ignore[arg-type] # the error is what is tested
    with pytest.raises(InterfaceError, match="routines: expected a tuple of Routine objects, got int"):
        ServerOptions(routines=7)  # type: ignore[arg-type] # the error is what is tested
    for system in (5, asyncio.sleep):
        with pytest.raises(InterfaceError, match="system: expected a function that is not async, got"):
            ServerOptions(system=system)  # type: ignore[arg-type] # the error is what is tested
    with pytest.raises(InterfaceError, match="port: expected a whole number from 0 to 65535, got 'x'"):
        ServerOptions(port="x")  # type: ignore[arg-type] # the error is what is tested
    with pytest.raises(InterfaceError, match=r"seed: .*nothing\.sql cannot be read: "):
        ServerOptions(seed=Path("nothing.sql"))
    for option, value, expected in (
        ("seed", 5, "seed: expected SQL or a Path, got int"),
        ("user", 5, "user: expected a str, got int"),
        ("db_locale", None, "db_locale: expected a str, got NoneType"),
        ("databases", "shop", "databases: expected a tuple of names, got str"),
        ("databases", (5,), "database: expected a str, got int"),
        ("busy_timeout", "5", "busy_timeout: expected a number of seconds, got str"),
        ("login_timeout", "10", "login_timeout: expected a number of seconds, got str"),
        ("max_sessions", "10", "max_sessions: expected a whole number, got str"),
        ("fetch_limit", None, "fetch_limit: expected a whole number, got NoneType"),
        ("fetch_refusal", True, "fetch_refusal: expected a whole number, got bool"),
        ("ssl", True, "ssl: expected an ssl.SSLContext or None, got bool"),
        ("directory", 5, "directory: expected a Path or None, got int"),
        ("routines", [5], "routines: expected Routine objects, got int"),
    ):
        with pytest.raises(InterfaceError, match=expected):
            ServerOptions(**{option: value})  # type: ignore[arg-type] # the error is what is tested
    with pytest.raises(InterfaceError, match="port: expected a whole number from 0 to 65535, got -1"):
        ServerOptions(port=-1)
    with pytest.raises(InterfaceError, match="busy_timeout: expected seconds from 0 on, got -1"):
        ServerOptions(busy_timeout=-1)
    with pytest.raises(InterfaceError, match="login_timeout: expected seconds above 0, got 0"):
        ServerOptions(login_timeout=0)
    with pytest.raises(InterfaceError, match="sort_memory: expected 1048576 bytes or more, got 5"):
        ServerOptions(sort_memory=5)
    with pytest.raises(InterfaceError, match="read_only: expected a directory, and no seed"):
        ServerOptions(read_only=True)
    with pytest.raises(InterfaceError, match="max_sessions: expected 1 or more, got 0"):
        ServerOptions(max_sessions=0)
    with pytest.raises(InterfaceError, match="fetch_limit: expected a number of bytes above 0, got 0"):
        ServerOptions(fetch_limit=0)
    with pytest.raises(InterfaceError, match="fetch_refusal: expected a negative SQLCODE or 0, got"):
        ServerOptions(fetch_refusal=406)
    with pytest.raises(
        InterfaceError, match=r"^db_locale: unknown code set 'klingon' in locale 'tlh\.klingon'"
    ):
        async with running(db_locale="tlh.klingon"):
            pass
    with pytest.raises(
        InterfaceError, match=r"^database: unknown code set 'klingon' in locale 'tlh\.klingon'"
    ):
        ServerOptions(("shop:tlh.klingon",))
    with pytest.raises(InterfaceError, match=r"^database: code set missing in locale 'utf8'"):
        ServerOptions(("shop:utf8",))
