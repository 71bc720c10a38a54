"""Records of UNLOAD's format: fields that end with a delimiter, escapes, NULL. Never: the type of a field, a file.

Source: documented (Guide to SQL: Syntax, LOAD and UNLOAD): a backslash precedes each backslash, delimiter and newline
of a field. NULL is nothing, an empty text is a backslash and a blank.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

_EMPTY: Final = "\\ "
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)


def join_fields(fields: Sequence[str | None], delimiter: str) -> str:
    """One record, with its newline."""
    escaped, parts = "\\" + delimiter, [""] * len(fields)
    for index, field in enumerate(fields):
        if field:
            text = field.replace("\\", "\\\\").replace(delimiter, escaped)
            parts[index] = text.replace("\n", "\\\n")
        elif field is not None:
            parts[index] = _EMPTY
    return delimiter.join(parts) + delimiter + "\n"


def split_fields(text: str, delimiter: str) -> list[str | None]:
    """The fields of a record without its newline, unescaped."""
    if text.endswith("\r") and not ends_in_escape(text[:-1]):
        text = text[:-1]
    if "\\" not in text:
        plain = text.split(delimiter)
        if not plain[-1]:  # after the last delimiter
            plain.pop()
        return [field or None for field in plain]
    found = _escaped_field(delimiter).findall(text)
    return [_unescaped(field) for field, end in found if end or field]


def ends_in_escape(text: str) -> bool:
    """Whether the text ends with an incomplete escape, so that the newline after it is in a field."""
    return text.endswith("\\") and (len(text) - len(text.rstrip("\\"))) % 2 == 1


@lru_cache(maxsize=16)
def _escaped_field(delimiter: str) -> re.Pattern[str]:
    """Pattern of an escaped field with its delimiter; both are empty after the last one."""
    mark = re.escape(delimiter)
    return re.compile(rf"((?:[^\\{mark}]++|\\.)*+)({mark}|\Z)", re.DOTALL)


def _unescaped(field: str) -> str | None:
    if field == _EMPTY:
        return ""
    return (_ESCAPED.sub(r"\1", field) if "\\" in field else field) or None
