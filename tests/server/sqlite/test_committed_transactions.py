from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aioifx.server.sqlite.committed_transactions import CommittedTransactions


@given(st.data())
def test_the_file_has_what_was_added_and_is_gone_with_the_last_number(data: st.DataObject) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder, "committed")
        kept = CommittedTransactions(path)
        for number in data.draw(st.lists(st.integers(1, 2**31), unique=True, max_size=20)):
            kept.add(number)
            if data.draw(st.booleans()):
                kept.remove(frozenset(data.draw(st.sets(st.sampled_from(sorted(kept.numbers))))))
            assert CommittedTransactions(path).numbers >= kept.numbers
            assert path.exists() == bool(kept.numbers)


@pytest.mark.parametrize("count", [1, 2])
def test_a_number_that_was_cut_is_ignored(tmp_path: Path, count: int) -> None:
    path = tmp_path / "committed"
    kept = CommittedTransactions(path)
    for number in range(1, count + 1):
        kept.add(number)
    path.write_bytes(path.read_bytes()[:-1])
    again = CommittedTransactions(path)
    assert again.numbers == set(range(1, count))
    if again.numbers:  # as recovery does
        again.remove(again.numbers)
    again.add(7)
    assert CommittedTransactions(path).numbers == {7}
