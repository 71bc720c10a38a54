from __future__ import annotations

import pytest

from aioifx.server.engine.engine import Engine
from aioifx.server.engine.session_state import StatementResult, TransactionEvent
from aioifx.server.protocol.context import Identity, SessionContext
from aioifx.server.sql.errors import SqlError
from aioifx.wire.capabilities import OFFERED, SERVER_MASK, Capabilities
from aioifx.wire.completion import Cost, Done, ServerError, TransactionState
from aioifx.wire.replies import Reply, put_eot, read_reply
from tests.feeding import feed
from tests.server.talking import LATIN_1, UTF_8, ServerCore


def desk_of(engine: Engine) -> SessionContext:
    return SessionContext(engine, Identity("ol_test", "Version", SERVER_MASK), LATIN_1, statement_limit=10)


@pytest.fixture
def context(core: ServerCore) -> SessionContext:
    return desk_of(core.engine())


def written(context: SessionContext) -> Reply:
    put_eot(context.outbox)
    return feed(lambda inbox: read_reply(inbox, context.capabilities), [context.outbox.detach()])[0]


def test_without_a_statement_there_is_no_here(context: SessionContext) -> None:
    with pytest.raises(SqlError) as raised:
        _ = context.current
    assert raised.value.sqlcode == -258
    context.prepared = context.statements.add(context.engine.prepare("SELECT tabid FROM systables"))
    assert context.current is context.prepared
    context.drop(context.prepared)
    assert context.prepared is None


def test_what_the_client_wrote_is_read_in_its_code_set(core: ServerCore) -> None:
    assert desk_of(core.engine()).text(b"se\xf1al") == "señal"
    utf8 = SessionContext(core.engine(), Identity("", "", b""), UTF_8, statement_limit=1)
    with pytest.raises(SqlError) as raised:
        utf8.text(b"se\xf1al")
    assert raised.value.sqlcode == -23103


@pytest.mark.parametrize("offer", [OFFERED, OFFERED[:8], OFFERED[:7]])
def test_answers_are_written_in_the_agreed_layouts(context: SessionContext, offer: bytes) -> None:
    context.capabilities = Capabilities.negotiated(offer, SERVER_MASK)
    context.write_result(
        StatementResult(rows=3, rowid=258, serial=7, event=TransactionEvent.COMMITTED), warnings=8
    )
    context.write_error(SqlError(-268, -100, "anna.pk", 12))
    reply = written(context)
    assert reply.done == Done(8, 3, 258, 7)
    assert reply.cost == Cost(1, 1)
    assert reply.transaction == TransactionState(2, 0, 1)
    assert reply.error == ServerError(-268, -100, 12, "anna.pk")


def test_an_outcome_without_an_event_says_nothing_of_the_transaction(context: SessionContext) -> None:
    context.write_result(StatementResult(rows=1))
    assert written(context).transaction is None


def test_varchar_is_padded_on_request(context: SessionContext) -> None:
    assert not context.has_padded_varchar
    context.environment["IFX_PAD_VARCHAR"] = "1"
    assert context.has_padded_varchar
    context.environment.clear()
    context.capabilities = Capabilities.negotiated(b"", SERVER_MASK)
    assert not context.has_padded_varchar  # bit 13 switches nothing


def test_closing_all_closes_cursors_and_keeps_statements(context: SessionContext) -> None:
    prepared = context.statements.add(context.engine.prepare("SELECT tabid FROM systables"))
    prepared.cursor = context.engine.open(prepared.statement)
    context.close_all()
    assert prepared.cursor is None
    assert context.statements.find(prepared.statement_id) is prepared


def test_an_error_tells_no_more_of_a_name_than_a_message_takes(context: SessionContext) -> None:
    context.write_error(SqlError(-999, token="é" * 100_000))
    assert written(context).error == ServerError(-999, 0, 0, "é" * 256)
