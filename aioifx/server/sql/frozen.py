"""The base of classes whose objects do not change. Never: what they hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast, dataclass_transform


@dataclass_transform(frozen_default=True)
class FrozenType(type):
    """Makes each of its classes a frozen dataclass with slots."""

    def __new__(mcs, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> FrozenType:
        made: Any = super().__new__(mcs, name, bases, body)
        if "__slots__" not in body:  # `dataclass` makes the class again, with slots
            made = dataclass(frozen=True, slots=True)(made)
        return cast("FrozenType", made)


class Frozen(metaclass=FrozenType):
    """A frozen dataclass with slots, as each class below it."""
