"""Replies to many executions: the quick count is the general reader's, however the bytes are cut."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aioifx.errors import ProtocolError
from aioifx.wire import completion, replies
from aioifx.wire.batch_replies import BatchTally, read_executions
from aioifx.wire.capabilities import Capabilities
from aioifx.wire.completion import Cost, Done, Serials, ServerError, TransactionState
from aioifx.wire.inbox import Inbox
from aioifx.wire.outbox import Outbox
from aioifx.wire.replies import Reply, read_reply
from tests.feeding import Outcome, cuts, feed, outcome
from tests.sampling import examples
from tests.wire.strategies import damaged

DIALECTS = [
    Capabilities(bigint=bigint, long_rowid=long_rowid)
    for bigint in (True, False)
    for long_rowid in (False, True)
]
every_dialect = pytest.mark.parametrize(
    "capabilities",
    DIALECTS,
    ids=lambda capabilities: f"bit54={capabilities.bigint} bit70={capabilities.long_rowid}",
)
DUPLICATE = ServerError(-268, -100, 0, "owner.u1")


@dataclass
class Answer:
    """One group, as a server may send it."""

    serials: Serials | None = None
    done: Done | None = None
    cost: bool = True
    state: TransactionState | None = None
    error: ServerError | None = None
    extra: Done | None = None
    """A second SQ_DONE, which makes it unusual."""

    def put(self, outbox: Outbox, capabilities: Capabilities) -> None:
        if self.error is not None:
            completion.put_error(outbox, capabilities, self.error)
        if self.serials is not None:
            completion.put_insertdone(outbox, capabilities, self.serials)
        for done in (self.done, self.extra):
            if done is not None:
                completion.put_done(outbox, capabilities, done)
        if self.cost:
            completion.put_cost(outbox, Cost(1, 1))
        if self.state is not None:
            completion.put_xactstat(outbox, self.state)
        replies.put_eot(outbox)


def sent(answers: Sequence[Answer], capabilities: Capabilities) -> bytes:
    outbox = Outbox()
    for answer in answers:
        answer.put(outbox, capabilities)
    return outbox.detach()


async def _counted(
    inbox: Inbox, capabilities: Capabilities, count: int, seen: list[Reply] | None = None
) -> BatchTally:
    tally = BatchTally(each_serial=[])
    observe = (lambda reply: None) if seen is None else seen.append
    await read_executions(inbox, capabilities, count, tally, observe)
    return tally


async def _one_by_one(inbox: Inbox, capabilities: Capabilities, count: int) -> BatchTally:
    """The law's other side: every group is read by the general reader."""
    tally = BatchTally(each_serial=[])
    for _ in range(count):
        tally.add(await read_reply(inbox, capabilities))
    return tally


def counted(answers: Sequence[Answer], capabilities: Capabilities = DIALECTS[0]) -> BatchTally:
    """What is counted, which must not depend on how the bytes are cut."""
    data = sent(answers, capabilities)
    found: list[BatchTally] = []
    for chunks in cuts(data):
        tally, parks = feed(lambda inbox: _counted(inbox, capabilities, len(answers)), chunks)
        assert parks <= len(chunks)
        found.append(tally)
    assert all(tally == found[0] for tally in found)
    return found[0]


# -- strategies -------------------------------------------------------------------------------------------------------

int32s = st.integers(-(2**31), 2**31 - 1)
int64s = st.integers(-(2**63) + 1, 2**63 - 1)


