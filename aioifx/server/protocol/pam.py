"""The PAM conversation of the server's end: challenges asked, answers received. Never: whether an answer is right."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final, TypeAlias

from aioifx.codecs.text import CodeSet
from aioifx.errors import DataError, ProtocolError
from aioifx.wire.challenges import Challenge, put_accept, put_challenge
from aioifx.wire.opcodes import PamStyle
from aioifx.wire.outbox import Outbox
from aioifx.wire.requests import Request, put_eot
from aioifx.wire.session_requests import Ack, Exit, PamResponse, put_exit

PamAsk: TypeAlias = Callable[[PamStyle, str], Awaitable[str]]
"""Sends a challenge and returns the client's answer; for the styles ERROR and INFO it returns "" at once."""

PamCheck: TypeAlias = Callable[[str, PamAsk], Awaitable[bool]]
"""A coroutine function that decides on a login: ``(user, ask) -> bool``."""

_NO_ANSWER: Final = (PamStyle.ERROR, PamStyle.INFO)


def exit_message() -> bytes:
    """SQ_EXIT: the login is refused, or its end is confirmed."""
    outbox = Outbox()
    put_exit(outbox)
    return outbox.detach()


def _accept_message() -> bytes:
    outbox = Outbox()
    put_accept(outbox)
    put_eot(outbox)
    return outbox.detach()


class _ClientExit(Exception):
    """The client gave up."""


class PamDialogue:
    """One conversation with one client, after SQ_PROTOCOLS.

    Args:
        send: sends bytes.
        receive: returns the client's next group.
    """

    def __init__(
        self,
        send: Callable[[bytes], None],
        receive: Callable[[], Awaitable[list[Request]]],
        code_set: CodeSet,
    ) -> None:
        self._send = send
        self._receive = receive
        self._code_set = code_set

    async def run(self, check: PamCheck, user: str) -> bool:
        """Let *check* decide, and tell the client; SQ_EXIT also answers a client that gave up.

        Raises:
            ProtocolError: the client sent something else. Any exception of *check*, after a refusal.
        """
        is_accepted = False
        try:
            await self._next(Ack)
            is_accepted = await check(user, self._ask)
        except _ClientExit:
            pass
        finally:
            self._send(_accept_message() if is_accepted else exit_message())
        return is_accepted

    async def _ask(self, style: PamStyle, text: str) -> str:
        outbox = Outbox()
        put_challenge(outbox, Challenge(style, self._code_set.encode(text)))
        put_eot(outbox)
        self._send(outbox.detach())
        if style in _NO_ANSWER:
            return ""
        message = await self._next(PamResponse)
        assert isinstance(message, PamResponse)
        try:
            return self._code_set.decode(message.answer)
        except DataError:
            return message.answer.decode("latin-1")  # as JDBC sends users and passwords (observed)

    async def _next(self, expected: type[Ack | PamResponse]) -> Request:
        """The client's next message, which is a group of its own."""
        group = await self._receive()
        match group:
            case [Ack() | PamResponse() as message] if isinstance(message, expected):
                return message
            case [Exit(), *_]:
                raise _ClientExit
            case _:
                names = " ".join(type(message).__name__ for message in group)
                raise ProtocolError(
                    f"expected {expected.__name__} from the client during PAM, got {names or 'nothing'}"
                )
