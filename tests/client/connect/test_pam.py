"""PAM: JDBC's conversation, answers that are refused before they are sent, servers that refuse, hang or never end."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import traceback
from collections.abc import AsyncIterator, Callable
from struct import pack
from typing import Any

import pytest

import aioifx
from aioifx import AuthenticationError, ConnectError, InterfaceError, PamStyle
from aioifx.client.connect.pam import MAX_CHALLENGES, PamConversation
from aioifx.testing.messages import EOT, EXIT, accepted, agreed, error, opened
from aioifx.testing.script import (
    END_SESSION,
    Chunking,
    Delayed,
    Disconnect,
    Exchange,
    Listener,
    Peer,
    listening,
    login,
)
from aioifx.wire.handshake import read_login
from tests.feeding import feed
from tests.injection import Manner, eventually, is_cancelled
from tests.scripted import CHUNKINGS, cancelled
from tests.wire.frames import frames

SECRET = "pwd-of-usr"
MASK = "bdbe9ffe7fbfffeff8"  # 14.10's with bit 44
ACK = bytes.fromhex("0080000c")
ACCEPT = bytes.fromhex("007f000c")
ANSWERS = b"\0\x82"


def challenge(style: int, text: bytes = b"Password: ") -> bytes:
    return pack(">hhH", 129, style, len(text)) + text + b"\0" * (len(text) % 2) + EOT


def response(answer: bytes) -> bytes:
    return pack(">hh", 130, len(answer)) + answer + b"\0" * (len(answer) % 2) + EOT


def asking(*turns: Exchange, ends: bool = False) -> Peer:
    """A server with PAM: *turns* after SQ_PROTOCOLS; then an open database unless the conversation *ends* there."""
    rest: list[Exchange] = [] if ends else [("Info", EOT), ("DbOpen", opened()), END_SESSION]
    script: list[Exchange] = [(None, accepted()), ("Protocols", agreed(MASK)), *turns, *rest]
    return Peer(script, with_login=True)


def options_for(*listeners: Listener, **more: Any) -> dict[str, Any]:
    return {
        "host": ",".join(f"127.0.0.1:{listener.port}" for listener in listeners),
        "user": "usr",
        "password": SECRET,
        "server": "ol_pam",
        "database": "stores",
        "connect_timeout": 10,
        **more,
    }


async def failing(peer: Peer, **options: Any) -> Exception:
    """Connect to *peer*, which must fail; the second server must not be tried."""
    other = Peer([*login(), END_SESSION], with_login=True)
    async with listening(peer) as first, listening(other) as second:
        with pytest.raises((aioifx.DatabaseError, InterfaceError)) as caught:
            await asyncio.wait_for(_connect(first, second, **options), 15)
        await asyncio.wait_for(peer.gone.wait(), 10)  # nothing is left open
    peer.check()
    assert not other.groups
    assert SECRET not in "".join(traceback.format_exception(caught.value))
    return caught.value


async def _connect(*listeners: Listener, **options: Any) -> aioifx.Connection:
    return await aioifx.connect(**options_for(*listeners, stagger=10, **options))


def handler(*answers: Any) -> Callable[[PamStyle, str], Any]:
    """Gives *answers* in order; `asked` has the questions."""

    def answer(style: PamStyle, text: str) -> Any:
        asked.append((style, text))
        return coming.pop(0)

    asked: list[tuple[PamStyle, str]] = []
    coming = list(answers)
    answer.asked = asked  # type: ignore[attr-defined]
    return answer


# -- law: what we send is what JDBC sent ------------------------------------------------------------------------------


def recorded(case: str) -> list[Exchange]:
    theirs = [frame.data for frame in frames("pam15") if frame.case == case]
    return list(zip(theirs[::2], theirs[1::2], strict=True))


@pytest.mark.parametrize("chunks", CHUNKINGS, ids=lambda chunks: chunks.__name__)
@pytest.mark.parametrize(
    ("case", "answers"), [("style_4", ()), ("style_1_then_4", ("answer1",)), ("bit_59_alone", ())]
)
async def test_the_conversation_is_jdbcs(
    case: str, answers: tuple[str, ...], chunks: Chunking, caplog: pytest.LogCaptureFixture
) -> None:
    script = recorded(case)
    script[-2] = ("Info", script[-2][1])  # its variables are compared in test_connect
    script[-1] = ("DbOpen", script[-1][1])
    peer = Peer([(None, accepted()), *script, END_SESSION], with_login=True, chunks=chunks)
    caplog.set_level(logging.INFO, "aioifx.pam")
    answer = handler(*answers)
    async with listening(peer) as listener:
        async with aioifx.connect(**options_for(listener, pam=answer)) as conn:
            assert conn.stats.round_trips == len(peer.groups)
    peer.check()
    assert answer.asked == [(PamStyle.ECHO_OFF, "p: ")] * len(answers)  # type: ignore[attr-defined]
    assert [record.getMessage() for record in caplog.records] == {
        "style_4": ["info"], "style_1_then_4": ["expires soon"], "bit_59_alone": [],
    }[case]  # fmt: skip


# -- who answers ------------------------------------------------------------------------------------------------------


async def test_without_a_handler_the_password_is_the_first_hidden_answer() -> None:
    peer = asking((ACK, challenge(1)), (response(SECRET.encode()), ACCEPT))
    async with listening(peer) as listener, aioifx.connect(**options_for(listener)):
        pass
    peer.check()
    announced = dict(feed(read_login, [peer.groups[0]])[0].environment)
    assert announced[b"CLNT_PAM_CAPABLE"] == b"1"


async def test_the_password_is_given_once() -> None:
    peer = asking(
        (ACK, challenge(1)), (response(SECRET.encode()), challenge(1, b"again: ")), END_SESSION, ends=True
    )
    refused = await failing(peer)
    assert type(refused) is AuthenticationError and "'again: ' was not answered (option: pam)" in str(refused)


@pytest.mark.parametrize(("style", "options"), [(2, {}), (1, {"password": None}), (1, {"password": ""})])
async def test_a_question_without_an_answer_is_refused(style: int, options: dict[str, Any]) -> None:
    refused = await failing(asking((ACK, challenge(style, b"code?")), END_SESSION, ends=True), **options)
    assert type(refused) is AuthenticationError
    assert (refused.sqlstate, refused.retryable) == ("28000", False)
    assert "127.0.0.1" in str(refused) and "'code?' was not answered (option: pam)" in str(refused)


@pytest.mark.parametrize("is_async", [False, True])
async def test_a_handler_answers_each_question_with_its_style(is_async: bool) -> None:
    peer = asking(
        (ACK, challenge(2, b"User: ")), (response(b"u2"), challenge(1, b"PIN: ")), (response(b"123"), ACCEPT)
    )
    answer = handler("u2", "123")

    async def later(style: PamStyle, text: str) -> Any:
        await asyncio.sleep(0)
        return answer(style, text)

    async with listening(peer) as listener:
        async with aioifx.connect(**options_for(listener, pam=later if is_async else answer)):
            pass
    peer.check()
    assert answer.asked == [(PamStyle.ECHO_ON, "User: "), (PamStyle.ECHO_OFF, "PIN: ")]  # type: ignore[attr-defined]


async def test_messages_are_logged_and_not_answered(caplog: pytest.LogCaptureFixture) -> None:
    two = challenge(3, b"wrong\x1b[2J code")[:-2] + challenge(1, b"again: ")  # one group
    peer = asking((ACK, challenge(4, b"hello") + two), (response(b"x"), challenge(4, b"bye") + ACCEPT))
    caplog.set_level(logging.DEBUG, "aioifx.pam")
    async with listening(peer) as listener, aioifx.connect(**options_for(listener, pam=handler("x"))):
        pass
    peer.check()
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        ("INFO", "hello"), ("WARNING", r"wrong\x1b[2J code"),
        ("DEBUG", "challenge with ECHO_OFF: 'again: '"), ("INFO", "bye"),
    ]  # fmt: skip


async def test_an_answer_has_the_code_set_of_the_client() -> None:
    peer = asking((ACK, challenge(1, "Schlüssel".encode())), (response("ñ".encode() * 256), ACCEPT))
    answer = handler("ñ" * 256)
    async with listening(peer) as listener:
        async with aioifx.connect(**options_for(listener, pam=answer, client_locale="en_US.utf8")):
            pass
    assert answer.asked == [(PamStyle.ECHO_OFF, "Schlüssel")]  # type: ignore[attr-defined]


# -- refusals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "kind", "words"),
    [
        (None, AuthenticationError, "'Password: ' was not answered"),
        (7, InterfaceError, "pam: expected a str or None from the handler, got int"),
        (b"x", InterfaceError, "pam: expected a str or None from the handler, got bytes"),
        (f"{SECRET}\0", InterfaceError, "pam: the answer contains a NUL"),
        (f"{SECRET}€", InterfaceError, "pam: the answer contains a character that is not in"),
        (SECRET * 52, InterfaceError, "pam: the answer is longer than 512 bytes"),
    ],
)
async def test_an_answer_that_cannot_be_sent_ends_the_login_by_exit(
    answer: Any, kind: type[Exception], words: str
) -> None:
    peer = asking((ACK, challenge(1)), END_SESSION, ends=True)
    refused = await failing(peer, pam=handler(answer))
    assert type(refused) is kind and words in str(refused)
    assert not any(group.startswith(ANSWERS) for group in peer.groups)


async def test_the_exception_of_a_handler_is_the_cause() -> None:
    def broken(style: PamStyle, text: str) -> str:
        raise TimeoutError("the vault does not answer")

    refused = await failing(asking((ACK, challenge(1)), END_SESSION, ends=True), pam=broken)
    assert type(refused) is AuthenticationError and "pam: the handler raised TimeoutError" in str(refused)
    assert isinstance(refused.__cause__, TimeoutError) and "vault" not in str(refused)


async def test_a_server_that_does_not_answer_the_exit_is_not_waited_for() -> None:
    peer = asking((ACK, challenge(1)), (EXIT, b""), ends=True)
    assert "not answered" in str(await failing(peer, pam=handler(None), cancel_timeout=0))


REFUSALS: list[tuple[bytes | Disconnect, int, str]] = [
    (EXIT, 0, "the server refused the login during PAM"),
    (EXIT + EOT, 0, "the server refused the login during PAM"),
    (challenge(3, b"no") + EXIT, 0, "the server refused the login during PAM"),
    (error(-952, token="usr") + EOT, -952, "usr"),
    (error(-329) + EOT, -329, ""),
    (Disconnect(), 0, "closed the connection"),
    (Disconnect(reset=True), 0, "the "),
    (Disconnect(challenge(1)[:6]), 0, "closed the connection"),
    (b"\0\x99\0\x0c", 0, "unknown message 153 from the server during PAM"),
    (challenge(7), 0, "a PAM challenge of style 7"),
    (challenge(-1), 0, "a PAM challenge of style -1"),
]


@pytest.mark.parametrize(("reply", "sqlcode", "words"), REFUSALS)
async def test_any_failure_after_an_answer_is_final(
    reply: bytes | Disconnect, sqlcode: int, words: str
) -> None:
    ours = isinstance(reply, bytes) and (reply.startswith((b"\0\x81\0\7", b"\0\x81\xff", b"\0\x0d")))
    ending = [END_SESSION] if ours else []
    peer = asking((ACK, challenge(1)), (response(b"right"), reply), *ending, ends=True)
    refused = await failing(peer, pam=handler("right"), connect_retries=2)
    assert type(refused) is AuthenticationError and words in str(refused) and "127.0.0.1" in str(refused)
    assert (refused.sqlcode, refused.retryable) == (sqlcode, False)


async def test_a_server_that_fails_before_it_asks_is_not_the_last_one() -> None:
    first = asking((ACK, Disconnect()), ends=True)
    async with listening(first) as one, listening(Peer([*login(), END_SESSION], with_login=True)) as two:
        async with aioifx.connect(**options_for(one, two)) as conn:
            assert f":{two.port}" in repr(conn)


async def test_a_refusal_that_comes_while_the_handler_runs_keeps_the_answer_here(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    peer = asking((ACK, challenge(1)), ends=True)

    async def slow(style: PamStyle, text: str) -> str:
        peer.send(challenge(4, b"too late") + EXIT)
        (conversation,) = running
        await eventually(lambda: conversation._channel.inbox.unread)
        return SECRET

    async def run_and_note(self: PamConversation) -> None:
        running.append(self)
        await run(self)

    run, running = PamConversation.run, list[PamConversation]()
    monkeypatch.setattr(PamConversation, "run", run_and_note)
    refused = await failing(peer, pam=slow)
    assert "the server refused the login" in str(refused)
    assert not any(group.startswith(ANSWERS) for group in peer.groups)


# -- bounds -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "endless",
    [challenge(4, b"wait") * 200, EOT * 200, (challenge(4, b"wait")[:-2] * 200) + EOT],
    ids=["groups", "nothing", "one group"],
)
async def test_endless_messages_are_cut(endless: bytes) -> None:
    refused = await failing(asking((ACK, endless), END_SESSION, ends=True))
    assert f"PAM did not end after {MAX_CHALLENGES} challenges" in str(refused)


async def test_endless_questions_are_cut() -> None:
    turns: list[Exchange] = [(ACK, challenge(1)), *[(response(b"x"), challenge(1))] * (MAX_CHALLENGES - 1)]
    peer = asking(*turns, (EXIT, EXIT), ends=True)
    refused = await failing(peer, pam=lambda style, text: "x")
    assert "PAM did not end after" in str(refused)


async def test_a_group_without_end_is_cut() -> None:
    peer = asking((ACK, (challenge(4, b"x" * 60_000)[:-2]) * 6), ends=True)
    async with listening(peer) as listener:
        with pytest.raises(aioifx.ProtocolError, match=r"limit|more than 262144 bytes during PAM"):
            await aioifx.connect(**options_for(listener))


# With one server, with a second one that gets a share of the time, and with further rounds.
@pytest.mark.parametrize("more", [{}, {"connect_retries": 1}], ids=["one round", "two rounds"])
@pytest.mark.parametrize("place", ["handler", "server"])
async def test_a_timeout_after_a_question_is_final(place: str, more: dict[str, Any]) -> None:
    calls: list[str] = []

    async def answer(style: PamStyle, text: str) -> str:
        calls.append(text)
        if place == "handler":
            await asyncio.Event().wait()
        return SECRET

    turns: list[Exchange] = [(ACK, challenge(1))]
    if place == "server":
        turns.append((response(SECRET.encode()), b""))
    refused = await failing(asking(*turns, ends=True), pam=answer, connect_timeout=0.3, **more)
    assert type(refused) is AuthenticationError and not refused.retryable
    words = {
        "handler": "waiting for the PAM handler",
        "server": "waiting for the server's reply to a PAM answer",
    }
    assert f"while {words[place]}" in str(refused)
    assert len(calls) == 1


async def test_a_timeout_with_one_server_says_what_was_waited_for() -> None:
    peer = asking((ACK, b""), ends=True)
    async with listening(peer) as listener:
        with pytest.raises(ConnectError, match="while starting PAM") as caught:
            await aioifx.connect(**options_for(listener, connect_timeout=0.2))
    assert caught.value.retryable and type(caught.value) is ConnectError


# -- cancellation -----------------------------------------------------------------------------------------------------


@contextlib.asynccontextmanager
async def any_number_of(make: Callable[[], Peer]) -> AsyncIterator[tuple[Listener, list[Peer]]]:
    peers: list[Peer] = []

    def another() -> Peer:
        peers.append(make())
        return peers[-1]

    server = await asyncio.get_running_loop().create_server(another, "127.0.0.1", 0)
    try:
        yield Listener(server, peers), peers
    finally:
        for peer in peers:
            peer.hang_up(reset=True)
        server.close()
        await server.wait_closed()


@pytest.mark.parametrize("manner", Manner, ids=lambda manner: manner.name)
async def test_a_login_cancelled_at_any_step_leaves_nothing_open(manner: Manner) -> None:
    async def answer(style: PamStyle, text: str) -> str:
        await asyncio.sleep(0)
        return "x"

    def peer() -> Peer:
        return asking((ACK, challenge(1)), (response(b"x"), challenge(2)), (response(b"x"), ACCEPT))

    async with any_number_of(peer) as (listener, peers):

        async def log_in() -> None:
            conn = await aioifx.connect(**options_for(listener, pam=answer))
            conn.terminate()

        point = 1
        while await is_cancelled(log_in, manner, point):
            point += 1
            for opened_one in peers:
                await asyncio.wait_for(opened_one.gone.wait(), 10)
        assert point > 5


async def test_a_login_cancelled_while_it_gives_up_is_cancelled() -> None:
    held = Delayed(EXIT)
    peer = asking((ACK, challenge(1)), (EXIT, held), ends=True)
    async with listening(peer) as listener:
        task = asyncio.ensure_future(_connect(listener, pam=handler(None)))
        await held.reached.wait()
        await cancelled(task)
        await asyncio.wait_for(peer.gone.wait(), 10)


# -- secrets ----------------------------------------------------------------------------------------------------------


async def test_an_answer_is_in_no_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    peer = asking((ACK, challenge(1)), (response(b"s3cret-code"), EXIT), ends=True)
    refused = await failing(peer, pam=handler("s3cret-code"))
    assert "s3cret" not in caplog.text + repr(refused) + str(peer.requests)


# -- pools and locales ------------------------------------------------------------------------------------------------


async def test_a_pool_asks_for_each_connection() -> None:
    peers = [asking((ACK, challenge(1)), (response(b"%d" % n), ACCEPT)) for n in range(2)]
    answer = handler("0", "1")
    async with listening(*peers) as listener:
        async with aioifx.create_pool(min_size=2, max_size=2, **options_for(listener, pam=answer)) as pool:
            await pool.wait_ready()
    assert len(answer.asked) == 2  # type: ignore[attr-defined]


async def test_a_failure_while_the_locale_is_queried_is_final() -> None:
    # The query has a connection of its own.
    waiting, peer = Peer(with_login=True), asking((ACK, challenge(1)), (response(b"x"), b""), ends=True)
    other = Peer([*login(), END_SESSION], with_login=True)
    async with listening(waiting, peer) as first, listening(other) as second:
        with pytest.raises(AuthenticationError, match="reply to a PAM answer"):
            await _connect(first, second, pam=handler("x"), locale="auto", connect_timeout=0.3)
        await asyncio.wait_for(peer.gone.wait(), 10)
    assert not other.groups
