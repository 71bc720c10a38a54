from __future__ import annotations

import pytest

from tests.bench.arrow_stream import peak
from tests.bench.replay import replay_process


@pytest.mark.exhaustive
def test_a_stream_needs_the_same_memory_for_more_rows() -> None:
    with replay_process(rows=400_000) as dsn:
        few, many = (peak(dsn, "pyarrow", rows) for rows in (100_000, 400_000))
    assert many < few + (8 << 20), "the rows have 20 MB"
