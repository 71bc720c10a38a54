"""The result of an execution, besides rows."""

from __future__ import annotations

import pytest

from aioifx.client.execution.result import ExecuteResult, result_of, warnings_of
from aioifx.wire.completion import Done, Serials
from aioifx.wire.opcodes import StatementType


def test_a_reply_without_done_gives_an_empty_result() -> None:
    assert result_of(StatementType.INSERT, None) == ExecuteResult(0, None, 0, ())


def test_the_count_given_wins_over_the_last_done() -> None:
    assert result_of(StatementType.SELECT, Done(rows=3), rowcount=7).rowcount == 7
    assert result_of(StatementType.SELECT, Done(rows=3), rowcount=0).rowcount == 0


@pytest.mark.parametrize(
    ("done", "serials", "serial"),
    [
        (Done(), Serials(0, -(2**63)), None),  # the NULL of BIGINT
        (Done(serial=5), Serials(6, 7), 5),
        (Done(), Serials(6, 7), 7),
        (Done(), Serials(6, 0), 6),
        (Done(), Serials(), None),
        (Done(), None, None),
    ],
)
def test_the_serial_is_the_first_that_is_not_zero(
    done: Done, serials: Serials | None, serial: int | None
) -> None:
    assert result_of(StatementType.INSERT, done, serials).serial == serial
    assert result_of(StatementType.UPDATE, done, serials).serial is None


def test_warnings_are_the_union_of_both_sources_in_the_order_of_their_bits() -> None:
    result = result_of(StatementType.UPDATE, Done(warnings=0x08), warnings=0x01)
    assert [warning.sqlstate for warning in result.warnings] == ["01004", "01I07"]


def test_bits_without_a_meaning_are_no_warnings() -> None:
    assert warnings_of(0x40 | 0x80 | 0xFF00) == ()
    assert len(warnings_of(0xFFFF)) == 6


def test_results_are_equal_by_their_values_and_have_no_other_fields() -> None:
    assert len({ExecuteResult(1), ExecuteResult(1), ExecuteResult(2)}) == 2
    with pytest.raises(AttributeError):
        ExecuteResult().count = 1  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "kind", [StatementType.DATABASE, StatementType.CREATE_DATABASE, StatementType.CLOSE_DATABASE]
)
def test_bits_that_describe_a_database_are_no_warnings(kind: StatementType) -> None:
    assert result_of(kind, Done(warnings=0x15)).warnings == ()
    assert result_of(StatementType.INSERT, Done(warnings=0x05)).warnings != ()
