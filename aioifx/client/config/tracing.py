"""The option trace: its check, and the tracer that it makes. Never: an event."""

from __future__ import annotations

import os
from typing import Protocol

from aioifx.channel import Channel
from aioifx.errors import DatabaseError, InterfaceError
from aioifx.tracing.events import TraceTarget


class Tracer(Protocol):
    """Traces connections."""

    def check(self) -> None:
        """Raise InterfaceError if the file of the trace cannot be written, and never could."""
        ...

    def channel(self, kind: type[Channel]) -> Channel:
        """A channel of a class, or a subclass, that is recorded."""
        ...

    def on_failure(self, address: str, error: DatabaseError) -> None:
        """Called if a connection could not be opened."""
        ...


def tracer_of(trace: TraceTarget | None, values: bool) -> Tracer | None:
    """The tracer for an option; None without a trace.

    Raises:
        InterfaceError: *trace* is neither callable nor a path.
    """
    if trace is None:
        return None
    _check(trace)
    from aioifx.tracing.recorder import ChannelTracer  # imported here because it is rarely needed

    return ChannelTracer(trace, values)


def _check(trace: object) -> None:
    if callable(trace) or isinstance(trace, os.PathLike):
        return
    if not isinstance(trace, str) or not trace or "\0" in trace:
        found = repr(trace) if isinstance(trace, str) else type(trace).__name__
        raise InterfaceError(f"trace: expected a path or a callable, got {found:.40}")
