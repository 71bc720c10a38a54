"""Which text format a load or an unload is about: "unload" or "csv", with what may be said of it. Never: records."""

from __future__ import annotations

from aioifx.client.bulk.text_formats import CsvFormat, TextFormat, UnloadFormat
from aioifx.codecs.text import CodeSet
from aioifx.errors import InterfaceError


def format_of(
    name: str | TextFormat,
    code_set: CodeSet,
    *,
    delimiter: str | None = None,
    header: bool = False,
    encoding: str | None = None,
    reading: bool = False,
) -> TextFormat:
    """The format with this name; one that is made already goes through.

    UNLOAD's files are in the client's code set (documented), *code_set*; a CSV file is in UTF-8 here, and what is read
    may have a byte order mark.

    Args:     delimiter: None for the format's own, | or a comma. header: a CSV file begins with the columns' names.
              encoding: Python's name of a code set. reading: whether the file is read or written.
    Raises:   InterfaceError: there is no such format, or it has no such thing.
    """
    if not isinstance(name, str):
        if delimiter is not None or encoding is not None or header:
            raise InterfaceError(
                "delimiter, header and encoding are the format's own when it is not given by name"
            )
        if not hasattr(name, "goes_on"):
            raise InterfaceError(f'format: must be "unload", "csv" or a format, not {type(name).__name__}')
        return name
    if name == "csv":
        own = "utf-8-sig" if reading else "utf-8"
        return CsvFormat(
            delimiter="," if delimiter is None else delimiter,
            header=header,
            encoding=own if encoding is None else encoding,
        )
    if name != "unload":
        raise InterfaceError(f'format: must be "unload" or "csv", not {name!r:.40}')
    if header:
        raise InterfaceError("header: UNLOAD's format has none")
    return UnloadFormat(
        delimiter="|" if delimiter is None else delimiter,
        encoding=code_set.codec if encoding is None else encoding,
    )
