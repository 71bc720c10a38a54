"""What an option's value may be; the options' own tests go through every check."""

from __future__ import annotations

import math

import pytest

from aioifx.client.config.checks import (
    check_keepalive,
    check_seconds,
    check_text,
    check_timeout,
    check_wait,
    check_whole,
)
from aioifx.codecs.text import CodeSet
from aioifx.errors import InterfaceError

LATIN_1 = CodeSet("8859-1", "latin-1")


@pytest.mark.parametrize("value", [None, b"x", "a\0", "€", "x" * 1025])
def test_text_that_cannot_be_sent_is_refused_without_showing_it(value: object) -> None:
    with pytest.raises(InterfaceError, match=r"^name: ") as caught:
        check_text("name", value, LATIN_1)
    assert "€" not in str(caught.value)


@pytest.mark.parametrize(
    ("value", "found"),
    [(True, "bool"), (1.0, "float"), ("1", "str"), (None, "NoneType"), (0, "0"), (11, "11")],
)
def test_only_an_int_in_range_is_a_whole_number(value: object, found: str) -> None:
    with pytest.raises(InterfaceError, match=rf"^n: expected a whole number from 1 to 10, got {found}$"):
        check_whole("n", value, 1, 10)


def test_a_whole_number_may_have_no_upper_limit() -> None:
    check_whole("n", 10**12, 0)
    with pytest.raises(InterfaceError, match=r"^n: expected a whole number, 2 or more, got 1$"):
        check_whole("n", 1, 2)


def test_a_number_that_may_be_a_piece_of_a_password_is_not_shown() -> None:
    with pytest.raises(InterfaceError, match=r"^n: expected a whole number from 1 to 10$"):
        check_whole("n", 123456, 1, 10, show=False)


@pytest.mark.parametrize(
    ("value", "found"),
    [(True, "bool"), ("1", "str"), (-1, "-1"), (math.inf, "inf"), (math.nan, "nan"), (0, "0")],
)
def test_only_a_finite_number_above_0_is_a_time_limit(value: object, found: str) -> None:
    with pytest.raises(InterfaceError, match=rf"^t: expected a number of seconds above 0, got {found}$"):
        check_seconds("t", value)


def test_0_seconds_may_be_allowed() -> None:
    check_seconds("t", 0, zero=True)
    check_wait(0)
    check_wait(math.inf)
    check_timeout(None)
    with pytest.raises(InterfaceError, match=r"^t: expected a number of seconds, 0 or more, got -0\.5$"):
        check_seconds("t", -0.5, zero=True)
    with pytest.raises(InterfaceError, match=r"^timeout: expected a number of seconds above 0, got 0$"):
        check_timeout(0)


@pytest.mark.parametrize("value", [True, False, (1, 1, 1), (32767, 32767, 127)])
def test_keepalive_is_a_flag_or_three_numbers(value: object) -> None:
    check_keepalive(value)


@pytest.mark.parametrize("value", [None, 60, (60,), (60, 10, 0), (32768, 1, 1), ("60", 10, 6), [60, 10, 6]])
def test_any_other_keepalive_is_rejected(value: object) -> None:
    with pytest.raises(InterfaceError, match=r"^keepalive: expected True, False, or three numbers"):
        check_keepalive(value)
