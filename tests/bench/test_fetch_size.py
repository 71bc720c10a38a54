"""The sweep over fetch buffers: its plan, its tables, and one small run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bench.conftest import check_plot
from tests.bench.fetch_size import (
    Case,
    Sample,
    Samples,
    cases_of,
    plot,
    reader_table,
    report,
    run,
    sweep_table,
)

ROWS = {"narrow": 50_000, "wide": 20_000}


def measured(sizes: tuple[int, ...] = (4096, 32767)) -> Samples:
    """Two rounds in which a fetch takes a second for each kilobyte that its buffer lacks to 100."""
    cases = cases_of(ROWS, [0.0, 0.5], sizes)
    return {
        case: [Sample(100 - case.size / 1024, 2.0, 1.0, 0.001, 2**20, 0) for _ in range(2)] for case in cases
    }


def test_every_size_meets_every_shape_and_delay_and_the_readers_meet_each_other() -> None:
    cases = cases_of(ROWS, [0.0, 0.5], [4096, 32767])
    assert len(cases) == len(set(cases)) == 2 * 2 * 2 + 2 * 2 * 2
    assert Case("wide", 0.5, 32767, 20_000) in cases
    assert Case("narrow", 0.0, 4096, 10_000, read_ahead=False) in cases


def test_ratios_are_those_to_the_standard_buffer_of_the_same_round() -> None:
    text = sweep_table(measured(), "narrow", 0.5)
    lines = [line.strip("| ").split(" | ") for line in text.splitlines()[2:]]
    assert [line[0] for line in lines] == ["4 KiB", "32,767 bytes"]
    assert [line[2] for line in lines] == ["0.71 [0.71-0.71]", "1.00 [1.00-1.00]"]
    assert lines[0][3] == "40,000", "nanoseconds of CPU for each row"
    assert lines[0][6] == "1.0"


def test_the_report_has_a_table_for_each_shape_and_delay_and_one_for_the_readers() -> None:
    texts = report(measured(), 2)
    assert sorted(texts) == ["readers", "sweep"]
    assert texts["sweep"].count("rows, ") == 4
    assert texts["sweep"].count("32,767 bytes") == 4
    assert reader_table(measured()).count("[1.00-1.00]") == 4


def test_the_plot_is_svg_and_the_same_for_the_same_numbers(tmp_path: Path) -> None:
    check_plot(lambda path: plot(measured(), path), tmp_path)


@pytest.mark.timeout(60)
def test_a_sample_is_taken_in_a_process_of_its_own() -> None:
    case = Case("narrow", 0.0, 8192, 2000)
    (sample,) = run([case], 1, note=lambda text: None, pinned=False)[case]
    assert sample.fetch > 0
    assert 0 < sample.first <= sample.stream
