"""A password that is held but not shown, and not pickled. Never: where it comes from, where it goes."""

from __future__ import annotations

from typing import Final

from aioifx.errors import InterfaceError

_SHOWN: Final = "'***'"


class Secret:
    """A password; `reveal` gives it. Its repr, str and copies in `dataclasses.asdict` do not show it.

    A pickle leaves it out: what comes out of one is a Secret that reveals nothing.
    """

    __slots__ = ("_text",)

    def __init__(self, text: str | None) -> None:
        self._text = text

    def reveal(self) -> str:
        """The password.

        Raises:   InterfaceError: it was left out of a pickle.
        """
        if self._text is None:
            raise InterfaceError(
                "password: was left out of a pickle; set it with dataclasses.replace(options, password=...), "
                "or give a callable"
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
