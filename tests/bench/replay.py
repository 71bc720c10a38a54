"""A server that answers what it has answered before: login, a few statements, encoded rows. Never: work on the clock.

    python -m tests.bench.replay [--port 0] [--rows 100000] [--delay 0.5] [--max-fetch 65536]

It is there so that a bench measures clients. `Answers` says what a reply is; here each reply is kept by the state that
the session was in and the bytes of the request, so that a request costs one look-up when it comes again. The name of a
cursor at the head of a request, in which clients count, is not part of the key. Runs of BIND and EXECUTE, which are
never the same twice, are counted by their marks.

With --delay each reply leaves so many milliseconds after its request came, as if the way were longer: a thread
sleeps until it is due, and requests that come meanwhile have their own time running.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import queue
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Final

from aioifx.errors import ProtocolError
from aioifx.wire.handshake import LoginReply, put_login_reply
from aioifx.wire.inbox import Inbox
from aioifx.wire.opcodes import LoginType
from aioifx.wire.outbox import Outbox
from aioifx.wire.requests import Request, read_request
from tests.bench.answers import ROWS, VERSION, Answers, Reply, State, Tables

NAME: Final = "ol_replay"

_CHUNK: Final = 1 << 20
"""Bytes taken from a socket at a time."""
_LARGE: Final = 4096
"""Requests from this size on are known by comparing, not by hashing; they come in pieces."""
_CURNAME: Final = b"\0\3"
_BIND: Final = b"\0\5"
_EXECUTE_EOT: Final = b"\0\7\0\x0c"

Send = Callable[[Reply], None]


class Node:
    """A state, and every request that came in it."""

    __slots__ = ("known", "large", "state")

    def __init__(self, state: State) -> None:
        self.state = state
        self.known: dict[bytes, tuple[Reply, Node]] = {}
        """Whole requests, without the name of a cursor."""
        self.large: list[tuple[bytes, Reply, Node]] = []


class Memory:
    """All states that sessions have been in."""

    def __init__(self, answers: Answers) -> None:
        self._answers = answers
        self._nodes: dict[State, Node] = {}
        self.start = self._node(State())

    def _node(self, state: State) -> Node:
        return self._nodes.setdefault(state, Node(state))

    def learn(self, node: Node, data: bytes) -> tuple[int, Reply, Node] | None:
        """Read the first group of *data*: its length, its reply and the state after it; None if it is incomplete."""
        read = _read_group(data, node.state)
        if read is None:
            return None
        group, length = read
        state, reply = self._answers.answer(node.state, group)
        request, behind = data[:length], self._node(state)
        if length < _LARGE:
            node.known[_key(request)] = reply, behind
        else:
            node.large.append((_key(request), reply, behind))
        return length, reply, behind


def _read_group(data: bytes, state: State) -> tuple[list[Request], int] | None:
    inbox = Inbox()
    inbox.feed(data)
    try:
        read_request(inbox, state.capabilities).send(None)
    except StopIteration as stop:
        return stop.value, inbox.consumed
    return None


def _key(request: bytes) -> bytes:
    """*request* without the name of the cursor that ID is followed by."""
    if request[4:6] != _CURNAME:
        return request
    size = int.from_bytes(request[6:8], "big")
    return request[:6] + request[8 + size + (size & 1) :]


class Conversation:
    """One client's, after its login."""

    def __init__(self, memory: Memory, send: Send) -> None:
        self._memory = memory
        self._send = send
        self.node = memory.start
        self._unread = b""

    def receive(self, data: bytes) -> None:
        """Answer what is whole."""
        if self._unread:
            data = self._unread + data
        while data:
            found = self.node.known.get(_key(data))  # nearly always what came is one request that came before
            if found is not None:
                reply, self.node = found
                self._send(reply)
                data = b""
                break
            length = self._executions(data) or self._large(data)
            if length == 0:
                learnt = self._memory.learn(self.node, data)
                if learnt is None:
                    break
                length, reply, self.node = learnt
                self._send(reply)
            elif length < 0:
                break
            data = data[length:]
        self._unread = data

    def _large(self, data: bytes) -> int:
        """Bytes of a large request that is known and was answered; -1 if one of them may be on its way."""
        key = _key(data)
        for request, reply, behind in self.node.large:
            if key.startswith(request):
                self.node = behind
                self._send(reply)
                return len(request) + len(data) - len(key)
            if request.startswith(key):
                return -1
        return 0

    def _executions(self, data: bytes) -> int:
        """Bytes of whole groups ID, BIND, EXECUTE of one statement that were answered: all alike, whatever is bound.

        The marks are ten bytes that no parameter of the benches holds.
        """
        if data[4:6] != _BIND or len(data) < _LARGE:
            return 0
        mark = _EXECUTE_EOT + data[:6]
        last = data.rfind(mark)
        length = len(data) if data.endswith(_EXECUTE_EOT) else last + len(_EXECUTE_EOT)
        if last < 0 or length <= 0:
            return 0
        first = data.index(mark) + len(_EXECUTE_EOT)
        learnt = self._memory.learn(self.node, data[:first])
        if learnt is None or learnt[2] is not self.node or learnt[0] != first:
            return 0
        count = data.count(mark, 0, length) + 1
        self._send((b"".join(learnt[1]) * count,))
        return length


