"""Streams: their numbers, and reads that wait, as SQ_LODATA asks for them."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest

from aioifx.server.engine.streams import StreamNumbers, Streams, Wait
from aioifx.server.host.faults import Fault
from aioifx.server.protocol.fault_points import ConnectionDropped, Effect, StatementFault
from aioifx.server.sql.errors import SqlError
from aioifx.server.sqlite.interrupts import Interrupts
from aioifx.wire.objects import ObjectData, ReadObject
from tests.server.talking import ServerCore, Talk, error_of, server_core


@dataclass
class Text:
    """A stream of a text; an empty one waits for more."""

    text: bytes = b""
    seconds: float | None = 0
    is_closed: bool = False

    def read(self, size: int, wait: Wait) -> bytes:
        if not wait(lambda: bool(self.text), self.seconds):
            return b"nothing"[:size]
        found, self.text = self.text[:size], self.text[size:]
        return found

    def close(self) -> None:
        self.is_closed = True


@pytest.fixture
def core() -> Iterator[ServerCore]:
    with server_core() as made:
        yield made


def test_numbers_are_used_again_last_of_all() -> None:
    numbers = StreamNumbers()
    first, second = numbers.take(), numbers.take()
    numbers.give_back(first)
    others = {numbers.take() for _ in range(0x7FFF - 1002)}
    assert {first, second} & others == set()
    assert numbers.take() == first
    with pytest.raises(SqlError) as raised:
        numbers.take()
    assert raised.value.sqlcode == -9810


def test_each_read_has_the_next_bytes(core: ServerCore) -> None:
    engine = core.engine(database="")
    talk, text = Talk(engine), Text(b"abcdef")
    number = engine.streams.add(text)
    assert talk.say(ReadObject(number, 4)).object_data == ObjectData(0, 4, b"abcd")
    assert talk.say(ReadObject(number, 4)).object_data == ObjectData(0, 2, b"ef")
    assert talk.say(ReadObject(number, 4)).object_data == ObjectData(0, 4, b"noth")
    assert error_of(talk.say(ReadObject(number, 4, 0, 0)))[0] == -349  # no stream is read at another position
    engine.streams.remove(number)
    assert text.is_closed
    engine.open_database("demo")
    assert error_of(talk.say(ReadObject(number, 4)))[0] == -9810


def test_streams_are_closed_with_their_session(core: ServerCore) -> None:
    engine, other = core.engine(), core.engine()
    text = Text(b"abc")
    number = engine.streams.add(text)
    assert other.streams.find(number) is None
    assert other.streams.add(Text()) != number
    engine.close()
    assert text.is_closed


def test_a_read_waits_until_it_is_woken() -> None:
    streams, text = Streams(StreamNumbers(), Interrupts()), Text(seconds=None)
    number = streams.add(text)
    with ThreadPoolExecutor(1) as threads:
        done = threads.submit(streams.read, number, 10)
        text.text = b"late"
        streams.wake()
        assert done.result() == b"late"


def test_an_interrupt_ends_the_next_read_and_a_disconnection_the_running_one() -> None:
    interrupts = Interrupts()
    streams = Streams(StreamNumbers(), interrupts)
    number = streams.add(Text(seconds=None))
    interrupts.request()
    with pytest.raises(SqlError) as raised:
        streams.read(number, 10)
    assert raised.value.sqlcode == -213
    with ThreadPoolExecutor(1) as threads:
        done = threads.submit(streams.read, number, 10)
        interrupts.request(permanent=True)
        streams.wake()
        with pytest.raises(SqlError) as raised:
            done.result()
    assert raised.value.sqlcode == -213


def test_faults_match_reads(core: ServerCore) -> None:
    engine = core.engine(database="")
    talk, fault = Talk(engine), Fault(lambda fault: None)
    number = engine.streams.add(Text(b"abcdef"))
    points = talk.conversation._context.points
    points.add_statement_fault(StatementFault(Effect.FAIL, "read  changes", 1, fault, SqlError(-25582)))
    assert error_of(talk.say(ReadObject(number, 4)))[0] == -25582
    points.add_statement_fault(StatementFault(Effect.DROP_AFTER, "READ CHANGES", 1, fault))
    with pytest.raises(ConnectionDropped):
        talk.say(ReadObject(number, 4))
    assert talk.say(ReadObject(number, 4)).object_data == ObjectData(0, 2, b"ef")
    assert fault.hits == 2
