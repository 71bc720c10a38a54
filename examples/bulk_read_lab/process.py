"""What a process may use, and what it has used."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

MIB = 1024 * 1024


def _limit(default: float, help: str) -> Any:
    return field(default=default, metadata={"help": help})


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The same for every strategy, so that they are compared under the same conditions."""

    memory_mib: int = _limit(4096, "MiB of address space that each process may have; 0 for no limit")
    seconds: float = _limit(120.0, "seconds that a run may take")
    connections: int = _limit(4, "connections of the pool")
    processes: int = _limit(2, "processes, each with a connection and a partition of its own")
    partitions: int = _limit(8, "partitions that the pool reads")
    page: int = _limit(10_000, "rows of a page")
    fetch_size: int = _limit(32_767, "bytes of a block of rows on the wire")
    retries: int = _limit(2, "further attempts at a partition, if failures are tolerated")

    def __post_init__(self) -> None:
        for each in fields(self):
            least = 0 if each.name in ("memory_mib", "retries") else 1
            if getattr(self, each.name) < least:
                raise ValueError(f"{each.name}: must be at least {least}")

    def apply(self) -> bool:
        """Bound the memory of this process and of those that it starts.

        Returns:  whether it is bounded; not every system can do it.
        """
        if not self.memory_mib:
            return False
        try:
            import resource

            _, hard = resource.getrlimit(resource.RLIMIT_AS)
            resource.setrlimit(resource.RLIMIT_AS, (self.memory_mib * MIB, hard))
        except (ImportError, OSError, ValueError):  # Windows has no such module, macOS no such limit
            return False
        return True


def peak_mib() -> float:
    """The peak of this process's memory in MiB; 0 on Windows.

    /proc comes first, because `getrusage` includes the peak of the process that started this one.
    """
    try:
        found = re.search(r"^VmHWM:\s+(\d+) kB$", Path("/proc/self/status").read_text("ascii"), re.M)
    except OSError:
        found = None
    if found:
        return round(int(found[1]) / 1024, 1)
    try:
        import resource
    except ImportError:
        return 0.0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / (1024 * 1024 if sys.platform == "darwin" else 1024), 1)


def seconds_of(pid: int | None) -> float | None:
    """Processor time of another process; None without /proc."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()
    except OSError:
        return None
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
