"""Files compressed with gzip or Zstandard, by the end of their names. Never: what is in them."""

from __future__ import annotations

import gzip
import io
import zlib
from contextlib import suppress
from importlib import import_module
from pathlib import PurePath
from typing import Any, BinaryIO, Final, cast

from aioifx.errors import DataError, InterfaceError

_BY_SUFFIX: Final = {".gz": "gzip", ".zst": "zstd"}
_ZSTD: Final = ("compression.zstd", "backports.zstd")
"""The standard library's from Python 3.14 on, and the same for earlier ones."""


def compression_of(file: str) -> str | None:
    """gzip or zstd, by the name of a file; None if it is not compressed."""
    return _BY_SUFFIX.get(PurePath(file).suffix.lower())


def plain_name(file: str) -> str:
    """The name of a file without the end that tells its compression."""
    return str(PurePath(file).with_suffix("")) if compression_of(file) else file


def compressed(file: BinaryIO, compression: str | None) -> BinaryIO:
    """A file that compresses what is written into *file*; *file* itself for None."""
    if compression is None:
        return file
    if compression == "gzip":
        return cast("BinaryIO", gzip.GzipFile(fileobj=file, mode="wb", filename=""))
    return cast("BinaryIO", _zstd().ZstdFile(file, "wb"))


def decompressed(file: BinaryIO, compression: str | None) -> BinaryIO:
    """A file with the uncompressed content of *file*; *file* itself for None. It cannot be sought in.

    Reading raises DataError if the content is damaged.
    """
    if compression is None:
        return file
    if compression == "gzip":
        return cast("BinaryIO", _Decompressed(gzip.GzipFile(fileobj=file), compression, zlib.error))
    zstd = _zstd()
    return cast("BinaryIO", _Decompressed(zstd.ZstdFile(file), compression, zstd.ZstdError))


def _zstd() -> Any:
    for name in _ZSTD:
        with suppress(ImportError):
            return import_module(name)
    raise InterfaceError("FILE: .zst needs Python 3.14 or backports.zstd: pip install 'aioifx[cli]'")


class _Decompressed(io.BufferedIOBase):
    def __init__(self, file: Any, compression: str, error: type[Exception]) -> None:
        self._file = file
        self._compression = compression
        self._errors: tuple[type[Exception], ...] = (EOFError, gzip.BadGzipFile, error)

    def readable(self) -> bool:
        return True

    def read(self, size: int | None = -1, /) -> bytes:
        try:
            data: bytes = self._file.read(-1 if size is None else size)
            if not data and self._compression == "gzip" and self._file.mtime is None:
                raise EOFError  # gzip takes a file without a header for an empty one
            return data
        except Exception as error:
            if not isinstance(error, self._errors):
                raise
            raise DataError(f"the file is not valid {self._compression}, or is cut short") from None
