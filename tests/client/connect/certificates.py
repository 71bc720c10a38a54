"""TLS contexts of a test's own authority."""

from __future__ import annotations

import ssl as tls

import trustme


def certified(authority: trustme.CA, *names: str) -> tls.SSLContext:
    context = tls.SSLContext(tls.PROTOCOL_TLS_SERVER)
    authority.issue_cert(*names).configure_cert(context)
    return context


def trusting(authority: trustme.CA) -> tls.SSLContext:
    context = tls.create_default_context()
    authority.configure_trust(context)
    return context
