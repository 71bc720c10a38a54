"""Both directions of a connection -> messages with their names. Never: a field's meaning, a socket, a time.

Invariants:
1. The readers of the client and of the embedded server read the messages: there is no second parser.
2. Bytes that they reject, and all later ones of that direction, are messages with the name `UNDECODED`.
3. Each byte is part of exactly one message.
"""

from __future__ import annotations

from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from aioifx._speedups.inbox import YIELD, Park
from aioifx.codecs.text import CodeSet, code_set_of
from aioifx.codecs.tuple_frames import whole_payload, whole_size
from aioifx.errors import Error, InterfaceError, ProtocolError
from aioifx.sqltypes import Column
from aioifx.wire import replies, requests
from aioifx.wire.capabilities import Capabilities
from aioifx.wire.challenges import read_challenge
from aioifx.wire.completion import read_error
from aioifx.wire.descriptions import Description
from aioifx.wire.fields import read_char
from aioifx.wire.files import read_file_request
from aioifx.wire.handshake import LoginRequest, read_login, read_login_reply
from aioifx.wire.inbox import Inbox
from aioifx.wire.objects import Blob, read_object_data
from aioifx.wire.opcodes import Op, PamStyle
from aioifx.wire.session_requests import Protocols
from aioifx.wire.tuples import TUPLE_HEAD, skip_tuple

UNDECODED: Final = "UNDECODED"
LOGIN: Final = "LOGIN"
LOGIN_REPLY: Final = "LOGIN_REPLY"

_DEFAULT_LOCALE: Final = "en_US.8859-1"
_MERGED: Final = frozenset({"SQ_TUPLE", "SQ_BLOB", "SQ_PUT"})
"""Messages that come in runs; the ones that arrive in one piece become one `Message`."""


class Undecoded(NamedTuple):
    """Bytes that are no message, or not a whole one."""

    data: bytes
    """At least their last part."""
    reason: str


class EncodedRows(NamedTuple):
    """The payloads of a run of SQ_TUPLE."""

    payloads: list[bytes]
    """Empty if the decoder does not keep them."""
    columns: tuple[Column, ...]
    """Empty if they are not known."""


@dataclass(slots=True)
class Message:
    """One message, or a run of equal ones."""

    is_sent: bool
    """Whether the client sent it."""
    name: str
    exchange: int
    """Number of the group of messages in its direction: 0 is the login. A reply has the number of its request."""
    size: int
    """Bytes, with the tag."""
    contents: list[Any]
    """What the wire package reads of each message of the run, of SQ_TUPLE `EncodedRows`; None if it has only a tag."""
    count: int = 1
    """Number of messages."""

    @property
    def content(self) -> Any:
        """The content of the first one."""
        return self.contents[0]


def name_of(tag: int) -> str:
    """The name of a message."""
    try:
        return f"SQ_{Op(tag).name}"
    except ValueError:
        return f"SQ_{tag}"


class Decoder:
    """Decodes one connection.

    Args:
        starts_with_login: False if the first bytes come after the login.
        capabilities: the layouts until SQ_PROTOCOLS is answered.
        keeps_rows: whether the payloads of rows are kept; their number always is.
    """

    def __init__(
        self,
        *,
        starts_with_login: bool = True,
        capabilities: Capabilities | None = None,
        keeps_rows: bool = True,
    ) -> None:
        self.keeps_rows = keeps_rows
        self.capabilities = capabilities or Capabilities()
        self.code_set: CodeSet = code_set_of(_DEFAULT_LOCALE, "replace")
        """Of SQL and names; the login states it."""
        self._offer = b""
        self._statements: dict[int, int] = {}
        """The statement of each exchange that is not complete, if the request names one."""
        self._columns: dict[int, tuple[Column, ...]] = {}
        """The columns of each statement."""
        self._sent = _Direction(self, is_sent=True, starts_with_login=starts_with_login)
        self._received = _Direction(self, is_sent=False, starts_with_login=starts_with_login)

    def sent(self, data: bytes | bytearray | memoryview) -> list[Message]:
        """The messages that are complete with *data*, which the client sent."""
        return self._sent.feed(data)

    def received(self, data: bytes | bytearray | memoryview) -> list[Message]:
        """The messages that are complete with *data*, which the server sent."""
        return self._received.feed(data)

    def end(self) -> list[Message]:
        """The bytes that are left: messages that are not whole."""
        reason = "the connection ended"
        return [*self._sent.rest(reason), *self._received.rest(reason)]

    def on_message(self, exchange: int, content: object) -> None:
        """Learn from a message what later ones need."""
        match content:
            case LoginRequest():
                self._use_locale(dict(content.environment))
            case Protocols():
                self._offer = content.mask
            case requests.Id():
                self._statements[exchange] = content.statement_id
            case Description():
                self._statements[exchange] = content.statement_id
                self._columns[content.statement_id] = content.columns
            case _:
                pass

    def on_mask(self, mask: bytes) -> None:
        """The server has answered SQ_PROTOCOLS."""
        if self._offer:
            self.capabilities = Capabilities.negotiated(self._offer, mask, self.code_set.codec)

    def columns_of(self, exchange: int) -> tuple[Column, ...]:
        """The columns of the statement that an exchange is for; empty if they are not known."""
        return self._columns.get(self._statements.get(exchange, -1), ())

    def on_end_of_reply(self, exchange: int) -> None:
        """Forget the statement of an exchange."""
        self._statements.pop(exchange, None)

    def _use_locale(self, environment: dict[bytes, bytes]) -> None:
        locale = environment.get(b"DB_LOCALE") or environment.get(b"CLIENT_LOCALE") or b""
        try:
            self.code_set = code_set_of(locale.decode("latin-1"), "replace")
        except InterfaceError:
            return
        self.capabilities = Capabilities(encoding=self.code_set.codec)


