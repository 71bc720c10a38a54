"""The option password: a text that is not shown or pickled, or a callable. Never: where it goes."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Final, TypeAlias

from aioifx.client.config.checks import check_text
from aioifx.codecs.text import CodeSet
from aioifx.errors import InterfaceError

_SHOWN: Final = "'***'"


class Secret:
    """A password, returned by `reveal`. Its repr, str and copies in `dataclasses.asdict` do not show it.

    A pickle leaves it out: an unpickled Secret cannot be revealed.
    """

    __slots__ = ("_text",)

    def __init__(self, text: str | None) -> None:
        self._text = text

    def reveal(self) -> str:
        """The password.

        Raises:
            InterfaceError: it was lost in pickling.
        """
        if self._text is None:
            raise InterfaceError(
                "password: not included in a pickle; set it with dataclasses.replace(options, password=...), "
                "or use a callable"
            )
        return self._text

    def __repr__(self) -> str:
        return _SHOWN

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and self._text == other._text

    def __hash__(self) -> int:
        return hash(self._text)

    def __copy__(self) -> Secret:
        return self

    def __deepcopy__(self, memo: object) -> Secret:
        return self

    def __reduce__(self) -> tuple[type[Secret], tuple[None]]:
        return Secret, (None,)


Password: TypeAlias = str | Secret | Callable[[], str | Awaitable[str]]
"""A password, or a callable or coroutine function that returns it, called for each connection."""


async def password_of(option: Password | None, code_set: CodeSet) -> str:
    """The password of one connection.

    Args:
        code_set: of the login.

    Raises:
        InterfaceError: the callable's result is not a text that can be sent.
    """
    if isinstance(option, Secret):
        return option.reveal()
    if not callable(option):
        return option or ""
    given = option()
    if inspect.isawaitable(given):
        given = await given
    if not isinstance(given, str):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may be untyped
        raise InterfaceError(f"password: expected a str from the callable, got {type(given).__name__}")
    check_text("password", given, code_set)
    return given
