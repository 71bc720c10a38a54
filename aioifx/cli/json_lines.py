"""Rows as JSON, an object in each line. Never: where rows come from.

Numbers of SMALLINT to BIGSERIAL, whole DECIMALs, and floats are JSON's numbers. Other DECIMALs are text, as JSON's
readers would round them. So are dates, times and intervals, in UNLOAD's form (ISO for dates), and bytes in hexadecimal.
JSON columns, rows and collections are nested.
"""

from __future__ import annotations

import datetime as dt
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, cast

from aioifx.cli.value_texts import text_writer
from aioifx.rows import unique_names
from aioifx.sqltypes import Column, Row, SqlType


def json_lines(columns: Sequence[Column]) -> Callable[[Sequence[Row]], str]:
    """The function that writes rows with these columns. The second column of a name is called name_2."""
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
