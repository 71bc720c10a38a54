"""The anomalies of a history: what its isolation level must exclude. Never: how the history came about.

Names are those of Adya's thesis ("Weak Consistency", 1999) and of Berenson and others ("A Critique of ANSI SQL
Isolation Levels", 1995). Dependencies between committed transactions are edges of a graph:

ww: the second overwrote what the first had written;
wr: the second read what the first had written;
rw: the second overwrote what the first had read.

A cycle means that no serial order of the transactions gives the same results.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from itertools import pairwise
from typing import Final, NamedTuple

from tests.system.histories.history import (
    Append,
    Delete,
    History,
    Insert,
    Isolation,
    Operation,
    Read,
    Scan,
    Transaction,
)


class Anomaly(Enum):
    """Kinds of anomalies, the gravest first."""

    CORRUPTION = "corruption"
    """A value that no transaction wrote, the effect of a rolled-back one at the end, or a lost effect of a commit."""
    DIRTY_WRITE = "dirty write"
    """G0, P0: two transactions overwrote each other's writes."""
    DIRTY_READ = "dirty read"
    """G1a, G1b, P1: a write was read that was rolled back, or not the last one of its transaction."""
    CIRCULAR_READ = "circular read"
    """G1c: two transactions depend on each other's writes."""
    LOST_UPDATE = "lost update"
    """P4: a committed write was overwritten by a transaction that had not seen it."""
    NON_REPEATABLE_READ = "non-repeatable read"
    """P2: a transaction read a list twice and found another's write in between."""
    PHANTOM = "phantom"
    """P3: a transaction read a group twice and found another's member, or missed one."""
    READ_SKEW = "read skew"
    """A5A, G-single: a transaction read some values before another's writes, and some after them."""
    WRITE_SKEW = "write skew"
    """A5B, G2: two transactions read what the other one wrote, each before the write."""


_ALWAYS: Final = frozenset({Anomaly.CORRUPTION, Anomaly.DIRTY_WRITE})
_COMMITTED: Final = _ALWAYS | {Anomaly.DIRTY_READ, Anomaly.CIRCULAR_READ}

FORBIDDEN: Final = {
    Isolation.DIRTY_READ: _ALWAYS,
    Isolation.COMMITTED_READ: _COMMITTED,
    Isolation.LAST_COMMITTED: _COMMITTED,
    Isolation.CURSOR_STABILITY: _COMMITTED,
    Isolation.REPEATABLE_READ: frozenset(Anomaly),
}
"""Anomalies that each level excludes (documented: Guide to SQL Syntax, SET ISOLATION)."""


class Finding(NamedTuple):
    """One anomaly, and what shows it."""

    anomaly: Anomaly
    evidence: str


def find_anomalies(history: History) -> list[Finding]:
    """All anomalies of *history*."""
    return list(_Analysis(history).findings())


class _Edge(NamedTuple):
    source: int
    target: int
    kind: str
    place: str


