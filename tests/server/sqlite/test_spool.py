from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aioifx.server.sqlite.spool import BLOCK_ROWS, KeptByCursor, KeptValues, Spool


@pytest.fixture
def spool() -> Iterator[Spool]:
    spool = Spool(memory_size=4096)
    yield spool
    spool.close()


def numbered(count: int) -> list[tuple[int, str, float | None]]:
    return [(n, f"row {n}", None if n % 3 else n / 7) for n in range(count)]


@pytest.mark.parametrize("count", [0, 1, BLOCK_ROWS - 1, BLOCK_ROWS, BLOCK_ROWS + 1, 5 * BLOCK_ROWS])
def test_rows_come_back_as_they_were(spool: Spool, count: int) -> None:
    rows = numbered(count)
    spool.append(rows)
    assert len(spool) == count
    assert spool.rows(0, count + 10) == rows


@given(st.lists(st.integers(0, 2 * BLOCK_ROWS), max_size=4), st.integers(0, 3000), st.integers(0, 3000))
def test_any_stretch_of_rows_is_the_same_stretch_of_what_was_appended(
    pieces: list[int], start: int, count: int
) -> None:
    spool = Spool(memory_size=100)
    rows = numbered(sum(pieces))
    done = 0
    for piece in pieces:
        spool.append(rows[done : done + piece])
        done += piece
    assert spool.rows(start, count) == rows[start : start + count]
    spool.close()


def test_rows_may_be_appended_after_reading(spool: Spool) -> None:
    rows = numbered(3 * BLOCK_ROWS)
    spool.append(rows[:700])
    assert spool.rows(600, 200) == rows[600:700]
    spool.append(rows[700:])
    assert spool.rows(600, 200) == rows[600:800]


def test_a_spool_beyond_its_limit_lies_in_a_file(spool: Spool) -> None:
    spool.append(numbered(BLOCK_ROWS))
    assert spool._file._rolled  # type: ignore[attr-defined]


def test_a_closed_spool_holds_nothing() -> None:
    spool = Spool()
    spool.append(numbered(3))
    spool.close()
    assert len(spool) == 0
    assert spool.rows(0, 3) == []


def test_values_come_back_in_pieces_and_in_any_order() -> None:
    kept = KeptValues(memory_size=4)
    assert [kept.add(value) for value in (b"abcdefg", b"", b"xyz")] == [0, 1, 2]
    assert list(kept.pieces(2, 2)) == [b"xy", b"z"]
    assert list(kept.pieces(0, 100)) == [b"abcdefg"]
    assert list(kept.pieces(1, 100)) == []
    assert kept.add(b"late") == 3
    assert list(kept.pieces(3, 3)) == [b"lat", b"e"]
    kept.close()
    with pytest.raises(IndexError):
        next(kept.pieces(0, 1))


def test_a_cursors_values_are_dropped_with_it() -> None:
    cursors = KeptByCursor()
    first, second = cursors.open(), cursors.open()
    one, other = cursors.keep(b"one", first), cursors.keep(b"other", second)
    assert cursors.keep(None, first) is None
    assert one is not None and other is not None
    references = [int(text.split()[1]) for text in (one, other)]
    assert [b"".join(cursors.pieces(reference, 2)) for reference in references] == [b"one", b"other"]
    cursors.close(first)
    cursors.close(first)
    with pytest.raises(LookupError):
        next(cursors.pieces(references[0], 2))
    assert b"".join(cursors.pieces(references[1], 2)) == b"other"
    assert cursors.open() > second
    for number in (second, second + 1):
        cursors.close(number)