@st.composite
def answers_of(draw: st.DrawFn, capabilities: Capabilities) -> list[Answer]:
    wide = int64s if capabilities.long_rowid else int32s
    rows = st.integers(0, 2**63 - 1 if capabilities.long_rowid else 2**31 - 1)
    dones = st.builds(Done, st.integers(0, 0xFFFF), rows, wide, int32s)
    all_serials = st.builds(Serials, int64s, int64s if capabilities.bigint else st.just(0))
    states = st.builds(TransactionState, *[st.integers(-(2**15), 2**15 - 1)] * 3)
    errors = st.builds(
        ServerError,
        st.integers(-(2**15), -1),
        st.integers(-(2**15), 0),
        st.just(0),
        st.sampled_from(["", "ab", "abc"]),
    )
    usual = st.builds(Answer, st.none() | all_serials, dones, st.just(True), st.none() | states)
    unusual = st.builds(
        Answer, st.none() | all_serials, st.none() | dones, st.booleans(), st.none() | states, errors, st.none()
    ) | st.builds(
        Answer, st.none() | all_serials, st.none() | dones, st.booleans(), st.none() | states, st.none(),
        st.none() | dones,
    )  # fmt: skip
    return draw(st.lists(st.one_of(usual, usual, usual, unusual), max_size=12))


# -- laws -------------------------------------------------------------------------------------------------------------


@every_dialect
@examples(50)
@given(data=st.data())
def test_what_is_counted_is_what_the_general_reader_finds(capabilities: Capabilities, data: Any) -> None:
    answers = data.draw(answers_of(capabilities))
    expected, _ = feed(
        lambda inbox: _one_by_one(inbox, capabilities, len(answers)), [sent(answers, capabilities)]
    )
    assert counted(answers, capabilities) == expected


@every_dialect
@examples(50)
@given(data=st.data())
def test_bytes_that_are_nearly_right_end_as_with_the_general_reader(
    capabilities: Capabilities, data: Any
) -> None:
    """Law (garbage): a count, a park or ProtocolError, and the same one whatever the cuts."""
    answers = data.draw(answers_of(capabilities))
    raw: bytes = data.draw(damaged(st.just(sent(answers, capabilities))) | st.binary(max_size=80))
    count = max(1, len(answers))
    expected: Outcome = outcome(lambda inbox: _one_by_one(inbox, capabilities, count), [raw])
    for chunks in cuts(raw):
        assert outcome(lambda inbox: _counted(inbox, capabilities, count), chunks) == expected


@every_dialect
@examples(50)
@given(data=st.data())
def test_long_runs_of_one_form_are_counted_as_the_general_reader_counts_them(
    capabilities: Capabilities, data: Any
) -> None:
    """Law (columns): so many replies of one form are counted at once, and what is unlike them ends that."""
    wide = st.integers(0, 2**63 - 1 if capabilities.long_rowid else 2**31 - 1)
    rows = data.draw(st.sampled_from([st.just(1), st.integers(0, 300), wide]))
    warnings = data.draw(st.sampled_from([st.just(0), st.sampled_from([0, 1, 0x100, 0x8001])]))
    serials, state = data.draw(st.booleans()), data.draw(st.booleans())
    answers = [
        Answer(
            Serials(n * 2**33, n if capabilities.bigint else 0) if serials else None,
            Done(data.draw(warnings), data.draw(rows), n, -n),
            state=TransactionState(n, 0, 1) if state else None,
        )
        for n in range(data.draw(st.integers(10, 40)))
    ]
    unlike = data.draw(st.lists(st.sampled_from([Answer(error=DUPLICATE), Answer(cost=False)]), max_size=2))
    for answer in (*unlike, *data.draw(answers_of(capabilities))[: len(unlike)]):
        answers.insert(data.draw(st.integers(0, len(answers))), answer)
    expected, _ = feed(
        lambda inbox: _one_by_one(inbox, capabilities, len(answers)), [sent(answers, capabilities)]
    )
    found, _ = feed(lambda inbox: _counted(inbox, capabilities, len(answers)), [sent(answers, capabilities)])
    assert found == expected


@every_dialect
@examples(50)
@given(data=st.data())
def test_a_byte_that_differs_in_a_long_run_ends_it_as_with_the_general_reader(
    capabilities: Capabilities, data: Any
) -> None:
    answers = [Answer(done=Done(0, 1, n, 0)) for n in range(30)]
    raw = bytearray(sent(answers, capabilities))
    raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    found = outcome(lambda inbox: _counted(inbox, capabilities, 30), [bytes(raw)])
    assert found == outcome(lambda inbox: _one_by_one(inbox, capabilities, 30), [bytes(raw)])


