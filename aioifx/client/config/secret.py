"""A password that is not shown or pickled. Never: where it comes from, where it goes."""

from __future__ import annotations

from typing import Final

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

        Raises:   InterfaceError: it was lost in pickling.
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
