"""A peer that answers task('pushdata ...') and SQ_LODATA, as the sysadmin database of a server does."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable
from struct import pack
from typing import Any

from aioifx.sqltypes import TypeCode
from aioifx.testing.messages import EOT, EXIT, column, described, done, raw_row, takes
from aioifx.testing.script import Answer, Delayed, Disconnect, Peer, login
from aioifx.wire import objects, requests
from aioifx.wire.fields import BindEntry
from aioifx.wire.outbox import Outbox
from aioifx.wire.session_requests import Exit

TEXT = column("", TypeCode.UDTVAR, 2048, extended_id=1, owner="informix", extended_name="lvarchar")
ROUTINE = 56
"""Statement type of EXECUTE FUNCTION (observed)."""

TIMEOUT = {"ifx_isTimeout": "true"}


def insert(number: int, **more: Any) -> dict[str, Any]:
    """An event with an id of its own."""
    names = {"operation": "insert", "table": "orders", "owner": "informix", "database": "stores"}
    return {**names, "txnid": 1 << 32 | number, "op_num": 1, "rowdata": {"id": number}, **more}


def data(*documents: str | dict[str, Any], handle: bytes = b"") -> bytes:
    """A reply to SQ_LODATA with these documents."""
    text = "".join(each if isinstance(each, str) else json.dumps(each) for each in documents).encode()
    outbox = Outbox()
    objects.put_object_data(outbox, objects.ObjectData(0, len(text), text))
    return outbox.detach() + EOT


LOST = Disconnect(reset=True)


class PushPeer(Peer):
    """Answers tasks by *results*, and reads by *replies*.

    Args:
        replies: to reads, in order; then timeouts.
        results: of tasks, by the start of the command; "lost": the connection ends; "late": OK, when `late` is
            released.
    """

    def __init__(self, replies: Iterable[Answer] = (), **results: str) -> None:
        super().__init__(login(), with_login=True)
        self.results = {
            "open": "12",
            "join": "12",
            "register": "OK",
            "setdetach": "245",
            "delete": "OK",
        } | results
        self.replies = deque(replies)
        self.tasks: list[str] = []
        """Commands with their attributes."""
        self.reads: list[tuple[int, int]] = []
        """Handle and size of each read."""
        self.late = Delayed(b"")
        """The reply to a task whose result is "late"."""
        self.has_ended = False
        self._statements: dict[int, str] = {}
        self._given: list[BindEntry] = []

    def own_reply(self, group: list[requests.Request]) -> Answer | None:
        match group:
            case [Exit()]:
                self.has_ended = True
                return EXIT
            case [objects.ReadObject(handle, size)]:
                self.reads.append((handle, size))
                return self.replies.popleft() if self.replies else Delayed(data(TIMEOUT))
            case [requests.Prepare(_, sql), *_] if b"task(" in sql:
                number = len(self._statements) + 1
                self._statements[number] = sql.decode()
                return described(number, TEXT, kind=ROUTINE, row_size=2048)
            case [requests.Command(_, sql), *_] if b"LOCK MODE" in sql.upper():
                self.tasks.append(sql.decode())
                return done() + EOT
            case [requests.Id(number), *rest] if number in self._statements:
                return self._run(self._statements[number], rest)
        return None

    def _run(self, sql: str, rest: list[requests.Request]) -> Answer:
        if any(isinstance(request, requests.DescribeInput) for request in rest):
            return takes(TEXT.type)
        given = [entry for request in rest if isinstance(request, requests.Bind) for entry in request.entries]
        if any(isinstance(request, requests.Open) for request in rest):
            self._given = given
        if not any(isinstance(request, requests.Fetch) for request in rest):
            return EOT
        command, *attributes = sql.split("'")[1::2]
        self.tasks.append(" ".join([command, *attributes, *(entry.data.decode() for entry in self._given)]))
        result = self.results[command.removeprefix("pushdata ")]
        if result == "lost":
            return LOST
        text = b"OK" if result == "late" else result.encode()
        self.late.answer = raw_row(b"\0" + pack(">i", len(text)) + text) + done(1) + EOT
        return self.late if result == "late" else self.late.answer
