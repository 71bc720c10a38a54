from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeVar

_Reply = TypeVar("_Reply")

class _Continuation(Protocol):
    send: Callable[[], None] | None

class FastReplyReader(Generic[_Reply]):
    """Reads whole replies ``TUPLE* [[CLOSE] [INSERTDONE] DONE COST [XACTSTAT]] EOT`` of one kind."""

    def __init__(
        self,
        decode: Callable[[bytearray, int, int, list[Any]], int] | None,
        limit: int,
        bigint: bool,
        long_rowid: bool,
        reply: type[_Reply],
        done: type[tuple[int, ...]],
        cost: type[tuple[int, ...]],
        serials: type[tuple[int, ...]],
        transaction: type[tuple[int, ...]],
        continuation: _Continuation | None,
        /,
    ) -> None: ...
    def try_read(self, inbox: object, /) -> _Reply | None:
        """Consume and return the next reply of the *inbox*; None, without consuming, if it is of another form."""
