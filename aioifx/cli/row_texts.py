"""Rows as text: JSON lines, and a table that fits the terminal, page by page. Never: where rows come from.

Invariants:
1. A page of a table has at most the rows of one call of `page`. Columns keep their widths from page to page, or
   grow: then the header is repeated.
2. No text of a value controls the terminal.
"""

from __future__ import annotations

import datetime as dt
import json
import math
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import accumulate
from typing import Any, Final, cast

from aioifx.cli.output import StyledLine
from aioifx.codecs.value_text import formatter_for
from aioifx.errors import DatabaseError, cell_width, visible
from aioifx.rows import unique_names
from aioifx.sqltypes import NUMBER_CODES, Column, Row, SqlType


def text_writer(sql_type: SqlType) -> Callable[[Any], str]:
    """The function from a value of a type to its text: as UNLOAD writes it, BLOB in hexadecimal, CLOB as it is.

    The function gets no None.
    """
    try:
        write = formatter_for(sql_type)
    except DatabaseError:  # a type that has no text in files
        return _any_text

    def text(value: Any) -> str:
        try:
            return write(value)
        except DatabaseError:
            return _any_text(value)

    return text


def _any_text(value: Any) -> str:
    return value.hex() if isinstance(value, (bytes, bytearray)) else str(value)


def json_lines(columns: Sequence[Column]) -> Callable[[Sequence[Row]], str]:
    """The function that writes rows with these columns, an object in each line.

    Numbers of SMALLINT to BIGSERIAL, whole DECIMALs, and floats are JSON's numbers. Other DECIMALs are text, as JSON's
    readers would round them. So are dates, times and intervals, in UNLOAD's form (ISO for dates), and bytes in
    hexadecimal. JSON columns, rows and collections are nested. The second column of a name is called name_2.
    """
    keys = [f"{json.dumps(name, ensure_ascii=False)}: " for name in unique_names(columns)]
    texts = [_text_of(column.type) for column in columns]

    def write(rows: Sequence[Row]) -> str:
        return "".join(
            [
                "{"
                + ", ".join([key + text(value) for key, text, value in zip(keys, texts, row, strict=True)])
                + "}\n"
                for row in rows
            ]
        )

    return write


def _text_of(sql_type: SqlType) -> Callable[[Any], str]:
    """The function from a value of one type to JSON."""
    other = text_writer(sql_type)

    def text(value: Any) -> str:
        return json.dumps(_plain(value, other), ensure_ascii=False, allow_nan=False)

    return text


