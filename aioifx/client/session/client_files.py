"""Files that the server reads and writes at the client, in the middle of a statement: SQ_FILE. Never: SQL, rows.

Invariants:
1. Without the option *client_files*, no file is opened. With a directory, only regular files directly in it are.
2. A file that is refused or fails does not end the conversation. The server gets an error in place of the file, and the
   call raises the reason.
3. Files are opened, read, written and closed, and answers built, in a thread, one request at a time.
"""

from __future__ import annotations

import asyncio
import errno
import os
import re
import stat
from pathlib import Path
from typing import Any, BinaryIO, Final

from aioifx.channel import Channel
from aioifx.client.config.checks import ClientFiles, OpenFile
from aioifx.client.session.threads import in_thread
from aioifx.codecs.text import CodeSet
from aioifx.errors import DatabaseError, NotSupportedError, OperationalError, ProtocolError, visible
from aioifx.wire.files import (
    MAX_FILE_DATA,
    FileClose,
    FileOpen,
    FileRead,
    FileRequest,
    FileWrite,
    put_file_data,
    put_file_failed,
    put_file_written,
)
from aioifx.wire.outbox import Outbox
from aioifx.wire.replies import MAX_REPLY, Reply, add_error, put_eot

_SEPARATORS: Final = re.compile(r"[/\\]")
_WRITE_ACCESS: Final = 3
"""The bits of O_WRONLY and O_RDWR in the flags of an open (assumed: those of the server's C library).

An empty value may be a file that is opened and closed.
"""
_UNSAFE: Final = re.compile(r"[\x00-\x1f:]")


