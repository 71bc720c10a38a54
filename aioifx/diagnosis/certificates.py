"""The certificate of a TLS port: read even if it is rejected, and why it was. Never: a login."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from aioifx.client.config.addresses import Address
from aioifx.client.connect.transport import open_channel
from aioifx.diagnosis.report import DiagnosisChange, Failed, Finding
from aioifx.errors import ConnectError

EXPIRES_SOON: Final = 14 * 86400
"""Seconds before the end of a certificate's validity from which on it is a warning."""

_NO_CHECK_TIME: Final = 0x200000
"""X509_V_FLAG_NO_CHECK_TIME (documented: OpenSSL, X509_VERIFY_PARAM_set_flags); Python has no name for it."""

# Results of OpenSSL's verification (documented: X509_STORE_CTX_get_error).
_NOT_YET_VALID: Final = 9
_EXPIRED: Final = 10
_WRONG_NAME: Final = frozenset({62, 64})
_UNKNOWN_AUTHORITY: Final = frozenset({18, 19, 20, 21})


class Certificate(NamedTuple):
    """What people need to know of a certificate."""

    names: tuple[str, ...]
    issuer: str
    begin: float
    end: float

    @property
    def details(self) -> dict[str, Any]:
        """As values, dates in ISO 8601."""
        return {
            "names": list(self.names),
            "issuer": self.issuer,
            "not_before": _date(self.begin),
            "not_after": _date(self.end),
        }


def certificate_of(peer: Mapping[str, Any]) -> Certificate:
    """The certificate in the form of `ssl.SSLSocket.getpeercert`."""
    names = [value for _, value in peer.get("subjectAltName", ())]
    return Certificate(
        tuple(dict.fromkeys(names)) or (_name_in(peer.get("subject", ())),),
        _name_in(peer.get("issuer", ())),
        ssl.cert_time_to_seconds(peer["notBefore"]),
        ssl.cert_time_to_seconds(peer["notAfter"]),
    )


def _name_in(parts: Iterable[Iterable[tuple[str, str]]]) -> str:
    """The common name, or the organisation, of a distinguished name."""
    fields = {name: value for part in parts for name, value in part}
    return fields.get("commonName") or fields.get("organizationName") or ", ".join(fields.values())


