"""The TLS contexts of connections, by the files that they are made of. Never: a socket, an address."""

from __future__ import annotations

import os
import ssl
from functools import lru_cache

from aioifx.errors import InterfaceError


def context_of(ca: str = "", cert: str = "", key: str = "") -> ssl.SSLContext:
    """A context that verifies certificate and host's name; one for all connections, until a file changes.

    Args:     ca: authorities, PEM; empty for the system's. cert, key: the client's own certificate and key, if any.
    Raises:   InterfaceError: a file cannot be read, or holds something else.
    """
    return _made(ca, cert, key, _version("ssl_ca", ca), _version("ssl_cert", cert), _version("ssl_key", key))


def _version(option: str, path: str) -> tuple[int, int, int] | None:
    if not path:
        return None
    try:
        status = os.stat(path)
    except OSError as error:
        raise InterfaceError(f"{option}: {path} cannot be read: {error.strerror}") from None
    return status.st_mtime_ns, status.st_size, status.st_ino


@lru_cache(maxsize=16)
def _made(ca: str, cert: str, key: str, *versions: object) -> ssl.SSLContext:
    option, path = "ssl_ca", ca
    try:
        context = ssl.create_default_context(cafile=ca or None)
        if cert:
            option, path = "ssl_cert", cert
            # An encrypted key must not be asked for on the terminal.
            context.load_cert_chain(cert, key or None, password=lambda: "")
    except OSError as error:
        raise InterfaceError(f"{option}: {path} is of no use: {error.strerror or error}") from None
    return context