@given(count=st.integers(0, 30), more=st.integers(0, 5))
def test_no_more_is_taken_than_was_asked_for(count: int, more: int) -> None:
    capabilities = DIALECTS[0]
    data = sent([Answer(done=Done(rows=1))] * (count + more), capabilities)
    inbox = Inbox()
    inbox.feed(data)
    parser = _counted(inbox, capabilities, count)
    with pytest.raises(StopIteration) as stop:
        parser.send(None)
    assert stop.value.value.rowcount == count
    assert inbox.unread * (count + more) == len(data) * more


@every_dialect
@pytest.mark.parametrize("count", [1, 30])
@pytest.mark.parametrize("alike", [False, True])
def test_a_negative_number_of_rows_is_a_protocol_error(
    capabilities: Capabilities, count: int, alike: bool
) -> None:
    answers = [Answer(done=Done(rows=-7 if alike else 1)) for _ in range(count)]
    answers[-1] = Answer(done=Done(rows=-7))
    raw = sent(answers, capabilities)
    for chunks in cuts(raw):
        assert outcome(lambda inbox: _counted(inbox, capabilities, count), chunks) == Outcome(
            error=ProtocolError
        )


# -- examples ---------------------------------------------------------------------------------------------------------


@every_dialect
def test_rows_warnings_the_last_done_and_the_last_serials_are_kept(capabilities: Capabilities) -> None:
    tally = counted(
        [
            Answer(Serials(2**40, 7 if capabilities.bigint else 0), Done(1, 2, 0x101, 5)),
            Answer(
                Serials(-3, 8 if capabilities.bigint else 0),
                Done(4, 3, 0x102, 6),
                state=TransactionState(2, 0, 1),
            ),
            Answer(None, Done(0, 1, 0x103, 9)),
        ],
        capabilities,
    )
    assert (tally.answered, tally.rowcount, tally.warnings) == (3, 6, 5)
    assert tally.done == Done(0, 1, 0x103, 9)
    assert tally.serials == Serials(-3, 8 if capabilities.bigint else 0)
    assert tally.failures == []


def test_warnings_of_all_runs_are_kept() -> None:
    capabilities = DIALECTS[0]
    chunks = [sent([Answer(done=Done(warning, 1))] * 40, capabilities) for warning in (1, 4, 2)]
    tally, _ = feed(lambda inbox: _counted(inbox, capabilities, 120), chunks)
    assert (tally.answered, tally.warnings) == (120, 7)


def test_eight_bytes_of_rows_are_counted_where_they_are_agreed_on() -> None:
    tally = counted([Answer(done=Done(0, 2**40, 2**41, 7))] * 2, Capabilities(long_rowid=True))
    assert (tally.rowcount, tally.done.rowid) == (2**41, 2**41)


@every_dialect
@pytest.mark.parametrize("failing", [0, 3, 6])
def test_an_error_is_kept_with_its_place_and_the_others_count(
    failing: int, capabilities: Capabilities
) -> None:
    answers = [Answer(Serials(1, 0), Done(rows=1, serial=n)) for n in range(7)]
    answers[failing] = Answer(error=DUPLICATE, cost=False)
    tally = counted(answers, capabilities)
    assert tally.failures == [(failing, DUPLICATE)]
    assert (tally.answered, tally.rowcount) == (7, 6)
    assert tally.done.serial == (5 if failing == 6 else 6)


def test_of_an_answer_with_an_error_nothing_else_counts() -> None:
    tally = counted([Answer(Serials(9, 9), Done(3, 5), error=DUPLICATE)])
    assert tally == BatchTally(answered=1, failures=[(0, DUPLICATE)], each_serial=[0])


