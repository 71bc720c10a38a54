"""Certificates: read even if they are rejected, and what to change."""

from __future__ import annotations

import datetime
import ssl as tls

import pytest
import trustme

from aioifx.client.config.addresses import Address
from aioifx.diagnosis.certificates import (
    certificate_of,
    changes_after_alert,
    read_certificate,
    rejected,
    speaks_tls,
)
from tests.certificates import certified
from tests.diagnosis.ports import closed, closing, http, listening, silent

IPS = ["127.0.0.1"]

PEER = {
    "subject": ((("commonName", "db1.example"),),),
    "issuer": ((("organizationName", "Shop"),), (("commonName", "Shop CA"),)),
    "notBefore": "Jan  1 00:00:00 2026 GMT",
    "notAfter": "Dec 31 00:00:00 2026 GMT",
}


def test_a_certificate_in_pythons_form() -> None:
    found = certificate_of(PEER)
    assert (found.names, found.issuer) == (("db1.example",), "Shop CA")
    assert found.details["not_after"] == "2026-12-31T00:00:00Z"
    found = certificate_of(PEER | {"subjectAltName": (("DNS", "a"), ("IP Address", "::1"), ("DNS", "a"))})
    assert found.names == ("a", "::1")
    assert certificate_of(PEER | {"issuer": ((("organizationName", "Shop"),),)}).issuer == "Shop"
    assert certificate_of(PEER | {"issuer": ((("countryName", "XX"),),)}).issuer == "XX"


async def test_an_expired_certificate_of_a_foreign_authority_for_another_host_is_read() -> None:
    context = tls.SSLContext(tls.PROTOCOL_TLS_SERVER)
    past = datetime.datetime(2020, 1, 1)
    trustme.CA(organization_name="Far").issue_cert(
        "db.example", not_before=past, not_after=datetime.datetime(2021, 1, 1)
    ).configure_cert(context)
    async with listening(closing, ssl=context) as (port, received):
        found = await read_certificate(Address("127.0.0.1", port), IPS, 10)
    assert found is not None
    assert found.names == ("db.example",) and found.issuer
    assert found.details["not_after"] == "2021-01-01T00:00:00Z"
    assert received == b""


async def test_a_port_without_a_certificate_has_none_to_read() -> None:
    async with listening(http) as (port, _):
        assert await read_certificate(Address("127.0.0.1", port), IPS, 10) is None


async def test_reading_a_certificate_is_bounded_in_time() -> None:
    async with listening(silent) as (port, _):
        assert await read_certificate(Address("127.0.0.1", port), IPS, 0.05) is None


async def test_a_certificate_that_cannot_be_read_has_the_reason_of_its_rejection() -> None:
    error = tls.SSLCertVerificationError("certificate verify failed")
    error.verify_message, error.verify_code = "unable to get issuer", 20
    with closed() as port:
        failed = await rejected(error, Address("127.0.0.1", port), IPS, "", 10)
    assert failed.finding.found == "its certificate was rejected: unable to get issuer"
    assert [change.setting for change in failed.finding.changes] == ["ssl_ca"]


async def test_another_reason_is_the_servers() -> None:
    error = tls.SSLCertVerificationError("certificate verify failed")
    error.verify_message, error.verify_code = "key too weak", 66
    async with listening(closing, ssl=certified(trustme.CA(), "127.0.0.1")) as (port, _):
        failed = await rejected(error, Address("127.0.0.1", port), IPS, "", 10)
    assert [change.setting for change in failed.finding.changes] == ["the server's certificate"]


async def test_which_ports_speak_tls() -> None:
    alert = b"\x15\x03\x03\0\x02\x02\x28"
    async with (
        listening(closing, ssl=certified(trustme.CA(), "x.example")) as (encrypted, _),
        listening(http) as (plain, _),
        listening(lambda _: alert) as (alerting, _),
        listening(silent) as (quiet, _),
    ):
        assert await speaks_tls(Address("127.0.0.1", encrypted), IPS, 10)
        assert await speaks_tls(Address("127.0.0.1", alerting), IPS, 10)
        assert not await speaks_tls(Address("127.0.0.1", plain), IPS, 10)
        assert not await speaks_tls(Address("127.0.0.1", quiet), IPS, 0.05)


@pytest.mark.parametrize(
    ("alert", "settings"),
    [
        ("TLSV13_ALERT_CERTIFICATE_REQUIRED", ["ssl_cert"]),
        ("TLSV1_ALERT_PROTOCOL_VERSION", ["ssl"]),
        ("SSLV3_ALERT_HANDSHAKE_FAILURE", ["ssl_cert", "ssl"]),
        ("", ["ssl_cert", "ssl"]),
    ],
)
def test_alerts(alert: str, settings: list[str]) -> None:
    assert [change.setting for change in changes_after_alert(alert)] == settings
