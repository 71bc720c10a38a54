"""What benches write into pages: only the text between their marks."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bench import fetch_size, growth, latency, memory
from tests.bench.page import replaced, size_name, table, write_into

PAGE = "# Title\n\nProse.\n\n<!-- one -->\nold\n<!-- /one -->\n\nMore.\n"


def test_the_prose_around_the_marks_stays() -> None:
    page = replaced(PAGE, "one", "new\n")
    assert page == "# Title\n\nProse.\n\n<!-- one -->\n\nnew\n\n<!-- /one -->\n\nMore.\n"
    assert replaced(page, "one", "new") == page


@pytest.mark.parametrize("page", ["", PAGE * 2, "<!-- /one --><!-- one -->", "<!-- one -->"])
def test_a_page_without_marks_or_with_too_many_is_left_alone(page: str, tmp_path: Path) -> None:
    path = tmp_path / "page.md"
    path.write_text(page, encoding="utf-8")
    with pytest.raises(ValueError, match="<!-- one --> and <!-- /one --> once each"):
        write_into(path, {"one": "new"})
    assert path.read_text(encoding="utf-8") == page


@pytest.mark.parametrize(
    ("path", "marks"),
    [
        (fetch_size.PAGE, ["sweep", "readers"]),
        (growth.PAGE, ["growth"]),
        (latency.PAGE, ["latency"]),
        (memory.PAGE, ["connections"]),
    ],
)
def test_the_pages_have_their_marks(path: Path, marks: list[str]) -> None:
    page = path.read_text(encoding="utf-8")
    for mark in marks:
        assert "new" in replaced(page, mark, "new")


def test_tables_and_sizes_are_for_people() -> None:
    assert table(["a", "b"], [["x", "1"]]) == "| a | b |\n| --- | ---: |\n| x | 1 |"
    sizes = [4096, 32767, 1 << 18, 1 << 23, 100_000]
    assert [size_name(size) for size in sizes] == [
        "4 KiB",
        "32,767 bytes",
        "256 KiB",
        "8 MiB",
        "100,000 bytes",
    ]