@dataclass(slots=True)
class _Analysis:
    history: History
    writers: dict[int, Transaction] = field(default_factory=dict[int, Transaction])
    """The transaction that appended an element or inserted a member."""
    deleters: dict[int, list[Transaction]] = field(default_factory=dict[int, list[Transaction]])
    """The transactions that deleted a member, one after the rollback of the other."""
    appends: dict[tuple[int, int], list[int]] = field(default_factory=dict[tuple[int, int], list[int]])
    """The elements that a transaction appended to a list, in order; by its number and the list."""

    def __post_init__(self) -> None:
        for transaction in self.history.transactions:
            for operation in transaction.operations:
                match operation:
                    case Append(key, element):
                        self.writers[element] = transaction
                        self.appends.setdefault((transaction.number, key), []).append(element)
                    case Insert(_, member):
                        self.writers[member] = transaction
                    case Delete(_, member):
                        self.deleters.setdefault(member, []).append(transaction)
                    case Read() | Scan():
                        pass

    def findings(self) -> Iterator[Finding]:
        yield from self._state_at_end()
        for transaction in self.history.transactions:
            yield from self._dirty_reads(transaction)
            yield from self._changed_reads(transaction)
        yield from self._lost_updates()
        yield from self._cycles(list(self._edges()))

    # -- the end -------------------------------------------------------------------------------------------------------

    def _state_at_end(self) -> Iterator[Finding]:
        """Effects at the end are those of the committed transactions."""
        for key, elements in self.history.lists.items():
            for element in elements:
                writer = self.writers.get(element)
                if writer is None or not writer.is_committed:
                    yield Finding(Anomaly.CORRUPTION, f"list {key} ends with {element} of {writer}")
        inserted, deleted = self._committed_members(Insert), self._committed_members(Delete)
        for group, members in self.history.groups.items():
            expected = (self.history.first_groups.get(group, frozenset()) | inserted[group]) - deleted[group]
            if members != expected:
                yield Finding(
                    Anomaly.CORRUPTION, f"group {group} ends with {sorted(members)}, not {sorted(expected)}"
                )

    def _committed_members(self, kind: type[Insert | Delete]) -> dict[int, set[int]]:
        members: dict[int, set[int]] = defaultdict(set)
        for operation in self._committed_operations():
            if isinstance(operation, kind):
                members[operation.group].add(operation.member)
        return members

    def _committed_operations(self) -> Iterator[Operation]:
        for transaction in self.history.transactions:
            if transaction.is_committed:
                yield from transaction.operations

    # -- single reads --------------------------------------------------------------------------------------------------

    def _dirty_reads(self, reader: Transaction) -> Iterator[Finding]:
        own: list[Operation] = []
        for operation in reader.operations:
            match operation:
                case Read(key, elements):
                    yield from self._dirty_elements(reader, key, elements)
                case Scan(group, members):
                    yield from self._dirty_members(reader, group, members, own)
                case Append() | Insert() | Delete():
                    own.append(operation)

    def _dirty_elements(self, reader: Transaction, key: int, elements: tuple[int, ...]) -> Iterator[Finding]:
        if len(set(elements)) < len(elements):
            yield Finding(Anomaly.CORRUPTION, f"{reader} read {elements} in list {key}")
        for element in elements:
            writer = self.writers.get(element)
            if writer is None:
                yield Finding(
                    Anomaly.CORRUPTION, f"{reader} read {element} in list {key}, which nobody wrote"
                )
            elif writer is not reader and not writer.is_committed:
                yield Finding(Anomaly.DIRTY_READ, f"{reader} read {element} in list {key} of {writer}")
            elif writer is not reader and self.appends[writer.number, key][-1] not in elements:
                yield Finding(
                    Anomaly.DIRTY_READ, f"{reader} read a part of what {writer} wrote to list {key}"
                )

    def _dirty_members(
        self, reader: Transaction, group: int, members: frozenset[int], own: list[Operation]
    ) -> Iterator[Finding]:
        first = self.history.first_groups.get(group, frozenset())
        for member in members - first:
            writer = self.writers.get(member)
            if writer is None:
                yield Finding(Anomaly.CORRUPTION, f"{reader} found {member} in group {group}")
            elif writer is not reader and not writer.is_committed:
                yield Finding(Anomaly.DIRTY_READ, f"{reader} found {member} in group {group} of {writer}")
        for member in first - members:
            deleters = self.deleters.get(member, [])
            if not deleters:
                yield Finding(Anomaly.CORRUPTION, f"{reader} missed {member} in group {group}")
            elif not any(deleter is reader or deleter.is_committed for deleter in deleters):
                yield Finding(Anomaly.DIRTY_READ, f"{reader} missed {member} in group {group}: rolled back")
        for operation in own:
            match operation:
                case Insert(other, member) if other == group and member not in members:
                    if Delete(group, member) not in own:
                        yield Finding(Anomaly.CORRUPTION, f"{reader} missed its own {member}")
                case Delete(other, member) if other == group and member in members:
                    yield Finding(Anomaly.CORRUPTION, f"{reader} found {member}, which it had deleted")
                case _:
                    pass

    def _changed_reads(self, reader: Transaction) -> Iterator[Finding]:
        """Two reads of one transaction that differ by writes of others."""
        lists: dict[int, list[int]] = {}
        groups: dict[int, frozenset[int]] = {}
        own = {operation.member for operation in reader.operations if isinstance(operation, Insert | Delete)}
        for operation in reader.operations:
            match operation:
                case Read(key, elements):
                    others = [element for element in elements if self.writers.get(element) is not reader]
                    if lists.setdefault(key, others) != others:
                        yield Finding(
                            Anomaly.NON_REPEATABLE_READ, f"{reader} read {lists[key]}, then {others} in {key}"
                        )
                case Scan(group, members):
                    if groups.setdefault(group, members - own) != members - own:
                        yield Finding(
                            Anomaly.PHANTOM,
                            f"{reader}: {sorted(groups[group])}, then {sorted(members - own)}",
                        )
                case Append() | Insert() | Delete():
                    pass

    # -- dependencies --------------------------------------------------------------------------------------------------

    def _order(self, key: int) -> tuple[int, ...]:
        """The order of the writes of a list: its elements at the end."""
        return self.history.lists.get(key, ())

    def _lost_updates(self) -> Iterator[Finding]:
        anomaly = Anomaly.LOST_UPDATE if self.history.has_rewrites else Anomaly.CORRUPTION
        for operation in self._committed_operations():
            if isinstance(operation, Append) and operation.element not in self._order(operation.key):
                writer = self.writers[operation.element]
                yield Finding(anomaly, f"list {operation.key} lost {operation.element} of {writer}")

    def _edges(self) -> Iterator[_Edge]:
        for key, elements in self.history.lists.items():
            writers = [self.writers.get(element) for element in elements]
            for first, second in pairwise(writers):
                yield from _edge(first, second, "ww", f"list {key}")
        for transaction in self.history.transactions:
            if not transaction.is_committed:
                continue
            for operation in transaction.operations:
                match operation:
                    case Read(key, elements):
                        yield from self._read_edges(transaction, key, elements, self._order(key))
                    case Scan(group, members):
                        yield from self._scan_edges(transaction, group, members)
                    case Append() | Insert() | Delete():
                        pass

    def _read_edges(
        self, reader: Transaction, key: int, elements: tuple[int, ...], order: tuple[int, ...]
    ) -> Iterator[_Edge]:
        if elements:
            yield from _edge(self.writers.get(elements[-1]), reader, "wr", f"list {key}")
        if elements == order[: len(elements)] and len(order) > len(elements):
            yield from _edge(reader, self.writers.get(order[len(elements)]), "rw", f"list {key}")

    def _scan_edges(self, reader: Transaction, group: int, members: frozenset[int]) -> Iterator[_Edge]:
        place = f"group {group}"
        for operation, writer in self._group_writes(group):
            is_member = operation.member in members
            if isinstance(operation, Insert):
                if is_member:
                    yield from _edge(writer, reader, "wr", place)
                elif operation.member not in self.deleters:
                    yield from _edge(reader, writer, "rw", place)
            elif is_member:
                yield from _edge(reader, writer, "rw", place)
            elif operation.member in self.history.first_groups.get(group, ()):
                yield from _edge(writer, reader, "wr", place)

    def _group_writes(self, group: int) -> Iterator[tuple[Insert | Delete, Transaction]]:
        for transaction in self.history.transactions:
            for operation in transaction.operations:
                if isinstance(operation, Insert | Delete) and operation.group == group:
                    yield operation, transaction

    def _cycles(self, edges: list[_Edge]) -> Iterator[Finding]:
        overwrites = [edge for edge in edges if edge.kind == "ww"]
        reads = [edge for edge in edges if edge.kind != "rw"]
        if cycle := _cycle(overwrites):
            yield Finding(Anomaly.DIRTY_WRITE, cycle)
        elif cycle := _cycle(reads):
            yield Finding(Anomaly.CIRCULAR_READ, cycle)
        elif cycle := next(
            filter(None, (_path_back(edge, reads) for edge in edges if edge.kind == "rw")), ""
        ):
            yield Finding(Anomaly.READ_SKEW, cycle)
        elif cycle := _cycle(edges):
            yield Finding(Anomaly.WRITE_SKEW, cycle)


