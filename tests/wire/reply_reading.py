"""Reading of replies in tests."""

from __future__ import annotations

from collections.abc import Callable
from struct import pack

from aioifx.sqltypes import Row
from aioifx.wire import replies
from aioifx.wire.capabilities import Capabilities
from aioifx.wire.inbox import Inbox, Parser
from aioifx.wire.replies import Reply, read_reply
from aioifx.wire.tuples import RowReader, read_in_runs
from tests.feeding import feed
from tests.wire.putting import raw_rows

DIALECT = Capabilities()
EOT = b"\0\x0c"


async def raw_row(inbox: Inbox, end: int) -> Row:
    """A row that is read in pieces of two bytes; the last piece may be one."""
    payload = b""
    while inbox.consumed < end:
        size = min(2, end - inbox.consumed)
        await inbox.need(size)
        payload += inbox.take(size)
    return (payload,)


def reading(
    capabilities: Capabilities = DIALECT,
    rows: RowReader | None = read_in_runs(raw_rows),  # noqa: B008 - stateless
    limit: int = replies.MAX_REPLY,
) -> Callable[[Inbox], Parser[Reply]]:
    def parser_of(inbox: Inbox) -> Parser[Reply]:
        return read_reply(inbox, capabilities, rows, limit)

    return parser_of


def read(hexadecimal: str, capabilities: Capabilities = DIALECT) -> Reply:
    return feed(reading(capabilities), [bytes.fromhex(hexadecimal)])[0]


def row(payload: bytes, warnings: int = 0) -> bytes:
    return pack(">hHi", 14, warnings, len(payload)) + payload + b"\0" * (len(payload) & 1)
