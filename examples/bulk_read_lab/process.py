"""A function in a process of its own, and what a process uses."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import re
import signal
import sys
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection as Pipe
from pathlib import Path
from typing import TypeVar, TypeVarTuple, cast

Result = TypeVar("Result")
Args = TypeVarTuple("Args")


async def in_process(function: Callable[[*Args], Result], *args: *Args) -> Result:
    """Call *function* in a new process, which is killed on cancellation.

    The process is spawned, because a fork would copy sockets, locks and the event loop.

    Raises:
        ChildProcessError: it ended without an answer. What *function* raised there.
    """
    spawn = multiprocessing.get_context("spawn")
    ours, theirs = spawn.Pipe(duplex=False)
    child = spawn.Process(target=_answer, args=(theirs, function, args))
    with theirs:  # the child has a copy: when it ends, so does the pipe
        child.start()
    receiving = asyncio.create_task(asyncio.to_thread(ours.recv))
    try:
        answer = await asyncio.shield(receiving)
    except EOFError:
        child.join()
        raise ChildProcessError(f"the process ended with exit code {child.exitcode}") from None
    finally:
        child.kill()
        child.join()
        await asyncio.gather(receiving, return_exceptions=True)
        ours.close()
    if isinstance(answer, Exception):
        raise answer
    return cast("Result", answer)


def _answer(pipe: Pipe[object, object], function: Callable[[*Args], object], args: tuple[*Args]) -> None:
    """The child's main function."""
    # Ctrl-C reaches every process; the first one ends the others.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with pipe:
        try:
            pipe.send(function(*args))
        except Exception as error:
            pipe.send(error)


def _end_with_parent() -> None:
    # A process that is killed cannot end its children.
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def limit_memory(mib: int) -> None:
    """Limit the address space of this process and of those that it starts, where the system can; 0 for no limit."""
    if sys.platform == "linux" and mib > 0:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (mib * 2**20, resource.getrlimit(resource.RLIMIT_AS)[1]))


def peak_mib() -> float:
    """The peak of this process's memory in MiB; 0 without /proc."""
    try:
        found = re.search(r"^VmHWM:\s+(\d+) kB$", Path("/proc/self/status").read_text("ascii"), re.M)
    except OSError:
        found = None
    return round(int(found[1]) / 1024, 1) if found else 0.0


def cpu_of(pid: int | None) -> float | None:
    """Processor seconds of another process; None without /proc."""
    try:
        user, system = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()[11:13]
    except OSError:
        return None
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")
