"""A peer that answers task('pushdata ...') and SQ_LODATA, as the sysadmin database of a server does."""

from __future__ import annotations

import json
from collections.abc import Iterable
from struct import pack
from typing import Any

from aioifx.sqltypes import Column
from aioifx.testing.messages import EOT, done, raw_row
from aioifx.testing.script import Answer, Delayed
from aioifx.wire import requests
from tests.scripted import TEXT
from tests.streams import LOST, StreamPeer, data_of

TIMEOUT = {"ifx_isTimeout": "true"}


def insert(number: int, **more: Any) -> dict[str, Any]:
    """An event with an id of its own."""
    names = {"operation": "insert", "table": "orders", "owner": "informix", "database": "stores"}
    return {**names, "txnid": 1 << 32 | number, "op_num": 1, "rowdata": {"id": number}, **more}


def data(*documents: str | dict[str, Any]) -> bytes:
    """A reply to SQ_LODATA with these documents."""
    text = "".join(each if isinstance(each, str) else json.dumps(each) for each in documents)
    return data_of(text.encode())


class PushPeer(StreamPeer):
    """Answers tasks by *results*, and reads by *replies*.

    Args:
        replies: to reads, in order; then timeouts.
        results: of tasks, by the start of the command; "lost": the connection ends; "late": OK, when `late` is
            released.
    """

    def __init__(self, replies: Iterable[Answer] = (), **results: str) -> None:
        super().__init__(replies, data(TIMEOUT))
        self.results = {
            "open": "12",
            "join": "12",
            "register": "OK",
            "setdetach": "245",
            "delete": "OK",
        } | results
        self.tasks: list[str] = []
        """Commands with their attributes."""
        self.late = Delayed(b"")
        """The reply to a task whose result is "late"."""

    def columns_of(self, sql: str) -> tuple[Column, ...] | None:
        return (TEXT,) if "task(" in sql else None

    def own_reply(self, group: list[requests.Request]) -> Answer | None:
        match group:
            case [requests.Command(_, sql), *_] if b"LOCK MODE" in sql.upper():
                self.tasks.append(sql.decode())
                return done() + EOT
        return super().own_reply(group)

    def result(self, sql: str, given: list[str]) -> Answer:
        command, *attributes = sql.split("'")[1::2]
        self.tasks.append(" ".join([command, *attributes, *given]))
        result = self.results[command.removeprefix("pushdata ")]
        if result == "lost":
            return LOST
        text = b"OK" if result == "late" else result.encode()
        self.late.answer = raw_row(b"\0" + pack(">i", len(text)) + text) + done(1) + EOT
        return self.late if result == "late" else self.late.answer