# -- sockets ----------------------------------------------------------------------------------------------------------


def _accept_reply() -> bytes:
    outbox = Outbox()
    serial = b"Software Serial Number AAA#B000000"
    put_login_reply(outbox, LoginReply(LoginType.ACCEPT, VERSION.encode(), serial, NAME.encode()))
    return outbox.detach()


_ACCEPT: Final = _accept_reply()


def _send_now(sock: socket.socket, reply: Reply) -> None:
    if len(reply) == 1:
        sock.sendall(reply[0])
        return
    sent, total = sock.sendmsg(reply), sum(map(len, reply))
    if sent < total:  # a signal came in between
        sock.sendall(b"".join(reply)[sent:])


class _Later:
    """Sends each reply when its time has come, from a thread of its own."""

    def __init__(self, sock: socket.socket, delay: float) -> None:
        self._sock = sock
        self._delay = delay
        self._due: queue.SimpleQueue[tuple[float, Reply] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def send(self, reply: Reply) -> None:
        self._due.put((time.perf_counter() + self._delay, reply))

    def close(self) -> None:
        self._due.put(None)
        self._thread.join()

    def _run(self) -> None:
        while (item := self._due.get()) is not None:
            due, reply = item
            time.sleep(max(0.0, due - time.perf_counter()))
            with contextlib.suppress(OSError):
                _send_now(self._sock, reply)


def _serve(sock: socket.socket, memory: Memory, delay: float) -> None:
    """One client, from its login to its end."""
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    later = _Later(sock, delay) if delay else None
    with sock, contextlib.suppress(OSError, ProtocolError):
        try:
            send = later.send if later else lambda reply: _send_now(sock, reply)
            if not _log_in(sock, send):
                return
            conversation = Conversation(memory, send)
            while not conversation.node.state.ended and (data := sock.recv(_CHUNK)):
                conversation.receive(data)
        finally:
            if later is not None:
                later.close()


def _log_in(sock: socket.socket, send: Send) -> bool:
    """Everybody may come in; False for one who went away."""
    data = b""
    while len(data) < 2 or len(data) < int.from_bytes(data[:2], "big"):
        more = sock.recv(_CHUNK)
        if not more:
            return False
        data += more
    send((_ACCEPT,))
    return True


def serve(port: int, answers: Answers, delay: float) -> None:
    """Serve until the process is ended."""
    memory = Memory(answers)
    gc.disable()  # there is no garbage, only memory
    with socket.create_server(("127.0.0.1", port), backlog=128) as listener:
        dsn = f"informix://informix@127.0.0.1:{listener.getsockname()[1]}/bench?server={NAME}"
        print(f"tests.bench.replay is ready: {dsn}", flush=True)
        while True:
            sock, _ = listener.accept()
            threading.Thread(target=_serve, args=(sock, memory, delay), daemon=True).start()


@contextlib.contextmanager
def replay_process(*, rows: int = ROWS, delay: float = 0.0, max_fetch: int = 0) -> Iterator[str]:
    """The server in a process of its own; its DSN.

    Args:
        delay: milliseconds.
        max_fetch: bytes; 0 for no limit.
    """
    command = [sys.executable, "-m", "tests.bench.replay", "--rows", str(rows)]
    command += ["--delay", str(delay), "--max-fetch", str(max_fetch)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            line = process.stdout.readline()
            yield next(word for word in line.split() if word.startswith("informix://"))
        finally:
            process.kill()  # an interpreter that exits by itself may hang in a thread


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--rows", type=int, default=ROWS, help="of each table")
    parser.add_argument("--delay", type=float, default=0.0, metavar="MS", help="added to every reply")
    parser.add_argument(
        "--max-fetch", type=int, default=0, metavar="BYTES", help="refuse larger fetch buffers"
    )
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with contextlib.suppress(KeyboardInterrupt):
        serve(given.port, Answers(Tables(given.rows), given.max_fetch), given.delay / 1000)


if __name__ == "__main__":
    main()
