"""The most similar known name, for messages about an unknown one. Never: the message."""

from __future__ import annotations

from collections.abc import Iterable


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """The end of a message about an unknown *name*: a suggestion from *names*, if one is similar."""
    from difflib import get_close_matches  # imported here because it is rarely needed

    close = get_close_matches(name, names, n=1)
    return f"; did you mean {close[0]!r}?" if close else ""