def _edge(source: Transaction | None, target: Transaction | None, kind: str, place: str) -> Iterator[_Edge]:
    """The edge between two different committed transactions."""
    if source is None or target is None or source is target:
        return
    if source.is_committed and target.is_committed:
        yield _Edge(source.number, target.number, kind, place)


def _next_edges(edges: Iterable[_Edge]) -> dict[int, list[_Edge]]:
    following: dict[int, list[_Edge]] = defaultdict(list)
    for edge in edges:
        following[edge.source].append(edge)
    return following


def _path_back(edge: _Edge, edges: list[_Edge]) -> str:
    """A path from the end of *edge* to its start over *edges*, with *edge* first; empty if there is none."""
    following = _next_edges(edges)
    paths: list[list[_Edge]] = [[edge]]
    seen = {edge.target}
    while paths:
        path = paths.pop(0)
        if path[-1].target == edge.source:
            return ", ".join(f"T{step.source} -{step.kind}-> T{step.target} ({step.place})" for step in path)
        for step in following[path[-1].target]:
            if step.target not in seen:
                seen.add(step.target)
                paths.append([*path, step])
    return ""


def _cycle(edges: list[_Edge]) -> str:
    """One cycle over *edges*; empty if there is none."""
    return next(filter(None, (_path_back(edge, edges) for edge in edges)), "")
