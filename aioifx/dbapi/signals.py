"""Handlers of signals, replaced for the time of a call. Never: what a handler does."""

from __future__ import annotations

import importlib
import os
import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any, Final, TypeAlias

Handler: TypeAlias = Callable[[int, FrameType | None], object]
Handlers: TypeAlias = dict[int, Handler]

# Those of the module `signal` make an enum of each handler: 7 microseconds for each call (measured).
_signal: Any = importlib.import_module("_signal")
getsignal: Callable[[int], Any] = _signal.getsignal
set_handler: Callable[[int, Handler], object] = _signal.signal

_NAMES: Final = ("SIGINT", "SIGTERM", "SIGALRM", "SIGHUP", "SIGUSR1", "SIGUSR2")
_NUMBERS: Final = tuple(int(getattr(signal, name)) for name in _NAMES if hasattr(signal, name))
"""Signals whose handlers may raise exceptions, as by habit."""

_main_thread = threading.main_thread().ident
"""The only thread that handlers run in."""


def replace_handlers(handler: Handler, replaced: Handlers) -> None:
    """Let *handler* handle in the main thread what code in Python handles; *replaced* gets what did."""
    if threading.get_ident() != _main_thread:
        return
    try:
        for number in _NUMBERS:
            before = getsignal(number)
            # Others are numbers, or None for a handler in C; `callable` would be slower.
            if before.__class__ is not int and before is not None:
                replaced[number] = before
                set_handler(number, handler)
    except ValueError:  # in a subinterpreter, which gets no signals
        replaced.clear()
    except BaseException:  # of a handler that is not replaced yet
        restore_handlers(replaced)
        raise


def restore_handlers(replaced: Handlers) -> None:
    """Undo `replace_handlers`."""
    for number, handler in replaced.items():
        set_handler(number, handler)


def _on_fork() -> None:
    global _main_thread
    _main_thread = threading.get_ident()


if hasattr(os, "register_at_fork"):  # not on Windows, which has no fork
    os.register_at_fork(after_in_child=_on_fork)
