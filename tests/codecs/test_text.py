from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aioifx.codecs.base import Codec
from aioifx.codecs.registry import codec_for
from aioifx.codecs.text import CodeSet, code_set_of
from aioifx.errors import DataError, InterfaceError
from aioifx.sqltypes import SqlType, TypeCode
from tests.codecs.samples import BSON, CP1252, JSON, LATIN1, LVARCHAR, UTF8

CHAR10 = SqlType(TypeCode.CHAR, 10)
VARCHAR20 = SqlType(TypeCode.VARCHAR, 20)


# --- the code set ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("locale", "codec"),
    [
        ("en_US.8859-1", "latin-1"),
        ("en_us.819", "latin-1"),
        ("en_us.0333", "latin-1"),
        ("de_DE.8859-15@euro", "iso8859-15"),
        ("de_de.923", "iso8859-15"),
        ("en_US.utf8", "utf-8"),
        ("en_US.UTF8", "utf-8"),
        ("en_US.57372", "utf-8"),
        ("en_US.e01c", "utf-8"),
        ("en_US.CP1252", "cp1252"),
        ("en_US.1252", "cp1252"),
        ("cs_cz.8859-2", "iso8859-2"),
        ("ja_jp.ujis", "euc_jp"),
        ("zh_cn.GB18030-2000", "gb18030"),
    ],
)
def test_a_locale_names_its_code_set(locale: str, codec: str) -> None:
    assert code_set_of(locale).codec == codec


@pytest.mark.parametrize("locale", ["en_US.klingon", "en_US.99999", "en_US.zzzz", "en_US", "", "en_US."])
def test_an_unknown_code_set_is_the_callers_mistake(locale: str) -> None:
    with pytest.raises(InterfaceError, match="code set"):
        code_set_of(locale)


def test_an_unknown_error_policy_is_the_callers_mistake() -> None:
    with pytest.raises(InterfaceError, match="encoding_errors: unknown error handler 'lenient'"):
        code_set_of("en_US.utf8", "lenient")


def test_bytes_that_are_no_text_are_refused_by_their_offset() -> None:
    with pytest.raises(DataError, match="byte 0xff at offset 2 is not valid utf8"):
        UTF8.decode(b"ab\xff")


def test_replace_lets_bytes_pass_that_are_no_text() -> None:
    assert code_set_of("en_US.utf8", "replace").decode(b"ab\xff") == "ab\ufffd"


def test_replace_does_not_let_text_be_lost_on_its_way_out() -> None:
    with pytest.raises(
        DataError, match=r"^the character '€' \(U\+20AC\) at offset 1 is not in 8859-1; locale='auto'"
    ):
        code_set_of("en_US.8859-1", "replace").encode("5\u20ac")


def test_no_locale_is_advised_where_utf_8_lacks_the_character() -> None:
    with pytest.raises(DataError) as caught:
        UTF8.encode("\ud800")
    assert str(caught.value) == r"the character '\ud800' (U+D800) at offset 0 is not in utf8"


def test_surrogateescape_takes_back_what_it_gave() -> None:
    code_set = code_set_of("en_US.utf8", "surrogateescape")
    assert code_set.encode(code_set.decode(b"a\xff")) == b"a\xff"


def test_a_refusal_does_not_show_the_text() -> None:
    with pytest.raises(DataError) as caught:
        LATIN1.encode("secret\u20ac")
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("name", ["8859-1", "8859-15", "utf8", "CP1252", "big5", "ksc", "ujis"])
def test_code_sets_keep_ascii(name: str) -> None:
    assert code_set_of(f"en_US.{name}").keeps_ascii


# --- codecs ---------------------------------------------------------------------------------------------------------


def codec(sql_type: SqlType, code_set: CodeSet = LATIN1, *, strip_char: bool = False) -> Codec:
    return codec_for(sql_type, code_set, strip_char=strip_char)


def test_char_is_padded_with_blanks() -> None:
    assert codec(CHAR10).encode("abc") == b"abc       "
    assert codec(CHAR10).decode(b"abc       ") == "abc       "


def test_strip_char_takes_the_padding_and_no_other_blank() -> None:
    assert codec(CHAR10, strip_char=True).decode(b"  a\t      ") == "  a\t"
    assert codec(VARCHAR20, strip_char=True).decode(b"\2a ") == "a "


