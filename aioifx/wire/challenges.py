"""PAM messages of the server: challenges, acceptance, refusal; both directions. Never: an answer, who gives it.

PAM stands between SQ_PROTOCOLS and SQ_INFO if both ends have capability 44. The client starts with SQ_ACK. Each
challenge is a group of its own, and so is each answer, SQ_RESPONSE. SQ_ACCEPT ends the conversation; SQ_EXIT of either
end refuses the login (observed: another client against a server with PAM; JDBC, pam15.json).
"""

from __future__ import annotations

from typing import Final, NamedTuple

from aioifx.errors import ProtocolError
from aioifx.wire.capabilities import Capabilities
from aioifx.wire.completion import ServerError, read_error
from aioifx.wire.fields import read_char
from aioifx.wire.inbox import NO_LIMIT, Inbox
from aioifx.wire.opcodes import Op
from aioifx.wire.outbox import Outbox

MAX_GROUP: Final = 256 * 1024
"""Maximum bytes of one group during PAM."""


class Challenge(NamedTuple):
    """SQ_CHALLENGE: a question or a message of the server's PAM module."""

    style: int
    """A `PamStyle`, or a number of the module's vendor (documented: PAM allows such)."""
    text: bytes


class PamReply(NamedTuple):
    """One group of the server during PAM."""

    challenges: tuple[Challenge, ...] = ()
    is_accepted: bool = False
    is_refused: bool = False
    """SQ_EXIT: the server ends the session."""
    error: ServerError | None = None


def put_challenge(outbox: Outbox, challenge: Challenge) -> None:
    """SQ_CHALLENGE: 2 style · CHAR text (observed: JDBC, pam15.json)."""
    outbox.u16(Op.CHALLENGE)
    outbox.i16(challenge.style)
    outbox.char(challenge.text)


def put_accept(outbox: Outbox) -> None:
    """SQ_ACCEPT (observed: JDBC, pam15.json)."""
    outbox.u16(Op.ACCEPT)


async def read_challenge(inbox: Inbox) -> Challenge:
    """SQ_CHALLENGE after its tag; see `put_challenge`."""
    await inbox.need(2)
    return Challenge(inbox.i16(), await read_char(inbox))


async def read_pam_reply(inbox: Inbox, capabilities: Capabilities) -> PamReply:
    """One group during PAM, up to and including SQ_EOT or SQ_EXIT. An SQ_ERR in it is assumed; none was observed.

    Raises:
        ProtocolError: another message, or more than `MAX_GROUP` bytes. ConnectionLost.
    """
    challenges: list[Challenge] = []
    reply = PamReply()
    inbox.limit = inbox.consumed + MAX_GROUP
    try:
        while True:
            await inbox.need(2)
            tag = inbox.u16()
            if tag == Op.CHALLENGE:
                challenges.append(await read_challenge(inbox))
            elif tag == Op.ACCEPT:
                reply = reply._replace(is_accepted=True)
            elif tag == Op.ERR:
                error = await read_error(inbox, capabilities)
                reply = reply._replace(error=reply.error or error)
            elif tag in (Op.EOT, Op.EXIT):
                return reply._replace(challenges=tuple(challenges), is_refused=tag == Op.EXIT)
            else:
                raise ProtocolError(f"unknown message {tag} from the server during PAM")
            if inbox.consumed > inbox.limit:
                raise ProtocolError(f"a group of more than {MAX_GROUP} bytes during PAM")
    finally:
        inbox.limit = NO_LIMIT
