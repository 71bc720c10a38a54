"""Numbers as text by masks; blanks are written as b, as the manual does."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.runtime.masks import format_number


@pytest.mark.parametrize(
    ("mask", "number", "text"),
    [
        ("#####", "0", "bbbbb"),
        ("&&&&&", "0", "00000"),
        ("$$$$$", "0", "bbbb$"),
        ("*****", "0", "*****"),
        ("<<<<<", "0", ""),
        ("##,###", "12345", "12,345"),
        ("##,###", "1234", "b1,234"),
        ("##,###", "12", "bbbb12"),
        ("##,###", "-1", "bbbbb1"),
        ("&&,&&&", "12345", "12,345"),
        ("&&,&&&", "1234", "01,234"),
        ("&&,&&&", "123", "000123"),
        ("$$,$$$", "12345", "******"),
        ("$$,$$$", "1234", "$1,234"),
        ("$$,$$$", "123", "bb$123"),
        ("$$,$$$", "1", "bbbb$1"),
        ("**,***", "1234", "*1,234"),
        ("**,***", "123", "***123"),
        ("<<,<<<", "1234", "1,234"),
        ("<<,<<<", "123", "123"),
        ("##,###.##", "12345.67", "12,345.67"),
        ("##,###.##", "123.456", "bbb123.46"),
        ("##,###.##", "0.01", "bbbbbb.01"),
        ("##,###.##", "0", "bbbbbb.00"),
        ("&&,&&&.&&", "0.01", "000000.01"),
        ("$$,$$$.$$", "12345.67", "*********"),
        ("$$,$$$.$$", "1234.56", "$1,234.56"),
        ("$$,$$$.&&", "0.01", "bbbbb$.01"),
        ("-##,###.##", "-12345.67", "-12,345.67"),
        ("-##,###.##", "-123.45", "-bbb123.45"),
        ("-##,###.##", "123.45", "bbbb123.45"),
        ("---,---.--", "-12.34", "bbbb-12.34"),
        ("---,---.--", "12.34", "bbbbb12.34"),
        ("+++,+++", "1234", "b+1,234"),
        ("+++,+++", "-1234", "b-1,234"),
        ("($$,$$$.&&)", "-123.45", "(bb$123.45)"),
        ("($$,$$$.&&)", "123.45", "bbb$123.45b"),
        ("-$$$,$$$.&&", "-1234.56", "-b$1,234.56"),
        ("###.##-", "-1.5", "bb1.50-"),
        ("###-", "-1", "bb1-"),
        ("###-", "1", "bb1b"),
        ("###%", "50", "b50%"),
        ("###", "-0.4", "bbb"),
        ("-##.#", "-0.04", "bbb.0"),
        ("#&.&&", "0.5", "b0.50"),
        ("#.", "1", "1."),
        (".##", "0.25", ".25"),
        (".##", "1.25", "***"),
    ],
)
def test_a_mask_shows_a_number(mask: str, number: str, text: str) -> None:
    assert format_number(Decimal(number), mask).replace(" ", "b") == text


@pytest.mark.parametrize("mask", ["", "999.99", "L9", "-", "%"])
def test_a_mask_without_a_place_is_refused(mask: str) -> None:
    with pytest.raises(SqlError) as caught:
        format_number(Decimal(1), mask)
    assert (caught.value.sqlcode, caught.value.token) == (-999, mask)


@given(st.decimals(allow_nan=False, allow_infinity=False, places=4), st.text("*&#<,.-+()$ x", max_size=12))
def test_law_a_text_is_never_longer_than_its_mask(number: Decimal, mask: str) -> None:
    try:
        assert len(format_number(number, mask)) <= len(mask)
    except SqlError as error:
        assert error.sqlcode == -999
