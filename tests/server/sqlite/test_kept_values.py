from __future__ import annotations

import pytest

from aioifx.server.sqlite.kept_values import KeptByCursor, KeptValues


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
