"""A network in memory: names, listeners, connections, and what goes wrong on them. Never: a message.

Each connection has two ends, and each end a transport with the rules of asyncio's. Bytes that an end has written are
first in its transport, then on the way, then delivered in chunks. A chunk ends anywhere.
"""

from __future__ import annotations

import asyncio
import errno
import os
import random
import socket
import ssl
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from types import SimpleNamespace, TracebackType
from typing import Any, Final, Self

from tests.system.simulation.loop import SimulatedLoop

HIGH_WATER: Final = 64 * 1024
"""Bytes in a transport above which its protocol pauses writing, as in asyncio."""

_ERRORS: Final = {
    "reset": ConnectionResetError(errno.ECONNRESET, os.strerror(errno.ECONNRESET)),
    "timeout": TimeoutError(errno.ETIMEDOUT, os.strerror(errno.ETIMEDOUT)),
    "pipe": BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE)),
}


class Urgent(Enum):
    """When urgent bytes arrive."""

    IN_PLACE = "in place"
    EARLY = "early"
    LATE = "late"
    NEVER = "never"
    MIXED = "mixed"
    """Each one like one of the others."""


class Accepting(Enum):
    """What a host does with a connection attempt."""

    ACCEPT = "accept"
    REFUSE = "refuse"
    SILENT = "silent"
    DROP = "drop"
    """It accepts, and resets the connection at once."""
    UNREACHABLE = "unreachable"


@dataclass(frozen=True, slots=True)
class Weather:
    """How a network behaves where no fault is set.

    Args:
        latency: seconds that a chunk is on its way at least.
        connect: seconds by which the time of an attempt to connect varies.
        jitter: seconds by which this varies.
        cut: probability that a chunk ends before the data that is there.
        tick: see `SimulatedLoop`.
        window: bytes that are on the way before the sender has to wait.
    """

    latency: float = 0.0002
    connect: float = 0.0
    jitter: float = 0.0002
    cut: float = 0.1
    window: int = 65536
    urgent: Urgent = Urgent.IN_PLACE
    tls_fails: float = 0.0
    tick: float = 0.0


class Tracer:
    """Receives what happens; this one forgets it."""

    is_on = False

    def event(self, time: float, connection: int, what: str, data: bytes = b"") -> None:
        """Something happened; *connection* is its number, or 0."""


