from __future__ import annotations

import pytest

from aioifx.server.sql.errors import SqlError
from aioifx.server.sqlite.transaction_state import Savepoint, SessionDefaults, Transaction


def point(name: str) -> Savepoint:
    return Savepoint(name, is_unique=False, mark=0, temp_mark=0, made=0, dropped=0, sqlite_name="")


def test_the_latest_savepoint_of_a_name_is_found() -> None:
    transaction = Transaction(1, [point("a"), point("b"), point("a")])
    assert [transaction.find(name) for name in ("a", "b", "")] == [2, 1, 2]
    with pytest.raises(SqlError) as raised:
        transaction.find("c")
    assert (raised.value.sqlcode, raised.value.token) == (-278, "c")


def test_defaults_of_two_sessions_are_equal_whatever_their_numbers() -> None:
    assert SessionDefaults(session_id=1) == SessionDefaults(session_id=2)
    assert SessionDefaults(lock_wait=None) != SessionDefaults()