class _Direction:
    """The bytes of one side, read as they come."""

    def __init__(self, decoder: Decoder, *, is_sent: bool, starts_with_login: bool) -> None:
        self._decoder = decoder
        self._is_sent = is_sent
        self._inbox = Inbox()
        self._exchange = 0
        self._begin = 0
        """Where the message that is being read begins, in consumed bytes."""
        self._found: list[Message] = []
        run = self._read_requests if is_sent else self._read_replies
        self._parser: Coroutine[Park, None, None] | None = run(starts_with_login)
        """None once the bytes cannot be read."""
        self._parser.send(None)  # a coroutine that was never stepped warns when it is dropped

    def feed(self, data: bytes | bytearray | memoryview) -> list[Message]:
        self._inbox.feed(data)
        if self._parser is None:
            return self.rest("after bytes that cannot be read")
        try:
            while self._parser.send(None) is YIELD:
                pass
        except Exception as error:
            self._parser = None
            reason = str(error) if isinstance(error, Error) else type(error).__name__
            self._found += self.rest(reason)
        found, self._found = self._found, []
        return found

    def rest(self, reason: str) -> list[Message]:
        """Everything from the begin of the current message on."""
        inbox = self._inbox
        size = inbox.dropped + len(inbox.data) - self._begin
        if not size:
            return []
        data = bytes(inbox.data[max(0, self._begin - inbox.dropped) :])
        inbox.pos = len(inbox.data)
        self._begin = inbox.consumed
        if self._parser is not None:
            self._parser.close()
            self._parser = None
        return [Message(self._is_sent, UNDECODED, self._exchange, size, [Undecoded(data, reason)])]

    def _add(self, name: str, content: Any = None, count: int = 1) -> None:
        size, self._begin = self._inbox.consumed - self._begin, self._inbox.consumed
        last = self._found[-1] if self._found else None
        if last is not None and name in _MERGED and last.name == name and last.exchange == self._exchange:
            last.size += size
            last.contents.append(content)
            last.count += count
        else:
            self._found.append(Message(self._is_sent, name, self._exchange, size, [content], count))
        self._decoder.on_message(self._exchange, content)

    def _end_group(self, name: str) -> None:
        self._add(name)
        if not self._is_sent:
            self._decoder.on_end_of_reply(self._exchange)
        self._exchange += 1

    async def _read_requests(self, starts_with_login: bool) -> None:
        inbox, decoder = self._inbox, self._decoder
        if starts_with_login:
            self._add(LOGIN, await read_login(inbox))
        self._exchange = 1
        while True:
            await inbox.need(2)
            tag = inbox.u16()
            if tag in (Op.EOT, Op.EXIT):
                self._end_group(name_of(tag))
            elif (bare := requests.BARE.get(tag)) is not None:
                self._add(name_of(tag), bare)
            elif (read := requests.MESSAGE_READERS.get(tag)) is not None:
                self._add(name_of(tag), await read(inbox, decoder.capabilities))
            else:
                raise ProtocolError(f"unknown message {tag}")

    async def _read_replies(self, starts_with_login: bool) -> None:
        inbox = self._inbox
        if starts_with_login:
            self._add(LOGIN_REPLY, await read_login_reply(inbox))
        self._exchange = 1
        has_answer = True  # False: the group is a message of PAM that the client does not answer
        while True:
            await inbox.need(2)
            tag = inbox.data[inbox.pos] << 8 | inbox.data[inbox.pos + 1]
            if tag == Op.TUPLE:
                await skip_tuple(inbox)
                self._add_rows()
                continue
            inbox.skip(2)
            if tag == Op.EOT and not has_answer:
                self._add(name_of(tag))  # another group follows for the same request
                has_answer = True
            elif tag in (Op.EOT, Op.EXIT):
                self._end_group(name_of(tag))
            elif tag == Op.CHALLENGE:
                challenge = await read_challenge(inbox)
                self._add(name_of(tag), challenge)
                has_answer = challenge.style in (PamStyle.ECHO_OFF, PamStyle.ECHO_ON)
            elif tag == Op.FILE:
                self._add(name_of(tag), await read_file_request(inbox, self._decoder.capabilities))
                self._exchange += 1  # SQ_EOT was part of it
            else:
                self._add(name_of(tag), await self._read_reply(tag))

    async def _read_reply(self, tag: int) -> object:
        inbox, capabilities = self._inbox, self._decoder.capabilities
        if (entry := replies.MESSAGE_READERS.get(tag)) is not None:
            content = await entry[1](inbox, capabilities)
            if tag == Op.PROTOCOLS and isinstance(content, bytes):
                self._decoder.on_mask(content)
            return content
        if tag == Op.ERR:
            return await read_error(inbox, capabilities)
        if tag == Op.LODATA:
            return await read_object_data(inbox, capabilities)
        if tag == Op.BLOB:
            return Blob(await read_char(inbox))  # piece by piece, since a value may be large
        if tag in (Op.CLOSE, Op.ACCEPT):
            return None
        raise ProtocolError(f"unknown message {tag}")

    def _add_rows(self) -> None:
        """Add the row that was skipped, and all after it that are here."""
        inbox, decoder = self._inbox, self._decoder
        data, end = inbox.data, len(inbox.data)
        pos = inbox.pos - (inbox.consumed - self._begin)
        payloads: list[bytes] = []
        count = 0
        while (size := whole_size(data, pos, end)) >= TUPLE_HEAD:
            if decoder.keeps_rows:
                payloads.append(whole_payload(data, pos, end) or b"")
            count += 1
            pos += size
        inbox.pos = pos
        self._add(name_of(Op.TUPLE), EncodedRows(payloads, decoder.columns_of(self._exchange)), count)
