"""A partition read in a process of its own.

Processes are spawned, not forked: a fork would take sockets, locks and an event loop along, in the middle of whatever
they were doing. So what they run is a function that can be imported, and what they are given can be pickled.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection as Pipe

from aioifx.partitions import Partition, Source
from examples.bulk_read_lab import usage
from examples.bulk_read_lab.limits import Limits
from examples.bulk_read_lab.policy import ChildLost
from examples.bulk_read_lab.reading import read_streaming
from examples.bulk_read_lab.table import Tally

_SPAWN = get_context("spawn")


@dataclass(frozen=True, slots=True)
class Answer:
    """What a process has read, and the most memory that it had."""

    tally: Tally
    peak_mib: float


async def read_in_child(dsn: str, source: Source, partition: Partition, limits: Limits) -> Answer:
    """Start a process, have it read *partition*, and wait for what it says. When this is cancelled, it is killed.

    Raises:   ChildLost: it has ended without a word. Whatever the reading raised there.
    """
    ours, theirs = _SPAWN.Pipe(duplex=False)
    child = _SPAWN.Process(target=answer, args=(theirs, dsn, source, partition, limits), daemon=True)
    receiving = None
    try:
        with theirs:  # the child has a copy: when it ends, so does the pipe
            child.start()
        receiving = asyncio.create_task(asyncio.to_thread(_receive, ours))
        said = await asyncio.shield(receiving)
    except EOFError:
        child.join()
        raise ChildLost(f"the process has ended with exit code {child.exitcode}") from None
    finally:
        if child.pid is not None:
            child.kill()
            child.join()
        if receiving is None:
            ours.close()
        else:
            await asyncio.gather(receiving, return_exceptions=True)
    if isinstance(said, Answer):
        return said
    raise said


def _receive(pipe: Pipe[object, Answer | Exception]) -> Answer | Exception:
    with pipe:
        return pipe.recv()


def answer(
    pipe: Pipe[Answer | Exception, object], dsn: str, source: Source, part: Partition, limits: Limits
) -> None:
    """What the process runs."""
    with pipe:
        try:
            tally = asyncio.run(read_streaming(dsn, source, part, limits))
            pipe.send(Answer(tally, usage.peak_mib()))
        except Exception as error:
            pipe.send(error)
