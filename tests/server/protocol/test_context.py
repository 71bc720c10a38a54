from __future__ import annotations

import pytest

from aioifx.server.engine.control_statements import Event, Outcome
from aioifx.server.engine.engine import Engine
from aioifx.server.protocol.context import Identity, SessionContext
from aioifx.server.sql.errors import SqlError
from aioifx.wire.capabilities import OFFERED, SERVER_MASK, Capabilities
from aioifx.wire.replies import Cost, Done, Reply, ServerError, TransactionState, put_eot, read_reply
from tests.feeding import feed
from tests.server.talking import LATIN_1, UTF_8, House


def desk_of(engine: Engine) -> SessionContext:
    return SessionContext(engine, Identity("ol_test", "Version", SERVER_MASK), LATIN_1, statement_limit=10)


@pytest.fixture
def desk(home: House) -> SessionContext:
    return desk_of(home.engine())


def written(desk: SessionContext) -> Reply:
    put_eot(desk.outbox)
    return feed(lambda inbox: read_reply(inbox, desk.capabilities), [desk.outbox.take()])[0]


def test_without_a_statement_there_is_no_here(desk: SessionContext) -> None:
    with pytest.raises(SqlError) as raised:
        _ = desk.here
    assert raised.value.sqlcode == -258
    desk.slot = desk.slots.add(desk.engine.prepare("SELECT tabid FROM systables"))
    assert desk.here is desk.slot
    desk.drop(desk.slot)
    assert desk.slot is None


def test_what_the_client_wrote_is_read_in_its_code_set(home: House) -> None:
    assert desk_of(home.engine()).text(b"se\xf1al") == "señal"
    utf8 = SessionContext(home.engine(), Identity("", "", b""), UTF_8, statement_limit=1)
    with pytest.raises(SqlError) as raised:
        utf8.text(b"se\xf1al")
    assert raised.value.sqlcode == -23103


@pytest.mark.parametrize("offer", [OFFERED, OFFERED[:8], OFFERED[:7]])
def test_answers_are_written_in_the_agreed_layouts(desk: SessionContext, offer: bytes) -> None:
    desk.capabilities = Capabilities.agreed(offer, SERVER_MASK)
    desk.put_outcome(Outcome(rows=3, rowid=258, serial=7, event=Event.COMMITTED), warnings=8)
    desk.put_fault(SqlError(-268, -100, "anna.pk", 12))
    reply = written(desk)
    assert reply.done == Done(8, 3, 258, 7)
    assert reply.cost == Cost(1, 1)
    assert reply.transaction == TransactionState(2, 0, 1)
    assert reply.error == ServerError(-268, -100, 12, "anna.pk")


def test_an_outcome_without_an_event_says_nothing_of_the_transaction(desk: SessionContext) -> None:
    desk.put_outcome(Outcome(rows=1))
    assert written(desk).transaction is None


def test_varchar_is_padded_on_request(desk: SessionContext) -> None:
    assert not desk.has_padded_varchar
    desk.environment["IFX_PAD_VARCHAR"] = "1"
    assert desk.has_padded_varchar
    desk.environment.clear()
    desk.capabilities = Capabilities.agreed(b"", SERVER_MASK)
    assert not desk.has_padded_varchar  # bit 13 switches nothing


def test_closing_all_closes_cursors_and_keeps_statements(desk: SessionContext) -> None:
    slot = desk.slots.add(desk.engine.prepare("SELECT tabid FROM systables"))
    slot.cursor = desk.engine.open(slot.statement)
    desk.close_all()
    assert slot.cursor is None
    assert desk.slots.find(slot.statement_id) is slot


def test_an_error_tells_no_more_of_a_name_than_a_message_takes(desk: SessionContext) -> None:
    desk.put_fault(SqlError(-999, token="é" * 100_000))
    assert written(desk).error == ServerError(-999, 0, 0, "é" * 256)
