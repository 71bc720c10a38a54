"""How many sessions the process's limit of open files allows. Never: a session."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import Final

if sys.platform != "win32":
    import resource

PER_SESSION: Final = 5
"""Its socket and a duplicate of that, an epoll object, the file of its database and that file's WAL."""

_OTHERS: Final = 64
"""For all else: the databases' own files, temporary files, the program around the server."""


def allow_descriptors() -> None:
    """Raise the soft limit of open files to the hard one."""
    if sys.platform != "win32":
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        with suppress(ValueError, OSError):  # macOS reports more than it allows
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def session_limit(wanted: int) -> int:
    """The number of concurrent sessions: *wanted*, or as many as the soft limit of open files has room for."""
    if sys.platform == "win32":
        return wanted
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if soft == resource.RLIM_INFINITY:
        return wanted
    return min(wanted, max(1, (soft - _OTHERS) // PER_SESSION))
