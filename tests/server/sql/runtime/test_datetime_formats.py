from __future__ import annotations

from datetime import datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.runtime.datetime_formats import format_moment, format_number, parse_moment, pieces
from tests.server.sql.kinds import NOW, error_of

MOMENT = datetime(2026, 5, 4, 15, 4, 5, 123_456)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("%Y-%m-%d %H:%M:%S", "2026-05-04 15:04:05"),
        ("%d.%m.%y", "04.05.26"),
        ("%A, %B %d", "Monday, May 04"),
        ("%a %b %e", "Mon May  4"),
        ("%I:%M %p", "03:04 PM"),
        ("%j", "124"),
        ("%S.%F3", "05.123"),
        ("%F", "12"),
        ("%F0|", "|"),
        ("%D %R %T", "05/04/26 15:04 15:04:05"),
        ("%iY%iy", "202626"),
        ("100%%", "100%"),
        ("%n%t", "\n\t"),
        ("%h %C %w %r", "May 20 1 03:04:05 PM"),
    ],
)
def test_directives_are_replaced(pattern: str, text: str) -> None:
    assert format_moment(MOMENT, pattern) == text


def test_noon_and_midnight_on_the_12_hour_clock() -> None:
    assert format_moment(datetime(2026, 1, 1, 0), "%I%p") == "12AM"
    assert format_moment(datetime(2026, 1, 1, 12), "%I%p") == "12PM"
    assert parse_moment("12 AM", "%I %p", NOW).hour == 0
    assert parse_moment("12 pm", "%I %p", NOW).hour == 12


@pytest.mark.parametrize(
    ("pattern", "token"), [("YYYY-MM-DD", "YYYY-MM-DD"), ("%Q", "%Q"), ("%d%", "%"), ("", "")]
)
def test_formats_that_are_not_known_are_refused_by_name(pattern: str, token: str) -> None:
    with pytest.raises(SqlError) as caught:
        pieces(pattern)
    assert (caught.value.sqlcode, caught.value.token) == (-999, token)


@pytest.mark.parametrize(
    ("text", "pattern", "moment"),
    [
        ("2026-05-04 15:04:05", "%Y-%m-%d %H:%M:%S", datetime(2026, 5, 4, 15, 4, 5)),
        ("2134-05-21 13:45:43.12345", "%Y-%m-%d %H:%M:%S.%F5", datetime(2134, 5, 21, 13, 45, 43, 123_450)),
        ("04.05.26", "%d.%m.%y", datetime(2026, 5, 4)),
        ("may 4 2026", "%B %d %Y", datetime(2026, 5, 4)),
        ("Mon 04 May 2026", "%a %d %b %Y", datetime(2026, 5, 4)),
        ("2024 060", "%Y %j", datetime(2024, 2, 29)),
        (" 4/5/2026 ", "%d/%m/%Y", datetime(2026, 5, 4)),
        ("10", "%H", datetime(2026, 1, 1, 10)),
        ("7%", "%d%%", datetime(2026, 1, 7)),
    ],
)
def test_texts_are_read_by_their_pattern(text: str, pattern: str, moment: datetime) -> None:
    assert parse_moment(text, pattern, NOW) == moment


@pytest.mark.parametrize(
    ("text", "pattern", "sqlcode"),
    [
        ("2026/05/04", "%Y-%m-%d", -1277), ("2026-05", "%Y-%m-%d", -1277), ("2026-05-04x", "%Y-%m-%d", -1277),
        ("Foo 4 2026", "%B %d %Y", -1277), ("2026-02-30", "%Y-%m-%d", -1263), ("2026-13-01", "%Y-%m-%d", -1263),
        ("25", "%H", -1263), ("13 PM", "%I %p", -1263), ("0000-01-01", "%Y-%m-%d", -1263),
        ("2025 366", "%Y %j", -1263), ("20", "%C", -999),
    ],
)  # fmt: skip
def test_texts_that_do_not_fit_say_why(text: str, pattern: str, sqlcode: int) -> None:
    assert error_of(parse_moment, text, pattern, NOW) == sqlcode


@given(st.datetimes(min_value=datetime(1000, 1, 1)))
def test_what_is_shown_is_read_again(moment: datetime) -> None:
    pattern = "%A %d %B %Y, %I:%M:%S %p + %F5"
    cut = moment.replace(microsecond=moment.microsecond // 10 * 10)
    assert parse_moment(format_moment(moment, pattern), pattern, NOW) == cut


@given(
    st.text(alphabet="0123456789-: %aFYmdHj", max_size=20),
    st.text(alphabet="%YymdHMSFjIpBb -:3", max_size=16),
)
def test_any_text_and_pattern_is_a_moment_or_an_error(text: str, pattern: str) -> None:
    try:
        moment = parse_moment(text, pattern, NOW)
    except SqlError as error:
        assert error.sqlcode in (-999, -1263, -1277)
    else:
        assert isinstance(moment, datetime)


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
