"""Queries to watch: their attributes, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from aioifx import InterfaceError, Watch
from aioifx.pushdata.watch import registration


def test_its_attributes_are_those_of_jdbc() -> None:
    watch = Watch("db:informix.customers", "SELECT * FROM customers", label="lab2")
    assert registration(watch) == {
        "table": "customers",
        "owner": "informix",
        "database": "db",
        "query": "SELECT * FROM customers",
        "label": "lab2",
    }


@pytest.mark.parametrize(
    ("table", "names"),
    [
        ("db:anna.t", ("db", "anna", "t")),
        ("db:'Anna'.t", ("db", "Anna", "t")),
        ("DB:Anna.My_T", ("db", "Anna", "my_t")),
        ("""db:"'a'"."'t'" """.strip(), ("db", "'a'", "'t'")),
        ('db:"Anna".""x""', None),
        ('db:"Anna"."My Table"', ("db", "Anna", "My Table")),
    ],
)
def test_names_lose_their_quotes(table: str, names: tuple[str, ...] | None) -> None:
    if names is None:
        with pytest.raises(InterfaceError, match=r"^table: expected database:owner\.table"):
            Watch(table, "select * from t")
        return
    found = registration(Watch(table, " select\n* from t"))
    assert (found["database"], found["owner"], found["table"], found["label"]) == (*names, None)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (("t", "select 1"), r"^table: expected database:owner\.table, got 't'$"),
        (("db:t", "select 1"), r"^table: expected database:owner\.table, got 'db:t'$"),
        (("db:o.t; drop", "select 1"), r"^table: expected database:owner\.table"),
        ((5, "select 1"), "^table: expected a str, got int$"),
        (("db:o.t", "delete from t"), "^query: expected a SELECT, got 'delete from t'$"),
        (("db:o.t", ""), "^query: expected a SELECT, got ''$"),
        (("db:o.t", "select 1", None), "^label: expected a str, got NoneType$"),
    ],
)
def test_others_are_refused(values: tuple[Any, ...], message: str) -> None:
    with pytest.raises(InterfaceError, match=message):
        Watch(*values)
