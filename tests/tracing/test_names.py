from __future__ import annotations

from typing import Any

import pytest

from aioifx import TraceEvent
from aioifx.tracing.names import hide_names

KNOWN = {"select", "from", "where", "ours", "a", "char", "informix", "db_locale"}


def hidden(kind: Any = "sent", **fields: object) -> dict[str, Any]:
    return dict(hide_names(TraceEvent(1.0, 1, kind, "SQ_X", fields=fields), KNOWN.__contains__).fields)


def test_known_words_stay_and_others_do_not() -> None:
    sql = "SELECT a, b1 FROM ours, secret_table WHERE größe = ?"
    assert hidden(sql=sql) == {"sql": "SELECT a, name FROM ours, name WHERE name = ?"}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"token": "customer"}, {"token": "name"}),
        ({"token": "informix.ours"}, {"token": "informix.ours"}),
        ({"sqlcode": -217, "offset": 3}, {"sqlcode": -217, "offset": 3}),
        (
            {"columns": [{"name": "a", "type": "CHAR(5)"}, {"name": "pay", "type": "money_t"}]},
            {"columns": [{"name": "a", "type": "CHAR(5)"}, {"name": "name", "type": "name"}]},
        ),
        ({"environment": {"DB_LOCALE": "x.utf8"}}, {"environment": {"DB_LOCALE": "name.name"}}),
        ({"user": "me", "host": "db1.shop"}, {"user": "name", "host": "name.name"}),
        ({"statement_type": "INSERT", "mask": "ab"}, {"statement_type": "INSERT", "mask": "ab"}),
    ],
)
def test_every_text_is_searched(fields: dict[str, Any], expected: dict[str, Any]) -> None:
    assert hidden(**fields) == expected


@pytest.mark.parametrize("kind", ["open", "failed"])
def test_addresses_are_left_out(kind: str) -> None:
    assert hidden(kind, address="10.0.0.7:9088", tls="TLSv1.3") == {"tls": "TLSv1.3"}


def test_everything_else_stays() -> None:
    event = TraceEvent(1.5, 2, "received", "SQ_TUPLE", 4, 100, 5)
    assert hide_names(event, KNOWN.__contains__) == event
