"""Event loop and process that a connection or pool is bound to, and the error in others. Never: a socket, a request."""

from __future__ import annotations

import asyncio
import os
import weakref
from typing import Final, NoReturn, SupportsIndex, cast

from aioifx.errors import InterfaceError

_PARENTS: Final = cast(asyncio.AbstractEventLoop, object())
"""Replaces the event loop of every binding in a forked process."""


class LoopBinding:
    """Event loop and process that an object is bound to.

    Args:
        what: name of the object in messages.
    """

    __slots__ = ("__weakref__", "_pid", "loop", "what")

    def __init__(self, what: str, loop: asyncio.AbstractEventLoop) -> None:
        self.what = what
        self.loop = loop
        """The only loop that may run calls. `_PARENTS` in a fork, which may run the inherited loop itself."""
        self._pid = os.getpid()
        _bindings.add(weakref.ref(self, _bindings.discard))

    @property
    def is_inherited(self) -> bool:
        """Whether this process is a fork of the owning process."""
        return self.loop is _PARENTS

    @property
    def is_gone(self) -> bool:
        """Whether no code can await the object: in a fork, and after its event loop was closed."""
        return self.is_inherited or self.loop.is_closed()

    @property
    def is_running(self) -> bool:
        """Whether the running code is in the object's event loop."""
        try:
            return asyncio.get_running_loop() is self.loop
        except RuntimeError:
            return False

    @property
    def is_here(self) -> bool:
        """Whether the running code may use the object without an await: in its event loop, or while no loop runs."""
        if self.is_inherited:
            return False
        try:
            return asyncio.get_running_loop() is self.loop
        except RuntimeError:
            return not self.takes_calls

    @property
    def takes_calls(self) -> bool:
        """Whether the object's event loop takes calls of other threads: it is running, or will be at any moment."""
        return self.loop.is_running() or self.loop in driven_loops

    def check(self) -> None:
        """Raise InterfaceError unless called in the object's event loop."""
        if not self.is_running:
            raise self.refusal()

    def check_end(self) -> None:
        """Raise InterfaceError unless the object may be dropped: `is_here`, in a fork, or after its loop was closed."""
        if not (self.is_here or self.is_gone):
            raise self.refusal()

    def refusal(self) -> InterfaceError:
        """The error for use in another event loop or process."""
        if self.is_inherited:
            return InterfaceError(
                f"{self.what} belongs to the process {self._pid}, which has forked; open a new one in this process"
            )
        state = ", which is closed" if self.loop.is_closed() else ""
        return InterfaceError(f"{self.what} belongs to another event loop{state}")


driven_loops: Final[weakref.WeakSet[asyncio.AbstractEventLoop]] = weakref.WeakSet()
"""Event loops that run in one thread or another while there are calls."""

_bindings: Final[set[weakref.ref[LoopBinding]]] = set()  # a WeakSet takes three times as long


def _on_fork() -> None:
    for reference in _bindings.copy():
        binding = reference()
        if binding is not None:
            binding.loop = _PARENTS


if hasattr(os, "register_at_fork"):  # not on Windows, which has no fork
    os.register_at_fork(after_in_child=_on_fork)


class NotCopied:
    """Mixin that rejects copying and pickling."""

    __slots__ = ()

    def __reduce_ex__(self, protocol: SupportsIndex, /) -> NoReturn:
        raise InterfaceError(
            f"a {type(self).__name__} cannot be copied or pickled: it belongs to one session with a server"
        )
