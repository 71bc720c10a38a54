"""The JSON of push data, as the manual and the server write it: documents and attributes. Never: I/O.

The manual's samples have keys without quotes and typographic quotes: ``{ifx_isTimeout:”true”}`` (documented). One read
may return several documents, and JDBC hands them on unread. What is between them is assumed: blanks, commas, brackets
of an array, zero bytes or nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final, TypeAlias, cast

from aioifx.errors import ProtocolError

Document: TypeAlias = dict[str, Any]

_BETWEEN: Final = re.compile(r"[\s,\[\]\0]*")
_LITERALS: Final = frozenset({"true", "false", "null"})
_TOKEN: Final = re.compile(
    r"""
    "(?:[^"\\]|\\.)*+"?+               # a string as in JSON; one that does not end is looked at once
    | -?[0-9][\w.+-]*+                 # a number
    | [“”](?P<text>[^“”"]*)[“”"]       # a string in typographic quotes, of which one may be plain
    | (?P<word>[^\W\d][\w$]*+)         # a key without quotes, or a literal
    """,
    re.VERBOSE | re.DOTALL,
)


def read_documents(text: str, parse_float: Callable[[str], Any] = float) -> list[Document]:
    """The documents of one read.

    Args:
        parse_float: makes the values of numbers with a fraction or an exponent.

    Raises:
        ProtocolError: it is not JSON, not even with the liberties of the manual's samples.
    """
    decoder = json.JSONDecoder(strict=False, parse_float=parse_float)
    with suppress(ValueError):
        return _read(decoder, text)
    try:
        return _read(decoder, _TOKEN.sub(_as_json, text))
    except ValueError as error:
        raise ProtocolError(f"{len(text)} characters of push data are not JSON") from error


def _read(decoder: json.JSONDecoder, text: str) -> list[Document]:
    documents: list[Document] = []
    at = _end_of_gap(text, 0)
    while at < len(text):
        try:
            document, at = decoder.raw_decode(text, at)
        except RecursionError as error:
            raise ValueError("nested too deeply") from error
        if not isinstance(document, dict):
            raise ValueError("a document is an object")
        documents.append(cast(Document, document))
        at = _end_of_gap(text, at)
    return documents


def _end_of_gap(text: str, at: int) -> int:
    gap = _BETWEEN.match(text, at)
    assert gap is not None  # it matches nothing as well
    return gap.end()


def _as_json(token: re.Match[str]) -> str:
    if (text := token["text"]) is not None:
        return json.dumps(text)
    word = token["word"]
    return token[0] if word is None or word in _LITERALS else f'"{word}"'


def attributes(values: Mapping[str, object]) -> str:
    """Attributes for ``task('pushdata ...', attributes)``; those that are None are left out.

    Source: observed: JDBC 15, keys without quotes and all values as strings
    """
    pairs = (
        f"{name}:{json.dumps(str(value), ensure_ascii=False)}"
        for name, value in values.items()
        if value is not None
    )
    return "{" + ", ".join(pairs) + "}"
