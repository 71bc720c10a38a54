"""The names of isolation levels and the seconds of lock modes, and the words of SET."""

from __future__ import annotations

import math
from typing import Any

import pytest

from aioifx.client.config.isolation import ISOLATIONS, isolation_clause, lock_mode_clause
from aioifx.errors import InterfaceError


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(None, ""), (0, "not wait"), (1, "wait 1"), (32767, "wait 32767"), (-1, "wait"), (math.inf, "wait")],
)
def test_seconds_have_their_words(seconds: Any, words: str) -> None:
    assert lock_mode_clause(seconds) == words


@pytest.mark.parametrize("seconds", [-2, 32768, 0.5, True, "1", math.nan, -math.inf])
def test_other_seconds_are_refused_by_name(seconds: Any) -> None:
    with pytest.raises(InterfaceError, match=r"^lock_wait: "):
        lock_mode_clause(seconds)


def test_levels_have_their_words_and_everything_else_is_refused_by_name() -> None:
    assert isolation_clause(None) == ""
    assert isolation_clause("last_committed") == isolation_clause("committed_read_last_committed")
    for wrong in ("dirty-read", "dirtyread", "serializable", "", 1, ["dirty_read"]):
        with pytest.raises(InterfaceError, match=r"^isolation: expected one of dirty_read, "):
            isolation_clause(wrong)
    with pytest.raises(InterfaceError, match=r"repeatable_read, got int$"):
        isolation_clause(1)


@pytest.mark.parametrize("name", ISOLATIONS)
def test_levels_may_be_written_as_in_sql(name: str) -> None:
    for spelling in (name.replace("_", " "), name.upper(), name.replace("_", " ").upper()):
        assert isolation_clause(spelling) == isolation_clause(name)
