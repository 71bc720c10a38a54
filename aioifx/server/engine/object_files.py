"""FILETOBLOB, FILETOCLOB and LOTOFILE: files at the client, or in one folder of the server. Never: messages, SQL.

Invariants:
1. The server reads and writes only files in the folder ``files`` of its databases' directory, after links are resolved.
2. A file is copied piece by piece, so memory does not grow with it.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, Protocol

from aioifx.server.sql.errors import SqlError
from aioifx.server.sqlite.private_files import regular

PIECE: Final = 1024 * 1024
"""Bytes read or written at a time."""

_BAD_OBJECT: Final = -9810
_UNIQUE_DIGITS: Final = 16


class Files(Protocol):
    """Files at one place."""

    def read(self, name: str) -> Iterator[bytes]:
        """The bytes of a file, in pieces.

        Raises:
            SqlError: it cannot be read.
        """
        ...

    def write(self, name: str, pieces: Iterable[bytes]) -> None:
        """Write a new file.

        Raises:
            SqlError: it cannot be written.
        """
        ...


class ServerFiles:
    """Files in a folder of the server.

    Args:
        sqlcode: of the error for a file that cannot be opened.
    """

    def __init__(self, folder: Path, sqlcode: int = _BAD_OBJECT) -> None:
        self._folder = folder
        self._sqlcode = sqlcode

    def read(self, name: str) -> Iterator[bytes]:
        """See `Files.read`.

        Raises:
            SqlError: -999, the file is outside the folder; *sqlcode* (-9810 is assumed), it cannot be read.
        """
        try:
            with open(self._path(name), "rb", opener=regular) as file:
                while piece := file.read(PIECE):
                    yield piece
        except OSError:
            raise SqlError(self._sqlcode, token=name) from None

    def write(self, name: str, pieces: Iterable[bytes]) -> None:
        """See `Files.write`.

        Raises:
            SqlError: -999, the file is outside the folder; *sqlcode* (-9810 is assumed), it cannot be written.
        """
        path = self._path(name)
        try:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            with open(path, "wb", opener=regular) as file:
                file.writelines(pieces)
        except OSError:
            raise SqlError(self._sqlcode, token=name) from None

    def _path(self, name: str) -> Path:
        folder = self._folder.resolve()
        try:
            path = (folder / name).resolve()
        except (ValueError, OSError, RuntimeError):  # a NUL, a loop of links
            raise SqlError(self._sqlcode, token=name) from None
        if folder not in path.parents:
            raise SqlError(-999, token="a file outside the server's folder")
        return path


def unique_name(name: str) -> str:
    """The name of the file that LOTOFILE writes.

    Source: documented: each ``?`` becomes a hexadecimal digit; without one, a period and digits follow the name. A name
    that ends with ``!`` is used without it as it is. The number of digits is assumed.
    """
    if name.endswith("!"):
        return name[:-1]
    count = name.count("?")
    digits = iter(secrets.token_hex(max(count, _UNIQUE_DIGITS)))
    if count:
        return "".join(next(digits) if character == "?" else character for character in name)
    return f"{name}.{''.join(digits)[:_UNIQUE_DIGITS]}"
