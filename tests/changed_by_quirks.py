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

_NOT_STARTED: Final = {
    Quirk.NO_OPTOFC: "the CLOSE of a call comes before the next call",
    Quirk.SEPARATE_END: "the CLOSE of a call comes before the next call",
    Quirk.ROW_BY_ROW: "a query takes more round trips",
}

_RETURNED: Final = {Quirk.DROPPED_VALUES: "earlier rows were returned, so the error names the option"}
_NOT_DROPPED: Final = {
    Quirk.NO_OPTOFC: "no cursor is closed, so no value is dropped",
    Quirk.SEPARATE_END: "the cursor is closed after the values of the last rows were read",
    Quirk.ROW_BY_ROW: "each row is a block, and the last one has no values",
}

CHANGED: Final[Mapping[str, Mapping[Quirk, str]]] = {
    "test_connection::test_a_compared_parameter_may_exceed_the_column_and_a_stored_one_may_not": {
        Quirk.NO_BIT_34: "the server has not described the parameter, so the error is the server's"
    },
    "test_cursor::test_a_held_cursor_outlives_its_transaction_and_another_does_not": {
        Quirk.LARGE_BLOCKS: "all rows came before the transaction ended"
    },
    "test_cursor::test_the_serial_value_of_the_last_row_is_returned": {
        Quirk.NO_BIT_54: "the server does not send BIGSERIAL values"
    },
    "test_cursor::test_fifty_cursors_and_streams_are_read_alternately_while_others_write": _END_UNKNOWN
    | {Quirk.ROW_BY_ROW: "a stream that began in a transaction has rows left when the transaction ends"},
    "test_execute::test_every_mapping_of_a_cursor_executes_the_statement_prepared_for_the_first": _ROUND_TRIPS,
    "test_execute::test_an_error_of_a_value_has_the_column_that_it_is_stored_into": {
        Quirk.NO_BIT_34: "the server has not described the parameters of UPDATE, so it cuts the value"
    },
    "test_queued_call::test_each_task_gets_its_own_result": _NOT_STARTED,
    "test_queued_call::test_rows_of_several_blocks": _NOT_STARTED,
    "test_queued_call::test_what_must_be_awaited_first_is_left_to_the_task": _NOT_STARTED,
    "test_queued_call::test_an_error_reaches_its_own_task_and_no_other": _NOT_STARTED,
    "test_queued_call::test_a_context_is_copied_only_if_the_start_of_a_call_depends_on_it": _NOT_STARTED,
    "test_queued_call::test_a_base_exception_of_a_codec_ends_its_own_call": _NOT_STARTED,
    "test_queued_call::test_a_codec_that_cancels_its_own_task_and_raises_ends_its_own_call": _NOT_STARTED,
    "test_queued_call::test_operations_count_their_own_requests_and_waits": _NOT_STARTED,
    "test_queued_call::test_a_call_with_a_timeout_has_it_from_the_start_of_its_wait": _UNINTERRUPTED,
    "test_queries::test_a_stream_has_blocks_and_columns": _OTHER_BLOCKS,
    "test_queries::test_a_call_has_a_limit_of_time_of_its_own": _UNINTERRUPTED,
    "test_queries::test_a_limit_of_a_prepared_statement_and_of_a_cursor": _UNINTERRUPTED,
    "test_queries::test_the_wait_for_others_counts": _UNINTERRUPTED,
    "test_queries::test_autocommit_may_be_set": _UNINTERRUPTED,
    "test_queries::test_cancel_interrupts_the_call_after_a_stream_that_was_left_early": (
        _UNINTERRUPTED | _OTHER_BLOCKS
    ),
    "test_queries::test_cancel_while_the_source_of_rows_is_awaited_interrupts_the_next_write": _UNINTERRUPTED,
    "test_queries::test_cancel_interrupts_what_another_task_runs": _UNINTERRUPTED,
    "test_queries::test_cancel_between_two_requests_of_a_call_interrupts_the_next_one": _UNINTERRUPTED,
    "test_queries::test_a_pools_stream_that_is_closed_by_another_task": {
        Quirk.STANDARD_BLOCKS: "a small first block may be here before the stream is closed",
        Quirk.ROW_BY_ROW: "the first row may be here before the stream is closed",
    },
    "test_queries::test_a_pools_stream_gives_its_connection_back_however_it_ends": {
        Quirk.LARGE_BLOCKS: "the first block has all rows"
    }
    | _END_UNKNOWN
    | _CLOSES,
    "test_transaction::test_a_cancellation_at_every_suspension_leaves_all_or_nothing_and_a_usable_connection": (
        _NO_SAVEPOINTS
        | {Quirk.NO_BIT_34: "without SQ_CIDESCRIBE there are fewer awaits than the test expects"}
    ),
    "test_transaction::test_blocks_in_blocks_on_the_embedded_server": _NO_SAVEPOINTS,
    "test_read_again::test_the_rows_are_read_again_and_later_connections_send_optofc_0": _NOT_DROPPED,
    "test_read_again::test_a_password_that_cannot_be_had_again_leaves_the_first_error": _NOT_DROPPED,
    "test_read_again::test_what_only_this_session_knows_is_not_asked_of_another": _NOT_DROPPED,
    "test_read_again::test_it_is_read_with_the_isolation_and_the_codecs_of_the_session": {
        Quirk.NO_BIT_34: "the parameter is not described, so the codec of its type is not used"
    },
    "test_read_again::test_what_may_have_side_effects_is_not_run_again": _NOT_DROPPED,
    "test_read_again::test_reading_again_has_the_time_limit_of_the_call": _NOT_DROPPED,
    "test_read_again::test_in_a_transaction_the_error_names_the_option_and_nothing_else_changes": _NOT_DROPPED,
    "test_read_again::test_a_session_that_another_one_does_not_equal_reads_nothing_again": _NOT_DROPPED,
    "test_read_again::test_what_a_pools_init_hook_has_changed_is_not_read_again_elsewhere": _NOT_DROPPED,
    "test_read_again::test_a_stream_that_has_returned_rows_cannot_go_back": _NOT_DROPPED
    | {Quirk.LARGE_BLOCKS: "all rows are one block, so none was returned"},
    "test_read_again::test_a_value_of_a_stream_of_chunks_names_the_option": _NOT_DROPPED,
    "test_read_again::test_a_server_that_cannot_be_reached_again_leaves_the_first_error": _NOT_DROPPED,
    "test_read_again::test_a_query_of_many_blocks_is_read_again_as_a_whole": _NOT_DROPPED,
    "test_read_again::test_arrow_reads_it_again_too": _NOT_DROPPED,
    "test_read_again::test_a_pool_replaces_connections_that_were_opened_before_it_was_known": _NOT_DROPPED,
    "test_statement::test_no_row_is_lost_at_a_server_that_counts_the_rows_of_each_block": {
        Quirk.SEPARATE_END: "the last block is not counted, so nothing is known",
        Quirk.LARGE_BLOCKS: "all rows are one block",
        Quirk.ERROR_100: "error 100 is the end of rows",
    },
    "test_cursor::test_the_name_of_a_cursor_that_the_server_has_closed_names_the_option": {
        Quirk.NO_OPTOFC: "no cursor is closed",
        Quirk.ROW_BY_ROW: "each row is a block, so the cursor is open after the first one",
        Quirk.SEPARATE_END: "the cursor is closed after the last row",
    },
    "test_large_parameters::test_many_rows_of_values_come_back": _RETURNED,
    "test_large_parameters::test_values_are_unloaded_as_the_format_says_and_loaded_again": _RETURNED,
    "test_large_parameters::test_values_of_every_size_come_back": {
        Quirk.NO_BIT_34: "a file is not a value for a parameter that is not described"
    },
    "test_load::test_a_transaction_goes_on_after_a_load_that_failed": _NO_SAVEPOINTS,
    "test_load::test_with_autocommit_off_the_load_waits_for_the_commit": _NO_SAVEPOINTS,
    "test_load::test_the_row_that_fails_is_found_wherever_it_is": _NOT_FOUND,
    "test_load::test_a_row_that_comes_twice_in_different_blocks_is_found": _NOT_FOUND,
    "test_load::test_without_a_log_rows_before_the_failing_one_stay": {
        Quirk.NO_PUT: "rows are executed one by one, so the one that failed is known"
    },
    "test_load::test_a_load_takes_a_few_round_trips": {Quirk.NO_PUT: "executemany takes more of them"},
    "test_load::test_an_ansi_database_commits_the_load": _NOT_FOUND,
    "test_unload::test_a_cancellation_at_any_await_leaves_the_connection_usable": _NO_SAVEPOINTS
    | {Quirk.ROW_BY_ROW: "more awaits than the test tries"},
    "test_unload::test_functions_of_both_kinds_get_bytes": _OTHER_BLOCKS,
    "test_unload::test_progress_counts_the_rows_that_are_written": _OTHER_BLOCKS,
    "test_pool::test_the_calls_of_a_connection_are_the_pools_too": _END_UNKNOWN | _CLOSES,
    "test_pool::test_a_stream_holds_its_connection_until_its_last_block_has_come": (
        _OTHER_BLOCKS | _END_UNKNOWN | _CLOSES
    ),
    "test_lifecycle::test_what_init_has_set_holds_at_each_acquire": _ROUND_TRIPS,
    "test_pool::test_a_statement_that_was_cancelled_ends_before_the_next_acquire": _UNINTERRUPTED,
    "test_pool::test_a_connection_costs_nothing_more_when_nothing_was_changed": _ROUND_TRIPS
    | {Quirk.NO_BIT_34: "without SQ_CIDESCRIBE a prepare takes a round trip less"},
}
"""By test, each quirk that makes it fail, and why that is right."""
