"""The login's requests are encoded once, and the password is in none of the cached ones."""

from __future__ import annotations

from aioifx.client.connect.login_requests import (
    PROTOCOLS,
    dbopen_request,
    info_request,
    login_frame_of,
    negotiated,
    offered,
)
from aioifx.codecs.text import code_set_of
from aioifx.wire.capabilities import OFFERED, SERVER_MASK, Capabilities
from aioifx.wire.handshake import put_login
from aioifx.wire.outbox import Outbox

ENVIRONMENT = ((b"DB_LOCALE", b"en_US.819"),)


def login(user: str, password: bytes) -> bytes:
    frame = login_frame_of(code_set_of("en_US.819"), user, "ol_shop", ENVIRONMENT, 7, "host", "app")
    outbox = Outbox()
    put_login(outbox, frame, password)
    return outbox.detach()


def test_a_login_is_encoded_once_for_the_same_user_without_its_password() -> None:
    hits = login_frame_of.cache_info().hits
    first, second, other = login("app", b"secret"), login("app", b"other"), login("ops", b"secret")
    assert login_frame_of.cache_info().hits == hits + 1
    assert b"secret" in first and b"secret" not in second and b"other" in second
    assert b"ops" in other and b"app" in first


def test_the_environment_is_encoded_once() -> None:
    assert info_request(ENVIRONMENT) is info_request(ENVIRONMENT)
    assert b"DB_LOCALE" in info_request(ENVIRONMENT) and b"en_US.819" in info_request(ENVIRONMENT)


def test_each_request_ends_with_eot() -> None:
    for request in (PROTOCOLS, info_request(ENVIRONMENT), dbopen_request("shop", code_set_of("en_US.819"))):
        assert request.endswith(b"\x00\x0c")


def test_capabilities_are_those_of_both_ends() -> None:
    found = negotiated(SERVER_MASK, "cp1252")
    assert found is negotiated(SERVER_MASK, "cp1252")
    assert found.capabilities == Capabilities.negotiated(OFFERED, SERVER_MASK, "cp1252")
    assert found.capabilities.encoding == offered("cp1252").capabilities.encoding == "cp1252"
