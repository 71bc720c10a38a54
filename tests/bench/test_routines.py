from __future__ import annotations

from tests.bench.routines import measured


def test_each_loop_is_measured() -> None:
    figures = measured(20)
    assert len(figures) == 5
    assert all(figure.seconds > 0 for figure in figures)
