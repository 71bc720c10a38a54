"""Captured changes: scenarios violate no law, and what a server or the client loses or cuts is found."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from aioifx import Position
from aioifx.cdc.stream import Changes
from aioifx.codecs.cdc_records import CdcRecord, RowImage
from tests.system.simulation.model.capture import Capture
from tests.system.simulation.model.changes import FILE, PAGE_BITS, index_of, sequence_at
from tests.system.simulation.operations.capturing import CAPTURE
from tests.system.simulation.run import run
from tests.system.simulation.scenario import Caller, Fault, Host, Operation, Scenario

KINDS = ("batches", "transfer", "nested", "roll back", "load", "insert")
POOL = {"max_size": 5, "lock_wait": 5, "max_waiting": 0}
LOSSES = tuple(Fault("reset", "read", number) for number in range(10, 80, 7))


def scenario(seed: int, size: int = 20) -> Scenario:
    """Transactions that overlap, and a capture whose connections are lost; of an odd size, it needs new ones."""
    writers = tuple(
        Caller(2.0, 0, tuple(Operation(first + each, kind, 3) for each, kind in enumerate(KINDS)))
        for first in (10, 20, 30)
    )
    capture = Caller(0.0, 0, (Operation(seed + 100, CAPTURE, size),))
    hosts = (Host(speed=0.005, slow=0.1),)
    return Scenario(seed, hosts, pools=(POOL,), callers=(capture, *writers), faults=LOSSES)


def violated(seeds: range) -> Iterator[str]:
    """The laws that scenarios violate."""
    for seed in seeds:
        yield from sorted(run(scenario(seed)).laws)


def test_captures_violate_no_law() -> None:
    for seed in range(5):
        report = run(scenario(seed, 20 + seed % 2))
        assert not report.violations and report.faults["reset"] > 1


def test_a_row_that_the_server_loses_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Capture._record

    def lossy(self: Capture, index: int) -> CdcRecord | None:
        record = whole(self, index)
        return None if index % 11 == 5 and isinstance(record, RowImage) else record

    monkeypatch.setattr(Capture, "_record", lossy)
    assert "captured" in violated(range(5))


def test_a_restart_after_the_last_commit_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Instead of at the begin of the oldest open transaction."""

    def late(self: Changes) -> Position | None:
        position = self.position or self._origin
        return position and Position(position.commit, position.commit, position.change)

    monkeypatch.setattr(Changes, "_continuation", property(late))
    assert "captured" in violated(range(5))


def test_a_sequence_is_a_place_in_a_file_of_the_log() -> None:
    for index in (0, 1, FILE - 1, FILE, 5 * FILE + 7):
        assert index_of(sequence_at(index)) == index
        assert index_of(sequence_at(index) - 1) == index
        assert index_of(sequence_at(index) + 1) == index + 1
    assert sequence_at(FILE) - sequence_at(0) == 1 << 32 and sequence_at(1) - sequence_at(0) == 1 << PAGE_BITS
