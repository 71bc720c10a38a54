"""The text format of a load or unload: "unload", "csv" or an object of the caller's. Never: records."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from aioifx.client.bulk.arguments import TextFormat
from aioifx.client.bulk.text_formats import CsvFormat, UnloadFormat
from aioifx.codecs.text import CodeSet
from aioifx.errors import InterfaceError

_NAMED: Final = {"csv": CsvFormat, "unload": UnloadFormat}


def format_of(form: str | TextFormat, code_set: CodeSet) -> TextFormat:
    """The format for a name; a TextFormat is returned unchanged, but for its encoding.

    Args:
        code_set: the client's, in which files of UNLOAD are (documented).

    Raises:
        InterfaceError: unknown format.
    """
    if isinstance(form, str):
        if form not in _NAMED:
            raise InterfaceError(f'format: expected "unload" or "csv", got {form!r:.40}')
        return format_of(_NAMED[form](), code_set)
    if not hasattr(form, "continues"):
        raise InterfaceError(f'format: expected "unload", "csv" or a TextFormat, got {type(form).__name__}')
    if isinstance(form, UnloadFormat) and form.encoding is None:
        return replace(form, encoding=code_set.codec)
    return form
