from __future__ import annotations

from aioifx.wire import session_requests
from aioifx.wire.capabilities import Capabilities
from aioifx.wire.outbox import Outbox
from aioifx.wire.requests import read_request
from tests.feeding import feed


def test_an_environment_says_its_size_and_its_longest_names() -> None:
    outbox = Outbox()
    session_requests.put_info(outbox, [])
    assert outbox.detach() == bytes.fromhex("0051 0006 0006 0000 0000 00000000")


def test_exit_ends_a_group_by_itself() -> None:
    for data, messages in (
        ("0038", [session_requests.Exit()]),
        ("0023 000c", [session_requests.Begin()]),
        ("000c", []),
    ):
        assert feed(lambda inbox: read_request(inbox, Capabilities()), [bytes.fromhex(data)])[0] == messages


def test_a_rollback_has_every_field_that_the_server_waits_for() -> None:
    outbox = Outbox()
    session_requests.put_rollback(outbox)
    assert outbox.detach() == bytes.fromhex("0014 0000")
