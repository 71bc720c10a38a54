"""What listens on a port, by the first bytes that it sends. Never: a socket.

Source: documented: the banners of SSH (RFC 4253, 4.2), HTTP (RFC 9112, 4), SMTP (RFC 5321, 4.2), FTP (RFC 959, 5.4),
POP3 (RFC 1939, 3), IMAP (RFC 9051, 7.1), VNC (RFC 6143, 7.1.1), TLS (RFC 8446, 5.1) and MySQL (Protocol::HandshakeV10);
the header of DRDA's messages (DDM Reference, DSS). observed: the first bytes of a login reply of SQLI.
"""

from __future__ import annotations

from typing import Final

from aioifx.diagnosis.report import DiagnosisChange
from aioifx.wire.opcodes import LoginType

SQLI: Final = "SQLI"
DRDA: Final = "DRDA"
TLS: Final = "TLS"
HTTP: Final = "HTTP"

_BANNERS: Final = (
    (b"SSH-", "SSH"),
    (b"HTTP/", HTTP),
    (b"<!DOCTYPE", HTTP),
    (b"<html", HTTP),
    (b"220", "SMTP or FTP"),
    (b"+OK", "POP3"),
    (b"* OK", "IMAP"),
    (b"RFB ", "VNC"),
    (b"\x15\x03", TLS),
)
_LOGIN_REPLIES: Final = frozenset({LoginType.ACCEPT, LoginType.REJECT, LoginType.REDIRECT})
_FAMILIES: Final = (0x3C, 0x3D)
_DRDA_MAGIC: Final = 0xD0
"""The third byte of each message of DRDA."""

SQLI_PORT: Final = (
    "the port of the server's onsoctcp line (or onsocssl, with ssl=True) in its sqlhosts file; usually 9088"
)


def protocol_of(first: bytes) -> str:
    """The name of the protocol that starts with *first*; empty if it is unknown."""
    for banner, name in _BANNERS:
        if first.startswith(banner):
            return name
    if len(first) > 3 and first[2] in _LOGIN_REPLIES and first[3] in _FAMILIES:
        return SQLI
    if first[2:3] == bytes([_DRDA_MAGIC]):
        return DRDA
    if first[3:5] == b"\0\x0a":
        return "MySQL"
    return ""


def changes_for(protocol: str) -> tuple[DiagnosisChange, ...]:
    """The changes if *protocol* listens instead of SQLI."""
    if protocol == TLS:
        return (DiagnosisChange("ssl", "True: the port requires TLS"),)
    if protocol == DRDA:
        return (DiagnosisChange("port", f"{SQLI_PORT}; this one is of a drsoctcp line"),)
    return (DiagnosisChange("port", SQLI_PORT),)


def shown(first: bytes) -> str:
    """The beginning of what a peer sent, for people."""
    return repr(bytes(first[:24]))[1:]