def _plain(value: Any, other: Callable[[Any], Any]) -> Any:
    """What `json` can write: *other* makes text of values that are not JSON's."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, (bytes, bytearray)):
        return value.hex()
    if isinstance(value, Mapping):
        fields = cast("Mapping[object, Any]", value)
        return {str(key): _plain(item, _nested) for key, item in fields.items()}
    if hasattr(value, "_asdict"):
        return _plain(value._asdict(), _nested)
    if hasattr(value, "asdict"):
        return _plain(value.asdict(), _nested)
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(item, _nested) for item in cast("Iterable[Any]", value)]
    return other(value)


def _nested(value: Any) -> str:
    """The text of a value inside another one."""
    if isinstance(value, (dt.datetime, dt.time)):
        return value.isoformat(*(" ",) if isinstance(value, dt.datetime) else ())
    return f"{value:f}" if isinstance(value, Decimal) else str(value)


LONGEST: Final = 200
"""Cells of a value; the rest is cut off."""
NULL: Final = "<null>"

_SMALLEST: Final = 6
"""Cells of a column that is made narrower, at least; with less, each row becomes a list."""
_ELLIPSIS: Final = "…"


class Table:
    """Lays out the rows of one query.

    Args:
        width: cells of the terminal; None: lines of any length.
        is_vertical: each row is a list, even if the columns fit side by side.
    """

    def __init__(self, columns: Sequence[Column], width: int | None, *, is_vertical: bool = False) -> None:
        self._names = [_cut(visible(column.name), LONGEST) for column in columns]
        self._texts = [_cell_text(column.type) for column in columns]
        self._is_number = [column.type.kind in NUMBER_CODES for column in columns]
        self._width = width
        self._natural = [cell_width(name) for name in self._names]
        self._shown: list[int] | None = [] if is_vertical else None
        """Widths of the columns in the last header; None before the first, [] if rows are shown as lists."""
        self._count = 0

    def page(self, rows: Sequence[Row]) -> Iterator[StyledLine]:
        """The lines of these rows, after a header if the widths have changed."""
        cells = [[text(value) for text, value in zip(self._texts, row, strict=True)] for row in rows]
        for row in cells:
            for index, cell in enumerate(row):
                self._natural[index] = max(self._natural[index], cell_width(NULL if cell is None else cell))
        widths = self._shown if self._shown == [] else _fitting(self._natural, self._width)
        if widths and widths != self._shown:
            yield from self._header(widths)
        self._shown = widths
        for row in cells:
            self._count += 1
            yield from (self._line(row, widths),) if widths else self._list(row)

    def _header(self, widths: Sequence[int]) -> Iterator[StyledLine]:
        if self._shown:
            yield ()
        line: list[tuple[str, str]] = []
        for name, width, is_number in zip(self._names, widths, self._is_number, strict=True):
            line += (
                ("" if not line else " | ", "dim"),
                (_padded(_cut(name, width), width, is_number), "bold"),
            )
        yield line
        yield (("-+-".join("-" * width for width in widths), "dim"),)

    def _line(self, row: Sequence[str | None], widths: Sequence[int]) -> StyledLine:
        line: list[tuple[str, str]] = []
        for cell, width, is_number in zip(row, widths, self._is_number, strict=True):
            text, style = (NULL, "dim") if cell is None else (cell, "")
            line += (
                ("" if not line else " | ", "dim"),
                (_padded(_cut(text, width), width, is_number), style),
            )
        return line

    def _list(self, row: Sequence[str | None]) -> Iterator[StyledLine]:
        """One row as a line for each value, where the columns do not fit side by side."""
        width = self._width or LONGEST
        names = min(max(map(cell_width, self._names)), max(width // 3, _SMALLEST))
        title = f"-- row {self._count} "
        yield ((title + "-" * max(0, min(width, 2 * names + 20) - len(title)), "dim"),)
        for name, cell in zip(self._names, row, strict=True):
            text, style = (NULL, "dim") if cell is None else (cell, "")
            yield (
                (_padded(_cut(name, names), names, False), "bold"),
                (" | ", "dim"),
                (_cut(text, max(width - names - 3, _SMALLEST)), style),
            )


def _fitting(natural: Sequence[int], width: int | None) -> list[int]:
    """Widths of columns that fit: the widest ones are made narrower; [] if that is not enough."""
    if width is None:
        return [*natural]
    left = width - 3 * (len(natural) - 1)
    if sum(natural) <= left:
        return [*natural]
    # The largest limit for the widths of all columns, whose sum grows with it.
    limits = range(1, LONGEST + 1)
    limit = bisect_right(limits, left, key=lambda limit: sum(min(size, limit) for size in natural))
    if limit < _SMALLEST:
        return []
    widths = [min(size, limit) for size in natural]
    spare = left - sum(widths)
    more = accumulate(size > limit for size in natural)
    return [
        size + (natural[index] > limit and number <= spare)
        for index, (size, number) in enumerate(zip(widths, more, strict=True))
    ]


def _cell_text(sql_type: SqlType) -> Callable[[Any], str | None]:
    """The function from a value to its text in one line, which is cut off; None for NULL."""
    write = text_writer(sql_type)

    def text(value: Any) -> str | None:
        if value is None:
            return None
        if isinstance(value, (str, bytes)):
            value = value[: LONGEST + 1]  # before it becomes longer
        return _cut(visible(write(value)), LONGEST)

    return text


def _padded(text: str, width: int, to_the_right: bool) -> str:
    blanks = " " * (width - cell_width(text))
    return blanks + text if to_the_right else text + blanks


def _cut(text: str, width: int) -> str:
    """*text* in *width* cells, with an ellipsis for what is missing."""
    if len(text) <= width and cell_width(text) <= width:
        return text
    kept = text[: width - 1]
    while cell_width(kept) > width - 1:
        kept = kept[:-1]
    return kept + _ELLIPSIS
