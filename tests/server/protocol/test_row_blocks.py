from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

import aioifx
from aioifx.codecs.rows import RowDecoder
from aioifx.codecs.text import code_set_of
from aioifx.server import running
from aioifx.server.protocol.row_blocks import RowBlockWriter
from aioifx.server.sql.errors import SqlError
from aioifx.server.sqlite.spool import StoredRow
from aioifx.sqltypes import Column, Row, SqlType, TypeCode
from tests.server.sql.kinds import error_of

LATIN_1 = code_set_of("en_US.8859-1")
COLUMNS = (
    Column("n", SqlType(TypeCode.INTEGER, 4)),
    Column("text", SqlType(TypeCode.VARCHAR, 100)),
    Column("day", SqlType(TypeCode.DATE, 4)),
)
FIXED = (Column("n", SqlType(TypeCode.INTEGER, 4)), Column("b", SqlType(TypeCode.BIGINT, 8)))


def row_writer(columns: tuple[Column, ...] = COLUMNS, *, single: bool = False) -> RowBlockWriter:
    return RowBlockWriter(columns, LATIN_1, padded_varchar=False, single=single)


def source(rows: list[StoredRow]) -> Callable[[int], tuple[list[StoredRow], bool]]:
    """A cursor over *rows*, by the contract of `Cursor.fetch`."""
    left = list(rows)

    def fetch(count: int) -> tuple[list[StoredRow], bool]:
        taken = left[:count]
        del left[:count]
        return taken, not left

    return fetch


def decoded(messages: bytes, columns: tuple[Column, ...] = COLUMNS) -> list[Row]:
    rows: list[Row] = []
    end = RowDecoder(columns, LATIN_1)(bytearray(messages), 0, len(messages), rows)
    assert end == len(messages)
    return rows


@given(st.lists(st.text("ab", max_size=100), max_size=60), st.integers(0, 4000))
def test_all_rows_come_once_in_order_and_fit_the_buffer(texts: list[str], size: int) -> None:
    rows: list[StoredRow] = [(n, text, None) for n, text in enumerate(texts)]
    fetch, made = source(rows), row_writer()
    seen: list[Row] = []
    last = False
    while not last:
        messages, count, last = made.next_block(fetch, size)
        got = decoded(messages)
        assert len(got) == count
        assert len(messages) <= size or count == 1
        seen += got
        assert count or last
    assert seen == [(n, text, None) for n, text in enumerate(texts)]


def test_rows_of_fixed_width_fill_the_buffer_to_the_last_row() -> None:
    rows: list[StoredRow] = [(n, n) for n in range(100)]
    messages, count, last = row_writer(FIXED).next_block(source(rows), 10 * 20 + 19)
    assert (count, last) == (10, False)
    assert decoded(messages, FIXED) == rows[:10]


def test_a_portion_is_no_larger_than_the_server_bears() -> None:
    made = RowBlockWriter(FIXED, LATIN_1, padded_varchar=False, single=False, largest=3 * 20)
    assert made.next_block(source([(n, n) for n in range(100)]), 2**31 - 1)[1:] == (3, False)


def test_eight_megabytes_of_rows_come_in_one_portion_if_they_are_asked_for() -> None:
    size = 8 * 1024 * 1024
    count = size // 20
    messages, sent, last = row_writer(FIXED).next_block(source([(1, 1)] * (count + 1)), size)
    assert (len(messages), sent, last) == (count * 20, count, False)


def test_an_empty_result_is_the_last_portion() -> None:
    assert row_writer().next_block(source([]), 4096) == (b"", 0, True)


def test_the_last_portion_is_known_when_it_is_sent() -> None:
    assert row_writer(FIXED).next_block(source([(1, 2)]), 4096)[1:] == (1, True)
    assert row_writer(FIXED).next_block(source([(1, 2)] * 2), 20)[1:] == (1, False)


def test_rows_that_do_not_fit_after_the_last_fetch_are_in_the_next_portion() -> None:
    texts = [""] * 3 + ["a" * 100] * 10  # the first ones let expect short rows
    fetch, made = source([(n, text, None) for n, text in enumerate(texts)]), row_writer()
    counts: list[int] = []
    last = False
    while not last:
        _, count, last = made.next_block(fetch, 400)
        counts.append(count)
    assert len(counts) > 1 and sum(counts) == len(texts)


def test_a_cursor_for_update_gives_one_row_at_a_time() -> None:
    fetch, made = source([(1, 1), (2, 2)]), row_writer(FIXED, single=True)
    assert made.next_block(fetch, 4096)[1:] == (1, False)
    assert made.next_block(fetch, 4096)[1:] == (1, True)


def test_stored_forms_become_values() -> None:
    messages, _, _ = row_writer().next_block(source([(None, None, 1), (-5, "é", None)]), 4096)
    assert decoded(messages)[0][2].isoformat() == "1900-01-01"
    assert decoded(messages)[1] == (-5, "é", None)


def test_text_outside_the_clients_code_set_is_an_error_and_no_question_mark() -> None:
    assert error_of(row_writer().next_block, source([(1, "\N{EURO SIGN}", None)]), 4096) == -23103


def test_widths_are_those_of_full_columns() -> None:
    assert row_writer().widths == [4, 101, 4]


def test_a_type_that_is_not_served_is_refused_by_name() -> None:
    with pytest.raises(SqlError) as raised:
        row_writer((Column("picture", SqlType(99, 0)),))
    assert raised.value.sqlcode == -999
    assert "picture" in raised.value.token


def test_char_is_padded_in_the_code_set_of_the_client() -> None:
    made = RowBlockWriter(
        (Column("c", SqlType(TypeCode.CHAR, 7)),),
        code_set_of("en_US.utf8"),
        padded_varchar=False,
        single=False,
    )
    assert made.encode([("Müller",), ("Müller ",), ("a",), ("",)]).count(b"M\xc3\xbcller") == 2
    with pytest.raises(SqlError):
        made.encode([("Müllers",)])


def test_text_that_is_too_long_for_its_type_is_distinguished_from_text_that_cannot_be_decoded() -> None:
    assert error_of(row_writer().next_block, source([(1, "x" * 300, None)]), 4096) == -881


@pytest.mark.parametrize(("repeats", "size"), [(63, 252), (64, None)])
async def test_the_result_of_to_char_has_at_most_255_bytes(repeats: int, size: int | None) -> None:
    async with running() as dsn, aioifx.connect(dsn) as conn:
        query = f"SELECT TO_CHAR(TODAY, '{'%Y' * repeats}') FROM systables WHERE tabid = 1"
        if size is None:
            with pytest.raises(aioifx.DataError) as raised:
                await conn.fetchval(query)
            assert raised.value.sqlcode == -881
        else:
            assert len(str(await conn.fetchval(query))) == size
