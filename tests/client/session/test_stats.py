"""The counters of a connection."""

from __future__ import annotations

from dataclasses import replace

from aioifx.client.session.stats import Stats


def test_a_copy_keeps_the_counts_of_its_moment() -> None:
    stats = Stats(statements=1)
    before = replace(stats)
    stats.statements += 1
    assert (before.round_trips, before.statements, before.rows) == (0, 1, 0)
    assert stats != before
