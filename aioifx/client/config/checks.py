"""Checks of option values; errors name the option. Never: where a value comes from."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Awaitable, Callable, Sequence
from typing import BinaryIO, Final, Literal, TypeAlias, TypeVar, cast

from aioifx.client.config.addresses import names_in
from aioifx.codecs.text import CodeSet, code_set_of
from aioifx.errors import DataError, InterfaceError
from aioifx.rows import Record
from aioifx.sqltypes import Column, Row
from aioifx.wire.opcodes import PamStyle

R = TypeVar("R")

Lobs: TypeAlias = Literal["handles", "inline", "stream"]
"""How large values are returned: BLOB and CLOB as handles or whole, or each value as a series of chunks."""

DEFAULT_LOCALE: Final = "en_US.8859-1"

_MAX_TEXT: Final = 1024
"""Maximum bytes of a user, password, server or database name, far above Informix's own limits."""


def check_row_factory(factory: object) -> None:
    """Raise InterfaceError unless *factory* can be called with the columns."""
    if not callable(factory):
        raise InterfaceError(
            f"row_factory: expected a callable such as aioifx.rows.dict_row, got {type(factory).__name__}"
        )
    if isinstance(factory, type) and (name := _FACTORY_OF.get(factory)):
        raise InterfaceError(
            f"row_factory: expected a function of the columns, got the class {factory.__name__}; use aioifx.rows.{name}"
        )


_FACTORY_OF: Final[dict[type, str]] = {dict: "dict_row", tuple: "tuple_row", Record: "record_row"}


def row_maker(
    factory: Callable[[Sequence[Column]], Callable[[Row], R]], columns: Sequence[Column]
) -> Callable[[Row], R]:
    """Call *factory* with the columns, and check its result.

    Raises:
        InterfaceError: not a row factory, or its result is not callable. Any exception of the factory.
    """
    check_row_factory(factory)
    make = factory(columns)
    if not callable(make):  # pyright: ignore[reportUnnecessaryComparison] - callers may be untyped
        raise InterfaceError(
            f"row_factory: expected it to return a function of a row, got {type(make).__name__}"
        )
    return make


def check_text(name: str, value: object, code_set: CodeSet, *, required: bool = False) -> None:
    """Check that a value can be sent as text in a login. The message does not show the value.

    Raises:
        InterfaceError: the message begins with *name*.
    """
    if not isinstance(value, str):
        raise InterfaceError(f"{name}: expected a str, got {type(value).__name__}")
    if required and not value:
        raise InterfaceError(f"{name}: missing" + (_WHAT_SERVER_IS if name == "server" else ""))
    if "\0" in value:
        raise InterfaceError(f"{name}: contains a NUL")
    try:
        size = len(code_set.encode(value))
    except DataError:
        raise InterfaceError(f"{name}: contains a character that is not in {code_set.name}") from None
    if size > _MAX_TEXT:
        raise InterfaceError(f"{name}: longer than {_MAX_TEXT} bytes")


_WHAT_SERVER_IS: Final = "; set server= or INFORMIXSERVER to the DBSERVERNAME of the Informix instance"


def check_words(server: str, database: str) -> None:
    for name in names_in("server", server):
        if any(character.isspace() or character in "@/:" for character in name):
            raise InterfaceError("server: expected DBSERVERNAMEs separated by commas")
    if "@" in database:
        raise InterfaceError("database: contains a server name after '@'; use server= for it")


def got(value: object) -> str:
    """The end of a message on an option; empty for text, which may be a piece of a badly quoted password."""
    return "" if isinstance(value, str) else f", got {type(value).__name__}"


def check_locale(name: str, locale: object, errors: object) -> None:
    if not isinstance(errors, str):
        raise InterfaceError(f"encoding_errors: expected a str, got {type(errors).__name__}")
    if locale is None:
        return
    if not isinstance(locale, str) or not locale.isascii() or "\0" in locale or len(locale) > _MAX_TEXT:
        raise InterfaceError(f"{name}: expected a locale such as {DEFAULT_LOCALE}{got(locale)}")
    code_set_of(DEFAULT_LOCALE, errors)
    try:
        code_set_of(locale)
    except InterfaceError as error:
        raise InterfaceError(f"{name}: {error}") from None


