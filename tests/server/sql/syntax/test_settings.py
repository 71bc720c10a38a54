"""SET."""

from __future__ import annotations

import pytest

from aioifx.server.sql.syntax import nodes
from aioifx.server.sql.syntax.parser import parse
from tests.server.sql.shapes import error_of, statement_shape


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("set lock mode to wait", "SetLockMode()"),
        ("set lock mode to wait 10", "SetLockMode(10)"),
        ("set lock mode to not wait", "SetLockMode(0)"),
        ("set isolation to dirty read", "SetIsolation(dirty read)"),
        ("set isolation dirty read with warning", "SetIsolation(dirty read)"),
        ("set isolation to committed read", "SetIsolation(committed read)"),
        ("set isolation committed read last committed retain update locks",
         "SetIsolation(last committed, retain_update_locks)"),
        ("set isolation cursor stability", "SetIsolation(cursor stability)"),
        ("set isolation to repeatable read", "SetIsolation(repeatable read)"),
        ("set transaction read only", "SetTransaction(is_read_only)"),
        ("set transaction isolation level serializable", "SetTransaction(repeatable read)"),
        ("set transaction isolation level read uncommitted, read write", "SetTransaction(dirty read)"),
        ("set transaction isolation level read committed", "SetTransaction(committed read)"),
        ("set transaction isolation level repeatable read", "SetTransaction(repeatable read)"),
        ("set constraints all deferred", "SetConstraints(is_deferred)"),
        ("set constraints a, o.b immediate", "SetConstraints([a, o.b])"),
        ("set constraints for o.t disabled", "SetObjectMode([constraints], o.t, is_disabled)"),
        ("set constraints a, o.b enabled novalidate", "SetObjectMode([constraints], [a, o.b], is_not_validated)"),
        ("set triggers, constraints, indexes for t enabled", "SetObjectMode([constraints, indexes, triggers], t)"),
        ("set indexes all, a disabled", "SetObjectMode([indexes], [all, a], is_disabled)"),
        ("set role r", "SetRole(r)"),
        ("set role none", "SetRole()"),
        ("set role null", "SetRole()"),
        ("set role default", "SetRole(default)"),
        ("set role 'R'", "SetRole(R)"),
        ("set environment string_truncate_error 'error'", "SetEnvironment(string_truncate_error, error)"),
        ("set environment optcompind 0", "SetEnvironment(optcompind, 0)"),
        ("set environment x on", "SetEnvironment(x, on)"),
        ("set explain on", "SetOption(explain, on)"),
        ("set explain off", "SetOption(explain, off)"),
        ("set explain on avoid_execute", "SetOption(explain, on avoid_execute)"),
        ("set explain file to 'x'", "SetOption(explain file, x)"),
        ("set optimization high", "SetOption(optimization, high)"),
        ("set optimization environment star_join 'FORCED'", "SetOption(optimization star_join, forced)"),
        ("set optimization environment avoid_fact 'a, b'", "SetOption(optimization avoid_fact, a, b)"),
        ("set optimization environment non_dim default", "SetOption(optimization non_dim)"),
        ("set optimization environment fact ''", "SetOption(optimization fact)"),
        ("set optimization first_rows", "SetOption(optimization, first_rows)"),
        ("set pdqpriority 50", "SetOption(pdqpriority, 50)"),
        ("set pdqpriority low", "SetOption(pdqpriority, low)"),
        ("set debug file to 'x' with append", "SetOption(debug file, x)"),
        ("set log", "SetOption(log, unbuffered)"),
        ("set buffered log", "SetOption(log, buffered)"),
        ("set collation 'en_US.utf8'", "SetOption(collation, en_US.utf8)"),
        ("set no collation", "SetOption(collation)"),
        ("set session authorization to 'u'", "SetOption(session authorization, u)"),
        ("set session authorization to u using 'p'", "SetOption(session authorization, u)"),
        ("set autofree", "SetOption(autofree, enabled)"),
        ("set autofree disabled for c", "SetOption(autofree, disabled)"),
        ("set deferred_prepare enabled", "SetOption(deferred_prepare, enabled)"),
        ("set dataskip on d1, d2", "SetOption(dataskip, on)"),
        ("set dataskip off", "SetOption(dataskip, off)"),
        ("set statement cache on", "SetOption(statement cache, on)"),
    ],
)  # fmt: skip
def test_settings(text: str, expected: str) -> None:
    assert statement_shape(text) == expected


@pytest.mark.parametrize(
    ("marked", "error"),
    [
        ("set lock mode ^wait", (-201, "")),
        ("set lock mode to wait ^-1", (-201, "")),
        ("set isolation to ^read committed", (-201, "")),
        ("set transaction^", (-201, "")),
        ("set transaction read only, ^read write", (-201, "")),
        ("set constraints for t filtering ^error", (-201, "")),
        ("set triggers for t ^filtering", (-201, "")),
        ("set constraints for t ^deferred", (-201, "")),
        ("set constraints a disabled ^novalidate", (-201, "")),
        ("set constraints, ^constraints for t disabled", (-201, "")),
        ("set constraints, indexes ^a disabled", (-201, "")),
        ("set indexes a ^immediate", (-201, "")),
        ("set indexes for t enabled ^novalidate", (-201, "")),
        ("set constraints a^", (-201, "")),
        ("set environment x ^y", (-201, "")),
        ("set explain off ^avoid_execute", (-201, "")),
        ("set explain^", (-201, "")),
        ("set optimization ^fast", (-201, "")),
        ("set optimization environment ^high", (-201, "")),
        ("set optimization environment fact ^x", (-201, "")),
        ("set optimization environment star_join ^'on'", (-201, "")),
        ("set optimization environment star_join ^default", (-201, "")),
        ("set debug file to ^x", (-201, "")),
        ("set ^connection 'x'", (-999, "SET CONNECTION")),
        ("set encryption password ^?", (-999, "a parameter of SET ENCRYPTION PASSWORD")),
        ("set encryption password ^x", (-201, "")),
        ("set encryption password 'x' with hint^", (-201, "")),
        ("set ^foo", (-201, "")),
        ("set^", (-201, "")),
    ],
)
def test_what_is_not_a_setting_is_refused(marked: str, error: tuple[int, str]) -> None:
    assert error_of(marked) == error


def test_waiting_for_ever_is_not_a_number_of_seconds() -> None:
    seconds = [parse(f"SET LOCK MODE TO {mode}") for mode in ("NOT WAIT", "WAIT 7", "WAIT")]
    assert [each.seconds for each in seconds if isinstance(each, nodes.SetLockMode)] == [0, 7, None]


def test_read_write_is_not_nothing_said() -> None:
    statements = [
        parse(f"SET TRANSACTION {mode}")
        for mode in ("READ ONLY", "READ WRITE", "ISOLATION LEVEL SERIALIZABLE")
    ]
    found = [each.is_read_only for each in statements if isinstance(each, nodes.SetTransaction)]
    assert found == [True, False, None]
