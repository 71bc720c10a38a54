"""Template strings (PEP 750), converted to text with placeholders, and values. Never: `string.templatelib`, a server.

Invariants:
1. No value becomes text. Only an identifier does, after its check.
2. Templates of the same shape give the same text, with any values.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final, NamedTuple, Protocol, TypeAlias, TypeGuard

from aioifx.client.sql.hints import hint_for_text
from aioifx.client.sql.identifiers import column_name
from aioifx.client.sql.placeholders import ByName, is_list
from aioifx.client.sql.scanner import TOKEN, check_sql
from aioifx.errors import DatabaseError, InterfaceError, point_at

_CACHED: Final = 256
"""Number of texts in the cache; a program repeats few different ones."""
_CACHED_SIZE: Final = 8192
"""Longer texts are usually generated: checked again instead of cached."""


class SqlInterpolation(Protocol):
    """What is used of an interpolation: `string.templatelib.Interpolation` of Python 3.14."""

    @property
    def value(self) -> Any: ...
    @property
    def expression(self) -> str: ...
    @property
    def conversion(self) -> str | None: ...
    @property
    def format_spec(self) -> str: ...


class SqlTemplate(Protocol):
    """What is used of a template: `string.templatelib.Template` of Python 3.14."""

    @property
    def strings(self) -> tuple[str, ...]: ...
    @property
    def interpolations(self) -> tuple[SqlInterpolation, ...]: ...


Sql: TypeAlias = str | SqlTemplate
"""One statement: text, or a template with its values."""


class _Place(NamedTuple):
    """An interpolation, or one element of its list."""

    template: SqlTemplate
    at: int
    value: Any

    @property
    def interpolation(self) -> SqlInterpolation:
        return self.template.interpolations[self.at]

    @property
    def source(self) -> str:
        return _source_of(self.interpolation)

    @property
    def is_name(self) -> bool:
        """Whether it is an identifier, and not a value."""
        return self.interpolation.format_spec == "identifier"

    def text(self) -> str:
        """What stands for it in the statement."""
        if not self.is_name:
            return "?"
        try:
            return column_name(self.value, self.source)
        except InterfaceError as error:
            raise self.error(str(error)) from None

    def error(self, message: str) -> InterfaceError:
        """An error with a note that points at this place."""
        error = InterfaceError(message)
        error.add_note(self.pointer())
        return error

    def pointer(self) -> str:
        """Three lines for people, as of `point_at`, with the template that the place is in."""
        strings, interpolations = self.template.strings, self.template.interpolations
        shown = [text + _source_of(each) for text, each in zip(strings[:-1], interpolations, strict=True)]
        place = sum(map(len, shown[: self.at])) + len(strings[self.at])
        return point_at("".join((*shown, strings[-1])), place + 1).replace("SQL", "template", 1)


class TemplateValues(ByName):
    """The values of a template by position; their names are the expressions."""

    places: tuple[_Place, ...]
    """Those of values and identifiers, and where each begins and ends in the text."""
    spans: tuple[tuple[int, int], ...]

    def label(self, number: int) -> str:
        name = self.names[number - 1]
        return f"{{{name}}}" if name else str(number)


def note_place(error: BaseException, params: object) -> None:
    """Add to an error of the server the interpolation that it is about, if it is about one.

    A hint for text with placeholders is replaced.
    """
    if isinstance(params, TemplateValues) and isinstance(error, DatabaseError):
        for (start, end), place in zip(params.spans, params.places, strict=True):
            if start < error.offset <= end:
                error.add_note(place.pointer())
        notes: list[str] = getattr(error, "__notes__", [])
        if (hint := hint_for_text(error.sql or "")) in notes:
            notes[notes.index(hint)] = "a template has no other placeholders: write {value}"


def is_template(value: object) -> TypeGuard[SqlTemplate]:
    """Whether *value* is a template string: by its class, so that no value decoded from data passes for one."""
    kind = type(value)
    return kind.__name__ == "Template" and kind.__module__ == "string.templatelib"


def bind_template(template: SqlTemplate) -> tuple[str, TemplateValues]:
    """The statement with placeholders, and its values by position.

    Raises:
        InterfaceError: not a template; a conversion or an unknown format; an identifier that is not one; an empty list;
            a template within itself; a place where SQL takes neither a value nor a name. A note points into the
            template.
    """
    if not is_template(template):
        check_sql(template)
    parts: list[str] = []
    places: list[_Place] = []
    spans: list[tuple[int, int]] = []
    end = 0
    for part in _parts(template):
        text = part if isinstance(part, str) else part.text()
        if not isinstance(part, str):
            places.append(part)
            spans.append((end, end + len(text)))
        parts.append(text)
        end += len(text)
    sql = "".join(parts)
    misplaced = (_remembered if end <= _CACHED_SIZE else _misplaced)(sql, tuple(spans))
    if misplaced is not None:
        place = places[misplaced]
        raise place.error(
            f"{place.source}: expected a place where SQL takes a value or a name, got one within a string, comment or"
            " word"
        )
    bound = [place for place in places if not place.is_name]
    values = TemplateValues(place.value for place in bound)
    values.names = tuple(_expression_of(place.interpolation) for place in bound)
    values.places, values.spans = tuple(places), tuple(spans)
    return sql, values


def _parts(template: SqlTemplate) -> Iterator[str | _Place]:
    """Text and places from left to right, with nested templates where they stand."""
    nested = {id(template): _own_parts(template)}  # not recursive: a loop may have nested any number
    while nested:
        for part in next(reversed(nested.values())):
            if not isinstance(part, str) and is_template(part.value) and not part.is_name:
                if id(part.value) in nested:  # by its list
                    raise part.error(f"{part.source}: expected another template, got one that this is within")
                nested[id(part.value)] = _own_parts(part.value)
                break
            yield part
        else:
            nested.popitem()


def _own_parts(template: SqlTemplate) -> Iterator[str | _Place]:
    for index, (text, each) in enumerate(zip(template.strings[:-1], template.interpolations, strict=True)):
        yield text
        place = _Place(template, index, each.value)
        if each.conversion is not None:
            raise place.error(f"{place.source}: expected no conversion, got !{each.conversion}")
        if each.format_spec not in ("", "identifier", "list"):
            raise place.error(
                f"{place.source}: expected the format identifier, list or none, got {each.format_spec!r:.40}"
            )
        if each.format_spec == "list":
            yield from _elements(place)
        else:
            yield place
    yield template.strings[-1]


def _elements(place: _Place) -> Iterator[str | _Place]:
    """One place for each element, separated by commas."""
    elements = place.value
    kind = type(elements).__name__
    if not is_list(elements):
        raise place.error(f"{place.source}: expected a list or tuple, got {kind}")
    if not elements:
        raise place.error(f"{place.source}: expected one value or more, got an empty {kind}")
    for number, element in enumerate(elements):
        if number:
            yield ", "
        yield place._replace(value=element)


def _source_of(each: SqlInterpolation) -> str:
    """An interpolation as it is written, in one line."""
    conversion = f"!{each.conversion}" if each.conversion else ""
    return f"{{{_expression_of(each)}{conversion}{each.format_spec and ':' + each.format_spec}}}"


def _expression_of(each: SqlInterpolation) -> str:
    """Its expression in one line; empty if the template was not written as a literal."""
    return " ".join(each.expression.split())


def _misplaced(sql: str, spans: tuple[tuple[int, int], ...]) -> int | None:
    """The index of the first span that is neither a placeholder nor an identifier by itself; None if there is none.

    Raises:
        InterfaceError: a placeholder in none of the spans.
    """
    tokens = {found.start(): bool(found["placeholder"]) for found in TOKEN.finditer(sql)}
    surplus = {start for start, is_placeholder in tokens.items() if is_placeholder} - {
        start for start, _ in spans
    }
    if surplus:
        place = min(surplus) + 1
        error = InterfaceError(
            f"the template has a ?, character {place} of its text: write {{value}} instead"
        )
        error.add_note(point_at(sql, place))
        raise error
    for index, (start, end) in enumerate(spans):
        if sql[start:end] == "?":
            if not tokens.get(start):
                return index
        elif (
            start not in tokens
            or (end < len(sql) and end not in tokens)
            or _joins(sql[start - 1 : start])
            or _joins(sql[end : end + 1])
        ):
            return index
    return None


def _joins(char: str) -> bool:
    """Whether a character beside an identifier would make another name of it."""
    return char.isalnum() or (char != "" and char in '_$"')


_remembered = lru_cache(maxsize=_CACHED)(_misplaced)
