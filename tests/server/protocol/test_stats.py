from __future__ import annotations

import dataclasses

import pytest

from aioifx.server.protocol.stats import Counts, ServerStats, SessionStats


def test_counts_add_up() -> None:
    total = Counts(groups=1, turns=1)
    total.add(Counts(groups=3, turns=2, interrupts=1))
    assert total == Counts(groups=4, turns=3, interrupts=1)


def test_totals_of_the_server_have_the_names_that_those_of_a_session_have() -> None:
    counted = {field.name for field in dataclasses.fields(Counts)}
    for stats in (ServerStats, SessionStats):
        assert counted <= {field.name for field in dataclasses.fields(stats)}


def test_stats_that_were_read_do_not_change_later() -> None:
    stats = ServerStats(logins=0, groups=0, turns=0, interrupts=0, sessions=())
    with pytest.raises(dataclasses.FrozenInstanceError):
        stats.groups = 1  # type: ignore[misc]
