"""TLS contexts of a test's own authority."""

from __future__ import annotations

import ssl as tls

import trustme


def certified(authority: trustme.CA, *names: str) -> tls.SSLContext:
    context = tls.SSLContext(tls.PROTOCOL_TLS_SERVER)
    authority.issue_cert(*names).configure_cert(context)
    return context


def trusting(authority: trustme.CA) -> tls.SSLContext:
    """A client's, which has not loaded the system's authorities: that takes 45 ms."""
    return tls.create_default_context(cadata=authority.cert_pem.bytes().decode())