class Network:
    """All hosts, and the connections between them."""

    def __init__(
        self, loop: SimulatedLoop, seed: int, weather: Weather | None = None, tracer: Tracer | None = None
    ) -> None:
        self.loop = loop
        loop.network = self
        self.seed = seed
        self.weather = weather or Weather()
        loop.tick = self.weather.tick
        self.tracer = tracer or Tracer()
        self.dice = random.Random(f"network {seed}")
        self.names: dict[str, list[str]] = {}
        """The addresses of each name. An unknown name is an error."""
        self.failing_names: dict[str, int] = {}
        """Names whose lookups fail, with the error's number (EAI_AGAIN, EAI_NONAME)."""
        self.lookup_time = 0.0
        """Seconds that a lookup takes beside its usual two milliseconds."""
        self.same_host: dict[str, str] = {}
        """Further addresses of hosts, and the address of which `listeners` and `accepting` speak."""
        self.listeners: dict[tuple[str, int], Callable[[], Any]] = {}
        self.accepting: dict[str, Accepting] = {}
        """What each address does with attempts; ACCEPT where nothing is said, and a listener is there."""
        self.connections: list[Connection] = []
        self._on_connection: list[Callable[[Connection], None]] = []

    def trace(self, connection: int, what: str, data: bytes = b"") -> None:
        """Tell the tracer."""
        if self.tracer.is_on:
            self.tracer.event(self.loop.time(), connection, what, data)

    def on_connection(self, callback: Callable[[Connection], None]) -> None:
        """Call *callback* with each new connection."""
        self._on_connection.append(callback)

    @property
    def open_connections(self) -> list[Connection]:
        """The connections of which the client's end is not closed."""
        return [each for each in self.connections if not each.client.is_closed]

    def held_until(self) -> float:
        """When the last bytes that are held back for a time arrive; 0 if there are none."""
        ends = (end for each in self.open_connections for end in (each.client, each.server))
        return max((end.held_until for end in ends if end.held_until < float("inf")), default=0.0)

    async def lookup(self, name: str) -> list[str]:
        """The addresses of *name*, as DNS answers at this moment."""
        await self._pass(self.dice.random() * 0.002 + self.lookup_time)
        if name in self.failing_names:
            code = self.failing_names[name]
            self.trace(0, f"lookup of {name}: fails")
            raise socket.gaierror(code, "the lookup failed")
        if name not in self.names:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return list(self.names[name])

    async def _pass(self, seconds: float) -> None:
        waiter: asyncio.Future[None] = self.loop.create_future()
        self.loop.after(seconds, _wake, waiter)
        await waiter

    async def connect(
        self, factory: Callable[[], Any], ip: str, port: int, context: ssl.SSLContext | None
    ) -> tuple[Transport, Any]:
        """Connect as `loop.create_connection` does.

        Raises:
            OSError: refused, unreachable, reset.
            ssl.SSLError: the handshake failed.
        """
        ip = self.same_host.get(ip, ip)
        accepting = self.accepting.get(ip, Accepting.ACCEPT)
        if accepting is Accepting.SILENT:
            self.trace(0, f"connect to {ip}: no answer")
            await self.loop.create_future()
        await self._pass(self.weather.latency * 2 + self.weather.connect * self.dice.random())
        if accepting is Accepting.UNREACHABLE:
            self.trace(0, f"connect to {ip}: unreachable")
            raise OSError(errno.EHOSTUNREACH, os.strerror(errno.EHOSTUNREACH))
        listener = self.listeners.get((ip, port))
        if accepting is Accepting.REFUSE or listener is None:
            self.trace(0, f"connect to {ip}: refused")
            raise ConnectionRefusedError(errno.ECONNREFUSED, os.strerror(errno.ECONNREFUSED))
        connection = Connection(self, len(self.connections) + 1, ip, port)
        self.connections.append(connection)
        self.trace(connection.number, f"connected to {ip}:{port}")
        protocol = factory()
        client, server = connection.client, connection.server
        for callback in self._on_connection:
            callback(connection)
        self.loop.after(self.weather.latency, self._accept, server, listener)
        if accepting is Accepting.DROP:
            connection.reset("the host drops connections")
        try:
            if context is not None:
                await self.handshake(client)
            waiter: asyncio.Future[None] = self.loop.create_future()
            client.start(protocol)
            self.loop.call_soon(_wake, waiter)
            await waiter
        except BaseException:
            client.close()
            raise
        return client, protocol

    def _accept(self, server: Transport, listener: Callable[[], Any]) -> None:
        if not server.is_closed:
            server.start(listener())

    async def handshake(self, transport: Transport) -> Transport:
        """TLS, as far as it matters here: it takes two round trips, may fail, and the stream goes on as it is."""
        connection = transport.connection
        for _ in range(2):
            await self._pass(self.weather.latency * 2)
            if transport.is_broken:
                raise ConnectionResetError(errno.ECONNRESET, os.strerror(errno.ECONNRESET))
        if connection.dice.random() < self.weather.tls_fails:
            self.trace(connection.number, "the TLS handshake fails")
            raise ssl.SSLError(1, "[SSL] handshake failure")
        transport.has_tls = True
        return transport


def _wake(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)


class Connection:
    """A connection between a client and a server, and its faults."""

    def __init__(self, network: Network, number: int, ip: str, port: int) -> None:
        self.network = network
        self.number = number
        self.dice = random.Random(f"connection {network.seed} {number}")
        self.ip = ip
        self.client = Transport(self, "client", (ip, port))
        self.server = Transport(self, "server", ("10.9.9.9", 40000 + number))
        self.client.peer, self.server.peer = self.server, self.client

    def __repr__(self) -> str:
        return f"<Connection {self.number} to {self.ip}>"

    def reset(self, why: str = "reset") -> None:
        """Both ends see a reset; bytes on the way are lost."""
        self.network.trace(self.number, why)
        for end in (self.client, self.server):
            end.lose()
            end.break_with(_ERRORS["reset"])

    def time_out(self) -> None:
        """TCP gives up: both ends see a timeout."""
        for end in (self.client, self.server):
            end.lose()
            end.break_with(_ERRORS["timeout"])

    def stall(self, end: Transport, seconds: float | None) -> None:
        """Let nothing that *end* sends arrive; None: never again."""
        until = float("inf") if seconds is None else self.network.loop.time() + seconds
        self.network.trace(self.number, f"what the {end.side} sends is held back, {seconds} s")
        end.held_until = max(end.held_until, until)

    def forget(self) -> None:
        """A device between the ends forgets the connection: nothing arrives, and what an end sends is refused."""
        self.network.trace(self.number, "forgotten")
        for end in (self.client, self.server):
            end.is_forgotten = True
            end.lose()
            end.held_until = float("inf")

    def half_close(self, end: Transport) -> None:
        """The peer of *end* sees the end of the stream, although *end* is alive and goes on reading."""
        self.network.trace(self.number, f"half-closed by the {end.side}")
        end.send_eof()


