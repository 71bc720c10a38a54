"""PAM at the embedded server: JDBC's bytes, acceptance and refusal of both ends, clients that skip it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

import aioifx
from aioifx import AuthenticationError, PamStyle
from aioifx.channel import Channel
from aioifx.client.config.checks import PamHandler
from aioifx.errors import ConnectionLost, InterfaceError
from aioifx.server import ServerOptions, running, serve
from aioifx.server.protocol.pam import PamAsk, PamCheck, PamDialogue
from aioifx.wire.capabilities import OFFERED, Capabilities, has_bit
from aioifx.wire.challenges import read_pam_reply
from aioifx.wire.inbox import Inbox, Parser
from aioifx.wire.opcodes import LoginType
from aioifx.wire.outbox import Outbox
from aioifx.wire.requests import Request
from aioifx.wire.session_requests import Ack, PamResponse, put_ack, put_response
from tests.server.protocol.test_session import PROTOCOLS, Caller
from tests.server.talking import UTF_8
from tests.wire.frames import frames

ACK = bytes.fromhex("0080000c")
EXIT = b"\0\x38"
ACCEPT = bytes.fromhex("007f000c")


async def password_and_code(user: str, ask: PamAsk) -> bool:
    await ask(PamStyle.INFO, "Welcome")
    if await ask(PamStyle.ECHO_OFF, "Password: ") != "right":
        await ask(PamStyle.ERROR, "wrong password")
        return False
    return await ask(PamStyle.ECHO_ON, f"Code of {user}: ") == "123"


@asynccontextmanager
async def calling(pam: PamCheck, **options: float) -> AsyncIterator[Caller]:
    async with serve(ServerOptions(pam=pam, **options)) as server:  # type: ignore[arg-type]
        loop = asyncio.get_running_loop()
        _, channel = await loop.create_connection(Channel, "127.0.0.1", server.port)
        try:
            yield Caller(channel)
        finally:
            channel.abort()
            await channel.wait_closed()


async def read(caller: Caller, size: int) -> bytes:
    async def take(inbox: Inbox) -> bytes:
        await inbox.need(size)
        return inbox.take(size)

    return await caller.read(take(caller.channel.inbox))


def parser_of(caller: Caller) -> Parser[object]:
    return read_pam_reply(caller.channel.inbox, Capabilities())


# -- conversations ----------------------------------------------------------------------------------------------------


def answers(*given: str) -> PamHandler:
    coming = list(given)
    return lambda style, text: coming.pop(0)


async def test_a_client_that_answers_right_is_accepted(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "aioifx.pam")
    async with running(pam=password_and_code, user="anna") as dsn:
        async with aioifx.connect(dsn, pam=answers("right", "123")) as conn:
            assert await conn.fetchval("select trim(user) from systables where tabid = 1") == "anna"
    assert "Welcome" in caplog.text


@pytest.mark.parametrize("given", [("wrong",), ("right", "124")])
async def test_a_client_that_answers_wrong_is_refused(
    given: tuple[str, ...], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    async with running(pam=password_and_code) as dsn:
        with pytest.raises(AuthenticationError, match="the server refused the login during PAM"):
            await aioifx.connect(dsn, pam=answers(*given))
    assert ("wrong password" in caplog.text) == (given == ("wrong",))
    assert ": refused by PAM" in caplog.text


async def test_a_client_that_gives_up_is_confirmed() -> None:
    async with running(pam=password_and_code) as dsn:
        with pytest.raises(AuthenticationError, match="'Password: ' was not answered"):
            await aioifx.connect(dsn, pam=lambda style, text: None)


async def test_the_password_of_the_login_is_checked_as_well() -> None:
    async with running(pam=password_and_code, password="p") as dsn:
        with pytest.raises(AuthenticationError) as refused:
            await aioifx.connect(dsn, password="q", pam=answers())
    assert refused.value.sqlcode == -951


def dialogue(sent: list[bytes], *messages: Request) -> PamDialogue:
    """A dialogue with a client that sends *messages*, each in its group."""
    coming = iter(messages)

    async def receive() -> list[Request]:
        return [next(coming)]

    return PamDialogue(sent.append, receive, UTF_8)


async def test_an_answer_that_is_not_text_of_the_locale_is_read_as_latin_1() -> None:
    async def check(user: str, ask: PamAsk) -> bool:
        return [await ask(PamStyle.ECHO_OFF, "?"), await ask(PamStyle.ECHO_OFF, "?")] == ["ñ", "ñ"]

    messages = [PamResponse("ñ".encode("latin-1")), PamResponse("ñ".encode())]
    assert await dialogue([], Ack(), *messages).run(check, "usr")


async def test_jdbcs_bytes_are_answered_with_those_that_it_accepted() -> None:
    frame = [frame.data for frame in frames("pam15") if frame.case == "style_1_then_4"]
    sent: list[bytes] = []

    async def check(user: str, ask: PamAsk) -> bool:
        accepted = await ask(PamStyle.ECHO_OFF, "p: ") == "answer1"
        await ask(PamStyle.INFO, "expires soon")
        return accepted

    assert await dialogue(sent, Ack(), PamResponse(b"answer1")).run(check, "usr")
    assert [sent[0], b"".join(sent[1:])] == [frame[3], frame[5]]


# -- clients that do something else -----------------------------------------------------------------------------------


async def test_the_reply_to_protocols_has_bit_44_only_with_pam() -> None:
    async with calling(password_and_code) as caller:
        assert (await caller.login()).type == LoginType.ACCEPT
        caller.send(PROTOCOLS)
        mask = (await caller.reply()).mask
        assert mask is not None and has_bit(mask, 44)
        caller.send(ACK)
        assert "Welcome" in str(await caller.read(parser_of(caller)))


@pytest.mark.parametrize(
    "request_",
    [b"\0\x24\0\x04demo\0\0\0\x0c", PROTOCOLS.replace(OFFERED, bytes(9)), ACK, PROTOCOLS[:-2] + ACK],
    ids=["DBOPEN", "no bit 44", "ACK", "two messages"],
)
async def test_pam_cannot_be_skipped(request_: bytes) -> None:
    async with calling(password_and_code) as caller:
        await caller.login()
        caller.send(request_)
        if request_.startswith(b"\0\x7e") and not request_.endswith(ACK):
            await caller.reply()
        assert await read(caller, 2) == EXIT
        await asyncio.wait_for(caller.channel.wait_closed(), 10)


@pytest.mark.parametrize("request_", [b"\0\x24\0\x04demo\0\0\0\x0c", b"\0\x0c", b"\0\x82\0\1xx\0\x0c"])
async def test_another_message_during_pam_is_refused(request_: bytes) -> None:
    async with calling(password_and_code) as caller:
        await caller.login()
        caller.send(PROTOCOLS)
        await caller.reply()
        caller.send(request_)
        assert await read(caller, 2) == EXIT
        await asyncio.wait_for(caller.channel.wait_closed(), 10)


async def test_a_client_that_does_not_answer_is_disconnected() -> None:
    async with calling(password_and_code, login_timeout=0.2) as caller:
        await caller.login()
        caller.send(PROTOCOLS + ACK)
        await caller.reply()
        assert "Welcome" in str(await caller.read(parser_of(caller)))
        assert "Password" in str(await caller.read(parser_of(caller)))
        assert await read(caller, 2) == EXIT
        await asyncio.wait_for(caller.channel.wait_closed(), 10)


async def test_a_client_that_leaves_ends_the_check() -> None:
    ended = asyncio.Event()

    async def check(user: str, ask: PamAsk) -> bool:
        try:
            return bool(await ask(PamStyle.ECHO_OFF, "?"))
        except ConnectionLost:
            ended.set()
            raise

    async with calling(check) as caller:
        await caller.login()
        caller.send(PROTOCOLS + ACK)
        await caller.reply()
        await caller.read(parser_of(caller))
        caller.channel.abort()
        await asyncio.wait_for(ended.wait(), 10)


async def test_a_check_that_fails_refuses_the_login(caplog: pytest.LogCaptureFixture) -> None:
    async def check(user: str, ask: PamAsk) -> bool:
        raise ZeroDivisionError

    async with running(pam=check) as dsn:
        with pytest.raises(AuthenticationError, match="the server refused the login during PAM"):
            await aioifx.connect(dsn)
    assert "ZeroDivisionError" in caplog.text


@pytest.mark.parametrize("put", [put_ack, lambda outbox: put_response(outbox, b"x")])
async def test_messages_of_pam_outside_of_it_are_refused(put: Callable[[Outbox], None]) -> None:
    async with running() as dsn, aioifx.connect(dsn) as conn:
        outbox = Outbox()
        put(outbox)
        reply = await conn._session.conversation.exchange(outbox)
        assert reply.error is not None and reply.error.sqlcode == -999


@pytest.mark.parametrize("pam", [True, "secret"])
def test_the_option_is_checked(pam: object) -> None:
    with pytest.raises(InterfaceError, match="pam: expected a coroutine function, got"):
        ServerOptions(pam=pam)  # type: ignore[arg-type]