def _date(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


# -- accepted ---------------------------------------------------------------------------------------------------------


def accepted(tls: ssl.SSLObject) -> Finding:
    """What a handshake found."""
    details: dict[str, Any] = {"tls_version": tls.version(), "cipher": (tls.cipher() or ("",))[0]}
    peer = tls.getpeercert()
    if not peer:
        return Finding(
            f"{tls.version()}; the certificate is not verified, so anyone on the way can read the password",
            (DiagnosisChange("ssl", "True, or a context with verify_mode=CERT_REQUIRED"),),
            details,
            "warning",
        )
    found = certificate_of(peer)
    details |= found.details
    text = f"{tls.version()}; certificate for {', '.join(found.names)}, issued by {found.issuer}"
    days = int((found.end - time.time()) // 86400)
    if found.end - time.time() < EXPIRES_SOON:
        renewed = DiagnosisChange("the server's certificate", f"a new one before {_day(found.end)}")
        return Finding(f"{text}, expires in {days} days", (renewed,), details, "warning")
    return Finding(f"{text}, valid until {_day(found.end)}", details=details)


def _day(seconds: float) -> str:
    return _date(seconds).partition("T")[0]


# -- rejected ---------------------------------------------------------------------------------------------------------


async def rejected(
    error: ssl.SSLCertVerificationError, address: Address, ips: list[str], authorities: str, seconds: float
) -> Failed:
    """Why a certificate was rejected, and what to change.

    Args:
        authorities: the option ssl_ca.
        seconds: time limit for reading it.
    """
    found = await read_certificate(address, ips, seconds)
    reason = error.verify_message or str(error)
    if found is None:
        return Failed(
            f"its certificate was rejected: {reason}",
            DiagnosisChange("ssl_ca", "a PEM file with the authority that issued it"),
        )
    return Failed(
        f"its certificate was rejected: {reason}; it is for {', '.join(found.names)}, issued by {found.issuer}, "
        f"valid from {_day(found.begin)} to {_day(found.end)}",
        *_changes(error.verify_code, found, address, authorities),
        **found.details,
    )


def _changes(code: int, found: Certificate, address: Address, authorities: str) -> list[DiagnosisChange]:
    names = " or ".join(found.names)
    if code == _EXPIRED:
        return [DiagnosisChange("the server's certificate", f"a new one; it expired on {_day(found.end)}")]
    if code == _NOT_YET_VALID:
        return [
            DiagnosisChange("this machine's clock", f"the right time; it says {_date(time.time())}"),
            DiagnosisChange("the server's certificate", f"one that is valid before {_day(found.begin)}"),
        ]
    if code in _WRONG_NAME:
        return [
            DiagnosisChange("host", f"{names}, the name in the certificate"),
            DiagnosisChange("the server's certificate", f"one for {address.host}"),
        ]
    if code in _UNKNOWN_AUTHORITY:
        instead = f" instead of {authorities}" if authorities else ""
        return [DiagnosisChange("ssl_ca", f"a PEM file with the authority {found.issuer}{instead}")]
    return [DiagnosisChange("the server's certificate", "one that this machine accepts")]


_CLIENT_CERTIFICATE: Final = DiagnosisChange(
    "ssl_cert", "a PEM file with a client certificate that the server trusts, and its key, if it asks for one"
)
_VERSION: Final = DiagnosisChange("ssl", "a context with a TLS version and ciphers that the server has")


def changes_after_alert(reason: str) -> tuple[DiagnosisChange, ...]:
    """What to change if the server has ended TLS.

    Args:
        reason: OpenSSL's name of the alert; empty if the server sent none.
    """
    if "CERTIFICATE" in reason:
        return (_CLIENT_CERTIFICATE,)
    if "VERSION" in reason or "PROTOCOL" in reason:
        return (_VERSION,)
    return (_CLIENT_CERTIFICATE, _VERSION)


async def read_certificate(address: Address, ips: list[str], seconds: float) -> Certificate | None:
    """The certificate of a port, whether it is acceptable or not; None if it cannot be read within *seconds*.

    Only a verified certificate is shown by Python. So a second handshake trusts the very certificate that the first one
    saw. No byte follows either handshake.
    """
    try:
        async with asyncio.timeout(seconds):
            data = (await _peer(address, ips, _trusting())).getpeercert(binary_form=True)
            if data is None:
                return None
            peer = (await _peer(address, ips, _trusting(data))).getpeercert()
            return certificate_of(peer) if peer else None
    except (ConnectError, TimeoutError, ssl.SSLError, ValueError, KeyError):
        return None


def _trusting(certificate: bytes | None = None) -> ssl.SSLContext:
    """A context that trusts this certificate alone, at any time, for any name; None: every certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    if certificate is None:
        context.verify_mode = ssl.CERT_NONE
    else:
        context.load_verify_locations(cadata=certificate)
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN | _NO_CHECK_TIME
    return context


async def _peer(address: Address, ips: list[str], context: ssl.SSLContext) -> ssl.SSLObject:
    """The TLS object of a handshake, whose connection is dropped."""
    channel = await open_channel(address, context, ips=ips)
    tls: ssl.SSLObject = channel.transport.get_extra_info("ssl_object")
    channel.abort()
    return tls


async def speaks_tls(address: Address, ips: list[str], seconds: float) -> bool:
    """Whether a port answers a TLS handshake, with any certificate or with an alert, within *seconds*."""
    try:
        async with asyncio.timeout(seconds):
            await _peer(address, ips, _trusting())
    except ConnectError as error:
        return isinstance(error.__cause__, ssl.SSLError) and "ALERT" in (error.__cause__.reason or "")
    except TimeoutError:
        return False
    return True