class Transport(asyncio.Transport):
    """One end of a connection; see asyncio.selector_events for the rules."""

    peer: Transport

    def __init__(self, connection: Connection, side: str, peername: tuple[str, int]) -> None:
        super().__init__()
        self.connection = connection
        self.side = side
        self._loop = connection.network.loop
        self._peername = peername
        self.protocol: Any = None
        self.max_size = 262144
        self.has_tls = False
        self.unsent = bytearray()
        self.on_way = bytearray()
        """Bytes that have left this end and have not arrived."""
        self._arrivals: deque[list[float]] = deque()
        """Size and time of arrival of what is on the way."""
        self._urgent: list[bytes] = []
        """Urgent bytes that have not arrived."""
        self.held_until = 0.0
        self._eof = False  # this end has ended its stream
        self._is_eof_sent = False
        self._is_eof_delivered = False
        self._is_closing = False
        self.is_closed = False
        """Whether the socket is closed."""
        self.is_broken = False
        """Whether the connection was reset."""
        self.is_forgotten = False
        """Whether what it sends is answered by a reset."""
        self._is_reading = False
        self._is_reading_paused = False
        self._has_delivery = False
        self._high, self._low = HIGH_WATER, HIGH_WATER // 4
        self._is_writing_paused = False
        self._is_failed = False
        self._error: Exception | None = None  # of the socket, not noticed yet
        self.number = 1000 + 2 * connection.number + (side == "server")
        """What stands for the descriptor of the socket."""

    @property
    def is_dead(self) -> bool:
        """Whether nothing can arrive at this end any more, which it has no way to know."""
        return self.is_forgotten or self.peer.held_until == float("inf")

    def start(self, protocol: Any) -> None:
        """Connect the protocol: `connection_made`, then reading starts."""
        self.protocol = protocol
        self._loop.call_soon(self._made)

    def _made(self) -> None:
        if self.is_closed:
            return
        self.protocol.connection_made(self)
        self._is_reading = True
        self._resume_delivery()

    # -- asyncio's interface -------------------------------------------------------------------------------------------

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        if name == "peername":
            return self._peername
        if name == "socket":
            return _Socket(self)
        if name == "ssl_object" and self.has_tls:
            return SimpleNamespace(version=lambda: "TLSv1.3")
        return default

    def get_protocol(self) -> Any:
        return self.protocol

    def set_protocol(self, protocol: Any) -> None:
        self.protocol = protocol

    def is_closing(self) -> bool:
        return self._is_closing

    def get_write_buffer_size(self) -> int:
        return len(self.unsent)

    def get_write_buffer_limits(self) -> tuple[int, int]:
        return self._low, self._high

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        self._high = HIGH_WATER if high is None else high
        self._low = self._high // 4 if low is None else low
        self._check_pause()

    def can_write_eof(self) -> bool:
        return True

    def write(self, data: Any) -> None:
        if self._eof:
            raise RuntimeError("Cannot call write() after write_eof()")
        if self._is_failed or (self._is_closing and not self.unsent) or not data:
            return
        if self._error is not None:
            self._force_close(self._error)
            return
        self.unsent += data
        self._push()
        self._check_pause()

    def writelines(self, list_of_data: Any) -> None:
        self.write(b"".join(list_of_data))

    def write_eof(self) -> None:
        if self._is_closing or self._eof:
            return
        self._eof = True
        self._push()

    def send_eof(self) -> None:
        """The end of the stream, by a fault: later writes are lost."""
        self._is_eof_sent = True
        self.arrange_delivery()

    def is_reading(self) -> bool:
        return not self._is_closing and not self._is_reading_paused

    def pause_reading(self) -> None:
        self._is_reading_paused = self._is_reading_paused or not self._is_closing

    def resume_reading(self) -> None:
        if self._is_reading_paused and not self._is_closing:
            self._is_reading_paused = False
            self._resume_delivery()

    def _resume_delivery(self) -> None:
        """This end reads: what has arrived is delivered first, then the socket's error."""
        self.peer.arrange_delivery()
        if self._error is not None and not self.peer._has_delivery:
            self._loop.call_soon(self._fail, self._error)

    def close(self) -> None:
        if self._is_closing:
            return
        self._is_closing = True
        self._is_reading = False
        if not self.unsent:
            self._loop.call_soon(self._lost, None)

    def abort(self) -> None:
        self._force_close(None)

    # -- sending -------------------------------------------------------------------------------------------------------

    def _push(self) -> None:
        """Let bytes go on their way, as far as the window allows."""
        room = self.connection.network.weather.window - len(self.on_way)
        if self.unsent and room > 0:
            sent = self.unsent[:room]
            del self.unsent[:room]
            if self.is_broken or self.peer.is_closed or self._is_eof_sent or self.is_forgotten:
                if (self.peer.is_closed or self.is_forgotten) and not self.is_broken:
                    # The other end has closed: its system answers with a reset.
                    self._loop.after(
                        self.connection.network.weather.latency, self.break_with, _ERRORS["reset"]
                    )
                return
            self.on_way += sent
            weather = self.connection.network.weather
            when = self._loop.time() + weather.latency + weather.jitter * self.connection.dice.random()
            if self._arrivals:
                when = max(when, self._arrivals[-1][1])
            self._arrivals.append([len(sent), when])
            self.arrange_delivery()
        if self._eof and not self.unsent and not self._is_eof_sent:
            self.send_eof()

    def arrange_delivery(self) -> None:
        """Plan the arrival of the next chunk, or of the end of the stream, at the other end."""
        if self._has_delivery or not (self.on_way or (self._is_eof_sent and not self._is_eof_delivered)):
            return
        peer = self.peer
        if not peer._is_reading or peer._is_reading_paused:
            return
        now = self._loop.time()
        when = self._arrivals[0][1] if self.on_way else now + self.connection.network.weather.latency
        if self.held_until > when:
            if self.held_until == float("inf"):
                return
            when = self.held_until
        self._has_delivery = True
        self._loop.at(max(when, now), self._deliver)

    def _deliver(self) -> None:
        self._has_delivery = False
        peer = self.peer
        if not peer._is_reading or peer._is_reading_paused or peer._is_failed:
            return
        if self.held_until > self._loop.time():
            self.arrange_delivery()
            return
        self._deliver_urgent()
        if self.on_way:
            chunk = self._take_arrived(peer.max_size)
            if self.unsent or self._eof:
                self._push()
            if self._is_writing_paused:
                self._check_resume()
            if self._is_closing and not self.unsent and not self.is_closed:
                self._loop.call_soon(self._lost, None)
            network = self.connection.network
            if network.tracer.is_on:
                network.trace(self.connection.number, f"{self.side} ->", chunk)
            try:
                peer.protocol.data_received(chunk)
            except Exception as error:
                peer._fatal(error)
            peer._resume_delivery()
        elif self._is_eof_sent and not self._is_eof_delivered:
            self._is_eof_delivered = True
            self.connection.network.trace(self.connection.number, f"end of the {self.side}'s stream")
            try:
                is_kept_open = peer.protocol.eof_received()
            except Exception as error:
                peer._fatal(error)
            else:
                if not is_kept_open:
                    peer.close()

    def _take_arrived(self, most: int) -> bytes:
        """The next chunk: all that has arrived, or a part of it."""
        dice, now, weather = self.connection.dice, self._loop.time(), self.connection.network.weather
        size = 0
        for part, when in self._arrivals:
            if size and when > now:
                break
            size += int(part)
        size = min(size, most)
        if dice.random() < weather.cut:
            size = dice.randint(1, min(size, dice.choice((2, 8, 64, 4096))))
        chunk = bytes(self.on_way[:size])
        del self.on_way[:size]
        while size:
            arrival = self._arrivals[0]
            if arrival[0] > size:
                arrival[0] -= size
                arrival[1] = now + weather.jitter * dice.random()
                break
            size -= int(arrival[0])
            self._arrivals.popleft()
        return chunk

    def lose(self) -> None:
        """What is on the way is lost."""
        self.on_way.clear()
        self._arrivals.clear()

    def _check_pause(self) -> None:
        if len(self.unsent) > self._high and not self._is_writing_paused and self.protocol is not None:
            self._is_writing_paused = True
            self.protocol.pause_writing()

    def _check_resume(self) -> None:
        if self._is_writing_paused and not self._is_failed and len(self.unsent) <= self._low:
            self._is_writing_paused = False
            self.protocol.resume_writing()

    # -- urgent data ---------------------------------------------------------------------------------------------------

    def send_urgent(self, byte: bytes) -> None:
        """One byte outside of the stream."""
        weather, latency = self.connection.network.weather, self.connection.network.weather.latency
        mode = weather.urgent
        if mode is Urgent.MIXED:
            mode = self.connection.dice.choice((Urgent.IN_PLACE, Urgent.EARLY, Urgent.LATE, Urgent.NEVER))
        self.connection.network.trace(
            self.connection.number, f"{self.side} sends an urgent byte, which arrives {mode.value}"
        )
        if mode is Urgent.NEVER or self.held_until == float("inf"):
            return
        self._urgent.append(byte)
        if mode is Urgent.EARLY:
            self._loop.after(0.0, self._deliver_urgent)
        else:
            delay = latency + (
                weather.jitter if mode is Urgent.IN_PLACE else 0.02 * self.connection.dice.random()
            )
            self._loop.at(max(self._loop.time() + delay, self.held_until), self._deliver_urgent)

    def _deliver_urgent(self) -> None:
        """Deliver the urgent byte; at the latest before data that was sent after it, because TCP keeps that order."""
        if self._urgent:
            self.peer.receive_urgent(self._urgent.pop(0))

    def receive_urgent(self, byte: bytes) -> None:
        """It arrives."""
        if self.protocol is not None and not self.is_closed and not self._is_failed:
            self.connection.network.trace(self.connection.number, f"an urgent byte reaches the {self.side}")
            self.protocol.urgent_received(byte)

    # -- ends ----------------------------------------------------------------------------------------------------------

    def break_with(self, error: Exception) -> None:
        """The system has *error* for this end, which notices it as soon as it reads or writes."""
        if self.is_closed or self.is_broken:
            return
        self.is_broken = True
        self._loop.after(self.connection.network.weather.latency, self._fail, error)

    def _fail(self, error: Exception) -> None:
        has_ended = self.peer._is_eof_delivered
        if self.unsent or (self._is_reading and not self._is_reading_paused and not has_ended):
            self._force_close(error)
        else:
            self._error = error

    def _fatal(self, error: Exception) -> None:
        self._loop.call_exception_handler({"message": "the protocol has failed", "exception": error})
        self._force_close(error)

    def _force_close(self, error: Exception | None) -> None:
        if self._is_failed or self.is_closed:
            return
        self._is_failed = True
        self.unsent.clear()
        self._is_closing = True
        self._is_reading = False
        self._loop.call_soon(self._lost, error)

    def _lost(self, error: Exception | None) -> None:
        if self.is_closed:
            return
        self.is_closed = True
        self._is_closing = True
        self._is_reading = False
        self.connection.network.trace(self.connection.number, f"the {self.side} has closed")
        peer = self.peer
        if peer.on_way or peer.unsent:
            # Unread data: the system resets the connection.
            peer.break_with(_ERRORS["reset"])
        elif not self.is_broken:
            self._is_eof_sent = True
            self.arrange_delivery()
        peer.lose()
        if self.protocol is not None:
            self.protocol.connection_lost(error)


