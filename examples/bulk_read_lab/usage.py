"""What a process has used: its memory at the most, and processor time."""

from __future__ import annotations

import os
import re
import sys
import time
from pathlib import Path


def peak_mib() -> float:
    """The most memory that this process had at a time, in MiB.

    Where there is /proc, it tells: what `getrusage` says there, a process inherits from the one that started it.
    """
    try:
        found = re.search(r"^VmHWM:\s+(\d+) kB$", Path("/proc/self/status").read_text("ascii"), re.M)
    except OSError:
        found = None
    if found:
        return round(int(found[1]) / 1024, 1)
    try:
        import resource
    except ImportError:  # Windows
        return 0.0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / (1024 * 1024 if sys.platform == "darwin" else 1024), 1)


def own_seconds() -> float:
    """Processor time of this process."""
    return time.process_time()


def children_seconds() -> float:
    """Processor time of the processes that it has started, and that have ended."""
    spent = os.times()
    return spent.children_user + spent.children_system


def seconds_of(pid: int) -> float | None:
    """Processor time of any process, where there is /proc."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()
    except OSError:
        return None
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
