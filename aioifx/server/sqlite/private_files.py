"""Files that only the server's user can read, and the lock of a server's directory. Never: what the files contain."""

from __future__ import annotations

import os
import shutil
import stat
import sys
from pathlib import Path
from typing import Final

from aioifx.errors import InterfaceError

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

_BLOCK: Final = 1024 * 1024
_LOCK: Final = "aioifx.lock"
_LOCKED_BYTE: Final = 1 << 20
"""Windows locks bytes, which others cannot read then; this one is after the text."""


def private(path: str, flags: int) -> int:
    """An `opener` of `open`: a file that it creates is readable by its owner alone."""
    return os.open(path, flags, 0o600)


def copy_private(source: str | Path, target: str | Path) -> None:
    """Copy a file; the copy is readable by its owner alone."""
    with open(source, "rb") as original, open(target, "wb", opener=private) as copy:
        shutil.copyfileobj(original, copy, _BLOCK)


def regular(path: str, flags: int) -> int:
    """As `private`, for a regular file alone; a FIFO would block the session.

    Raises:
        OSError: it is something else.
    """
    descriptor = os.open(path, flags | getattr(os, "O_NONBLOCK", 0), 0o600)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(f"{path} is not a regular file")
    return descriptor


class DirectoryLock:
    """The lock of a directory of databases, until `close`; the system releases it when the process ends.

    Args:
        is_shared: others may have it as well, but no server that writes.

    Raises:
        InterfaceError: another server uses the directory.
    """

    def __init__(self, directory: Path, *, is_shared: bool = False) -> None:
        path = directory / _LOCK
        self._descriptor = -1
        if is_shared and not path.exists():
            return  # no server has written here, and this one must not
        self._descriptor = os.open(path, os.O_RDONLY if is_shared else os.O_RDWR | os.O_CREAT, 0o600)
        try:
            _lock(self._descriptor, is_shared=is_shared)
        except OSError:
            user = os.read(self._descriptor, 200).decode("utf-8", "replace").strip()
            self.close()
            raise InterfaceError(f"directory: {directory} is in use by {user or 'another server'}") from None

    def describe(self, address: str) -> None:
        """Write into the file who has the lock, for the message of another server."""
        os.ftruncate(self._descriptor, 0)
        os.lseek(self._descriptor, 0, os.SEEK_SET)
        os.write(self._descriptor, f"the server at {address}, process {os.getpid()}\n".encode())

    def close(self) -> None:
        """Release it."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def _lock(descriptor: int, *, is_shared: bool) -> None:
    """Lock a file, without waiting.

    Raises:
        OSError: another process, or another descriptor of this one, has locked it.
    """
    if sys.platform == "win32":  # never run by us
        os.lseek(descriptor, _LOCKED_BYTE, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
    else:
        fcntl.flock(descriptor, (fcntl.LOCK_SH if is_shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
