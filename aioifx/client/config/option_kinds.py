"""Kinds of options: how a value is checked, and how it is read from the text of an address. Never: a name of an option.

Invariants:
1. A message shows a value only where it cannot be a piece of a badly quoted password.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from aioifx.client.config.checks import check_flag, check_seconds, check_whole
from aioifx.errors import InterfaceError


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of option.

    Args:
        check: called with the option's name and its value; raises InterfaceError. None: checked with other options.
        from_text: called with the name and the text of an address. None: an address cannot have the option.
    """

    check: Callable[[str, Any], object] | None
    from_text: Callable[[str, str], object] | None = None


def option(default: Any, kind: Kind, **details: Any) -> Any:
    """A field of ConnectOptions: its default, or the function that makes it, and its kind.

    Args:
        details: further arguments of `dataclasses.field`.
    """
    which = "default_factory" if callable(default) else "default"
    return dataclasses.field(**{which: default}, metadata={"kind": kind}, **details)


def kinds_of(options: type) -> dict[str, Kind]:
    """The kinds of a class's options, by name."""
    return {each.name: each.metadata["kind"] for each in dataclasses.fields(options) if each.init}


def value_checked(check: Callable[[Any], object]) -> Callable[[str, Any], object]:
    """The check of one option, whose messages have its name already."""
    return lambda name, value: check(value)


def in_code(check: Callable[[Any], object] | None = None) -> Kind:
    """A Python object, which an address cannot have."""
    return Kind(None if check is None else value_checked(check))


# --- from text --------------------------------------------------------------------------------------------------------

_FLAGS: Final = {
    "1": True, "true": True, "yes": True, "on": True,
    "0": False, "false": False, "no": False, "off": False,
}  # fmt: skip


def flag_from_text(name: str, text: str) -> bool:
    if text.lower() not in _FLAGS:
        raise InterfaceError(f"{name}: expected true or false")
    return _FLAGS[text.lower()]


def whole_from_text(name: str, text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) <= 10):
        raise InterfaceError(f"{name}: expected a whole number in digits")
    return int(text)


def _seconds_from_text(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InterfaceError(f"{name}: expected a number of seconds") from None


def lock_wait_from_text(name: str, text: str) -> float:
    return -1 if text in ("-1", "inf") else whole_from_text(name, text)


def keepalive_from_text(name: str, text: str) -> object:
    if "," in text:
        return tuple([whole_from_text(name, part.strip()) for part in text.split(",")])
    return flag_from_text(name, text)


def unchanged(name: str, text: str) -> str:
    return text


def _path_from_text(name: str, text: str) -> str:
    if not text:  # an unset variable in a DSN template must not turn TLS off silently
        raise InterfaceError(f"{name}: expected a path, got an empty text")
    return text


# --- kinds ------------------------------------------------------------------------------------------------------------

TEXT: Final = Kind(None, unchanged)
"""A str; ConnectOptions checks that its code set has it."""
PATH: Final = Kind(None, _path_from_text)
"""The same, which an address cannot leave empty."""
FLAG: Final = Kind(check_flag, flag_from_text)
SECONDS: Final = Kind(check_seconds, _seconds_from_text)
SECONDS_OR_0: Final = Kind(partial(check_seconds, zero=True), _seconds_from_text)


def whole(low: int, high: int, *, show: bool = True) -> Kind:
    """A whole number; without *show*, messages omit it."""
    return Kind(partial(check_whole, low=low, high=high, show=show), whole_from_text)


def word(check: Callable[[Any], object]) -> Kind:
    """A word, or one of several."""
    return Kind(value_checked(check), unchanged)
