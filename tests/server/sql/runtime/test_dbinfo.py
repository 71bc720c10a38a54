from __future__ import annotations

from datetime import datetime

import pytest

from aioifx.server.sql.runtime import dbinfo
from tests.server.sql import kinds
from tests.server.sql.kinds import error_of


@pytest.mark.parametrize(
    ("option", "answer"),
    [
        ("sqlca.sqlerrd1", 11),
        ("SQLCA.SQLERRD2 ", 3),
        ("serial8", 12),
        ("bigserial", 13),
        ("sessionid", 42),
        ("dbname", "stores"),
        ("dbhostname", "localhost"),
        ("cdrsession", 0),
        ("get_tz", "Europe/Berlin"),
        ("utc_current", int(kinds.NOW.timestamp())),
    ],
)
def test_the_session_answers_from_its_settings(option: str, answer: object) -> None:
    settings = kinds.settings()
    settings.last_serial, settings.last_serial8, settings.last_bigserial = 11, 12, 13
    settings.affected, settings.session_id, settings.database = 3, 42, "stores"
    settings.time_zone = "Europe/Berlin"
    assert dbinfo.dbinfo(settings, option) == answer


@pytest.mark.parametrize(
    ("part", "answer"),
    [
        ("server-type", "IBM Informix Dynamic Server"),
        ("major", "15"),
        ("minor", "0"),
        ("os", ""),
        ("level", "1.0.3"),
        ("Full", "IBM Informix Dynamic Server Version 15.0.1.0.3"),
    ],
)
def test_the_version_comes_in_parts(part: str, answer: str) -> None:
    assert dbinfo.dbinfo_about(kinds.settings(), "version", part) == answer


def test_what_is_not_known_is_refused() -> None:
    settings = kinds.settings()
    assert error_of(dbinfo.dbinfo, settings, "weather") == -728
    assert error_of(dbinfo.dbinfo, settings, None) == -728
    assert error_of(dbinfo.dbinfo_about, settings, "version", "flavour") == -728


def test_tables_are_in_the_root_dbspace() -> None:
    settings = kinds.settings()
    assert dbinfo.dbinfo_about(settings, "dbspace", 0x100064) == "rootdbs"
    assert error_of(dbinfo.dbinfo_about, settings, "dbspace", 99) == -727
    assert error_of(dbinfo.dbinfo_about, settings, "dbspace", None) == -727


def test_seconds_since_1970_become_local_time() -> None:
    settings = kinds.settings()
    seconds = int(datetime(2026, 5, 4, 12, 34, 56).timestamp())
    assert dbinfo.dbinfo_about(settings, "utc_to_datetime", seconds) == "2026-05-04 12:34:56"
    assert dbinfo.dbinfo_about(settings, "utc_to_datetime", None) is None
    assert error_of(dbinfo.dbinfo_about, settings, "utc_to_datetime", 10**18) == -1267


def test_names_of_user_and_server() -> None:
    settings = kinds.settings()
    assert (dbinfo.user(settings), dbinfo.server_name(settings)) == (settings.user, settings.server)
