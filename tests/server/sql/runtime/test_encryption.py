"""Encryption of texts: what one function writes the other reads; documented sizes and lengths."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aioifx.server.sql.model.settings import Settings
from aioifx.server.sql.runtime.encryption import (
    checked_password,
    decrypt,
    encrypt,
    encrypted_size,
    get_hint,
)
from tests.server.sql.kinds import error_of

ALGORITHMS = ("A", "T")
SECRET, HINT = "secret", "the usual one"


def written(text: str, algorithm: str = "A", password: str | None = SECRET, hint: str | None = None) -> str:
    value = encrypt(Settings(), text, algorithm, password, hint)
    assert value is not None
    return value


@given(
    st.sampled_from(ALGORITHMS),
    st.text(alphabet="aZ9 ~\x00üß", max_size=70),
    st.text(alphabet="ab é", max_size=16),
)
def test_a_text_comes_back_with_its_hint(algorithm: str, text: str, hint: str) -> None:
    value = written(text, algorithm, hint=hint)
    assert value.isascii()
    assert len(value) <= encrypted_size(len(text), algorithm, bool(hint))
    assert decrypt(Settings(), value + "  ", SECRET) == text
    assert get_hint(Settings(), value) == (hint or None)


@pytest.mark.parametrize(
    ("size", "algorithm", "hint", "bytes_"),
    [
        (16, "T", 32, 107), (16, "T", 0, 55), (7, "T", 0, 35), (8, "T", 0, 43), (7, "T", 32, 87),
        (15, "A", 0, 43), (16, "A", 0, 67), (15, "A", 32, 99),
    ],
)  # fmt: skip
def test_the_size_is_the_documented_one(size: int, algorithm: str, hint: int, bytes_: int) -> None:
    # The first two are the example of the Security Guide.
    assert len(written("x" * size, algorithm, hint="h" * hint)) == bytes_
    assert encrypted_size(size, algorithm, bool(hint)) == bytes_


def test_equal_texts_have_different_forms() -> None:
    assert written("abc") != written("abc")


def test_null_is_null() -> None:
    assert encrypt(Settings(), None, "A", SECRET) is None
    assert decrypt(Settings(), None, SECRET) is None
    assert get_hint(Settings(), None) is None


def test_the_session_has_a_password_and_a_hint() -> None:
    settings = Settings(encryption=checked_password(SECRET, HINT, "utf-8"))
    value = encrypt(settings, "abc", "A")
    assert get_hint(settings, value) == HINT
    assert decrypt(settings, value) == decrypt(Settings(), value, SECRET) == "abc"
    assert error_of(decrypt, settings, value, "another") == -26008
    assert SECRET not in repr(settings)


@pytest.mark.parametrize("password", [None, "", "short", "x" * 129, "äöü12é" * 25])
def test_a_password_has_6_to_128_bytes(password: str | None) -> None:
    settings = Settings(code_set="utf-8")
    assert error_of(encrypt, settings, "abc", "A", password) == -26007
    assert error_of(decrypt, settings, written("abc"), password) == -26007


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_passwords_of_the_extreme_lengths_are_taken(algorithm: str) -> None:
    for password in ("123456", "x" * 128, "ü" * 64):
        assert decrypt(Settings(code_set="utf-8"), written("abc", algorithm, password), password) == "abc"


def test_a_hint_has_at_most_32_bytes() -> None:
    assert error_of(encrypt, Settings(), "abc", "A", SECRET, "h" * 33) == -26007
    assert error_of(checked_password, SECRET, "h" * 33, "utf-8") == -26007


@pytest.mark.parametrize(
    "text",
    [
        "",
        "abc",
        "~A00abcdefg",
        "~A00abcdefgAAAA",
        "~X00abcdefg" + "A" * 32,
        "~A0xabcdefg" + "A" * 32,
        "é" * 40,
    ],
)
def test_what_is_not_encrypted_is_refused(text: str) -> None:
    assert error_of(decrypt, Settings(), text, SECRET) == -26005
    assert error_of(get_hint, Settings(), text) == -26005


def test_a_value_that_was_cut_or_changed_is_refused() -> None:
    value = written("abc" * 20, "T")
    assert error_of(decrypt, Settings(), value[:-4], SECRET) in (-26005, -26008)
    assert (
        error_of(decrypt, Settings(), value[:20] + ("A" if value[20] != "A" else "B") + value[21:], SECRET)
        == -26008
    )


def test_a_result_longer_than_lvarchar_is_refused() -> None:
    assert error_of(encrypt, Settings(), "x" * 32_000, "A", SECRET) == -881
