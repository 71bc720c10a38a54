"""Conversion of parameter values to SQLite values, chosen once per plan. Never: how a value is converted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, TypeAlias

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.plan import Parameter
from aioifx.server.sql.model.settings import Settings
from aioifx.server.sql.model.storage import Stored
from aioifx.server.sql.runtime.client_values import storer
from aioifx.server.sql.runtime.parameters import bound
from aioifx.sqltypes import Value

Binder: TypeAlias = Callable[[Value, Settings], Stored]

_WRONG_COUNT: Final = -254


class Binders:
    """Binds the parameters of one plan, any number of times.

    Raises:
        SqlError: -1260, a parameter's type is not supported.
    """

    __slots__ = ("_binders",)

    def __init__(self, parameters: Sequence[Parameter]) -> None:
        self._binders = tuple(_binder_of(parameter) for parameter in parameters)

    def bind(self, values: Sequence[Value], settings: Settings) -> tuple[Stored, ...]:
        """The values in storage form.

        Raises:
            SqlError: -254, wrong number of values; -415 and similar, a value does not convert to the type.
        """
        binders = self._binders
        if len(values) != len(binders):
            raise SqlError(_WRONG_COUNT)
        return tuple(
            [
                None if value is None else binder(value, settings)
                for binder, value in zip(binders, values, strict=True)
            ]
        )

    def bind_rows(
        self, rows: Sequence[Sequence[Value]], settings: Settings
    ) -> tuple[list[tuple[Stored, ...]], SqlError | None]:
        """Bind many rows: returns the rows before the first failure, and its error."""
        try:
            columns = [
                [None if value is None else binder(value, settings) for value in column]
                for binder, column in zip(self._binders, zip(*rows, strict=True), strict=True)
            ]
            return list(zip(*columns, strict=True)), None
        except (SqlError, ValueError):
            return self._bound_in_front(rows, settings)

    def _bound_in_front(
        self, rows: Sequence[Sequence[Value]], settings: Settings
    ) -> tuple[list[tuple[Stored, ...]], SqlError | None]:
        done: list[tuple[Stored, ...]] = []
        for row in rows:
            try:
                done.append(self.bind(row, settings))
            except SqlError as error:
                return done, error
        return done, None


def _binder_of(parameter: Parameter) -> Binder:
    if parameter.type is None or parameter.is_compared or parameter.is_exact:
        return partial(bound, parameter)
    return storer(parameter.type)
