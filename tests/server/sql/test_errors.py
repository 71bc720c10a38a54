"""The one way the server says an SQL error."""

from __future__ import annotations

from aioifx.server.sql.errors import SqlError


def test_an_error_has_its_codes_its_token_and_its_place() -> None:
    error = SqlError(-206, -111, "nowhere", 15)
    assert (error.sqlcode, error.isamcode, error.token, error.offset) == (-206, -111, "nowhere", 15)


def test_an_error_says_only_what_it_knows() -> None:
    assert str(SqlError(-206, -111, "nowhere", 15)) == "SQLCODE -206, ISAM -111, 'nowhere', offset 15"
    assert str(SqlError(-1202)) == "SQLCODE -1202"
