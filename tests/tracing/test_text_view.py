from __future__ import annotations

from aioifx import TraceEvent
from aioifx.tracing.conversation import Summary
from aioifx.tracing.text_view import conversation_lines, describe, summary_lines
from tests.tracing.test_conversation import ask, received, sent

EVENTS = [
    TraceEvent(10.0, 1, "open", fields={"address": "db1:9088", "tls": None}),
    sent(10.0, "SQ_PREPARE", 1, size=40, sql="select a\n  from t", placeholders=0),
    sent(10.0, "SQ_EOT", 1),
    received(10.25, "SQ_DESCRIBE", 1, statement_id=3, columns=[{"name": "a", "type": "INTEGER"}]),
    received(10.5, "SQ_EOT", 1),
    sent(11.0, "SQ_ID", 2, statement_id=3),
    sent(11.0, "SQ_EOT", 2),
    TraceEvent(11.1, 1, "urgent", size=1, fields={"byte": "42"}),
    received(11.25, "SQ_TUPLE", 2, count=1500),
    received(11.25, "SQ_EOT", 2),
    TraceEvent(12.0, 1, "closed", fields={"error": "ConnectionLost", "reason": "gone"}),
]


def test_a_conversation() -> None:
    lines = [*conversation_lines(EVENTS, Summary())]
    assert lines == [
        "    +0.000 s  connection 1 opened: address db1:9088",
        "    +0.000 s  connection 1, round trip 1, waited 250.0 ms of 500.0 ms: select a from t",
        "  -> SQ_PREPARE (select a from t, placeholders 0)",
        "  <- SQ_DESCRIBE (statement_id 3, columns [a INTEGER])",
        "    +1.000 s  connection 1, round trip 2, waited 250.0 ms: select a from t",
        "  -> SQ_ID (statement_id 3)",
        "  !! urgent byte: byte 42",
        "  <- SQ_TUPLE x 1,500",
        "    +2.000 s  connection 1 closed: error ConnectionLost, reason gone",
    ]


def test_long_lines_are_cut_to_the_width() -> None:
    lines = [*conversation_lines(EVENTS, Summary(), width=40)]
    assert max(map(len, lines)) == 40
    assert lines[1].endswith("…")


def test_equal_groups_are_shown_once() -> None:
    events = [sent(1.0, "SQ_EOT", number) for number in range(1, 6)]
    events += [received(1.5, "SQ_EOT", number) for number in range(1, 6)]
    lines = [*conversation_lines(events, Summary())]
    assert lines[1:] == ["  -> 5 times: SQ_EOT", "  <- 5 times: SQ_EOT"]


def test_few_equal_groups_are_all_shown() -> None:
    lines = [*conversation_lines([*ask(1.0, 1), *ask(2.0, 2)], Summary())]
    assert lines.count("  -> SQ_EOT") == 2


def test_requests_without_a_reply_and_replies_without_a_request() -> None:
    assert "no reply" in next(conversation_lines([sent(1.0, "SQ_EOT")], Summary()))
    assert "unsolicited" in next(conversation_lines([received(1.0, "SQ_EOT")], Summary()))


def test_parameters_and_values() -> None:
    bind = sent(
        1.0, "SQ_BIND", values=[{"type": "CHAR", "size": 3}, {"type": "CHAR", "size": 1, "value": "x"}]
    )
    assert describe(bind) == "SQ_BIND (values [CHAR[3], CHAR[1] = x])"
    rows = received(1.0, "SQ_TUPLE", rows=[[1, None, "a"]])
    assert describe(rows) == "SQ_TUPLE (rows [[1, NULL, a]])"
    info = sent(1.0, "SQ_INFO", environment={"A": "b"})
    assert describe(info) == "SQ_INFO (environment {A=b})"


def test_control_characters_do_not_reach_a_terminal() -> None:
    event = received(1.0, "SQ_ERR", token="\x1b[31m", sqlcode=-217)
    assert "\x1b" not in describe(event)
    assert "\x1b" not in describe(sent(1.0, "SQ_PREPARE", sql="\x1b[31m"))


def test_a_summary() -> None:
    summary = Summary()
    events = [*EVENTS, received(12.5, "SQ_ERR", 3, sqlcode=-217), received(12.5, "SQ_ERR", 3, sqlcode=-217)]
    events += [received(12.5, "UNDECODED", 3), TraceEvent(13.0, 0, "failed")]
    assert list(conversation_lines(events, summary))
    assert [*summary_lines(summary)] == [
        "began             1970-01-01 00:00:10 UTC",
        "took              3.000 s",
        "connections       1, 1 failed",
        "round trips       2",
        "waited for server 0.500 s",
        "bytes             46 sent, 14 received",
        "rows              1,500",
        "errors            -217 (2 times)",
        "not decoded       1 pieces",
        "slowest round trips",
        "    250.0 ms  connection 1, round trip 1: select a from t",
        "    250.0 ms  connection 1, round trip 2: select a from t",
    ]