def check_whole(name: str, value: object, low: int, high: int | None = None, *, show: bool = True) -> None:
    """Raise InterfaceError unless *value* is an int from *low* to *high*; None: no upper limit.

    Args:
        show: False keeps a number out of the message, since it may be a piece of a badly quoted password.
    """
    if not isinstance(value, int) or isinstance(value, bool):
        found = f", got {type(value).__name__}"
    elif value < low or (high is not None and value > high):
        found = f", got {value!r:.40}" if show else ""
    else:
        return
    limits = f"{low} or more" if high is None else f"from {low} to {high}"
    raise InterfaceError(f"{name}: expected a whole number{',' if high is None else ''} {limits}{found}")


def check_seconds(name: str, value: object, *, zero: bool = False) -> None:
    """Raise InterfaceError unless *value* is a finite number above 0, or also 0 with *zero*."""
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        found = type(value).__name__
    elif 0 < value <= sys.float_info.max or (zero and value == 0):
        return
    else:
        found = f"{value!r:.40}"
    limit = ", 0 or more" if zero else " above 0"
    raise InterfaceError(f"{name}: expected a number of seconds{limit}, got {found}")


def check_timeout(timeout: object) -> None:
    """Raise InterfaceError unless *timeout* is None or a valid time limit of a call, in seconds."""
    if timeout is not None:
        check_seconds("timeout", timeout)


def check_wait(timeout: object) -> None:
    """Raise InterfaceError unless *timeout* is None or a number of seconds to wait; 0 does not wait."""
    if timeout is not None and timeout != math.inf:
        check_seconds("timeout", timeout, zero=True)


def _items(value: object) -> tuple[object, ...]:
    """The items of a tuple; nothing for any other value."""
    return cast(tuple[object, ...], value) if isinstance(value, tuple) else ()


def check_keepalive(value: object) -> None:
    """Source: documented: Linux accepts at most 32767 seconds and 127 probes"""
    limits = (32767, 32767, 127)
    if isinstance(value, bool):
        return
    numbers = _items(value)
    if len(numbers) != 3 or not all(
        type(number) is int and 1 <= number <= limit for number, limit in zip(numbers, limits, strict=True)
    ):
        raise InterfaceError(
            "keepalive: expected True, False, or three numbers: seconds until the first probe, seconds between probes "
            f"(both up to {limits[0]}), and number of probes (up to {limits[2]}){got(value)}"
        )


def check_flag(name: str, value: object) -> None:
    if not isinstance(value, bool):
        raise InterfaceError(f"{name}: expected True or False, got {type(value).__name__}")


OpenFile: TypeAlias = Callable[[str, str], BinaryIO]
"""Opens the file that a server names, with the mode "rb" or "wb"; an exception refuses it. Called in a thread."""

ClientFiles: TypeAlias = str | os.PathLike[str] | OpenFile
"""A directory, or a function that opens files."""


PamHandler: TypeAlias = Callable[[PamStyle, str], str | Awaitable[str | None] | None]
"""Answers a question of the server's PAM module: style, text -> answer; None refuses. Or a coroutine function."""


def check_pam(option: object) -> None:
    """Raise InterfaceError unless *option* is None or callable."""
    if not (option is None or callable(option)):
        raise InterfaceError(f"pam: expected a callable{got(option)}")


def check_client_files(option: ClientFiles | None) -> None:
    """Raise InterfaceError unless *option* is None, an existing directory, or callable."""
    if option is None or callable(option):
        return
    try:
        is_directory = os.path.isdir(option)
    except TypeError:
        is_directory = False
    if not is_directory:
        raise InterfaceError("client_files: expected an existing directory, or a function that opens files")


def check_lobs(value: object, *, streams: bool = True) -> None:
    """Raise InterfaceError unless *value* is one of `Lobs`; "stream" only with *streams*."""
    if value not in ("handles", "inline", "stream"):
        raise InterfaceError(f'lobs: expected "handles", "inline" or "stream", got {value!r:.40}')
    if value == "stream" and not streams:
        raise InterfaceError('lobs: "stream" is only for stream(); use "handles" or "inline"')


def check_tls(ssl: object, ca: str, cert: str, key: str) -> None:
    """Raise InterfaceError if TLS files are given that would not be used."""
    if key and not cert:
        raise InterfaceError("ssl_key: requires ssl_cert")
    for name, path in (("ssl_ca", ca), ("ssl_cert", cert)):
        if path and ssl is False:
            raise InterfaceError(f"{name}: TLS is turned off by the option ssl")
        if path and not isinstance(ssl, bool) and ssl is not None:
            raise InterfaceError(f"{name}: cannot be combined with an ssl.SSLContext")
