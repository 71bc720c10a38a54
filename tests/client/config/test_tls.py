"""TLS contexts from files."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest
import trustme

from aioifx.client.config.resolve import parse_dsn
from aioifx.errors import InterfaceError

URL = "informix://app:secret@db1:9088/shop?server=ol_shop"


def test_tls_files_turn_tls_on(tmp_path: Path) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    own = authority.issue_cert("client.example")
    own.cert_chain_pems[0].write_to_path(tmp_path / "cert.pem")
    own.private_key_pem.write_to_path(tmp_path / "key.pem")
    found = parse_dsn(
        f"{URL}&ssl_ca={tmp_path}/ca.pem&ssl_cert={tmp_path}/cert.pem&ssl_key={tmp_path}/key.pem"
    )
    context = found.ssl_context()
    assert found.uses_tls and context is not None and context.cert_store_stats()["x509_ca"] == 1
    assert context.verify_mode is ssl.CERT_REQUIRED and context.check_hostname
    assert found.ssl_context() is context
    authority.cert_pem.write_to_path(tmp_path / "ca.pem", append=True)
    assert found.ssl_context() is not context  # the file has changed


@pytest.mark.parametrize("name", ["ssl_ca", "ssl_cert", "ssl_key"])
def test_an_empty_path_in_an_address_does_not_mean_plain_tcp(name: str) -> None:
    with pytest.raises(InterfaceError, match=rf"^{name}: expected a path, got an empty text$"):
        parse_dsn(f"{URL}&{name}=")


@pytest.mark.parametrize("name", ["ssl_ca", "ssl_cert"])
def test_an_unusable_tls_file_is_named(name: str, tmp_path: Path) -> None:
    with pytest.raises(InterfaceError, match=rf"^{name}: .*nothing.pem cannot be read: No such file"):
        parse_dsn(f"{URL}&{name}={tmp_path}/nothing.pem").ssl_context()
    (tmp_path / "empty.pem").touch()
    with pytest.raises(InterfaceError, match=rf"^{name}: .*empty.pem is not usable: "):
        parse_dsn(f"{URL}&{name}={tmp_path}/empty.pem").ssl_context()
