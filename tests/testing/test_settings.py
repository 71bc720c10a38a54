from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from aioifx.errors import InterfaceError
from aioifx.server.sqlite.databases import LogMode
from aioifx.testing.settings import settings_of
from tests.testing.runs import SETTINGS


def config(root: Path = Path(), **changed: object) -> Any:
    ini = {
        "informix_seeds": [],
        "informix_database": "test",
        "informix_locale": "",
        "informix_log_mode": "logged",
    }
    options = {name: None for name in (*ini, "informix_dsn")} | changed
    return SimpleNamespace(
        getini={**ini, "informix_dsn": ""}.__getitem__, getoption=options.__getitem__, rootpath=root
    )


def test_defaults() -> None:
    assert settings_of(config()) == SETTINGS
    assert SETTINGS.is_embedded


def test_names_on_a_real_server_are_of_one_run_and_worker() -> None:
    given = config(informix_dsn="informix://h", informix_database="Shop", informix_log_mode="ansi")
    given.workerinput = {"workerid": "gw3"}
    first, second = settings_of(given), settings_of(given)
    assert first.database != second.database
    assert first.database.startswith("shop_") and first.database.endswith("_gw3")
    assert (first.log_mode, first.is_embedded) == (LogMode.ANSI, False)


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("seeds", ["a.sql"], "informix_seeds: a.sql cannot be read: No such file or directory"),
        ("seeds", ["schema"], "informix_seeds: schema cannot be read: No such file or directory"),
        ("seeds", ["b.sql"], "informix_seeds: b.sql is not UTF-8 at byte 3"),
        ("database", "a b", "informix_database: expected a valid database name, got 'a b'"),
        ("locale", "en_US.klingon", "informix_locale: "),
        ("log_mode", "buffered", "informix_log_mode: expected one of unlogged, logged, ansi, got 'buffered'"),
    ],
)
def test_a_wrong_option_is_named(option: str, value: object, message: str, tmp_path: Path) -> None:
    (tmp_path / "b.sql").write_bytes(b"-- \xff")
    with pytest.raises(InterfaceError) as raised:
        settings_of(config(tmp_path, **{f"informix_{option}": value}))
    assert str(raised.value).startswith(message)