def test_null_char_is_one_nul_and_blanks() -> None:
    assert codec(CHAR10).encode(None) == b"\0         "


@pytest.mark.parametrize("field", [b"\0         ", bytes(10)])
def test_char_that_begins_with_nul_is_null(field: bytes) -> None:
    assert codec(CHAR10).decode(field) is None


def test_null_varchar_is_one_nul() -> None:
    assert codec(VARCHAR20).encode(None) == b"\1\0"
    assert codec(VARCHAR20).decode(b"\1\0") is None


def test_the_longest_varchar_has_255_bytes() -> None:
    encode = codec(SqlType(TypeCode.VARCHAR, 0)).encode
    assert encode("x" * 255) == b"\xff" + b"x" * 255
    with pytest.raises(DataError, match="256 bytes"):
        encode("x" * 256)


def test_an_empty_varchar_is_not_null() -> None:
    assert codec(VARCHAR20).encode("") == b"\0"
    assert codec(VARCHAR20).decode(b"\0") == ""


def test_null_lvarchar_differs_from_empty_in_its_first_byte() -> None:
    assert codec(LVARCHAR).encode(None) == bytes.fromhex("0100000000")
    assert codec(LVARCHAR).encode("") == bytes.fromhex("0000000000")
    assert codec(LVARCHAR).decode(bytes.fromhex("0100000000")) is None
    assert codec(LVARCHAR).decode(bytes.fromhex("0000000000")) == ""


@pytest.mark.parametrize("sql_type", [CHAR10, VARCHAR20], ids=str)
def test_the_null_pattern_as_a_value_is_refused(sql_type: SqlType) -> None:
    with pytest.raises(DataError, match="is the NULL of"):
        codec(sql_type).encode("\0")


@pytest.mark.parametrize("sql_type", [CHAR10, VARCHAR20, SqlType(TypeCode.LVARCHAR, 10)], ids=str)
def test_text_is_measured_in_bytes(sql_type: SqlType) -> None:
    text = "\u20ac" * 7  # 7 characters, 21 bytes
    with pytest.raises(DataError, match="text of 21 bytes does not fit"):
        codec(sql_type, UTF8).encode(text)


@pytest.mark.parametrize("sql_type", [CHAR10, VARCHAR20, LVARCHAR, JSON], ids=str)
def test_text_types_accept_str_only(sql_type: SqlType) -> None:
    with pytest.raises(DataError, match="does not accept int"):
        codec(sql_type).encode(7)


def test_a_padded_varchar_fills_its_width() -> None:
    padded = codec_for(SqlType(TypeCode.VARCHAR, 4), LATIN1, padded_varchar=True)
    assert (padded.head, padded.width) == (0, 5)
    assert padded.encode("ab") == b"\2ab\0\0"
    assert padded.decode(b"\2ab\0\0") == "ab"
    assert padded.decode(padded.encode(None)) is None
    with pytest.raises(DataError, match="5 bytes in a VARCHAR"):
        padded.decode(b"\5abcd")


def test_json_is_text_and_bson_bytes() -> None:
    assert codec(JSON).decode(bytes.fromhex("00000000077b2261223a317d")) == '{"a":1}'
    assert codec(BSON).decode(bytes.fromhex("00000000020c61")) == b"\x0ca"


def test_an_opaque_value_is_text_unless_it_cannot_be() -> None:
    point = SqlType(TypeCode.UDTVAR, 0, extended_id=2050, extended_name="point")
    assert codec(point, UTF8).decode(b"\0\0\0\0\5(1,2)") == "(1,2)"
    assert codec(point, UTF8).decode(b"\0\0\0\0\2\xff\xfe") == b"\xff\xfe"
    assert codec(point, LATIN1).decode(b"\0\0\0\0\2a\0") == b"a\0"
    assert codec(point).decode(b"\1\0\0\0\0") is None
    assert codec(point).encode(b"a\0") == b"\0\0\0\0\2a\0"
    assert codec(point).encode("(1,2)") == b"\0\0\0\0\5(1,2)"


@pytest.mark.exhaustive
@given(st.text(st.characters(codec="cp1252", exclude_characters="\0"), max_size=20))
def test_text_of_another_code_set_comes_back(text: str) -> None:
    varchar = codec(VARCHAR20, CP1252)
    assert varchar.decode(varchar.encode(text)) == text
