from __future__ import annotations

import pytest

from aioifx.codecs.rows import RowDecoder
from aioifx.sqltypes import TypeCode
from aioifx.testing.messages import (
    EOT,
    EXIT,
    LOGGED,
    accepted,
    agreed,
    column,
    described,
    done,
    error,
    executed,
    insert_done,
    ints,
    opened,
    raw_row,
    takes,
)
from aioifx.wire.capabilities import Capabilities
from aioifx.wire.completion import Serials
from aioifx.wire.handshake import read_login_reply
from aioifx.wire.opcodes import LoginType, StatementType
from aioifx.wire.replies import Reply, read_reply
from aioifx.wire.tuples import read_in_runs
from tests.feeding import feed
from tests.server.talking import LATIN_1

N = column("n", TypeCode.INTEGER, 4)


def heard(data: bytes) -> Reply:
    """A reply, as a client reads it."""
    rows = read_in_runs(RowDecoder((N, N), LATIN_1))
    return feed(lambda inbox: read_reply(inbox, Capabilities(), rows), [data])[0]


def test_a_description_is_a_whole_reply() -> None:
    description = heard(described(3, N, kind=StatementType.SELECT)).description
    assert description is not None
    assert (description.statement_id, description.columns) == (3, (N,))


def test_rows_are_read_as_they_were_given() -> None:
    reply = heard(raw_row(b"\0\0\0\7\0\0\0\x08") + done(1) + EOT)
    assert [tuple(row) for row in reply.rows] == [(7, 8)]
    assert reply.done is not None
    assert reply.done.rows == 1
    assert ints(7) == raw_row(b"\0\0\0\7")


def test_errors_have_codes_and_a_name() -> None:
    failure = heard(error(-206, -111, offset=15, token="t") + EOT).error
    assert failure is not None
    assert (failure.sqlcode, failure.isamcode, failure.offset, failure.token) == (-206, -111, 15, "t")


def test_changes_have_rows_and_serials() -> None:
    reply = heard(insert_done(5, 6) + done(1, serial=4) + EOT)
    assert reply.serials == Serials(5, 6)
    assert reply.done is not None
    assert (reply.done.rows, reply.done.serial) == (1, 4)
    changed = heard(executed(0, StatementType.UPDATE, 3))
    assert changed.done is not None
    assert changed.done.rows == 3


@pytest.mark.parametrize("sqlcode", [0, -951])
def test_logins_are_accepted_unless_they_are_not(sqlcode: int) -> None:
    fields = {"type": LoginType.REJECT, "sqlcode": sqlcode} if sqlcode else {}
    reply, _ = feed(read_login_reply, [accepted(**fields)])
    assert (reply.type, reply.sqlcode) == (LoginType.REJECT if sqlcode else LoginType.ACCEPT, sqlcode)


def test_other_replies_are_whole() -> None:
    assert heard(opened()).done is not None
    assert heard(opened()).done == heard(done(warnings=LOGGED) + EOT).done
    assert heard(takes(N.type)).parameters == (N.type,)
    assert agreed().endswith(EOT)
    assert heard(EXIT).is_session_ended
