from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aioifx.server.sql.model.type_rules import BOOLEAN, DATE, FLOAT, INTEGER, char, decimal
from aioifx.server.sql.translate.sqlite_text import affinity, collated, identifier, joined, string
from aioifx.sqltypes import SqlType

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))


@given(TEXTS)
def test_sqlite_reads_a_literal_as_its_text(text: str) -> None:
    connection = sqlite3.connect(":memory:")
    assert connection.execute(f"SELECT {string(text)}").fetchone() == (text,)
    connection.close()


@given(TEXTS.filter(lambda text: text and "\x00" not in text))
def test_sqlite_reads_an_identifier_as_its_name(text: str) -> None:
    connection = sqlite3.connect(":memory:")
    found = connection.execute(f"SELECT 1 AS {identifier(text)}")
    assert found.description[0][0] == text
    connection.close()


@pytest.mark.parametrize(
    ("type_", "declared"),
    [
        (INTEGER, "INTEGER"),
        (DATE, "INTEGER"),
        (FLOAT, "REAL"),
        (decimal(8, 2), "TEXT COLLATE ifx_decimal"),
        (char(3), "TEXT COLLATE RTRIM"),
        (BOOLEAN, "TEXT"),
    ],
)
def test_a_column_is_declared_by_its_storage_form(type_: SqlType, declared: str) -> None:
    assert affinity(type_) == declared


def test_texts_and_decimals_bring_their_collation() -> None:
    assert collated("a", char(3)) == "a COLLATE RTRIM"
    assert collated("a", decimal()) == "a COLLATE ifx_decimal"
    assert collated("a", INTEGER) == "a"
    assert collated("NULL", None) == "NULL"


@pytest.mark.parametrize("count", [1, 50, 51, 10_000])
def test_many_conditions_make_no_high_tree(count: int) -> None:
    with closing(sqlite3.connect(":memory:")) as connection:
        text = joined("AND", ["1"] * count)
        assert text.count("1") == count
        assert connection.execute(f"SELECT {text}").fetchone() == (1,)
        assert connection.execute(f"SELECT {joined('OR', ['0'] * count + ['1'])}").fetchone() == (1,)