# -- what stands for the socket ---------------------------------------------------------------------------------------


class _Socket:
    """The socket of a transport."""

    def __init__(self, transport: Transport) -> None:
        self.transport = transport

    def fileno(self) -> int:
        return self.transport.number

    def setsockopt(self, level: int, option: int, value: int) -> None:
        if self.transport.is_closed or self.transport.is_broken:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))


@dataclass
class UrgentSockets:
    """Stands for the module `socket` in `aioifx.channel`, which sends urgent bytes by a copy of a descriptor."""

    network: Network
    MSG_OOB: int = field(default=socket.MSG_OOB, init=False)

    def dup(self, number: int) -> int:
        return number

    def socket(self, fileno: int) -> _Urgent:
        """The copy of a socket."""
        connection = self.network.connections[(fileno - 1000) // 2 - 1]
        return _Urgent(connection.client)


class _Urgent:
    def __init__(self, transport: Transport) -> None:
        self.transport = transport

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    def send(self, byte: bytes, flags: int) -> int:
        if self.transport.is_closed:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        self.transport.send_urgent(byte)
        return len(byte)


__all__ = [
    "HIGH_WATER", "Accepting", "Connection", "Network", "Tracer", "Transport", "Urgent", "UrgentSockets",
    "Weather",
]  # fmt: skip