class FileServer:
    """Answers the SQ_FILE requests of one connection."""

    def __init__(self, channel: Channel, code_set: CodeSet, option: ClientFiles | None) -> None:
        self._channel = channel
        self._code_set = code_set
        self._open = _opener(option)
        self._is_in_directory = not callable(option)
        self._name = ""
        self._offset = 0
        self._is_unwritten = False
        self._file: BinaryIO | None = None
        self._failure: BaseException | None = None  # of the statement that is running
        self._before: Reply | None = None  # the reply so far
        self._size = 0
        """Bytes of the reply so far."""
        self._serving: asyncio.Task[None] | None = None
        self._is_answered = True

    def on_request(
        self, reply: Reply, request: FileRequest, *, limit: int = MAX_REPLY, is_abandoned: bool
    ) -> None:
        """Called with the part of a reply up to a request; the rest of the reply follows the answer.

        Args:
            limit: bytes of the whole reply, without the data for files.
            is_abandoned: the caller no longer waits for the reply.

        Raises:
            ProtocolError: the reply is longer than its limit, or the last request is not answered yet.
        """
        if not self._is_answered:
            raise ProtocolError("the server asks for a client's file before the answer to its last request")
        self._size = reply.size + (0 if self._before is None else self._size)
        if self._size > limit:
            raise ProtocolError(f"the reply is longer than {limit} bytes")
        self._before = joined(self._before, reply)
        if is_abandoned and self._failure is None:
            self._failure = OperationalError("the call was cancelled")
        self._is_answered = False
        # Not create_task: an eager task would answer before the rest of what has arrived is read.
        self._serving = asyncio.Task(self._serve(request))

    def finish(self, reply: Reply) -> Reply:
        """The whole reply, from its last part; with the reason why a file was refused or has failed.

        Raises:
            ProtocolError: the last request is not answered yet. The server would take the answer for a request.
        """
        if self._before is None:
            return reply
        if not self._is_answered and not reply.is_session_ended:
            raise ProtocolError("the reply ends before the answer to its request for a client's file")
        whole, self._before = joined(self._before, reply), None
        failure, self._failure = self._failure, None
        if failure is not None:
            if reply.error is None:
                if isinstance(failure, DatabaseError):
                    failure.outcome_unknown = True
                failure.add_note("the server has executed the statement nevertheless")
            whole.bad_value = whole.file_failure = failure
        self._close_later()
        return whole

    def on_channel_closed(self) -> None:
        """Called when the connection has ended."""
        self._before = None
        if self._serving is None or self._serving.done():
            self._close_later()

    # -- one request --------------------------------------------------------------------------------------------------

    async def _serve(self, request: FileRequest) -> None:
        outbox = Outbox()
        if self._failure is None:
            try:
                outbox = await in_thread(self._execute, request)
            except BaseException as error:
                if (task := asyncio.current_task()) is not None and task.cancelling():
                    raise
                self._failure = self._failure_of(error)
        if self._failure is not None and not isinstance(request, FileClose):
            # Observed: JDBC sends these two numbers.
            put_file_failed(outbox, errno.EACCES if isinstance(request, FileOpen) else errno.EBADF)
        put_eot(outbox)
        self._is_answered = True
        if self._channel.is_open:
            self._channel.send(outbox.detach())
        else:
            self._close_later()

    def _execute(self, request: FileRequest) -> Outbox:
        """Do what the server asks for; in a thread. Returns the answer, without SQ_EOT."""
        answer = Outbox()
        match request:
            case FileOpen(name, _, flags, offset):
                self._close()
                self._name, self._offset = self._code_set.decode(name), offset
                self._is_unwritten = False
                if self._open is None:
                    raise NotSupportedError(
                        f"the server asks for the client's file '{visible(self._name)}'; client_files= allows that"
                    )
                if self._is_in_directory:
                    base_name(self._name)
                self._is_unwritten = bool(flags & _WRITE_ACCESS)
            case FileRead(buffer, amount):
                limit = MAX_FILE_DATA if amount < 0 else min(amount, MAX_FILE_DATA)
                data: Any = self._opened("rb").read(limit + (amount < 0))
                if not isinstance(data, (bytes, bytearray)):  # the file may be the user's
                    raise TypeError(f"read: expected bytes, got {type(data).__name__}")
                if len(data) > limit:
                    raise OperationalError(f"more than {limit} bytes at once")
                put_file_data(answer, bytes(data), buffer)
            case FileWrite(data):
                written: Any = self._opened("wb").write(data)
                if isinstance(written, int) and written < len(data):
                    raise OSError(f"{written} of {len(data)} bytes were written")
                put_file_written(answer, len(data))
            case FileClose():
                if self._is_unwritten and self._file is None:
                    self._opened("wb")
                self._close()
                self._name = ""
        return answer

    def _opened(self, mode: str) -> BinaryIO:
        if self._file is None:
            if self._open is None or not self._name:
                raise OperationalError("the server has not opened it")
            self._file, self._is_unwritten = self._open(self._name, mode), False
            if self._offset > 0:
                self._file.seek(self._offset)
        return self._file

    def _close(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            file.close()

    def _close_later(self) -> None:
        """Close a file that the server has not closed."""
        if self._file is not None:
            _ = self._channel.loop.run_in_executor(None, self._close)

    def _failure_of(self, error: BaseException) -> BaseException:
        if isinstance(error, NotSupportedError) or not isinstance(error, Exception):
            return error
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        failure = OperationalError(
            f"the client's file '{visible(self._name)}': {reason or type(error).__name__}"
        )
        failure.__cause__ = error
        return failure


_FIRST: Final = ("warnings", "warnings_left_out", "error", "bad_value")
"""Fields of a reply that are not replaced by those of a later part."""


def joined(before: Reply | None, after: Reply) -> Reply:
    """Two parts of one reply as one. *before* must not be used any more: its rows are extended."""
    if before is not None:
        if before.bad_value is None:
            before.rows += after.rows
        before.warnings_left_out += after.warnings_left_out
        for warning in after.warnings:
            add_error(before, warning)
        kept = vars(before)
        first = {name: kept[name] for name in _FIRST if kept.get(name) is not None}
        vars(after).update({**kept, **vars(after), **first, "rows": before.rows})
    after.file_request, after.is_plain = None, False
    return after


def _opener(option: ClientFiles | None) -> OpenFile | None:
    if option is None:
        return None
    if callable(option):
        return option
    directory = Path(option).absolute()
    return lambda name, mode: open_in(directory, name, mode)


def base_name(name: str) -> str:
    """The last part of a server's name for a file.

    Raises:
        NotSupportedError: it is not the name of a file in a directory.
    """
    base = _SEPARATORS.split(name)[-1]
    if base in ("", ".", "..") or _UNSAFE.search(base):
        raise NotSupportedError(
            f"the server asks for the client's file '{visible(name)}': the name is not allowed"
        )
    return base


def open_in(directory: Path, name: str, mode: str) -> BinaryIO:
    """Open a regular file directly in *directory*, by the last part of *name*. Symbolic links are refused.

    Raises:
        NotSupportedError: the name is unsafe.
        OSError: the file cannot be opened, or is of another kind.
    """
    base = base_name(name)
    path = directory / base
    if path.is_symlink():
        raise OSError(f"{visible(base)} is a symbolic link")
    flags = os.O_RDONLY if mode == "rb" else os.O_WRONLY | os.O_CREAT
    for also in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY"):
        flags |= getattr(os, also, 0)
    descriptor = os.open(path, flags, 0o666)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(f"{visible(base)} is not a regular file")
        if mode == "wb":
            os.truncate(descriptor, 0)
        file: Any = os.fdopen(descriptor, mode)
    except BaseException:
        os.close(descriptor)
        raise
    opened: BinaryIO = file
    return opened
