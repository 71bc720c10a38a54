"""Deferred cleanup: the messages of each group. When they are sent: see test_dispatcher.py."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from aioifx.client.session.cleanup import Cleanup, probe, put_close, put_release
from aioifx.testing.messages import DIALECT
from aioifx.wire import requests
from aioifx.wire.descriptions import Description
from aioifx.wire.outbox import Outbox
from aioifx.wire.replies import Reply


def written(put: Callable[[Outbox], None]) -> bytes:
    outbox = Outbox()
    put(outbox)
    return bytes(outbox.detach())


def expected(*puts: Callable[[Outbox], None]) -> bytes:
    return b"".join(map(written, puts))


def with_id(outbox: Outbox) -> None:
    requests.put_id(outbox, 7)


def test_a_cursor_is_closed_and_a_statement_released_by_number() -> None:
    assert written(partial(put_close, 7)) == expected(with_id, requests.put_close)
    assert written(partial(put_release, 7)) == expected(with_id, requests.put_release)


def test_a_prepared_probe_is_opened_closed_and_released() -> None:
    following: list[Cleanup] = []
    cleanup = probe(DIALECT, lambda: b"c1", lambda *groups: following.extend(groups))
    assert b"select first 1 tabid from informix.systables" in written(cleanup.write)
    assert cleanup.on_reply is not None
    cleanup.on_reply(Reply(description=Description(0, 7, (), 0, 0)))
    assert [written(group.write) for group in following] == [
        expected(with_id, lambda outbox: requests.put_curname(outbox, b"c1"), requests.put_open),
        expected(with_id, requests.put_close),
        expected(with_id, requests.put_release),
    ]


def test_a_probe_that_was_not_prepared_leaves_nothing_to_release() -> None:
    following: list[Cleanup] = []
    cleanup = probe(DIALECT, lambda: b"c1", lambda *groups: following.extend(groups))
    assert cleanup.on_reply is not None
    cleanup.on_reply(Reply())
    assert following == []
