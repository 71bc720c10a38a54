"""Traces of checks: what a check sent and received, without a name that is not aioifx's own."""

from __future__ import annotations

import json
from typing import Any

import aioifx
from aioifx.server import running
from aioifx.tracing.events import TraceEvent
from aioifx.verify.redaction import CheckTrace


def messages(*found: dict[str, Any]) -> CheckTrace:
    trace = CheckTrace()
    for number, fields in enumerate(found):
        trace.add(TraceEvent(100.0 + number, 7, "received", "SQ_ERR", number, 20, 1, fields))
    return trace


async def test_a_session_is_traced_without_its_names() -> None:
    trace = CheckTrace()
    async with running("secretdb", user="secretuser", password="secretpw", server_name="secretsrv") as dsn:
        options: Any = {
            "trace": trace.add,
            "application_name": "secretapp",
            "environment": {"CLIENT_LABEL": "secret"},
        }
        async with aioifx.connect(dsn, **options) as conn:
            await conn.execute("CREATE TEMP TABLE aioifx_t (a INT, b BSON, l LVARCHAR(9))")
            await conn.execute("INSERT INTO aioifx_t VALUES (1, ?, ?)", {"secret": 1}, "secret")
            await conn.fetch("SELECT a, b, l FROM aioifx_t WHERE l = 'secret'")
    events = trace.redacted()
    text = json.dumps(events)
    assert "secret" not in text
    assert "127.0.0.1" not in text
    assert [event["name"] for event in events if "name" in event][:2] == ["LOGIN", "LOGIN_REPLY"]
    logins = [event for event in events if event.get("name") in ("LOGIN", "LOGIN_REPLY", "SQ_DBOPEN")]
    assert len(logins) == 3 and all("fields" not in event for event in logins)
    (query,) = [event for event in events if "SELECT" in str(event.get("fields", {}).get("sql"))]
    assert query["fields"]["sql"] == "SELECT a, b, l FROM aioifx_t WHERE l = ?"
    described = [event["fields"]["columns"] for event in events if event.get("name") == "SQ_DESCRIBE"][-1]
    assert described == [
        {"name": "a", "type": "INTEGER"},
        {"name": "b", "type": "BSON"},
        {"name": "l", "type": "LVARCHAR(9)"},
    ]
    assert {event["connection"] for event in events} == {1}
    assert events[0]["seconds"] == 0


def test_words_are_kept_if_a_statement_has_them() -> None:
    trace = messages(
        {"sql": "SELECT own FROM aioifx_t", "placeholders": 0},
        {"token": "secretdb:secretuser.aioifx_t", "sqlcode": -206},
        {"columns": [{"name": "own", "type": "ROW(own INTEGER,secret CHAR(3))"}], "other": "secret"},
        {"name": "_ifxc0000000000001", "mask": "fffc7f", "statement_type": "SELECT", "database": "secretdb"},
    )
    assert [event["fields"] for event in trace.redacted()] == [
        {"sql": "SELECT own FROM aioifx_t", "placeholders": 0},
        {"token": "?:?.aioifx_t", "sqlcode": -206},
        {"columns": [{"name": "own", "type": "ROW(own INTEGER,? CHAR(3))"}]},
        {"name": "_ifxc0000000000001", "mask": "fffc7f", "statement_type": "SELECT"},
    ]


def test_the_first_and_the_last_events_are_kept() -> None:
    trace = messages(*({"rows": number} for number in range(1000)))
    events = trace.redacted()
    assert [event["fields"]["rows"] for event in events[:150]] == list(range(150))
    assert events[150] == {"left_out": 500}
    assert [event["fields"]["rows"] for event in events[151:]] == list(range(650, 1000))
    trace.clear()
    assert trace.redacted() == ()


def test_an_event_without_a_message_has_no_fields() -> None:
    trace = CheckTrace()
    trace.add(TraceEvent(1.0, 3, "closed", fields={"reason": "secret:9088"}))
    assert trace.redacted() == ({"seconds": 0.0, "connection": 1, "kind": "closed"},)
