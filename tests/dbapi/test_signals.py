"""Handlers of signals that are replaced for a call, and put back."""

from __future__ import annotations

import os
import signal
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from aioifx.dbapi.signals import Handlers, replace_handlers, restore_handlers

pytestmark = pytest.mark.skipif(os.name == "nt", reason="SIGUSR1")


def ours(*_: object) -> None:
    raise AssertionError("no signal comes")


def test_handlers_in_python_are_replaced_and_put_back() -> None:
    def usual(*_: object) -> None: ...

    before = signal.signal(signal.SIGUSR1, usual), signal.signal(signal.SIGUSR2, signal.SIG_IGN)
    replaced: Handlers = {}
    try:
        replace_handlers(ours, replaced)
        assert signal.getsignal(signal.SIGUSR1) is ours and replaced[signal.SIGUSR1] is usual
        assert signal.getsignal(signal.SIGUSR2) is signal.SIG_IGN and signal.SIGUSR2 not in replaced
        restore_handlers(replaced)
        assert signal.getsignal(signal.SIGUSR1) is usual
    finally:
        for number, handler in zip((signal.SIGUSR1, signal.SIGUSR2), before, strict=True):
            signal.signal(number, handler)


def test_other_threads_replace_nothing() -> None:
    replaced: Handlers = {}
    with ThreadPoolExecutor(1) as thread:
        thread.submit(replace_handlers, ours, replaced).result(20)
    assert replaced == {}


def test_an_exception_of_a_handler_that_is_not_replaced_yet_puts_the_others_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from aioifx.dbapi import signals

    before = signal.signal(signal.SIGUSR1, signal.default_int_handler)
    sigint = signal.getsignal(signal.SIGINT)  # ignored in a background job
    replaced: Handlers = {}

    def interrupted(number: int, handler: Any) -> None:
        monkeypatch.undo()
        signal.signal(number, handler)
        signal.raise_signal(signal.SIGUSR1)

    try:
        monkeypatch.setattr(signals, "set_handler", interrupted)
        with pytest.raises(KeyboardInterrupt):
            replace_handlers(ours, replaced)
        assert signal.getsignal(signal.SIGUSR1) is signal.default_int_handler
        assert signal.getsignal(signal.SIGINT) is sigint
    finally:
        signal.signal(signal.SIGUSR1, before)
