"""The text format of a load or unload: "unload" or "csv", with its options. Never: records."""

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
    """The format for a name; a TextFormat is returned unchanged.

    Files of UNLOAD are in the client's code set (documented), *code_set*. CSV files are in UTF-8 here; a byte order
    mark is accepted when reading.

    Args:
        delimiter: None for the format's own, | or a comma.
        header: a CSV file begins with the column names.
        encoding: Python name of an encoding.
        reading: whether the file is read or written.

    Raises:
        InterfaceError: unknown format, or the format does not support an option.
    """
    if not isinstance(name, str):
        if delimiter is not None or encoding is not None or header:
            raise InterfaceError(
                "format: cannot be combined with delimiter, header or encoding unless given by name"
            )
        if not hasattr(name, "continues"):
            raise InterfaceError(
                f'format: expected "unload", "csv" or a TextFormat, got {type(name).__name__}'
            )
        return name
    if name == "csv":
        own = "utf-8-sig" if reading else "utf-8"
        return CsvFormat(
            delimiter="," if delimiter is None else delimiter,
            header=header,
            encoding=own if encoding is None else encoding,
        )
    if name != "unload":
        raise InterfaceError(f'format: expected "unload" or "csv", got {name!r:.40}')
    if header:
        raise InterfaceError("header: not supported by UNLOAD's format")
    return UnloadFormat(
        delimiter="|" if delimiter is None else delimiter,
        encoding=code_set.codec if encoding is None else encoding,
    )
