"""A peer that answers statements with one result, and reads of a stream by SQ_LODATA: of changes and of push data."""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from collections.abc import Iterable, Sequence

from aioifx.sqltypes import Column, SqlType, TypeCode
from aioifx.testing.messages import EOT, EXIT, LOGGED, described, done, takes
from aioifx.testing.script import Answer, Delayed, Disconnect, Peer, login
from aioifx.wire import objects, requests
from aioifx.wire.outbox import Outbox
from aioifx.wire.session_requests import Exit

ROUTINE = 56
"""Statement type of EXECUTE FUNCTION (observed)."""
LOST = Disconnect(reset=True)


def data_of(content: bytes) -> bytes:
    """A reply to SQ_LODATA."""
    outbox = Outbox()
    objects.put_object_data(outbox, objects.ObjectData(0, len(content), content))
    return outbox.detach() + EOT


class StreamPeer(Peer):
    """Answers reads by *replies*, in order, then by *nothing* when that is released."""

    def __init__(self, replies: Iterable[Answer], nothing: bytes, warnings: int = LOGGED) -> None:
        super().__init__(login(warnings=warnings), with_login=True)
        self.replies = deque(replies)
        self.reads: list[tuple[int, int]] = []
        """Handle and size of each read."""
        self.has_ended = False
        self._nothing = nothing
        self._prepared: dict[int, str] = {}
        self._given: list[str] | None = None  # until the first fetch

    @abstractmethod
    def columns_of(self, sql: str) -> Sequence[Column] | None:
        """The columns of a statement's result; None: it is left to the script."""

    @abstractmethod
    def result(self, sql: str, given: list[str]) -> Answer:
        """The reply to the first fetch of a statement with these parameters."""

    def own_reply(self, group: list[requests.Request]) -> Answer | None:
        match group:
            case [Exit()]:
                self.has_ended = True
                return EXIT
            case [objects.ReadObject(handle, size)]:
                self.reads.append((handle, size))
                return self.replies.popleft() if self.replies else Delayed(self._nothing)
            case [requests.Prepare(_, sql), *_] if (columns := self.columns_of(sql.decode())) is not None:
                self._prepared[number := len(self._prepared) + 1] = sql.decode()
                kind = ROUTINE if sql.lower().startswith(b"execute") else 2
                return described(number, *columns, kind=kind, row_size=2048)
            case [requests.Id(number), *rest] if number in self._prepared:
                return self._run(self._prepared[number], rest)
        return None

    def _run(self, sql: str, rest: list[requests.Request]) -> Answer:
        if any(isinstance(request, requests.DescribeInput) for request in rest):
            return takes(*[SqlType(TypeCode.LVARCHAR, 2048)] * sql.count("?"))
        if any(isinstance(request, requests.Open) for request in rest):
            bound = (entry for each in rest if isinstance(each, requests.Bind) for entry in each.entries)
            self._given = [entry.data.decode("latin-1") for entry in bound]
        if not any(isinstance(request, requests.Fetch) for request in rest):
            return EOT
        given, self._given = self._given, None
        return done() + EOT if given is None else self.result(sql, given)
