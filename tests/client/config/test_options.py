"""ConnectOptions: what is rejected, and what is sent to the server."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import ssl
import typing
from typing import Any

import pytest

from aioifx.client.config.options import AllOptionFields, ConnectOptions
from aioifx.client.config.password import Secret
from aioifx.client.config.resolve import parse_dsn, resolve
from aioifx.errors import InterfaceError
from aioifx.rows import dict_row

URL = "informix://app:secret@db1:9088/shop?server=ol_shop"
BASE: AllOptionFields = {"host": "h", "server": "s", "user": "u"}


def options(**given: Any) -> ConnectOptions:
    return resolve(None, typing.cast("AllOptionFields", {**BASE, **given}), {})


def test_keepalive_is_three_numbers_unless_it_is_off() -> None:
    assert resolve("HOST=h;SERVER=s", {}).keepalive_times == (60, 10, 6)
    assert resolve("HOST=h;SERVER=s", {"keepalive": False}).keepalive_times is None
    assert resolve("HOST=h;SERVER=s", {"keepalive": (5, 2, 3)}).keepalive_times == (5, 2, 3)
    assert parse_dsn("informix://h/d?server=s&keepalive=5,2,3").keepalive == (5, 2, 3)


def test_keywords_and_fields_are_the_same_names() -> None:
    names = {field.name for field in dataclasses.fields(ConnectOptions) if field.init}
    assert set(AllOptionFields.__annotations__) == names
    assert set(typing.get_type_hints(AllOptionFields)) == names


# -- what is refused --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"hots": "x"}, "hots: unknown option; did you mean 'host'"),
        ({"cache_size": 1}, "cache_size: unknown option"),
        ({"statement_cache_size": -1}, "statement_cache_size: expected a whole number from 0 to 10000"),
        ({"statement_cache_size": 10_001}, "statement_cache_size: "),
        ({"cancel_timeout": -1}, "cancel_timeout: expected a number of seconds"),
        ({"command_timeout": 0}, "command_timeout: expected a number of seconds"),
        ({"pipelining": 1}, "pipelining: expected True or False"),
        ({"host": ""}, "host: missing"),
        ({"host": "a b"}, "host: expected names or addresses"),
        ({"host": "a,,b"}, "host: expected names separated by commas, got an empty one"),
        ({"host": "a,::1"}, "host: expected an IPv6 address in brackets"),
        ({"host": "[::1"}, "host: expected [address] or [address]:port"),
        ({"host": "a:secret"}, "port: expected a whole number from 1 to 65535"),
        ({"host": "a,b:65536"}, "port: expected a whole number from 1 to 65535"),
        ({"host": "a,b,c", "server": "s,t"}, "server: expected one name or 3, one for each host, got 2"),
        ({"host": "a,b", "server": "s,"}, "server: expected names separated by commas, got an empty one"),
        ({"sqlhosts": 7}, "sqlhosts: expected a str"),
        ({"role": "leader", "database": "d"}, "role: expected one of any, primary, secondary"),
        ({"role": "primary"}, "role: requires a database"),
        ({"allow_redirect_to": ["db7"]}, "allow_redirect_to: expected a str, got list"),
        ({"allow_redirect_to": "db7,,db8"}, "allow_redirect_to: expected names"),
        ({"allow_redirect_to": "u:secret@db7"}, "allow_redirect_to: expected host patterns"),
        ({"stagger": 0}, "stagger: expected a number of seconds"),
        ({"host": 7}, "host: expected a str, got int"),
        ({"server": ""}, "server: missing; set server= or INFORMIXSERVER"),
        ({"server": "a b"}, "server: expected DBSERVERNAMEs"),
        ({"server": "x\0"}, "server: contains a NUL"),
        ({"user": "ann€"}, "user: contains a character that is not in 8859-1"),
        ({"user": "\ud800"}, "user: contains a character"),
        ({"user": "x" * 1025}, "user: longer than 1024 bytes"),
        ({"password": "secret€"}, "password: contains a character"),
        ({"password": "secret\0"}, "password: contains a NUL"),
        ({"password": b"secret"}, "password: expected a str, got bytes"),
        ({"database": "shop@ol_shop"}, "database: contains a server name"),
        ({"database": "a\0"}, "database: contains a NUL"),
        ({"application_name": 1}, "application_name: expected a str"),
        ({"port": 0}, "port: expected a whole number from 1 to 65535"),
        ({"port": 65536}, "port: "),
        ({"port": "9088"}, "port: "),
        ({"port": True}, "port: "),
        ({"fetch_size": 4095}, "fetch_size: expected a whole number from 4096 to 2147483647"),
        ({"fetch_size": 2**31}, "fetch_size: "),
        ({"fetch_size": 8192.0}, "fetch_size: "),
        ({"connect_timeout": 0}, "connect_timeout: "),
        ({"connect_timeout": -1.5}, "connect_timeout: "),
        ({"connect_timeout": float("nan")}, "connect_timeout: "),
        ({"connect_timeout": float("inf")}, "connect_timeout: "),
        ({"connect_timeout": "20"}, "connect_timeout: "),
        ({"keepalive": 1}, "keepalive: expected True, False, or three numbers"),
        ({"keepalive": (60, 10)}, "keepalive: expected True, False, or three numbers"),
        ({"keepalive": (60, 0, 6)}, "keepalive: expected True, False, or three numbers"),
        ({"keepalive": (60, 10, 128)}, "keepalive: expected True, False, or three numbers"),
        ({"strip_char": "no"}, "strip_char: expected True or False"),
        ({"integral_decimals": 1}, "integral_decimals: expected True or False"),
        ({"timezone": "Berlin"}, "timezone: expected an IANA name such as Europe/Berlin, got 'Berlin'"),
        ({"timezone": 1}, "timezone: expected an IANA name or a tzinfo such as ZoneInfo, got builtins.int"),
        ({"type_codecs": [str]}, "type_codecs: expected a mapping, got list"),
        ({"type_codecs": {"DECIMAL(8,2)": (None, str)}}, "type_codecs: expected the name of an Informix type"),
        ({"adapters": {"UUID": str}}, "adapters: expected classes as keys, got str"),
        ({"json_loads": "orjson"}, "json_loads: expected a function, got str"),
        ({"json_dumps": 1}, "json_dumps: expected a function, got int"),
        ({"autocommit": 1}, "autocommit: expected True or False"),
        ({"read_only": "yes"}, "read_only: expected True or False"),
        ({"isolation": "serializable"}, "isolation: expected one of dirty_read, committed_read,"),
        ({"lock_wait": -2}, "lock_wait: expected a whole number of seconds up to 32767"),
        ({"lock_wait": 1.5}, "lock_wait: "),
        ({"ssl": "require"}, "ssl: expected None, True, False or an ssl.SSLContext, got str"),
        ({"ssl_ca": "ca.pem", "ssl": False}, "ssl_ca: TLS is turned off"),
        ({"ssl_cert": "c.pem", "ssl": ssl.create_default_context()}, "ssl_cert: cannot be combined"),
        ({"ssl_key": "key.pem"}, "ssl_key: requires ssl_cert"),
        ({"ssl_ca": 1}, "ssl_ca: expected a str"),
        ({"connect_retries": -1}, "connect_retries: expected a whole number from 0"),
        ({"row_factory": "dict"}, "row_factory: expected a callable"),
        ({"locale": "en_US.utf8"}, 'locale: expected "auto" or None'),
        ({"client_locale": "en_US"}, "client_locale: code set missing"),
        ({"client_locale": "en_US.klingon"}, "client_locale: unknown code set 'klingon'"),
        ({"db_locale": "en_US.klingon"}, "db_locale: unknown code set 'klingon'"),
        ({"client_locale": "en_US.819", "db_locale": "dé_DE.utf8"}, "db_locale: expected a locale such as"),
        ({"client_locale": 819}, "client_locale: expected a locale"),
        ({"encoding_errors": "shrug"}, "encoding_errors: unknown error handler"),
        ({"encoding_errors": "shrug", "client_locale": "en_US.utf8"}, "encoding_errors: unknown error handler"),
        ({"encoding_errors": 1}, "encoding_errors: expected a str"),
        ({"environment": "PDQPRIORITY=1"}, "environment: expected a mapping"),
        ({"environment": {"PDQPRIORITY": 1}}, "environment: expected a mapping of str to str"),
        ({"environment": {1: "1"}}, "environment: expected a mapping of str to str, got int to str"),
        ({"environment": {"OPTOFF": "1"}}, "environment: unknown variable 'OPTOFF'; did you mean 'OPTOFC'"),
        ({"environment": {"CLIENT_LOCALE": "x"}}, "environment: use the option client_locale instead of CLIENT_LOCALE"),
        ({"environment": {"CLNT_PAM_CAPABLE": "0"}}, "environment: CLNT_PAM_CAPABLE cannot be set"),
        ({"pam": "secret"}, "pam: expected a callable"),
        ({"pam": True}, "pam: expected a callable, got bool"),
        ({"environment": {"IFX_PAD_VARCHAR": "1"}}, "environment: IFX_PAD_VARCHAR cannot be set"),
        ({"environment": {"DBTEMP": "/é"}}, "environment: expected ASCII without NUL as the value of DBTEMP"),
        ({"environment": {"DBTEMP": "a\0"}}, "environment: expected ASCII without NUL as the value of DBTEMP"),
        ({"environment": {"DBTEMP": "x" * 32_000}}, "environment: longer than"),
        ({"environment": {"GL_DATE": "%Y", "DBDATE": "Y4MD-"}}, "environment: GL_DATE and DBDATE cannot be combined"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, dict) else "",
)  # fmt: skip
def test_a_wrong_value_is_refused_by_name(given: dict[str, object], message: str) -> None:
    with pytest.raises(InterfaceError) as caught:
        options(**given)
    assert str(caught.value).startswith(message)
    assert "secret" not in str(caught.value)


# -- ConnectOptions ---------------------------------------------------------------------------------------------------


def test_no_representation_shows_the_password() -> None:
    found = parse_dsn(URL)
    assert isinstance(found.password, Secret) and found.password.reveal() == "secret"
    assert "secret" not in repr(found) and "password" not in repr(found)


def test_options_are_frozen_compared_copied_and_hashed() -> None:
    found = parse_dsn(URL)
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.host = "other"  # type: ignore[misc] # the error is what is tested
    assert found == parse_dsn(URL) and hash(found) == hash(parse_dsn(URL))
    bare = dataclasses.replace(found, password=None)
    assert copy.deepcopy(found) == found and pickle.loads(pickle.dumps(bare)) == bare
    assert dataclasses.replace(found, port=1).port == 1
    with pytest.raises(InterfaceError, match=r"^port: "):
        dataclasses.replace(found, port=-1)


def test_the_environment_is_a_copy() -> None:
    mine = {"OPTOFC": "1"}
    found = options(environment=mine)
    mine["OPTOFC"] = "0"
    assert found.environment == {"OPTOFC": "1"}


async def test_a_password_may_be_a_callable_or_a_coroutine_function() -> None:
    async def asked() -> str:
        return "secret"

    for source in (asked, lambda: "secret"):
        assert options(password=source).password is source
    assert options(row_factory=dict_row).row_factory is dict_row


def test_tls_verifies_unless_the_caller_brings_a_context() -> None:
    assert options().ssl_context() is None
    assert options(ssl=False).ssl_context() is None
    verifying = options(ssl=True)
    context = verifying.ssl_context()
    assert context is not None
    assert context.verify_mode is ssl.CERT_REQUIRED and context.check_hostname
    assert verifying.ssl_context() is context
    mine = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    assert options(ssl=mine).ssl_context() is mine


def test_false_by_keyword_wins_over_tls_in_the_dsn() -> None:
    assert resolve(URL + "&ssl=true", {"ssl": False}, {}).ssl_context() is None


@pytest.mark.parametrize(
    ("locales", "codec"),
    [
        ({}, "latin-1"),
        ({"client_locale": "en_US.utf8"}, "utf-8"),
        ({"db_locale": "de_DE.57372"}, "utf-8"),
        ({"client_locale": "en_US.cp1252", "db_locale": "en_US.utf8"}, "utf-8"),
    ],
)
def test_text_is_in_the_code_set_of_the_database_or_else_of_the_client_locale(
    locales: dict[str, str], codec: str
) -> None:
    assert options(**locales).code_set.codec == codec
    assert options(**locales, encoding_errors="replace").code_set.errors == "replace"
