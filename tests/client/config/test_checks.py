"""What an option's value may be; the options' own tests go through every check."""

from __future__ import annotations

import pytest

from aioifx.client.config.checks import check_keepalive, check_text, check_whole
from aioifx.codecs.text import CodeSet
from aioifx.errors import InterfaceError

LATIN_1 = CodeSet("8859-1", "latin-1")


@pytest.mark.parametrize("value", [None, b"x", "a\0", "€", "x" * 1025])
def test_text_that_cannot_be_sent_is_refused_without_showing_it(value: object) -> None:
    with pytest.raises(InterfaceError, match=r"^name: ") as caught:
        check_text("name", value, LATIN_1)
    assert "€" not in str(caught.value)


@pytest.mark.parametrize("value", [True, 1.0, "1", 0, 11])
def test_only_an_int_in_range_is_a_whole_number(value: object) -> None:
    with pytest.raises(InterfaceError, match=r"^n: expected a whole number from 1 to 10$"):
        check_whole("n", value, 1, 10)


@pytest.mark.parametrize("value", [True, False, (1, 1, 1), (32767, 32767, 127)])
def test_keepalive_is_a_flag_or_three_numbers(value: object) -> None:
    check_keepalive(value)


@pytest.mark.parametrize("value", [None, 60, (60,), (60, 10, 0), (32768, 1, 1), ("60", 10, 6), [60, 10, 6]])
def test_any_other_keepalive_is_rejected(value: object) -> None:
    with pytest.raises(InterfaceError, match=r"^keepalive: expected True, False, or three numbers"):
        check_keepalive(value)
