"""Rows and collections: literals, conversion, comparison, text, access to parts. Never: how a scalar part is converted.

Functions for scalar parts are arguments, because those of `casts` are recursive with this module.

Source: documented: elements of collections are not NULL; a SET has no duplicates, SETs and MULTISETs no order; a row
is converted field by field (Guide to SQL: Syntax; Database Design and Implementation Guide). assumed: duplicates in a
SET are dropped without an error; -9978 for NULL elements, -9634 for rows with a different number of fields.

A part of a literal such as ``SET{1, 'a'}`` is a quoted text, a number, a DATETIME or INTERVAL literal, NULL, or another
row or collection, which may be quoted (documented, Guide to SQL: Syntax, Literal Row, Literal Collection, Nested
Quotation Marks). -1260 for any other text is assumed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, Final, NamedTuple, TypeAlias, cast

from aioifx.server.sql.complex_types import ComplexType
from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.settings import Settings
from aioifx.server.sql.model.storage import NUMBER_FORMS, Form, Stored, form_of
from aioifx.sqltypes import SqlType, TypeCode

_HEAD: Final = re.compile(r"\s*(row\s*\(|(?:set|multiset|list)\s*\{)", re.IGNORECASE)
_QUOTED: Final = re.compile(r"""\s*(?:'((?:[^']|'')*+)'|"((?:[^"]|"")*+)")\s*""")
_MOMENT: Final = re.compile(r"\s*(?:datetime|interval)\s*\(([^()]*)\)(?:[^,(){}'\"]|\(\d\))*", re.IGNORECASE)
_WORD: Final = re.compile(r"\s*([^\s,(){}'\"]+)\s*")
_BLANKS: Final = re.compile(r"\s*")
_CLOSERS: Final = {"(": ")", "{": "}"}
MAX_DEPTH: Final = 50
"""Maximum nesting depth, as in statements."""


class Part(NamedTuple):
    """One part of a literal."""

    text: str
    is_quoted: bool = False

    @property
    def is_null(self) -> bool:
        """Whether it is the word NULL."""
        return not self.is_quoted and self.text.lower() == "null"


class Literal(NamedTuple):
    """A row or collection as text."""

    kind: str
    """row, set, multiset or list."""
    parts: tuple[Part, ...]


def is_literal(text: str) -> bool:
    """Whether a text begins like a row or collection."""
    return _HEAD.match(text) is not None


def split_literal(text: str) -> Literal:
    """The parts of a literal; a nested literal is one part.

    Raises:
        SqlError: -1260.
    """
    head = _HEAD.match(text)
    if head is None:
        raise SqlError(_NO_CONVERSION)
    closer = _CLOSERS[head[1][-1]]
    parts, end = _parts(text, head.end(), closer)
    if text[end:].strip() or (not parts and closer == ")"):
        raise SqlError(_NO_CONVERSION)
    return Literal(head[1][:-1].rstrip().lower(), tuple(parts))


def _parts(text: str, position: int, closer: str) -> tuple[list[Part], int]:
    """The parts up to *closer*, and the position after it."""
    parts: list[Part] = []
    position = _after_blanks(text, position)
    if text.startswith(closer, position):
        return parts, position + 1
    while True:
        part, position = _part(text, position)
        parts.append(part)
        if text.startswith(closer, position):
            return parts, position + 1
        if not text.startswith(",", position):
            raise SqlError(_NO_CONVERSION)
        position += 1


def _part(text: str, position: int) -> tuple[Part, int]:
    """One part, and the position after it and its blanks."""
    if found := _QUOTED.match(text, position):
        quoted = found[1].replace("''", "'") if found[1] is not None else found[2].replace('""', '"')
        return Part(quoted, is_quoted=True), found.end()
    if found := _HEAD.match(text, position):
        end = _after_nested(text, found)
        return Part(text[found.start() : end].strip()), _after_blanks(text, end)
    if found := _MOMENT.match(text, position):
        return Part(found[1].strip(), is_quoted=True), found.end()
    if found := _WORD.match(text, position):
        return Part(found[1]), found.end()
    raise SqlError(_NO_CONVERSION)


