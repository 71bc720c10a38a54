"""Named and numbered parameters, :name and :1, converted to placeholders. Never: the type of a value, a server.

Invariant: no message shows a value.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple, TypeAlias

from aioifx.client.sql.hints import did_you_mean
from aioifx.client.sql.scanner import TOKEN, check_sql
from aioifx.errors import InterfaceError, ProgrammingError
from aioifx.sqltypes import Value

_CACHED: Final = 256
"""Number of statements in the cache; a program repeats few different ones."""
_CACHED_SIZE: Final = 8192
"""Longer texts are usually generated: parsed again instead of cached."""
_LISTED: Final = 10
"""Maximum number of parameters named in a message."""

_IN: Final = re.compile(r"(?<![\w$])in\s*+\Z", re.IGNORECASE)

NamedValues: TypeAlias = (
    Mapping[str, Value] | Mapping[int, Value] | Mapping[str | int, Value] | Sequence[Value]
)
"""A mapping for names and numbers, or a sequence for numbers only, starting with :1."""


MappingRows: TypeAlias = Iterable[Mapping[str, Value]] | AsyncIterable[Mapping[str, Value]]
"""Rows of values by name, for many executions."""


class ByName(tuple[Value, ...]):
    """Values by position that were passed by name."""

    names: tuple[str, ...]

    def label(self, number: int) -> str:
        """The name of a value as the statement writes it; numbers count from 1."""
        return f":{self.names[number - 1]}"


def _by_name(values: Iterable[Value], names: tuple[str, ...]) -> ByName:
    made = ByName(values)
    made.names = names
    return made


class NamedStatement(NamedTuple):
    """A statement with a placeholder for each of its parameters."""

    sql: str
    names: tuple[str, ...]
    """The parameter of each placeholder, in order; numbers without leading zeros."""

    def lists(self, values: tuple[Value, ...]) -> list[tuple[int, bool]]:
        """The position of each placeholder, and whether its value is a list or tuple for an IN; others are values."""
        places = [found.start() for found in TOKEN.finditer(self.sql) if found["placeholder"]]
        return [
            (place, is_list(value) and _is_in_list(self.sql, place))
            for place, value in zip(places, values, strict=True)
        ]

    def expanded(self, values: tuple[Value, ...]) -> tuple[str, tuple[Value, ...]]:
        """The statement and its values, with one placeholder for each element of a list or tuple for an IN.

        Raises:
            InterfaceError: a list or tuple is empty.
        """
        parts: list[str] = []
        flat: list[Value] = []
        names: list[str] = []
        end = 0
        for name, value, (place, expands) in zip(self.names, values, self.lists(values), strict=True):
            if not expands:
                flat.append(value)
                names.append(name)
                continue
            elements: Sequence[Value] = value
            if not elements:
                raise InterfaceError(
                    f"parameter :{name}: expected one value or more, got an empty {type(elements).__name__}"
                )
            parts += (self.sql[end:place], ", ".join("?" * len(elements)))
            flat += elements
            names += [name] * len(elements)
            end = place + 1
        return "".join((*parts, self.sql[end:])), _by_name(flat, tuple(names))

    def values(self, given: NamedValues) -> tuple[Value, ...]:
        """The values by position.

        Raises:
            InterfaceError: a value is missing or surplus; names the parameters.
        """
        by_name = self._by_name(given)
        try:
            values = _by_name([by_name[name] for name in self.names], self.names)
        except KeyError:
            raise InterfaceError(self._missing(by_name)) from None
        if len(by_name) > len(set(self.names)):
            raise InterfaceError(self._surplus(by_name))
        return values

    def values_in(self, given: Mapping[str, Value]) -> tuple[Value, ...]:
        """The values by position, of a mapping that may have others: as sqlite3 takes them.

        Raises:
            ProgrammingError: a value is missing; names the parameters.
        """
        by_name = self._by_name(given)
        try:
            return _by_name([by_name[name] for name in self.names], self.names)
        except KeyError:
            raise ProgrammingError(self._missing(by_name), sql=self.sql) from None

    def indices(self, names: Sequence[str]) -> tuple[int, ...]:
        """For each placeholder the index of its name in *names*, those of the columns of Arrow data.

        Raises:
            InterfaceError: as `values`; or a name occurs twice.
        """
        if twice := next((name for index, name in enumerate(names) if name in names[:index]), None):
            raise InterfaceError(f"named: expected one column {twice!r:.40} in the Arrow data, got several")
        return self.values({name: index for index, name in enumerate(names)})

    def _by_name(self, given: NamedValues) -> Mapping[str, Value]:
        if isinstance(given, Mapping):
            by_name = {_name_of(key): value for key, value in given.items()}
            if len(by_name) < len(given):
                raise InterfaceError("values: a number is given twice, as int and as str")
            return by_name
        if isinstance(given, (str, bytes)) or not isinstance(given, Sequence):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InterfaceError(f"values: expected a mapping or a sequence, got {type(given).__name__}")
        if word := next((name for name in self.names if not name.isdecimal()), None):
            raise InterfaceError(f"parameter :{word}: expected its value in a mapping, got a sequence")
        return {str(number): value for number, value in enumerate(given, 1)}

    def _missing(self, given: Mapping[str, Value]) -> str:
        missing = [name for name in dict.fromkeys(self.names) if name not in given]
        surplus = given.keys() - set(self.names)
        return f"no value for {_listed(missing)}{did_you_mean(missing[0], sorted(surplus))}"

    def _surplus(self, given: Mapping[str, Value]) -> str:
        wanted = dict.fromkeys(self.names)
        surplus = [name for name in given if name not in wanted]
        return f"the statement has no {_listed(surplus)}{did_you_mean(surplus[0], wanted)}"


def named_statement(sql: str) -> NamedStatement:
    """Replace each :name and :1 by a placeholder.

    Raises:
        InterfaceError: *sql* is not a str, has placeholders already, or a parameter :0.
    """
    check_sql(sql)
    return _remembered(sql) if len(sql) <= _CACHED_SIZE else _named_statement(sql)


def bind_named(sql: str, values: NamedValues) -> tuple[str, tuple[Value, ...]]:
    """The statement with placeholders, and its values by position; a name may occur several times.

    Raises:
        InterfaceError: see `named_statement`, `NamedStatement.values` and `NamedStatement.expanded`.
    """
    statement = named_statement(sql)
    return _bound(statement, statement.values(values))


def bind_mapping(sql: str, values: Mapping[str, Value]) -> tuple[str, tuple[Value, ...]]:
    """As `bind_named`, for a mapping in PEP 249's place of a sequence; it may have values that the text does not name.

    Raises:
        ProgrammingError: see `NamedStatement.values_in`.
    """
    statement = named_statement(sql)
    return _bound(statement, statement.values_in(values))


def _bound(statement: NamedStatement, values: tuple[Value, ...]) -> tuple[str, tuple[Value, ...]]:
    for value in values:
        if is_list(value):
            return statement.expanded(values)
    return statement.sql, values


def _check_rows(rows: object) -> None:
    kind = type(rows)
    if issubclass(kind, (str, bytes, Mapping)) or not issubclass(kind, (Iterable, AsyncIterable)):
        raise InterfaceError(f"named: expected an iterable of mappings, got {kind.__name__}")


def is_list(value: object) -> bool:
    """Whether a value is expanded to several placeholders, if it is for an IN."""
    return isinstance(value, (list, tuple))


def _is_in_list(sql: str, place: int) -> bool:
    """Whether the innermost parenthesis around *place* follows IN; elsewhere a list is a value, of a LIST column."""
    opened = sql.rfind("(", 0, place)
    return (
        sql.find(")", opened, place) < 0 < opened and _IN.search(sql, max(opened - 64, 0), opened) is not None
    )


class NamedRows:
    """Rows of values by name, for many executions.

    Args:
        values: the values of a mapping by position.

    Raises:
        InterfaceError: *rows* cannot be iterated. When iterated: a row is not a mapping, or what *values* raises; names
            the row, counted from 0.
    """

    def __init__(self, rows: MappingRows, values: Callable[[Mapping[str, Value]], tuple[Value, ...]]) -> None:
        _check_rows(rows)
        self.source = rows
        self._values = values

    def by_position(self) -> Iterator[tuple[Value, ...]] | AsyncIterator[tuple[Value, ...]]:
        """The values of each row by position."""
        rows = self.source
        return self._async_rows(rows) if isinstance(rows, AsyncIterable) else self._rows(rows)

    def _rows(self, rows: Iterable[Mapping[str, Value]]) -> Iterator[tuple[Value, ...]]:
        for index, row in enumerate(rows):
            yield self._row(index, row)

    async def _async_rows(self, rows: AsyncIterable[Mapping[str, Value]]) -> AsyncIterator[tuple[Value, ...]]:
        index = 0
        async for row in rows:
            yield self._row(index, row)
            index += 1

    def _row(self, index: int, row: Mapping[str, Value]) -> tuple[Value, ...]:
        if not isinstance(row, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may be untyped
            raise InterfaceError(f"row {index}: expected a mapping, got {type(row).__name__}")
        try:
            return self._values(row)
        except (InterfaceError, ProgrammingError) as error:
            raise type(error)(f"row {index}: {error}") from None


class UnnamedRows(NamedRows):
    """Rows for many executions of a text without parameters: mappings, or sequences, which are not examined here."""

    def _row(self, index: int, row: Any) -> tuple[Value, ...]:
        return super()._row(index, row) if isinstance(row, Mapping) else row  # pyright: ignore[reportUnknownArgumentType] - of Any


def _named_statement(sql: str) -> NamedStatement:
    names: list[str] = []
    parts: list[str] = []
    end = 0
    for found in TOKEN.finditer(sql):
        if found["placeholder"]:
            raise InterfaceError(
                f"the statement has a ?, character {found.start() + 1}: names and ? cannot be combined"
            )
        if name := found["name"]:
            names.append(_canonical(name))
            parts += (sql[end : found.start()], "?")
            end = found.end()
    parts.append(sql[end:])
    if "0" in names:
        raise InterfaceError("the statement has a parameter :0; numbers count from 1")
    return NamedStatement("".join(parts), tuple(names))


def _canonical(name: str) -> str:
    """A number without leading zeros; a name unchanged."""
    return name.lstrip("0") or "0" if name[0] in "0123456789" else name


def _name_of(key: Any) -> str:
    if isinstance(key, str):
        return _canonical(key) if key.isascii() and key.isdecimal() else key
    if isinstance(key, int) and not isinstance(key, bool):
        return str(key)
    raise InterfaceError(f"keys: expected names or numbers, got {type(key).__name__}")


def _listed(names: Sequence[str]) -> str:
    """Parameters as :a, :b and so on; a key that is not a valid parameter is quoted."""
    shown = [f":{name}" if _PARAMETER.fullmatch(name) else repr(name) for name in names[:_LISTED]]
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return ("parameter " if len(names) == 1 else "parameters ") + ", ".join(shown) + more


_PARAMETER: Final = re.compile(r"[^\W\d][\w$]*+|[0-9]++")
_remembered = lru_cache(maxsize=_CACHED)(_named_statement)
