"""Documents of push data, strict and as the manual prints them, and attributes."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aioifx.errors import ProtocolError
from aioifx.pushdata.documents import attributes, read_documents

# The last two are in the manual, with these quotes; the first is its sample of an event, shortened.
SAMPLES = [
    (
        '{"operation":"insert","txnid":133151498608,"rowdata":{"c1":4001,"c2":4001 }}',
        {"operation": "insert", "txnid": 133151498608, "rowdata": {"c1": 4001, "c2": 4001}},
    ),
    ('{"ifx_isTimeout":"true"}', {"ifx_isTimeout": "true"}),
    ("{ifx_isTimeout:true}", {"ifx_isTimeout": True}),
    ("{ifx_isTimeout:”true”}", {"ifx_isTimeout": "true"}),
    ("{ifx_warn_total_skipcount:10}", {"ifx_warn_total_skipcount": 10}),
    (
        '{ifx_error:” Smartblob read API buffer size ## is too small"}',
        {"ifx_error": " Smartblob read API buffer size ## is too small"},
    ),
]


@pytest.mark.parametrize(("text", "document"), SAMPLES)
def test_the_samples_of_the_manual_are_read(text: str, document: object) -> None:
    assert read_documents(text) == [document]


@pytest.mark.parametrize("gap", ["", " ", "\n", ",", ", \n", "\0", "]\n["])
def test_several_documents_of_one_read_are_told_apart(gap: str) -> None:
    texts = [text for text, _ in SAMPLES]
    assert read_documents(f"[{gap.join(texts)}]\0") == [document for _, document in SAMPLES]


def test_strings_of_a_lenient_document_are_kept() -> None:
    text = r'{a:"b: {c}, \" “true”", d:-1.5e3, null_:null}'
    assert read_documents(text) == [{"a": 'b: {c}, " “true”', "d": -1500.0, "null_": None}]


def test_control_characters_in_strings_are_kept() -> None:
    assert read_documents('{"a":"1\n2\t"}') == [{"a": "1\n2\t"}]


def test_numbers_can_be_exact() -> None:
    text = '{"a":0.1,"b":12345678901234567890.12,"c":7}'
    (found,) = read_documents(text, Decimal)
    assert found == {"a": Decimal("0.1"), "b": Decimal("12345678901234567890.12"), "c": 7}
    (lenient,) = read_documents(text.replace('"', ""), Decimal)
    assert lenient == found


@pytest.mark.parametrize(
    "text", ["{", "5", '"a"', '{"a":1}}', '{"a":1}[{"b"', "{a:}", "[" * 9, '{"a":' * 5000]
)
def test_what_is_no_document_is_an_error_without_its_text(text: str) -> None:
    if set(text) == {"["}:  # brackets alone are a gap
        assert read_documents(text) == []
        return
    with pytest.raises(ProtocolError, match=rf"^{len(text)} characters of push data are not JSON$"):
        read_documents(text)


def test_a_string_without_an_end_is_read_in_linear_time() -> None:
    with pytest.raises(ProtocolError, match="are not JSON"):
        read_documents('{a:"' + r"\"" * 400_000)


SCALARS = st.none() | st.booleans() | st.integers() | st.text(max_size=9)
VALUES = SCALARS | st.lists(SCALARS, max_size=3) | st.dictionaries(st.text(max_size=3), SCALARS, max_size=3)


@given(st.lists(st.dictionaries(st.text(max_size=9), VALUES, max_size=4), max_size=3), st.booleans())
def test_json_is_read_as_json(documents: list[dict[str, object]], escaped: bool) -> None:
    text = "\n".join(json.dumps(each, ensure_ascii=escaped) for each in documents)
    assert read_documents(text) == documents


@given(st.text(alphabet='{}[]:,"“” \\atrue1.e-\n'))
def test_any_text_is_read_or_an_error_of_ours(text: str) -> None:
    try:
        found = read_documents(text)
    except ProtocolError:
        return
    assert all(isinstance(document, dict) for document in found)


def test_attributes_are_written_as_by_jdbc() -> None:
    session = {"timeout": 5, "max_pending_ops": 33, "maxrecs": 2, "txnid": 78, "commit_time": 77}
    assert attributes(session) == (
        '{timeout:"5", max_pending_ops:"33", maxrecs:"2", txnid:"78", commit_time:"77"}'
    )
    assert attributes({"label": None, "query": 'SELECT "a"\nÄ'}) == '{query:"SELECT \\"a\\"\\nÄ"}'
