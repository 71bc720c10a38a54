"""The PAM conversation of a login: questions answered, messages logged, refusals. Never: which server, a second try.

Invariants:
1. An answer is sent once, to the server that asked for it, and is neither logged nor kept.
2. The number of challenges is limited here, their time by *connect_timeout*.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from contextlib import suppress
from typing import Final

from aioifx.channel import Channel
from aioifx.client.config.checks import PamHandler
from aioifx.client.config.options import ConnectOptions
from aioifx.client.session.failures import failure_of
from aioifx.errors import AuthenticationError, DatabaseError, DataError, InterfaceError, visible
from aioifx.wire.capabilities import Capabilities
from aioifx.wire.challenges import Challenge, PamReply, read_pam_reply
from aioifx.wire.opcodes import MAX_PAM_ANSWER, PamStyle
from aioifx.wire.outbox import Outbox
from aioifx.wire.requests import put_eot
from aioifx.wire.session_requests import put_ack, put_exit, put_response

logger: Final = logging.getLogger("aioifx.pam")

MAX_CHALLENGES: Final = 100
"""Maximum number of challenges, and of groups, in one login. JDBC was not seen to have a limit; this one is ours."""
_MAX_SHOWN: Final = 500
"""Maximum characters of a challenge in a message or a log."""
_EXIT_SECONDS: Final = 1.0
"""Time limit for the reply to SQ_EXIT, so that it is not lost with the connection."""


class PamConversation:
    """One conversation with one server, after SQ_PROTOCOLS."""

    def __init__(
        self, channel: Channel, capabilities: Capabilities, options: ConnectOptions, password: str
    ) -> None:
        self._channel = channel
        self._capabilities = capabilities
        self._options = options
        self._handler: PamHandler = _Password(password) if options.pam is None else options.pam
        self._challenges = 0
        self._is_over = False
        """Whether the server has ended the conversation."""
        self.has_asked = False
        """Whether a handler was called. A failure after that is final, because another try would repeat the answer."""
        self.phase = "starting PAM"
        self.round_trips = 0

    async def run(self) -> None:
        """Answer until the server accepts. If it does not, or this end gives up, the session is over.

        Raises:
            AuthenticationError: either end refused.
            InterfaceError: an answer cannot be sent.
            DatabaseError: the server's error, or the loss of the connection.
        """
        try:
            await self._converse()
        except Exception:
            if not self._is_over and self._channel.is_open:
                await self._exit()
            raise

    async def _converse(self) -> None:
        request = _ack()
        for _ in range(MAX_CHALLENGES):
            if self._channel.inbox.unread:  # sent before the answer: it may end the conversation
                reply = await self._exchange(b"")
            else:
                reply = await self._exchange(request)
                request = b""
            if reply.error is not None:
                raise failure_of(reply.error)
            if reply.is_refused:
                self._is_over = True
                raise _refusal("the server refused the login during PAM")
            if reply.is_accepted:
                return self._accept(reply)
            for challenge in reply.challenges:
                request += await self._answer(challenge)
        raise _too_many()

    def _accept(self, reply: PamReply) -> None:
        for challenge in reply.challenges:
            self._log(challenge)

    async def _exchange(self, request: bytes) -> PamReply:
        """Send *request*, if any, and read one group."""
        self.round_trips += bool(request)
        channel = self._channel
        return await channel.expect(read_pam_reply(channel.inbox, self._capabilities), request)

    async def _answer(self, challenge: Challenge) -> bytes:
        """The request that answers a challenge; empty for a message without an answer."""
        self._challenges += 1
        if self._challenges > MAX_CHALLENGES:
            raise _too_many()
        if challenge.style in (PamStyle.ERROR, PamStyle.INFO):
            self._log(challenge)
            return b""
        if challenge.style not in (PamStyle.ECHO_OFF, PamStyle.ECHO_ON):
            raise _refusal(f"a PAM challenge of style {challenge.style}, which has no known answer")
        text = self._text(challenge)
        style = PamStyle(challenge.style)
        logger.debug("challenge with %s: %r", style.name, _shown(text))
        self.has_asked = True
        self.phase = "waiting for the PAM handler"
        answer = await self._ask(style, text)
        self.phase = "waiting for the server's reply to a PAM answer"
        if answer is None:
            hint = "" if self._options.pam is not None else " (option: pam)"
            raise _refusal(f"the PAM challenge {_shown(text)!r} was not answered{hint}")
        return _response(self._encoded(answer))

    async def _ask(self, style: PamStyle, text: str) -> object:
        try:
            given = self._handler(style, text)
            return await given if inspect.isawaitable(given) else given
        except Exception as error:
            raise _refusal(f"pam: the handler raised {type(error).__name__}") from error

    def _encoded(self, answer: object) -> bytes:
        """An answer in the client's code set, as the login's password (assumed)."""
        if not isinstance(answer, str):
            raise InterfaceError(f"pam: expected a str or None from the handler, got {type(answer).__name__}")
        if "\0" in answer:
            raise InterfaceError("pam: the answer contains a NUL")
        code_set = self._options.client_code_set
        data = None
        with suppress(DataError):  # it has the answer, so no other exception refers to it
            data = code_set.encode(answer)
        if data is None:
            raise InterfaceError(f"pam: the answer contains a character that is not in {code_set.name}")
        if len(data) > MAX_PAM_ANSWER:
            raise InterfaceError(f"pam: the answer is longer than {MAX_PAM_ANSWER} bytes")
        return data

    async def _exit(self) -> None:
        """Tell the server that this end gives up (observed: JDBC sends SQ_EXIT)."""
        outbox = Outbox()
        put_exit(outbox)
        with suppress(DatabaseError, TimeoutError):
            async with asyncio.timeout(min(self._options.cancel_timeout, _EXIT_SECONDS)):
                await self._exchange(outbox.detach())

    def _log(self, challenge: Challenge) -> None:
        level = logging.WARNING if challenge.style == PamStyle.ERROR else logging.INFO
        if logger.isEnabledFor(level):
            logger.log(level, "%s", _shown(self._text(challenge)))

    def _text(self, challenge: Challenge) -> str:
        return challenge.text.decode(self._options.client_code_set.codec, "replace")


class _Password:
    """The handler without one of the user's: the password of the login, once."""

    def __init__(self, password: str) -> None:
        self._password: str | None = password or None

    def __call__(self, style: PamStyle, text: str) -> str | None:
        if style is not PamStyle.ECHO_OFF:
            return None
        password, self._password = self._password, None
        return password


def _shown(text: str) -> str:
    return visible(text[:_MAX_SHOWN])


def _refusal(message: str) -> AuthenticationError:
    return AuthenticationError(message, sqlstate="28000")


def _too_many() -> AuthenticationError:
    return _refusal(f"PAM did not end after {MAX_CHALLENGES} challenges")


def _ack() -> bytes:
    outbox = Outbox()
    put_ack(outbox)
    put_eot(outbox)
    return outbox.detach()


def _response(answer: bytes) -> bytes:
    outbox = Outbox()
    put_response(outbox, answer)
    put_eot(outbox)
    return outbox.detach()
