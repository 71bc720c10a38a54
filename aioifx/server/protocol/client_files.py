"""Files at the client: exchanges of SQ_FILE in the middle of a statement. Never: the objects that are read or written.

The reply that is being written is sent up to the file's first message, and continues after the last (observed:
informix-driver). All code here runs in the session's thread, which waits for the client's answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from aioifx.server.protocol.context import SessionContext
from aioifx.server.sql.errors import SqlError
from aioifx.wire import files, replies
from aioifx.wire.requests import Request

Ask = Callable[[bytes], Sequence[Request]]
"""Sends bytes and returns the client's next group."""

Push = Callable[[bytes], None]
"""Sends bytes that are only part of a message."""

_BAD_TRANSFER: Final = -619

# The modes and flags of open() on Linux (assumed; informix-driver ignores both).
_READ_ONLY: Final = 0
_NEW: Final = 0o1101
_PERMISSIONS: Final = 0o644


class ClientFiles:
    """Files at one client."""

    def __init__(self, context: SessionContext, ask: Ask, push: Push) -> None:
        self._context = context
        self._ask = ask
        self._push = push

    def read(self, name: str) -> Iterator[bytes]:
        """The bytes of a file, in one piece.

        A client may answer each request from the start of the file (observed: JDBC), so the first is for all of it.

        Raises:
            SqlError: -213, interrupted; -619, the client cannot read it.
        """
        self._open(name, _READ_ONLY)
        match self._answer(files.FileRead(files.FILE_PIECE)):
            case [files.FileData(data)]:
                self._answer(files.FileClose())
                yield data
            case answer:
                raise _failure(name, answer)

    def write(self, name: str, pieces: Iterable[bytes]) -> None:
        """Write a new file; all its bytes are in one message, for the same reason.

        Raises:
            SqlError: -213, interrupted; -619, the client did not write all of it. What *pieces* raises.
        """
        self._open(name, _NEW)
        outbox, size = self._context.outbox, 0
        files.put_file_request(outbox, files.FileWrite(b""))
        try:
            for piece in pieces:
                self._context.engine.check_interrupt()
                files.put_file_pieces(outbox, piece)
                self._push(outbox.detach())
                size += len(piece)
        finally:
            answer = self._ended()
            if not any(isinstance(message, files.FileFailed) for message in answer):
                self._answer(files.FileClose())
        if answer != [files.FileWritten(size)]:
            raise _failure(name, answer)

    def _open(self, name: str, flags: int) -> None:
        self._context.engine.check_interrupt()
        encoded = self._context.code_set.encode(name)
        answer = self._answer(files.FileOpen(encoded, _PERMISSIONS, flags))
        if answer:
            raise _failure(name, answer)

    def _answer(self, request: files.FileRequest) -> list[Request]:
        files.put_file_request(self._context.outbox, request)
        return self._ended()

    def _ended(self) -> list[Request]:
        """The answer to the message that has been put."""
        outbox = self._context.outbox
        replies.put_eot(outbox)
        return list(self._ask(outbox.detach()))


def _failure(name: str, answer: Sequence[Request]) -> SqlError:
    """The error for an unexpected answer; its ISAM code is what a client sends as the cause (assumed)."""
    match answer:
        case [files.FileFailed(code)]:
            return SqlError(_BAD_TRANSFER, code, name)
        case _:
            return SqlError(_BAD_TRANSFER, token=name)
