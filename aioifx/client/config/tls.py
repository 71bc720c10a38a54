"""TLS contexts of connections, created from files. Never: a socket, an address."""

from __future__ import annotations

import os
import ssl
from functools import lru_cache

from aioifx.errors import InterfaceError


def context_of(ca: str = "", cert: str = "", key: str = "") -> ssl.SSLContext:
    """A context that verifies the certificate and the host name; cached until a file changes.

    Args:
        ca: PEM file of authorities; empty: the system's.
        cert: the client's certificate and key, if any.
        key: the client's certificate and key, if any.

    Raises:
        InterfaceError: a file cannot be read, or has other content.
    """
    return _create_context(
        ca, cert, key, _version("ssl_ca", ca), _version("ssl_cert", cert), _version("ssl_key", key)
    )


def _version(option: str, path: str) -> tuple[int, int, int] | None:
    if not path:
        return None
    try:
        status = os.stat(path)
    except OSError as error:
        raise InterfaceError(f"{option}: {path} cannot be read: {error.strerror}") from None
    return status.st_mtime_ns, status.st_size, status.st_ino


@lru_cache(maxsize=16)
def _create_context(ca: str, cert: str, key: str, *versions: object) -> ssl.SSLContext:
    option, path = "ssl_ca", ca
    try:
        context = ssl.create_default_context(cafile=ca or None)
        if cert:
            option, path = "ssl_cert", cert
            # Do not prompt for the passphrase of an encrypted key on the terminal.
            context.load_cert_chain(cert, key or None, password=lambda: "")
    except OSError as error:
        raise InterfaceError(f"{option}: {path} is not usable: {error.strerror or error}") from None
    return context
