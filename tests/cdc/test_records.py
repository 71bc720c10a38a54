from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from aioifx import Capture, Change, CommittedTransaction, InterfaceError
from aioifx.cdc.records import utc


def test_a_capture_names_a_table_and_columns() -> None:
    capture = Capture("Stores:informix.Orders", ["ID", "qty"])
    assert capture.columns == ("id", "qty")
    assert capture.parts("other") == ("stores", "informix", "orders")
    assert Capture("informix.orders").parts("stores") == ("stores", "informix", "orders")
    with pytest.raises(InterfaceError, match=r"table: expected database:owner\.table, got informix\.orders"):
        Capture("informix.orders").parts("")


@pytest.mark.parametrize(
    "table", ["orders", "stores:orders", "a b.c", "stores:informix.größe", "", 5, "a.b;"]
)
def test_what_names_no_table_is_refused(table: Any) -> None:
    with pytest.raises(InterfaceError, match=r"table: expected database:owner\.table in ASCII"):
        Capture(table)


@pytest.mark.parametrize("columns", ["id", 5, [], [""], ["id", "ID"]])
def test_columns_are_different_names(columns: Any) -> None:
    with pytest.raises(InterfaceError, match="columns: expected"):
        Capture("informix.orders", columns)


def test_a_transaction_is_iterated_several_times() -> None:
    first, second = (Change("truncate", "a:b.c", None, None, number) for number in (1, 2))
    transaction = CommittedTransaction(None, None, [first], count=2, further=lambda: iter([second]))
    assert [*transaction] == [*transaction] == [first, second]
    assert len(transaction) == 2
    assert repr(transaction) == "<CommittedTransaction 2 changes, None>"


def test_times_are_in_utc_and_never_an_error() -> None:
    assert utc(1_700_000_000) == dt.datetime(2023, 11, 14, 22, 13, 20, tzinfo=dt.UTC)
    assert (utc(-(1 << 63)).year, utc((1 << 63) - 1).year) == (1, 9999)
