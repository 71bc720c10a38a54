"""Tests whose assertions a quirk changes rightly, with the reason; `tests.quirks` leaves these cases out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from aioifx.server import Quirk

_UNINTERRUPTED: Final = {
    quirk: "the statement cannot be interrupted, so the connection is closed after cancel_timeout"
    for quirk in (Quirk.NO_INTERRUPTS, Quirk.LATE_INTERRUPTS)
}
_NO_SAVEPOINTS: Final = {Quirk.NO_BIT_56: "savepoints are refused with NotSupportedError"}
_NOT_FOUND: Final = {Quirk.NO_BIT_56: "without savepoints the row that failed is not looked for"}
_END_UNKNOWN: Final = {
    Quirk.SEPARATE_END: "the last rows are not known to be the last, so they do not end the stream"
}
_OTHER_BLOCKS: Final = {
    Quirk.LARGE_BLOCKS: "blocks are larger than fetch_size",
    Quirk.ROW_BY_ROW: "each row is a block",
}
_CLOSES: Final = {Quirk.NO_OPTOFC: "a connection that closes a cursor is back in its pool a round trip later"}
_ROUND_TRIPS: Final = {
    Quirk.NO_OPTOFC: "CLOSE takes a round trip",
    Quirk.SEPARATE_END: "the end of rows takes a round trip",
}

CHANGED: Final[Mapping[str, Mapping[Quirk, str]]] = {
    "test_connection::test_a_compared_parameter_may_exceed_the_column_and_a_stored_one_may_not": {
        Quirk.NO_BIT_34: "the server has not described the parameter, so the error is the server's",
    },
    "test_cursor::test_a_held_cursor_outlives_its_transaction_and_another_does_not": {
        Quirk.LARGE_BLOCKS: "all rows came before the transaction ended",
    },
    "test_cursor::test_the_serial_value_of_the_last_row_is_returned": {
        Quirk.NO_BIT_54: "the server does not send BIGSERIAL values",
    },
    "test_cursor::test_fifty_cursors_and_streams_are_read_alternately_while_others_write": _END_UNKNOWN
    | {
        Quirk.ROW_BY_ROW: "a stream that began in a transaction has rows left when the transaction ends",
    },
    "test_queries::test_a_stream_has_blocks_and_columns": _OTHER_BLOCKS,
    "test_queries::test_a_call_has_a_limit_of_time_of_its_own": _UNINTERRUPTED,
    "test_queries::test_a_limit_of_a_prepared_statement_and_of_a_cursor": _UNINTERRUPTED,
    "test_queries::test_the_wait_for_others_counts": _UNINTERRUPTED,
    "test_queries::test_autocommit_may_be_set": _UNINTERRUPTED,
    "test_queries::test_cancel_interrupts_what_another_task_runs": _UNINTERRUPTED,
    "test_queries::test_cancel_between_two_requests_of_a_call_interrupts_the_next_one": _UNINTERRUPTED,
    "test_queries::test_a_pools_stream_gives_its_connection_back_however_it_ends": {
        Quirk.LARGE_BLOCKS: "the first block has all rows",
    }
    | _END_UNKNOWN
    | _CLOSES,
    "test_transaction::test_a_cancellation_at_every_suspension_leaves_all_or_nothing_and_a_usable_connection": (
        _NO_SAVEPOINTS
        | {Quirk.NO_BIT_34: "without SQ_CIDESCRIBE there are fewer awaits than the test expects"}
    ),
    "test_transaction::test_blocks_in_blocks_on_the_embedded_server": _NO_SAVEPOINTS,
    "test_large_parameters::test_values_of_every_size_come_back": {
        Quirk.NO_BIT_34: "a file is not a value for a parameter that is not described",
    },
    "test_load::test_a_transaction_goes_on_after_a_load_that_failed": _NO_SAVEPOINTS,
    "test_load::test_with_autocommit_off_the_load_waits_for_the_commit": _NO_SAVEPOINTS,
    "test_load::test_the_row_that_fails_is_found_wherever_it_is": _NOT_FOUND,
    "test_load::test_a_row_that_comes_twice_in_different_blocks_is_found": _NOT_FOUND,
    "test_load::test_without_a_log_rows_before_the_failing_one_stay": {
        Quirk.NO_PUT: "rows are executed one by one, so the one that failed is known",
    },
    "test_load::test_a_load_takes_a_few_round_trips": {Quirk.NO_PUT: "executemany takes more of them"},
    "test_load::test_an_ansi_database_commits_the_load": _NOT_FOUND,
    "test_unload::test_a_cancellation_at_any_await_leaves_the_connection_usable": _NO_SAVEPOINTS
    | {
        Quirk.ROW_BY_ROW: "more awaits than the test tries",
    },
    "test_unload::test_functions_of_both_kinds_get_bytes": _OTHER_BLOCKS,
    "test_unload::test_progress_counts_the_rows_that_are_written": _OTHER_BLOCKS,
    "test_acquire::test_the_calls_of_a_connection_are_the_pools_too": _END_UNKNOWN | _CLOSES,
    "test_acquire::test_a_stream_holds_its_connection_until_its_last_block_has_come": (
        _OTHER_BLOCKS | _END_UNKNOWN | _CLOSES
    ),
    "test_lifecycle::test_what_init_has_set_holds_at_each_acquire": _ROUND_TRIPS,
    "test_pool::test_a_statement_that_was_cancelled_ends_before_the_next_acquire": _UNINTERRUPTED,
    "test_pool::test_a_connection_costs_nothing_more_when_nothing_was_changed": _ROUND_TRIPS
    | {
        Quirk.NO_BIT_34: "without SQ_CIDESCRIBE a prepare takes a round trip less",
    },
}
"""By test, each quirk that makes it fail, and why that is right."""
