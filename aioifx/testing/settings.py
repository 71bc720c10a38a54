"""The plugin's options, from the command line and the ini file. Never: a server."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from aioifx.errors import InterfaceError
from aioifx.server.sqlite.databases import LogMode, is_database_name, numbered_locale
from aioifx.testing.seeds import Seed, seed_of


@dataclass(frozen=True, slots=True)
class Settings:
    """What the fixtures of one process of pytest use."""

    database: str
    """Name of the database, and first part of the names of others."""
    seeds: tuple[Seed, ...]
    locale: str
    """Locale of the databases; empty: the default of the server, or the locale in *dsn*."""
    log_mode: LogMode
    dsn: str | None
    """Address of a real server; None: the embedded one."""

    @property
    def is_embedded(self) -> bool:
        return self.dsn is None


def settings_of(config: pytest.Config) -> Settings:
    """Read the options.

    Raises:
        InterfaceError: an option is invalid, or a seed cannot be read.
    """
    dsn = _option(config, "informix_dsn") or None
    database = str(_option(config, "informix_database")).lower()
    if not is_database_name(database):
        raise InterfaceError(f"informix_database: expected a valid database name, got {database!r}")
    locale = str(_option(config, "informix_locale"))
    try:
        if locale:
            numbered_locale(locale)
    except InterfaceError as error:
        raise InterfaceError(f"informix_locale: {error}") from None
    log_mode = _option(config, "informix_log_mode")
    if log_mode not in list(LogMode):
        raise InterfaceError(f"informix_log_mode: expected one of {', '.join(LogMode)}, got {log_mode!r}")
    seeds = tuple(
        seed_of(Path(path), config.rootpath, "informix_seeds") for path in _option(config, "informix_seeds")
    )
    if dsn is not None:
        database = f"{database}_{_run_of(config)}"
    return Settings(database, seeds, locale, LogMode(log_mode), dsn)


def _option(config: pytest.Config, name: str) -> Any:
    """The option of the command line, otherwise that of the ini file."""
    given = config.getoption(name)
    return config.getini(name) if given is None else given


def _run_of(config: pytest.Config) -> str:
    """A part of names that no other run, and no other worker of pytest-xdist, uses."""
    worker: dict[str, str] = getattr(config, "workerinput", {})
    return "_".join(filter(None, (secrets.token_hex(4), worker.get("workerid", ""))))
