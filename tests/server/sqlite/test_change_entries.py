from __future__ import annotations

import pytest

from aioifx.server.sqlite.change_entries import PAGE, encoded, frames

FACTS = [(1, 20, 1_700_000_000, "stores", 7), (40, 20, 100, None, b"row"), (2, 20, 1_700_000_001)]


def test_entries_are_read_as_they_were_written() -> None:
    data = b"".join(map(encoded, FACTS))
    found = list(frames(lambda offset, size: data[offset : offset + size], 0))
    assert [facts for _, _, facts in found] == FACTS
    assert [begin for begin, _, _ in found] == [0, *(end for _, end, _ in found[:-1])]
    assert found[-1][1] == len(data)


def test_the_rest_of_a_page_is_skipped() -> None:
    first = encoded(FACTS[0])
    data = first + bytes(PAGE - len(first)) + encoded(FACTS[1])
    found = list(frames(lambda offset, size: data[offset : offset + size], 0))
    assert [(begin, facts) for begin, _, facts in found] == [(0, FACTS[0]), (PAGE, FACTS[1])]


@pytest.mark.parametrize("cut", [1, 5, len(encoded(FACTS[2])) - 1])
def test_an_incomplete_entry_ends_them(cut: int) -> None:
    data = b"".join(map(encoded, FACTS))[:-cut]
    found = [facts for _, _, facts in frames(lambda offset, size: data[offset : offset + size], 0)]
    assert found == FACTS[:2]
