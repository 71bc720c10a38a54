"""The event loop of blocking calls: work of other threads, events, and a forked process."""

from __future__ import annotations

import contextlib
import os
import socket
import sys

import pytest

from aioifx.client.session.loop_binding import LoopBinding
from aioifx.dbapi.driven_loop import DrivenLoop
from tests.client.session.test_loop_binding import child


def test_work_of_other_threads_is_reported_and_its_objects_belong_to_it_between_runs() -> None:
    events: list[str] = []
    with contextlib.closing(DrivenLoop(lambda: events.append("work"))) as loop:
        binding = LoopBinding("the connection", loop)
        assert binding.takes_calls and not binding.is_here
        loop.call_soon(events.append, "run")
        assert events == []
        loop.call_soon_threadsafe(loop.stop)
        assert events == ["work"]
        loop.run_forever()
        assert events == ["work", "run"]


def test_events_are_seen_however_busy_the_loop_is() -> None:
    with contextlib.closing(DrivenLoop(lambda: None)) as loop:
        ours, theirs = socket.socketpair()
        iterations = 0

        def spin() -> None:
            nonlocal iterations
            iterations += 1
            assert iterations < 10
            loop.call_soon(spin)

        with ours, theirs:
            loop.add_reader(ours, loop.stop)
            theirs.send(b"x")
            loop.call_soon(spin)
            loop.run_forever()
            loop.remove_reader(ours)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform has no fork")
def test_a_forked_process_that_closes_it_leaves_the_parents_events_registered() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs, contextlib.closing(DrivenLoop(lambda: None)) as loop:
        loop.add_reader(ours, loop.stop)

        def close() -> object:
            loop.disown()
            loop.remove_reader(ours)
            loop.close()
            return loop.is_closed()

        assert child(close) == "True"
        theirs.send(b"x")
        loop.call_later(20, sys.exit, "the event was not seen")
        loop.run_forever()
        loop.remove_reader(ours)