def _after_nested(text: str, head: re.Match[str]) -> int:
    """The position after a literal within another one."""
    expected = [_CLOSERS[head[1][-1]]]
    for position, character in _unquoted(text, head.end()):
        if character in _CLOSERS:
            expected.append(_CLOSERS[character])
            if len(expected) > MAX_DEPTH:
                break
        elif character in ")}":
            if character != expected.pop():
                break
            if not expected:
                return position + 1
    raise SqlError(_NO_CONVERSION)


def _unquoted(text: str, position: int) -> Iterator[tuple[int, str]]:
    """The characters outside quotes, with their positions."""
    quote = ""
    for place in range(position, len(text)):
        character = text[place]
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        else:
            yield place, character


def _after_blanks(text: str, position: int) -> int:
    found = _BLANKS.match(text, position)
    assert found is not None
    return found.end()


def quoted(text: str) -> str:
    """A text as a part."""
    return "'" + text.replace("'", "''") + "'"


Converter: TypeAlias = Callable[[Any, Settings], Stored]
ConverterOf: TypeAlias = Callable[[SqlType, SqlType], Converter]
"""Source and target type -> the conversion of values that are not NULL."""
TextOf: TypeAlias = Callable[[SqlType], Callable[[Any, Settings], str]]

_NO_CONVERSION: Final = -1260
_NO_CAST: Final = -9634
_NULL_FIELD: Final = -391
_NULL_ELEMENT: Final = -9978
_TEXT: Final = SqlType(TypeCode.LVARCHAR, 32739)
_ENCODER: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))

_WIDTHS: Final = {TypeCode.SMALLINT: 6, TypeCode.INTEGER: 11, TypeCode.BIGINT: 20, TypeCode.INT8: 20}
"""Characters of an integer in a row. observed: informix-driver, INTEGER; assumed: the others likewise."""


def stored_parts(parts: Sequence[Stored]) -> str:
    """The storage form of a row or collection."""
    return _ENCODER.encode(list(parts))


def parts_of(stored: str) -> list[Stored]:
    """The stored parts of a row or collection."""
    return cast("list[Stored]", json.loads(stored))


def part_types(type_: ComplexType, count: int) -> tuple[SqlType, ...]:
    """The types of *count* parts.

    Raises:
        SqlError: -9634, a row has a different number of fields.
    """
    if type_.code != TypeCode.ROW:
        return type_.parts * count
    if len(type_.parts) != count:
        raise SqlError(_NO_CAST)
    return type_.parts


def completed(parts: list[Stored], type_: ComplexType) -> str:
    """The storage form of converted parts.

    Raises:
        SqlError: -391, a field that is NOT NULL is NULL; -9978, an element is NULL.
    """
    if type_.code == TypeCode.ROW:
        for part, required in zip(parts, type_.required, strict=True):
            if part is None and required:
                raise SqlError(_NULL_FIELD)
    elif None in parts:
        raise SqlError(_NULL_ELEMENT)
    if type_.code == TypeCode.SET:
        unique: dict[Hashable, Stored] = {}
        for part in parts:
            unique.setdefault(_key(part, type_.element), part)
        parts = list(unique.values())
    return stored_parts(parts)


# --- Conversion -------------------------------------------------------------------------------------------------------


def from_text(type_: ComplexType, converter_of: ConverterOf) -> Converter:
    """The conversion of a literal: ``ROW('Alice', 30)``."""
    kind = TypeCode(type_.code).name.lower()

    def read(text: str, settings: Settings) -> Stored:
        literal = split_literal(text)
        if literal.kind != kind:
            raise SqlError(_NO_CAST if is_literal(text) else _NO_CONVERSION)
        types = part_types(type_, len(literal.parts))
        return completed(
            [read_part(part, target, settings) for part, target in zip(literal.parts, types, strict=True)],
            type_,
        )

    def read_part(part: Part, target: SqlType, settings: Settings) -> Stored:
        return None if part.is_null else converter_of(_TEXT, target)(part.text, settings)

    return read


