"""What the value of an option may be: refused by the option's name unless it fits. Never: where a value comes from."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Final, TypeVar, cast

from aioifx.client.config.addresses import names_in
from aioifx.codecs.text import CodeSet, code_set_of
from aioifx.errors import DataError, InterfaceError
from aioifx.rows import Record
from aioifx.sqltypes import Column, Row

R = TypeVar("R")

DEFAULT_LOCALE: Final = "en_US.8859-1"

_MAX_TEXT: Final = 1024
"""Bytes of a user, password, server or database name: far above Informix's own limits."""


def check_row_factory(factory: object) -> None:
    """Raise unless *factory* can be called with the columns."""
    if not callable(factory):
        raise InterfaceError("row_factory: must be callable, such as aioifx.rows.dict_row")
    if isinstance(factory, type) and (name := _FACTORY_OF.get(factory)):
        raise InterfaceError(
            f"row_factory: must be a function of the columns, not the class {factory.__name__}; use aioifx.rows.{name}"
        )


_FACTORY_OF: Final[dict[type, str]] = {dict: "dict_row", tuple: "tuple_row", Record: "record_row"}


def row_maker(
    factory: Callable[[Sequence[Column]], Callable[[Row], R]], columns: Sequence[Column]
) -> Callable[[Row], R]:
    """What *factory* makes of the columns.

    Raises:   InterfaceError: it is no row factory, or returns none. Whatever it raises.
    """
    check_row_factory(factory)
    make = factory(columns)
    if not callable(make):  # pyright: ignore[reportUnnecessaryComparison] - callers may be untyped
        raise InterfaceError(f"row_factory: must return a function of a row, not {type(make).__name__}")
    return make


def check_text(name: str, value: object, code_set: CodeSet, *, required: bool = False) -> None:
    """Refuse what cannot be sent as text of a login; nothing of it stands in the message.

    Raises:   InterfaceError: begins with *name*.
    """
    if not isinstance(value, str):
        raise InterfaceError(f"{name}: must be a str, not {type(value).__name__}")
    if required and not value:
        raise InterfaceError(f"{name}: missing" + (_WHAT_SERVER_IS if name == "server" else ""))
    if "\0" in value:
        raise InterfaceError(f"{name}: has a NUL")
    try:
        size = len(code_set.encode(value))
    except DataError:
        raise InterfaceError(f"{name}: has a character that is not in {code_set.name}") from None
    if size > _MAX_TEXT:
        raise InterfaceError(f"{name}: longer than {_MAX_TEXT} bytes")


_WHAT_SERVER_IS: Final = (
    "; it is the DBSERVERNAME of the Informix instance, given as server= or in INFORMIXSERVER"
)


def check_words(server: str, database: str) -> None:
    for name in names_in("server", server):
        if any(character.isspace() or character in "@/:" for character in name):
            raise InterfaceError("server: must be DBSERVERNAMEs, separated by commas")
    if "@" in database:
        raise InterfaceError("database: names a server with '@'; give that as server=")


def check_locale(name: str, locale: object, errors: object) -> None:
    if not isinstance(errors, str):
        raise InterfaceError(f"encoding_errors: must be a str, not {type(errors).__name__}")
    if locale is None:
        return
    if not isinstance(locale, str) or not locale.isascii() or "\0" in locale or len(locale) > _MAX_TEXT:
        raise InterfaceError(f"{name}: must be a locale such as {DEFAULT_LOCALE}")
    code_set_of(DEFAULT_LOCALE, errors)
    try:
        code_set_of(locale)
    except InterfaceError as error:
        raise InterfaceError(f"{name}: {error}") from None


def check_whole(name: str, value: object, low: int, high: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise InterfaceError(f"{name}: must be a whole number from {low} to {high}")


def check_seconds(name: str, value: object) -> None:
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0 < value <= sys.float_info.max:
        raise InterfaceError(f"{name}: must be a number of seconds above 0")


def check_keepalive(value: object) -> None:
    """Source:   documented: Linux takes at most 32767 seconds and 127 questions"""
    limits = (32767, 32767, 127)
    if isinstance(value, bool):
        return
    if (
        not isinstance(value, tuple)
        or len(cast(tuple[object, ...], value)) != 3
        or not all(
            type(number) is int and 1 <= number <= limit
            for number, limit in zip(cast(tuple[object, ...], value), limits, strict=True)
        )
    ):
        raise InterfaceError(
            "keepalive: must be True, False, or three numbers: seconds until the first question, seconds between two "
            f"(both up to {limits[0]}), and how many (up to {limits[2]})"
        )


def check_flag(name: str, value: object) -> None:
    if not isinstance(value, bool):
        raise InterfaceError(f"{name}: must be True or False")


def check_tls(ssl: object, ca: str, cert: str, key: str) -> None:
    """Refuse files of TLS that nothing is done with."""
    if key and not cert:
        raise InterfaceError("ssl_key: needs ssl_cert")
    for name, path in (("ssl_ca", ca), ("ssl_cert", cert)):
        if path and ssl is False:
            raise InterfaceError(f"{name}: TLS is turned off (option: ssl)")
        if path and not isinstance(ssl, bool) and ssl is not None:
            raise InterfaceError(f"{name}: the ssl.SSLContext that is given has its own")
