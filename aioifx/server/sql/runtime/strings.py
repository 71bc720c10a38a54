"""Strings by characters and by bytes of the code set: cutting, padding, SQL's string functions. Never: patterns.

Invariants:
1. SQL functions take None for NULL, and return None if an argument is NULL, unless documented otherwise.
2. Bytes are those of the database's code set. assumed: SUBSTR, LPAD and the others count characters; only
   subscripts, LENGTH, OCTET_LENGTH and sizes of columns count bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.settings import Settings

_NOT_IN_CODE_SET: Final = -23103
_TOO_LONG: Final = -881
_LONGEST: Final = 32739
"""Maximum bytes of LVARCHAR; a longer text is refused."""

_WIDEST: Final = 4
"""Bytes of a character of UTF-8 or GB18030; no code set has longer ones."""


def encoded(text: str, code_set: str) -> bytes:
    """The bytes of a text in the database; a character missing from its code set is -23103, never replaced."""
    try:
        return text.encode(code_set)
    except UnicodeEncodeError:
        raise SqlError(_NOT_IN_CODE_SET) from None


def byte_length(text: str, code_set: str) -> int:
    """The number of bytes of a text in the database."""
    return len(text) if text.isascii() else len(encoded(text, code_set))


def cut(text: str, size: int, code_set: str) -> str:
    """At most *size* bytes of a text; a character that would be split is dropped."""
    if text.isascii():
        return text if len(text) <= size else text[:size]
    raw = encoded(text, code_set)
    return text if len(raw) <= size else raw[:size].decode(code_set, "ignore")


def pad(text: str, size: int, code_set: str) -> str:
    """A text padded with blanks to *size* bytes, as in CHAR."""
    if text.isascii():
        return text.ljust(size)
    return text + " " * (size - byte_length(text, code_set))


def subscript(settings: Settings, text: str | None, first: int, last: int) -> str | None:
    """``c[first,last]``: bytes from 1. The bytes of a split character become blanks (documented: GLS guide)."""
    if text is None:
        return None
    if not 1 <= first <= last:
        raise SqlError(-306)
    if text.isascii():
        return text[first - 1 : last]
    result: list[str] = []
    end = 0
    for character in text:
        begin, end = end, end + byte_length(character, settings.code_set)
        if first - 1 <= begin and end <= last:
            result.append(character)
        else:
            result.append(" " * (min(end, last) - max(begin, first - 1)))
    return "".join(result)


def with_part(settings: Settings, first: int, last: int, text: str | None, part: str | None) -> str:
    """A text with *part* in place of its bytes from *first* to *last*, from 1.

    assumed: NULL counts as blanks, and blanks fill what is shorter.
    """
    code_set = settings.code_set
    whole = pad(text or "", last, code_set)
    end = byte_length(whole, code_set)
    before = subscript(settings, whole, 1, first - 1) if first > 1 else ""
    middle = pad(subscript(settings, part or "", 1, last - first + 1) or "", last - first + 1, code_set)
    after = subscript(settings, whole, last + 1, end) if end > last else ""
    return f"{before}{middle}{after}"


def length(settings: Settings, text: str | None) -> int | None:
    """LENGTH: bytes without trailing blanks."""
    return None if text is None else byte_length(text.rstrip(" "), settings.code_set)


def octet_length(settings: Settings, text: str | None) -> int | None:
    """OCTET_LENGTH: bytes, blanks included."""
    return None if text is None else byte_length(text, settings.code_set)


def char_length(text: str | None) -> int | None:
    """CHAR_LENGTH: characters, blanks included."""
    return None if text is None else len(text)


def _by_letter(text: str, change: Callable[[str], str]) -> str:
    """Change each letter, except those whose other case is longer, so that the size is unchanged."""
    changed = change(text)
    if _fits(changed, text):
        return changed
    return "".join(new if _fits(new, old) else old for old, new in ((c, change(c)) for c in text))


def _fits(new: str, old: str) -> bool:
    return len(new) == len(old) and len(new.encode("utf-8", "replace")) <= len(old.encode("utf-8", "replace"))


def widest_character(code_set: str) -> int:
    """Bytes that a character of a code set may have."""
    return 1 if len("\u3042".encode(code_set, "replace")) == 1 else _WIDEST


def upper(text: str | None) -> str | None:
    """UPPER."""
    return None if text is None else _by_letter(text, str.upper)


def lower(text: str | None) -> str | None:
    """LOWER."""
    return None if text is None else _by_letter(text, str.lower)


def initcap(text: str | None) -> str | None:
    """INITCAP: each word begins with a capital; any character that is not a letter or digit ends a word."""
    if text is None:
        return None
    result: list[str] = []
    inside = False
    for character in text:
        result.append(_by_letter(character, str.lower if inside else str.upper))
        inside = character.isalnum()
    return "".join(result)


def reverse(text: str | None) -> str | None:
    """REVERSE."""
    return None if text is None else text[::-1]


def trim(text: str | None, characters: str | None = " ") -> str | None:
    """TRIM(BOTH c FROM s)."""
    return None if text is None or characters is None else text.strip(characters) if characters else text


def trim_leading(text: str | None, characters: str | None = " ") -> str | None:
    """TRIM(LEADING c FROM s) and LTRIM(s, set)."""
    return None if text is None or characters is None else text.lstrip(characters) if characters else text


def trim_trailing(text: str | None, characters: str | None = " ") -> str | None:
    """TRIM(TRAILING c FROM s) and RTRIM(s, set)."""
    return None if text is None or characters is None else text.rstrip(characters) if characters else text


def require_length(count: int) -> None:
    """Raise SqlError -881 if the result would be longer than LVARCHAR."""
    if count > _LONGEST:
        raise SqlError(_TOO_LONG)


def _filling(filler: str, count: int) -> str:
    return (filler * (count // len(filler) + 1))[:count] if filler else ""


def pad_left(text: str | None, count: int | None, filler: str | None = " ") -> str | None:
    """LPAD: *count* characters; a longer text is cut at its end."""
    if text is None or count is None or filler is None:
        return None
    require_length(count)
    count = max(0, count)
    return _filling(filler, count - len(text)) + text if len(text) < count else text[:count]


def pad_right(text: str | None, count: int | None, filler: str | None = " ") -> str | None:
    """RPAD: *count* characters; a longer text is cut at its end."""
    if text is None or count is None or filler is None:
        return None
    require_length(count)
    count = max(0, count)
    return text + _filling(filler, count - len(text)) if len(text) < count else text[:count]


def replace(text: str | None, old: str | None, new: str | None = "") -> str | None:
    """REPLACE: every *old* by *new*; NULL for *new* removes *old*."""
    if text is None or old is None:
        return None
    if not old:
        return text
    new = new or ""
    grown = len(text) + text.count(old) * (len(new) - len(old)) if len(new) > len(old) else 0
    require_length(grown)
    return text.replace(old, new)


def substr(text: str | None, start: int | None, count: int | None = _LONGEST) -> str | None:
    """SUBSTR: from 1; 0 counts as 1, a negative start from the end; NULL if the result is empty.

    assumed: a start before the text's first character, and a count below 1, give NULL.
    """
    if text is None or start is None or count is None or count < 1:
        return None
    if start < 0:
        start += len(text) + 1
        if start < 1:
            return None
    begin = max(start, 1) - 1
    return text[begin : begin + count]


def substring(text: str | None, start: int | None, count: int | None = None) -> str | None:
    """SUBSTRING(s FROM p): p may be 0 or negative, for positions before the text."""
    return None if text is None or start is None else text[max(start - 1, 0) :]


def substring_for(text: str | None, start: int | None, count: int | None) -> str | None:
    """SUBSTRING(s FROM p FOR n): the positions before the text count toward n."""
    if text is None or start is None or count is None:
        return None
    return text[max(start - 1, 0) : max(start - 1 + max(count, 0), 0)]


def left(text: str | None, count: int | None) -> str | None:
    """LEFT."""
    return None if text is None or count is None else text[: max(count, 0)]


def right(text: str | None, count: int | None) -> str | None:
    """RIGHT."""
    return None if text is None or count is None else text[max(len(text) - max(count, 0), 0) :]


def space(count: int | None) -> str | None:
    """SPACE."""
    if count is None:
        return None
    require_length(count)
    return " " * max(0, count)


def instr(text: str | None, part: str | None, start: int | None = 1, nth: int | None = 1) -> int | None:
    """INSTR: place of the *nth* occurrence from 1, or 0; a negative *start* searches backward from the end."""
    if text is None or part is None or start is None or nth is None:
        return None
    if not part or not start or nth < 1:
        return 0
    if start > 0:
        place = start - 2
        for _ in range(nth):
            place = text.find(part, place + 1)
            if place < 0:
                return 0
        return place + 1
    place = len(text) + start + 1
    for _ in range(nth):
        place = text.rfind(part, 0, place - 1 + len(part)) if place > 0 else -1
        if place < 0:
            return 0
    return place + 1


def charindex(part: str | None, text: str | None, start: int | None = 1) -> int | None:
    """CHARINDEX: place of the first occurrence from *start* on, or 0; a start before the text is its beginning."""
    if text is None or part is None or start is None:
        return None
    return text.find(part, max(start, 1) - 1) + 1


def substring_index(text: str | None, delimiter: str | None, count: int | None) -> str | None:
    """SUBSTRING_INDEX: the text before the *count*-th delimiter, or after it, counted from the end.

    The whole text when it has fewer; NULL for a count of 0 (documented). assumed: an empty delimiter never occurs.
    """
    if text is None or delimiter is None or not count:
        return None
    pieces = text.split(delimiter) if delimiter else [text]
    return delimiter.join(pieces[:count] if count > 0 else pieces[count:])


def ascii_code(settings: Settings, text: str | None) -> int | None:
    """ASCII: the code of the first character; NULL for an empty text.

    assumed: of a character with several bytes, the first one.
    """
    return encoded(text[0], settings.code_set)[0] if text else None


def character(settings: Settings, code: int | None) -> str | None:
    """CHR: the character with a code of 0 to 255; a code that is not a whole character is -23103."""
    if code is None:
        return None
    if not 0 <= code <= 255:
        raise SqlError(-1226)
    try:
        return bytes((code,)).decode(settings.code_set)
    except UnicodeDecodeError:
        raise SqlError(_NOT_IN_CODE_SET) from None