def between(source: ComplexType, target: ComplexType, converter_of: ConverterOf) -> Converter:
    """The conversion of a row to a row, or of a collection to one of the same kind.

    Raises:
        SqlError: -9634, the kinds or the numbers of fields differ.
    """
    if source.code != target.code:
        raise SqlError(_NO_CAST)
    if source.code == TypeCode.ROW:
        pairs = zip(source.parts, part_types(target, len(source.parts)), strict=True)
        converters = [converter_of(one, other) for one, other in pairs]
    else:
        converters = [converter_of(source.element, target.element)]

    def convert(stored: str, settings: Settings) -> Stored:
        parts = parts_of(stored)
        each = converters if target.code == TypeCode.ROW else converters * len(parts)
        return completed(
            [None if part is None else make(part, settings) for part, make in zip(parts, each, strict=True)],
            target,
        )

    return convert


def text_maker(type_: ComplexType, text_of: TextOf) -> Callable[[Any, Settings], str]:
    """A function that writes stored values as literals: ``ROW('Alice',30         )``, ``SET{1,2}``."""
    is_row = type_.code == TypeCode.ROW
    opening, closing = ("(", ")") if is_row else ("{", "}")
    name = TypeCode(type_.code).name
    writers = [_part_writer(part, text_of, is_row) for part in type_.parts]

    def write(stored: str, settings: Settings) -> str:
        parts = parts_of(stored)
        each = writers if is_row else writers * len(parts)
        texts = [
            "NULL" if part is None else writer(part, settings)
            for part, writer in zip(parts, each, strict=True)
        ]
        return f"{name}{opening}{','.join(texts)}{closing}"

    return write


def _part_writer(type_: SqlType, text_of: TextOf, is_in_row: bool) -> Callable[[Any, Settings], str]:
    write, form = text_of(type_), form_of(type_)
    if form is Form.COMPLEX:
        return write
    if form not in NUMBER_FORMS:
        return lambda value, settings: quoted(write(value, settings))
    width = _WIDTHS.get(TypeCode(type_.code), 0) if is_in_row else 0
    return lambda value, settings: write(value, settings).ljust(width)


# --- Comparison -------------------------------------------------------------------------------------------------------


def _key(part: Stored, type_: SqlType) -> Hashable:
    """What equal parts have in common."""
    if isinstance(part, str):
        if isinstance(type_, ComplexType):
            parts = parts_of(part)
            keys = [_key(each, own) for each, own in zip(parts, part_types(type_, len(parts)), strict=True)]
            has_order = type_.code in (TypeCode.ROW, TypeCode.LIST)
            return tuple(keys if has_order else sorted(keys, key=repr))
        return part.rstrip(" ")
    return part


def equality(type_: ComplexType) -> Callable[[str, str], int | None]:
    """The comparison of two values of a type: 0 if equal, 1 if not, None if a NULL field decides.

    assumed: rows are compared field by field as in ``a.x = b.x AND ..``.
    """

    def compare(left: str, right: str) -> int | None:
        if type_.code != TypeCode.ROW:
            return int(_key(left, type_) != _key(right, type_))
        unknown = False
        for one, other, part in zip(parts_of(left), parts_of(right), type_.parts, strict=True):
            if one is None or other is None:
                unknown = True
            elif _key(one, part) != _key(other, part):
                return 1
        return None if unknown else 0

    return compare


# --- For SQLite -------------------------------------------------------------------------------------------------------


def appended(stored: str | None, *parts: Stored) -> str | None:
    """A list of parts with more of them; SQLite limits the arguments of one call."""
    return None if stored is None else stored_parts([*parts_of(stored), *parts])


def field(stored: str | None, index: int) -> Stored:
    """A field of a row."""
    return None if stored is None else parts_of(stored)[index]


def cardinality(stored: str | None) -> int | None:
    """The number of elements."""
    return None if stored is None else len(parts_of(stored))
