"""What logins show, and what to change after one that failed."""

from __future__ import annotations

from typing import Any

import pytest

from aioifx.client.config.addresses import Address
from aioifx.client.config.options import ConnectOptions
from aioifx.client.connect.login import LoginAttempt
from aioifx.client.session.database import Database
from aioifx.diagnosis import logins
from aioifx.diagnosis.report import Failed
from aioifx.errors import AuthenticationError, ConnectError, DatabaseError, LocaleError, NotSupportedError
from aioifx.wire.handshake import LoginReply
from aioifx.wire.opcodes import LoginType, OpenWarning
from tests.scripted import options_with


def attempt(reply: LoginReply | None = None, **options: Any) -> LoginAttempt:
    found = LoginAttempt(options_with(user="app", **options), Address("db1", 9088, "ol_shop"))
    found.reply = reply
    return found


ACCEPTED = LoginReply(LoginType.ACCEPT, version=b"Version 15.0\x1b[2J", server=b"ol_main")


def test_a_login_without_a_database_has_nothing_that_needs_one() -> None:
    options = logins.without_database(
        options_with(database="shop", role="primary", autocommit=False, isolation="dirty_read", locale="auto")
    )
    assert options == options_with()


def test_the_name_of_the_login_may_be_an_alias() -> None:
    assert logins.server_name(attempt(ACCEPTED)).found == "ol_shop accepted; the server is ol_main"
    assert logins.server_name(attempt()).found == "ol_shop accepted"


def test_a_version_is_shown_without_control_characters() -> None:
    assert "\x1b" not in logins.version(attempt(ACCEPTED)).found
    assert logins.version(attempt(ACCEPTED)).found.startswith("Version 15.0")


@pytest.mark.parametrize(
    ("error", "step"),
    [
        (ConnectError(sqlcode=-761), "server_name"),
        (NotSupportedError(), "capabilities"),
        (AuthenticationError(sqlcode=-951), "login"),
        (ConnectError(sqlcode=-25571), "login"),
    ],
)
def test_the_step_that_failed(error: DatabaseError, step: str) -> None:
    assert logins.failed_step(error) == step
    assert step in logins.LOGIN_STEPS


@pytest.mark.parametrize(
    ("error", "options", "settings"),
    [
        (ConnectError(sqlcode=-761), {}, ["server"]),
        (AuthenticationError(sqlcode=-951), {}, ["password"]),
        (AuthenticationError(sqlcode=-951), {"password": "x"}, ["password", "user"]),
        (AuthenticationError(sqlcode=-956), {"password": "x"}, ["password"]),
        (LocaleError(sqlcode=-23101), {}, ["db_locale"]),
        (NotSupportedError(), {}, ["the server"]),
        (ConnectError(sqlcode=-25571), {}, ["the server"]),
        (ConnectError(sqlcode=-908), {}, ["the server"]),
        (ConnectError(sqlcode=-31999), {}, ["the server"]),
        (ConnectError(), {}, ["the way to the server"]),
    ],
)
async def test_changes_after_a_login(
    error: DatabaseError, options: dict[str, Any], settings: list[str]
) -> None:
    failed = await logins.explain_login(attempt(LoginReply(LoginType.REJECT), **options), error)
    assert [change.setting for change in failed.finding.changes] == settings
    assert failed.finding.details.get("sqlcode", 0) == error.sqlcode


@pytest.mark.parametrize(
    ("error", "databases", "settings"),
    [
        (ConnectError(sqlcode=-329), ["other"], ["database"]),
        (ConnectError(sqlcode=-329), [], ["database"]),
        (ConnectError(sqlcode=-329), ["shop"], ["the database", "user"]),
        (AuthenticationError(sqlcode=-387), [], ["the database", "user"]),
        (LocaleError(sqlcode=-23197), [], ["db_locale"]),
        (ConnectError(sqlcode=-908), [], ["the server"]),
    ],
)
def test_changes_after_a_database(error: DatabaseError, databases: list[str], settings: list[str]) -> None:
    failed = logins.database_failure(attempt(database="shop"), error, databases=databases, locale="")
    assert [change.setting for change in failed.finding.changes] == settings


async def test_a_guess_of_what_listens_is_left_out_once_it_is_known() -> None:
    failed_attempt = attempt(ACCEPTED)
    failed_attempt.hint = "; is it a TLS port?"
    failed = await logins.explain_login(failed_attempt, ConnectError("no answer; is it a TLS port?"))
    assert failed.finding.found == "no answer"


def opened(warnings: int) -> Database:
    database = Database()
    database.on_opened("shop", warnings)
    return database


def test_locales_are_compared_by_their_code_sets() -> None:
    options = options_with(db_locale="de_DE.utf8")
    assert logins.locale(options, "en_US.57372").outcome == "ok"
    assert logins.locale(options, "").outcome == "skipped"
    assert logins.locale(options, DatabaseError("no sysmaster")).outcome == "skipped"
    with pytest.raises(Failed) as caught:
        logins.locale(options, "en_US.819")
    assert [str(change) for change in caught.value.finding.changes] == [
        "db_locale: en_US.819",
        'locale: "auto"',
    ]
    assert logins.locale(options, "tlh.klingon").outcome == "warning"


@pytest.mark.parametrize(
    ("warnings", "options", "outcome"),
    [
        (OpenWarning.LOGGED, {}, "ok"),
        (OpenWarning.ANSI, {}, "ok"),
        (0, {}, "warning"),
        (0, {"autocommit": False}, "failed"),
    ],
)
def test_log_modes(warnings: int, options: dict[str, Any], outcome: str) -> None:
    assert finding(logins.log_mode, opened(warnings), options_with(**options)) == outcome


@pytest.mark.parametrize(
    ("warnings", "role", "outcome"),
    [
        (0, "any", "ok"),
        (0, "primary", "ok"),
        (0, "secondary", "failed"),
        (OpenWarning.SECONDARY, "any", "ok"),
        (OpenWarning.SECONDARY, "primary", "failed"),
    ],
)
def test_roles(warnings: int, role: Any, outcome: str) -> None:
    assert finding(logins.role, opened(warnings), options_with(role=role, database="shop")) == outcome


def finding(check: Any, database: Database, options: ConnectOptions) -> str:
    """The outcome of a check that may fail."""
    try:
        return str(check(database, options).outcome)
    except Failed as failed:
        assert failed.finding.changes
        return failed.finding.outcome
