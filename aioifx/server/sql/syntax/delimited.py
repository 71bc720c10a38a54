"""Names as Informix SQL writes them: in quotes where they need it. Never: what a name stands for."""

from __future__ import annotations

import re
from typing import Final

from aioifx.server.sql.syntax.primaries import VALUE_WORDS

_PLAIN: Final = re.compile(r"[a-z_][a-z0-9_$]*")

_WORDS: Final = VALUE_WORDS | frozenset(
    "all any case connect_by_root distinct not outer prior select some unique with".split()
)
"""Words that the grammar takes for something else where a name may be."""


def is_plain(name: str) -> bool:
    """Whether a name needs no quotes."""
    return _PLAIN.fullmatch(name) is not None and name not in _WORDS


def delimited(name: str) -> str:
    """A name in Informix SQL, in quotes if it needs them."""
    return name if is_plain(name) else '"' + name.replace('"', '""') + '"'
