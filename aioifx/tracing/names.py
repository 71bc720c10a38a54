"""Events without names that are not known, for reports that strangers read. Never: a value, which is hidden before."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final, cast

from aioifx.tracing.events import TraceEvent

HIDDEN_NAME: Final = "name"
"""Stands for a name."""

_WORD: Final = re.compile(r"[^\W\d][\w$]*+")

_KEPT: Final = frozenset({"statement_type", "error", "tls", "type", "mask", "byte", "sqlstate", "version"})
"""Fields whose texts are the protocol's or the server's own, at the top of an event."""


def hide_names(event: TraceEvent, is_known: Callable[[str], bool]) -> TraceEvent:
    """*event* with ``name`` for each word of its texts that is not known; numbers stay.

    Args:     is_known: whether a word, in lower case, may be shown: keywords of SQL, names of the caller's own.
    """

    def shown(found: re.Match[str]) -> str:
        return found[0] if is_known(found[0].lower()) else HIDDEN_NAME

    def hidden(value: object) -> object:
        if isinstance(value, str):
            return _WORD.sub(shown, value)
        if isinstance(value, list):
            return [hidden(item) for item in cast(list[object], value)]
        if isinstance(value, Mapping):
            return {key: hidden(item) for key, item in cast(Mapping[str, object], value).items()}
        return value

    fields: dict[str, Any] = {
        name: value if name in _KEPT else hidden(value) for name, value in event.fields.items()
    }
    if event.kind in ("open", "failed"):
        fields.pop("address", None)
    return replace(event, fields=fields)
