"""What a run may use: one place for every number that bounds it."""

from __future__ import annotations

from dataclasses import dataclass, fields

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The same for every strategy, so that they are compared under the same conditions."""

    memory_mib: int = 4096
    """Address space of each process; 0 for no limit. A process that needs more fails with MemoryError."""
    seconds: float = 120.0
    """What a run may take before it is ended."""
    connections: int = 4
    """Open at the same time, at most; of the strategies with more than one."""
    processes: int = 2
    """Of the strategy with several, each with a connection of its own, and a range of the table."""
    partitions: int = 8
    """Ranges that a table is cut into, by the strategy with a pool."""
    page: int = 10_000
    """Rows of a page, by the strategy that turns pages."""
    fetch_size: int = 32_767
    """Bytes of a block of rows on the wire."""
    retries: int = 2
    """Further attempts at a partition that failed, if failures are tolerated."""

    def __post_init__(self) -> None:
        for field in fields(self):
            least = 0 if field.name in ("memory_mib", "retries") else 1
            if getattr(self, field.name) < least:
                raise ValueError(f"{field.name}: must be at least {least}")

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