def test_answers_of_every_form_follow_each_other() -> None:
    usual, bare = Answer(done=Done(rows=1)), Answer(cost=False)
    twice = Answer(done=Done(rows=1), extra=Done(rows=4))
    tally = counted(
        [usual, bare, usual, twice, Answer(error=DUPLICATE), usual, Answer(done=Done(rows=9), cost=False)]
    )
    assert (tally.answered, tally.rowcount) == (7, 1 + 1 + 4 + 1 + 9)
    assert tally.failures == [(4, DUPLICATE)]


def test_only_what_is_unusual_is_shown() -> None:
    answers = [
        Answer(done=Done(rows=1)),
        Answer(error=DUPLICATE),
        Answer(done=Done(rows=1)),
        Answer(cost=False),
    ]
    seen: list[Reply] = []
    inbox = Inbox()
    inbox.feed(sent(answers, DIALECTS[0]))  # one that is not whole yet is read by the general reader, too
    with pytest.raises(StopIteration):
        _counted(inbox, DIALECTS[0], 4, seen).send(None)
    assert [reply.error for reply in seen] == [DUPLICATE, None]


@pytest.mark.parametrize("count", [3, 40])
@pytest.mark.parametrize("capabilities", DIALECTS)
def test_each_execution_has_its_serial(capabilities: Capabilities, count: int) -> None:
    large = 2**40 if capabilities.bigint else 0
    answers = [Answer(Serials(bigserial=large), Done(rows=1, serial=n * 7)) for n in range(count)]
    assert counted(answers, capabilities).each_serial == [large, *range(7, count * 7, 7)]
    answers = [Answer(Serials(serial8=2**50 + n), Done(rows=1)) for n in range(count)]
    assert counted(answers, capabilities).each_serial == [*range(2**50, 2**50 + count)]


def test_two_writes_are_counted_together() -> None:
    capabilities, tally = DIALECTS[0], BatchTally()
    for answers in ([Answer(done=Done(rows=1))] * 3, [Answer(done=Done(rows=1)), Answer(error=DUPLICATE)]):
        reading = partial(
            read_executions,
            capabilities=capabilities,
            count=len(answers),
            tally=tally,
            on_reply=lambda _: None,
        )
        feed(reading, [sent(answers, capabilities)])
    assert (tally.answered, tally.rowcount, tally.failures) == (5, 4, [(4, DUPLICATE)])


def test_a_tally_is_extended_by_a_later_one_as_by_its_replies() -> None:
    first = [Reply(done=Done(rows=1, warnings=1)), Reply(error=DUPLICATE)]
    later = [Reply(error=DUPLICATE), Reply(done=Done(rows=2, warnings=4), warnings=(DUPLICATE,))]
    whole, tally, other = BatchTally(), BatchTally(), BatchTally()
    for reply in first:
        whole.add(reply)
        tally.add(reply)
    for reply in later:
        whole.add(reply)
        other.add(reply)
    tally.extend(other)
    assert tally == whole


def test_what_the_observer_raises_ends_the_parser() -> None:
    def on_reply(reply: Reply) -> None:
        raise ProtocolError("no more")

    with pytest.raises(ProtocolError, match="no more"):
        feed(
            lambda inbox: read_executions(inbox, DIALECTS[0], 1, BatchTally(), on_reply),
            [sent([Answer(error=DUPLICATE)], DIALECTS[0])],
        )


@pytest.mark.parametrize("garbage", [b"\x66\x66", b"HTTP/1.1 400 Bad Request", b"\0\x0e\0\0\0\0\0\4\0\0\0\1"])
@pytest.mark.parametrize("behind", [0, 5])
def test_garbage_is_a_protocol_error_wherever_it_stands(garbage: bytes, behind: int) -> None:
    data = sent([Answer(done=Done(rows=1))] * behind, DIALECTS[0]) + garbage
    for chunks in cuts(data):
        with pytest.raises(ProtocolError):
            feed(lambda inbox: _counted(inbox, DIALECTS[0], behind + 1), chunks)
