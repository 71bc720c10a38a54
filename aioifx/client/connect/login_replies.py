"""Replies of the login, each parsed once for the same bytes. Never: which reply is expected, what it means.

A server answers all logins of one kind with the same few bytes; the process id in its login reply is that of the
server (assumed). Not parsing them again saves a tenth of a connect's instructions (measured).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final, TypeVar

from aioifx.errors import DatabaseError
from aioifx.wire.inbox import Inbox, Parser

T = TypeVar("T")

_MAX_KNOWN: Final = 1024
"""Bytes of the longest reply that is remembered."""


async def read_known(read: Callable[[Inbox], Parser[T]], inbox: Inbox) -> T:
    """``await read(inbox)``. The result is shared by equal replies, so it must not be modified."""
    await inbox.arrival()
    if len(inbox.data) - inbox.pos <= _MAX_KNOWN:
        data = bytes(inbox.data[inbox.pos :])
        reply: Any = _whole(read, data)
        if reply is not None:
            inbox.pos += len(data)
            return reply  # type: ignore[no-any-return]
    return await read(inbox)


def known_replies() -> int:
    """The number of replies that were parsed, rather than remembered."""
    return _whole.cache_info().misses


@lru_cache(maxsize=64)
def _whole(read: Callable[[Inbox], Parser[Any]], data: bytes) -> Any:
    """The reply that is exactly *data*; None if *data* is incomplete, malformed or longer."""
    inbox = Inbox()
    inbox.feed(data)
    parser = read(inbox)
    try:
        parser.send(None)
    except StopIteration as end:
        return None if inbox.unread else end.value
    except DatabaseError:
        return None
    parser.close()
    return None
