"""Isolation and lock mode: what is in force, what is wanted, and when something is due."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aioifx.client.config.isolation import ISOLATIONS
from aioifx.client.session.settings import Override, SessionSettings


def settled(settings: SessionSettings) -> list[str]:
    """The statements sent when everything that is due is set."""
    sent: list[str] = []
    for setting in list(settings.pending_changes()):
        sent.append(setting.sql)
        settings.on_applied(setting, setting.wanted)
    assert not settings.pending
    return sent


def test_nothing_is_due_in_the_beginning_nor_when_a_block_wants_the_default() -> None:
    settings = SessionSettings()
    settings.on_database_opened(is_logged=True, is_ansi=False)
    assert not settings.pending
    settings.push("committed read", "not wait")
    assert not settings.pending


@pytest.mark.parametrize(
    ("kind", "default"),
    [
        ({"is_logged": True, "is_ansi": False}, "committed read"),
        ({"is_logged": True, "is_ansi": True}, "repeatable read"),
        ({"is_logged": False, "is_ansi": False}, "dirty read"),
    ],
)
def test_each_kind_of_database_has_its_default(kind: dict[str, bool], default: str) -> None:
    settings = SessionSettings()
    settings.on_database_opened(**kind)
    override = settings.push("cursor stability", "")
    assert settled(settings) == ["set isolation to cursor stability"]
    settings.pop(override)
    assert settled(settings) == [f"set isolation to {default}"]


def test_an_option_is_set_even_if_it_is_the_default_and_lock_mode_first() -> None:
    settings = SessionSettings("committed read", "not wait")
    assert not settings.pending, "no database is open yet"
    settings.on_database_opened(is_logged=True, is_ansi=False)
    assert settings.pending
    assert settled(settings) == ["set lock mode to not wait", "set isolation to committed read"]


def test_the_innermost_block_wins_and_where_it_says_nothing_the_one_around_it() -> None:
    settings = SessionSettings()
    outer = settings.push("dirty read", "wait 1")
    inner = settings.push("", "wait 2")
    assert settled(settings) == ["set lock mode to wait 2", "set isolation to dirty read"]
    settings.pop(inner)
    settings.pop(inner)
    assert settled(settings) == ["set lock mode to wait 1"]
    settings.pop(outer)
    assert settled(settings) == ["set lock mode to not wait", "set isolation to committed read"]


@pytest.mark.parametrize(
    ("sql", "wanted"),
    [
        ("SET ISOLATION TO DIRTY READ", "set isolation to dirty read"),
        ("set isolation dirty read", "set isolation to dirty read"),
        (
            "-- a\nSET { b } ISOLATION /* c */ TO Dirty\tREAD  WITH WARNING;",
            "set isolation to dirty read with warning",
        ),
        ("SET LOCK MODE TO WAIT", "set lock mode to wait"),
        ("SET LOCK MODE TO WAIT 17", "set lock mode to wait 17"),
    ],
)
def test_after_a_block_the_users_own_statement_is_restored(sql: str, wanted: str) -> None:
    settings = SessionSettings()
    settings.on_user_set(sql)
    assert not settings.pending
    override = settings.push("repeatable read", "wait 3")
    settled(settings)
    settings.pop(override)
    assert wanted in settled(settings)


@pytest.mark.parametrize(
    "sql",
    [
        "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE",
        "SET ROLE isolation",
        "SET LOCK",
        "SET ISOLATION",
        "SET EXPLAIN ON",
    ],
)
def test_any_other_set_changes_nothing_here(sql: str) -> None:
    settings = SessionSettings()
    override = settings.push("dirty read", "wait 1")
    settled(settings)
    settings.on_user_set(sql)
    assert not settings.pending
    settings.pop(override)
    assert settled(settings) == ["set lock mode to not wait", "set isolation to committed read"]


@pytest.mark.parametrize(
    ("sql", "changed"), [("set isolation dirty read", "isolation"), ("set lock mode to wait", "lock mode")]
)
def test_a_users_own_setting_inside_blocks_overrides_theirs_of_its_kind(sql: str, changed: str) -> None:
    settings = SessionSettings()
    override = settings.push("repeatable read", "wait 3")
    settled(settings)
    settings.on_user_set(sql)
    assert not settings.pending
    settings.pop(override)
    (restored,) = settled(settings)
    assert changed not in restored


def test_a_users_own_setting_inside_blocks_overrides_all_of_them() -> None:
    settings = SessionSettings()
    settings.push("dirty read", "")
    inner = settings.push("cursor stability", "wait 1")
    settled(settings)
    settings.on_user_set("set isolation to repeatable read")
    assert not settings.pending
    settings.pop(inner)
    assert settled(settings) == ["set lock mode to not wait"]


def test_in_another_database_what_was_set_is_not_known_to_hold_and_what_was_not_set_is_its_default() -> None:
    settings = SessionSettings()
    settings.on_database_opened(is_logged=True, is_ansi=False)
    settings.on_database_opened(is_logged=False, is_ansi=False)
    assert not settings.pending
    settings.on_user_set("set isolation to cursor stability")
    settings.on_database_opened(is_logged=True, is_ansi=True)
    assert settled(settings) == ["set isolation to cursor stability"]
    settings.on_database_opened(is_logged=True, is_ansi=True)
    settings.on_database_closed()
    assert not settings.pending


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["wish", "forget", "follow", "settle"]),
            st.sampled_from(sorted(ISOLATIONS.values())),
        )
    )
)
def test_a_statement_sent_after_all_due_settings_always_finds_the_wanted_ones(
    steps: list[tuple[str, str]],
) -> None:
    settings = SessionSettings()
    in_force = configured = "committed read"
    overrides: list[Override] = []
    for step, level in steps:
        if step == "wish":
            overrides.append(settings.push(level, ""))
        elif step == "forget" and overrides:
            settings.pop(overrides.pop())
        elif step == "follow":
            settings.on_user_set(f"set isolation to {level}")
            in_force = configured = level
        for sql in settled(settings):
            in_force = sql.removeprefix("set isolation to ")
        wanted = next(
            (override.isolation for override in reversed(overrides) if override.isolation), configured
        )
        assert in_force == wanted


@pytest.mark.parametrize(
    ("sql", "seconds"),
    [
        ("SET LOCK MODE TO WAIT 17", 17),
        ("set lock mode to wait", math.inf),
        ("SET LOCK MODE TO NOT WAIT", 0),
        ("SET ISOLATION TO DIRTY READ", 5),
    ],
)
def test_the_time_of_a_lock_wait_is_that_of_the_last_setting(sql: str, seconds: float) -> None:
    settings = SessionSettings("", "wait 5")
    settings.on_user_set(sql)
    assert settings.lock_wait == seconds
