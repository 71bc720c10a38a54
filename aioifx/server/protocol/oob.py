"""The byte of TCP urgent data by which a client interrupts its statement. Never: the statement.

A client sends one byte 0x42 as urgent data on its connection, with TLS on the socket below it (documented in the wire
reference, section 17; observed: JDBC, cancel.json). The byte is never part of the stream, of the messages or of TLS
records, because the socket keeps urgent data out of line.

An event loop watches sockets for readable data, not for urgent data. An epoll object reports urgent data, and a loop
can watch the epoll object. Without epoll, that is, on all systems but Linux, statements cannot be interrupted.
"""

from __future__ import annotations

import asyncio
import select
import socket
import sys
from collections.abc import Callable
from typing import Final

INTERRUPT: Final = b"B"
"""0x42; urgent data with another value is ignored (assumed)."""


class Watch:
    """Watches one connection for urgent data, from its creation until `close`.

    Args:
        notify: called in the event loop for each byte that interrupts.
    """

    __slots__ = ("_epoll", "_loop", "_notify", "_socket")

    def __init__(self, transport: asyncio.BaseTransport, notify: Callable[[], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._notify = notify
        self._socket: socket.socket | None = None
        self._epoll: select.epoll | None = None
        own = transport.get_extra_info("socket")
        if sys.platform != "linux" or own is None:
            return
        # The transport's socket object cannot read, and uvloop's is not a socket. So a second descriptor is opened.
        try:
            self._socket = socket.socket(fileno=socket.dup(own.fileno()))
            self._socket.setblocking(False)
            self._epoll = select.epoll()
        except OSError:  # no free descriptor: the login is rejected
            self.close()
            return
        self._epoll.register(self._socket, select.EPOLLPRI)
        self._loop.add_reader(self._epoll.fileno(), self._look)

    def _look(self) -> None:
        if sys.platform != "linux" or self._epoll is None or self._socket is None:
            return
        happened = 0
        for _, events in self._epoll.poll(0):
            happened |= events
        # Nothing happened: there was a byte, and the stream was read past it in this turn of the loop, which drops it.
        if not happened or (happened & select.EPOLLPRI and self._read() == INTERRUPT):
            self._notify()
        if happened & (select.EPOLLHUP | select.EPOLLERR):
            self.close()  # epoll reports a closed connection on every poll

    def _read(self) -> bytes:
        assert self._socket is not None
        try:
            return self._socket.recv(1, socket.MSG_OOB)
        except OSError:  # the connection was reset
            return b""

    def close(self) -> None:
        """Stop watching; idempotent."""
        if self._epoll is not None:
            self._loop.remove_reader(self._epoll.fileno())
            self._epoll.close()
            self._epoll = None
        if self._socket is not None:
            self._socket.close()
            self._socket = None
