"""Isolation and lock mode: what is in force, what is wanted, and when something is due."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aioifx.client.config.isolation import ISOLATIONS
from aioifx.client.session.settings import Manners, Override


def settled(manners: Manners) -> list[str]:
    """What the server is told, when everything that is due is set."""
    told: list[str] = []
    for setting in list(manners.due_settings()):
        told.append(setting.sql)
        manners.took(setting, setting.wanted)
    assert not manners.due
    return told


def test_nothing_is_due_in_the_beginning_nor_when_a_block_wants_the_default() -> None:
    manners = Manners()
    manners.opened(is_logged=True, is_ansi=False)
    assert not manners.due
    manners.wish("committed read", "not wait")
    assert not manners.due


@pytest.mark.parametrize(
    ("kind", "default"),
    [
        ({"is_logged": True, "is_ansi": False}, "committed read"),
        ({"is_logged": True, "is_ansi": True}, "repeatable read"),
        ({"is_logged": False, "is_ansi": False}, "dirty read"),
    ],
)
def test_each_kind_of_database_has_its_default(kind: dict[str, bool], default: str) -> None:
    manners = Manners()
    manners.opened(**kind)
    wish = manners.wish("cursor stability", "")
    assert settled(manners) == ["set isolation to cursor stability"]
    manners.forget(wish)
    assert settled(manners) == [f"set isolation to {default}"]


def test_what_an_option_says_is_set_even_if_it_is_the_default_and_lock_mode_first() -> None:
    manners = Manners("committed read", "not wait")
    assert not manners.due, "no database is open yet"
    manners.opened(is_logged=True, is_ansi=False)
    assert manners.due
    assert settled(manners) == ["set lock mode to not wait", "set isolation to committed read"]


def test_the_innermost_block_wins_and_where_it_says_nothing_the_one_around_it() -> None:
    manners = Manners()
    outer = manners.wish("dirty read", "wait 1")
    inner = manners.wish("", "wait 2")
    assert settled(manners) == ["set lock mode to wait 2", "set isolation to dirty read"]
    manners.forget(inner)
    manners.forget(inner)
    assert settled(manners) == ["set lock mode to wait 1"]
    manners.forget(outer)
    assert settled(manners) == ["set lock mode to not wait", "set isolation to committed read"]


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
def test_what_the_user_sets_is_what_is_put_back(sql: str, wanted: str) -> None:
    manners = Manners()
    manners.follow(sql)
    assert not manners.due
    wish = manners.wish("repeatable read", "wait 3")
    settled(manners)
    manners.forget(wish)
    assert wanted in settled(manners)


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
    manners = Manners()
    wish = manners.wish("dirty read", "wait 1")
    settled(manners)
    manners.follow(sql)
    assert not manners.due
    manners.forget(wish)
    assert settled(manners) == ["set lock mode to not wait", "set isolation to committed read"]


def test_what_the_user_sets_inside_of_blocks_wins_over_all_of_them() -> None:
    manners = Manners()
    manners.wish("dirty read", "")
    inner = manners.wish("cursor stability", "wait 1")
    settled(manners)
    manners.follow("set isolation to repeatable read")
    assert not manners.due
    manners.forget(inner)
    assert settled(manners) == ["set lock mode to not wait"]


def test_in_another_database_what_was_set_is_not_known_to_hold_and_what_was_not_set_is_its_default() -> None:
    manners = Manners()
    manners.opened(is_logged=True, is_ansi=False)
    manners.opened(is_logged=False, is_ansi=False)
    assert not manners.due
    manners.follow("set isolation to cursor stability")
    manners.opened(is_logged=True, is_ansi=True)
    assert settled(manners) == ["set isolation to cursor stability"]
    manners.opened(is_logged=True, is_ansi=True)
    manners.closed()
    assert not manners.due


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["wish", "forget", "follow", "settle"]),
            st.sampled_from(sorted(ISOLATIONS.values())),
        )
    )
)
def test_a_statement_behind_all_that_was_due_always_finds_what_is_wanted(
    steps: list[tuple[str, str]],
) -> None:
    manners = Manners()
    in_force = base = "committed read"
    wishes: list[Override] = []
    for step, level in steps:
        if step == "wish":
            wishes.append(manners.wish(level, ""))
        elif step == "forget" and wishes:
            manners.forget(wishes.pop())
        elif step == "follow":
            manners.follow(f"set isolation to {level}")
            in_force = base = level
        for sql in settled(manners):
            in_force = sql.removeprefix("set isolation to ")
        wanted = next((wish.isolation for wish in reversed(wishes) if wish.isolation), base)
        assert in_force == wanted
