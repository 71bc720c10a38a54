"""Names that go into a statement as they are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aioifx.client.sql.identifiers import catalog_name, column_name, object_name, plain_name
from aioifx.client.sql.scanner import scan
from aioifx.errors import InterfaceError


@pytest.mark.parametrize(
    "name",
    [
        "item",
        "informix.item",
        "'informix'.item",
        '"Informix".item',
        '"two words"',
        "shop:item",
        "shop@ol_shop:item",
        "shop@ol-shop.example:informix.item",
        "größe",
        "_x$1",
    ],
)
def test_a_name_with_owner_database_and_server_is_taken_as_it_is(name: str) -> None:
    assert object_name(name, "table") == name


@pytest.mark.parametrize(
    "name",
    [
        "",
        " item",
        "item ",
        "item; drop table item",
        "item(x)",
        "item--",
        "a.b.c",
        "1item",
        "it em",
        "'item'",
        '"item',
        "shop:",
        "@server:item",
        "item\0",
        "item\n",
        "x" * 401,
    ],
)
def test_text_that_could_be_more_than_a_name_is_rejected(name: str) -> None:
    with pytest.raises(InterfaceError, match=r"^table: "):
        object_name(name, "table")


@pytest.mark.parametrize("name", ["id", '"Id"', '"a""b"', "größe"])
def test_a_column_is_one_identifier(name: str) -> None:
    assert column_name(name, "columns") == name


@pytest.mark.parametrize("name", ["a.b", "a b", "", "a,b", '"', "?", 5, None])
def test_a_column_is_nothing_else(name: object) -> None:
    with pytest.raises(InterfaceError, match=r"^columns: "):
        column_name(name, "columns")


@given(st.text(alphabet="ab1$_.:@'\" ;-(){}?/*\n", max_size=12))
def test_a_table_name_that_is_accepted_does_not_change_the_rest_of_the_statement(name: str) -> None:
    try:
        object_name(name, "table")
    except InterfaceError:
        return
    assert scan(f"insert into {name} values (?)").placeholders == 1
    assert scan(f"insert into {name} values (?)").verb == "insert"


@pytest.mark.parametrize(("name", "plain"), [("Abc", "abc"), ('"My ""x"', 'my "x'), ('"""a"""', '"a"')])
def test_names_are_compared_without_quotes(name: str, plain: str) -> None:
    assert plain_name(column_name(name, "named")) == plain


@pytest.mark.parametrize(("name", "stored"), [("Abc", "abc"), ('"My ""x"', 'My "x'), ('"a.b"', "a.b")])
def test_the_catalog_has_delimited_names_as_they_are(name: str, stored: str) -> None:
    assert catalog_name(name) == stored
