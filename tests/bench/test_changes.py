from __future__ import annotations

import pytest

from tests.bench.changes import WAYS, Cost, decode_all, growth, measured, stream, table
from tests.bench.shapes import NARROW, SHAPES, Shape


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_the_rows_are_those_of_the_shape(shape: Shape) -> None:
    assert list(decode_all(shape, stream(shape, 2000))) == list(shape.rows(2000))


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_each_way_finds_all_changes(shape: Shape) -> None:
    costs = measured(shape, 1000, 2)
    assert [cost.name for cost in costs] == [*WAYS]
    assert all(cost.seconds > 0 and len(cost.ratios) == 2 for cost in costs)


def test_the_table_has_a_line_for_each_way() -> None:
    lines = [*table(NARROW, [Cost("struct", 1e-6, (1.0, 1.0)), Cost("rows", 5e-6, (4.0, 6.0))])]
    assert lines[2:] == [
        "| struct | 1,000,000 | 1.00 | 1.0 [1.0-1.0] |",
        "| rows | 200,000 | 5.00 | 5.0 [4.0-6.0] |",
    ]


@pytest.mark.exhaustive
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_memory_is_flat_over_many_changes(shape: Shape) -> None:
    assert growth(shape, 200_000) < 5_000_000
