from __future__ import annotations

import pytest

from aioifx import InterfaceError, Position


def test_a_position_is_json() -> None:
    position = Position(1 << 32, 2 << 32 | 5, 2 << 32)
    assert position.to_json() == '{"restart": 4294967296, "commit": 8589934597, "change": 8589934592}'
    assert Position.from_json(position.to_json()) == position
    assert Position.from_json(position.to_json().encode()) == position


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "position: expected JSON"),
        ("[1, 2, 3]", "expected an object with change, commit, restart"),
        ('{"restart": 1, "commit": 2}', "expected an object with change, commit, restart"),
        ('{"restart": 1, "commit": 2, "change": 3, "x": 4}', "expected an object"),
        ('{"restart": "1", "commit": 2, "change": 3}', "restart: expected a sequence number, got '1'"),
        ('{"restart": true, "commit": 2, "change": 3}', "restart: expected a sequence number, got True"),
        ('{"restart": 0, "commit": 2, "change": 3}', "restart: expected a sequence number, got 0"),
        ('{"restart": 1, "commit": 9223372036854775808, "change": 3}', "commit: expected a sequence number"),
        ('{"restart": 3, "commit": 2, "change": 3}', "restart: expected at most commit, 2, got 3"),
    ],
)
def test_what_is_no_position_is_refused(text: str, message: str) -> None:
    with pytest.raises(InterfaceError, match=message):
        Position.from_json(text)
