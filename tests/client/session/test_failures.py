"""Errors of a reply as exceptions."""

from __future__ import annotations

import asyncio

import pytest

from aioifx.client.session.failures import failure_of, is_cancelled_or_timed_out, note_sql, raise_for
from aioifx.errors import DatabaseError, DataError, QueryTimeout, SQLSyntaxError, UndefinedTable
from aioifx.wire.completion import ServerError
from aioifx.wire.replies import Reply

MISSING = ServerError(-206, -111, 15, "nix")


def test_a_reply_without_an_error_raises_nothing() -> None:
    raise_for(Reply())


def test_the_server_s_error_comes_first_and_holds_the_statement() -> None:
    reply = Reply(error=MISSING, bad_value=DataError("a value"))
    with pytest.raises(UndefinedTable) as caught:
        raise_for(reply, "select * from nix")
    error = caught.value
    assert (error.sqlcode, error.isamcode, error.sql) == (-206, -111, "select * from nix")


def test_a_value_that_could_not_be_decoded_is_raised_with_the_statement() -> None:
    with pytest.raises(DataError) as caught:
        raise_for(Reply(bad_value=DataError("a value")), "select c from t")
    assert caught.value.sql == "select c from t"


def test_a_syntax_error_has_a_hint_for_a_placeholder_of_another_driver() -> None:
    error = failure_of(ServerError(-201, 0), "select * from t where a = $1")
    assert isinstance(error, SQLSyntaxError) and error.__notes__


def test_the_statement_of_an_error_is_not_replaced() -> None:
    error = DatabaseError("it failed")
    note_sql(error, "first")
    note_sql(error, "second")
    note_sql(ValueError(), "ignored")
    assert error.sql == "first"


@pytest.mark.parametrize(
    ("error", "expected"),
    [(asyncio.CancelledError(), True), (QueryTimeout("late"), True), (DatabaseError("no"), False)],
)
def test_a_cancellation_or_timeout_defers_what_is_to_be_cleaned_up(
    error: BaseException, expected: bool
) -> None:
    assert is_cancelled_or_timed_out(error) is expected
