"""Options: where they come from, what is refused, and what the server is told of them."""

from __future__ import annotations

import copy
import dataclasses
import os
import pickle
import ssl
import typing
from typing import Any

import pytest

import aioifx
from aioifx.client.config.options import AllOptionFields, ConnectOptions, parse_dsn, resolve, resolve_again
from aioifx.client.config.secret import Secret
from aioifx.errors import InterfaceError
from aioifx.rows import dict_row

URL = "informix://app:secret@db1:9088/shop?server=ol_shop"
BASE: AllOptionFields = {"host": "h", "server": "s", "user": "u"}


def options(**given: Any) -> ConnectOptions:
    return resolve(None, typing.cast("AllOptionFields", {**BASE, **given}), {})


# -- where values come from -------------------------------------------------------------------------------------------


def test_everything_has_its_default() -> None:
    assert options() == ConnectOptions(
        host="h", port=9088, user="u", password=None, database="", server="s", ssl=None, connect_timeout=20.0,
        locale=None, client_locale=None, db_locale=None, encoding_errors="strict", application_name="", environment={},
        autocommit=True, isolation=None, lock_wait=None, read_only=False,
        fetch_size=32767, keepalive=True, strip_char=False, row_factory=None,
    )  # fmt: skip


def test_a_dsn_gives_options_of_every_type() -> None:
    found = parse_dsn(
        "informix://app:secret@db1:9089/shop?server=ol_shop&ssl=true&connect_timeout=2.5&fetch_size=65536&keepalive=no"
        "&strip_char=ON&application_name=till%207&encoding_errors=replace&client_locale=en_US.utf8&PDQPRIORITY=10"
    )
    assert found == ConnectOptions(
        host="db1", port=9089, user="app", password="secret", database="shop", server="ol_shop", ssl=True,
        connect_timeout=2.5, fetch_size=65536, keepalive=False, strip_char=True, application_name="till 7",
        encoding_errors="replace", client_locale="en_US.utf8", environment={"PDQPRIORITY": "10"},
    )  # fmt: skip


def test_jdbc_and_odbc_forms_give_the_same_as_the_url() -> None:
    jdbc = "jdbc:informix-sqli://db1:9088/shop:INFORMIXSERVER=ol_shop;user=app;password=secret"
    odbc = "DRIVER={Informix};HOST=db1;SERVICE=9088;SERVER=ol_shop;DATABASE=shop;UID=app;PWD=secret"
    assert parse_dsn(URL) == parse_dsn(jdbc) == dataclasses.replace(parse_dsn(odbc), ssl=None)
    assert parse_dsn("HOST=h;SERVER=s;UID=u;PROTOCOL=onsocssl").ssl is True


@pytest.mark.parametrize(("text", "found"), [("0", 0), ("17", 17), ("32767", 32767), ("-1", -1), ("inf", -1)])
def test_what_a_session_is_told_may_stand_in_a_dsn(text: str, found: int) -> None:
    url = parse_dsn(f"{URL}&isolation=last_committed&lock_wait={text}&autocommit=off&read_only=1")
    assert (url.isolation, url.lock_wait, url.autocommit, url.read_only) == (
        "last_committed",
        found,
        False,
        True,
    )


@pytest.mark.parametrize(
    ("level", "isolation"), [("1", "dirty_read"), ("2", "committed_read"), ("4", "repeatable_read")]
)
def test_jdbcs_words_for_isolation_and_lock_mode_are_understood(level: str, isolation: str) -> None:
    jdbc = "jdbc:informix-sqli://db1:9088/shop:INFORMIXSERVER=ol_shop;user=app;IFX_LOCK_MODE_WAIT=-1"
    found = parse_dsn(f"{jdbc};IFX_ISOLATION_LEVEL={level}")
    assert (found.isolation, found.lock_wait) == (isolation, -1)


def test_keywords_win_over_the_dsn_and_the_dsn_over_the_environment() -> None:
    environ = {"INFORMIXSERVER": "from_env", "CLIENT_LOCALE": "en_US.cp1252", "DB_LOCALE": "en_US.utf8"}
    found = resolve(URL + "&client_locale=en_US.819", {"server": "by_keyword"}, environ)
    assert (found.server, found.client_locale, found.db_locale) == ("by_keyword", "en_US.819", "en_US.utf8")
    assert resolve(URL, {}, environ).server == "ol_shop"
    assert resolve("informix://app@db1", {}, environ).server == "from_env"


def test_none_is_as_good_as_not_given() -> None:
    nothing = {name: None for name in AllOptionFields.__annotations__}
    assert resolve(URL, typing.cast("AllOptionFields", nothing), {}) == parse_dsn(URL)


def test_variables_of_keywords_and_dsn_are_merged_one_by_one() -> None:
    found = resolve(URL + "&PDQPRIORITY=10&OPTOFC=1", {"environment": {"PDQPRIORITY": "20"}}, {})
    assert found.environment == {"PDQPRIORITY": "20", "OPTOFC": "1"}


def test_dbdate_of_the_process_environment_is_used_unless_something_else_is_said() -> None:
    environ = {"DBDATE": "DMY4."}
    assert resolve(URL, {}, environ).environment == {"DBDATE": "DMY4."}
    assert resolve(URL + "&DBDATE=MDY4/", {}, environ).environment == {"DBDATE": "MDY4/"}
    assert resolve(URL + "&GL_DATE=%25Y", {}, environ).environment == {"GL_DATE": "%Y"}


def test_informixcontime_is_the_default_of_connect_timeout() -> None:
    assert resolve(URL, {}, {"INFORMIXCONTIME": "7"}).connect_timeout == 7.0
    assert resolve(URL + "&INFORMIXCONTIME=8", {}, {"INFORMIXCONTIME": "7"}).connect_timeout == 8.0
    assert resolve(URL, {"connect_timeout": 9}, {"INFORMIXCONTIME": "7"}).connect_timeout == 9
    with pytest.raises(InterfaceError, match=r"^INFORMIXCONTIME: "):
        resolve(URL, {}, {"INFORMIXCONTIME": "soon"})
    with pytest.raises(InterfaceError, match=r"^INFORMIXCONTIME: "):
        resolve(URL, {}, {"INFORMIXCONTIME": "0"})


def test_fet_buf_size_is_the_default_of_fetch_size() -> None:
    assert parse_dsn(URL + "&FET_BUF_SIZE=100000").fetch_size == 100_000
    assert parse_dsn(URL + "&FET_BUF_SIZE=1024").fetch_size == 4096
    assert parse_dsn(URL + "&FET_BUF_SIZE=100000&fetch_size=8192").fetch_size == 8192


def test_large_fetches_are_announced_as_jdbc_does() -> None:
    def announced(text: str) -> str | None:
        pairs = dict(parse_dsn(URL + text).session_environment())
        size = pairs.get(b"FET_BUF_SIZE")
        return size.decode() if size is not None else None

    assert announced("&fetch_size=100000") == "100000"
    assert announced("&fetch_size=32767") is None
    assert announced("&FET_BUF_SIZE=100000") == "100000"
    assert announced("&FET_BUF_SIZE=1024&fetch_size=100000") == "1024"


def test_the_user_is_the_operating_systems_when_none_is_given() -> None:
    assert resolve("informix://db1?server=s", {}, {"LOGNAME": "ann", "USER": "bob"}).user == "ann"
    assert resolve("informix://db1?server=s", {}, {"USER": "bob"}).user == "bob"


def test_a_user_that_even_the_operating_system_does_not_know_is_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def nobody() -> str:
        raise KeyError("uid not found")

    monkeypatch.setattr("getpass.getuser", nobody)
    with pytest.raises(InterfaceError, match=r"^user: missing"):
        resolve("informix://db1?server=s", {}, {})


def test_the_process_environment_is_read_when_nothing_else_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INFORMIXSERVER", "ol_env")
    assert resolve("informix://app@db1", {}).server == "ol_env"
    with pytest.raises(InterfaceError, match=r"^server: missing"):
        parse_dsn("informix://app@db1")


def test_several_hosts_share_what_is_said_once() -> None:
    found = parse_dsn("informix://app@db1,db2:9089/shop?server=ol&port=1526&role=primary&stagger=0.5")
    assert (found.host, found.port, found.role, found.stagger) == ("db1,db2:9089", 1526, "primary", 0.5)
    assert found.destination == "db1:1526, db2:9089"


def test_without_a_host_the_servers_file_is_that_of_the_environment() -> None:
    environ = {"INFORMIXSQLHOSTS": "/a/hosts", "INFORMIXDIR": "/opt/ifx", "INFORMIXSERVER": "ol"}
    found = resolve("informix:///shop", {}, environ)
    assert (found.host, found.sqlhosts, found.server) == ("", "/a/hosts", "ol")
    assert found.destination == "ol in /a/hosts"
    del environ["INFORMIXSQLHOSTS"]
    assert resolve(None, {"server": "g"}, environ).sqlhosts == os.path.join("/opt/ifx", "etc", "sqlhosts")
    assert resolve(None, {"server": "g", "sqlhosts": "/mine"}, environ).sqlhosts == "/mine"
    assert resolve(URL, {}, environ).sqlhosts == ""
    with pytest.raises(InterfaceError, match=r"^host: missing, and no sqlhosts file"):
        resolve("informix:///shop?server=ol", {}, {})


def test_a_port_that_is_known_to_have_tls_or_none_decides_over_what_is_not_said() -> None:
    found = options()
    assert found.ssl_context() is None
    context = found.ssl_context(True)
    assert context is not None and context.check_hostname
    assert found.ssl_context(True) is context and found.ssl_context() is None
    mine = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    assert options(ssl=mine).ssl_context(True) is mine
    assert options(ssl=mine).ssl_context(False) is None


def test_informixconretry_is_the_default_of_connect_retries() -> None:
    dsn = "HOST=h;SERVER=s"
    assert resolve(dsn, {}, {"INFORMIXCONRETRY": "3"}).connect_retries == 3
    assert resolve(dsn + ";INFORMIXCONRETRY=2", {}, {"INFORMIXCONRETRY": "3"}).connect_retries == 2
    assert resolve(dsn, {}, {}).connect_retries == 0
    with pytest.raises(InterfaceError, match=r"^connect_retries: expected a whole number"):
        resolve(dsn, {}, {"INFORMIXCONRETRY": "often"})


def test_odbcs_service_may_be_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    def getservbyname(name: str, protocol: str) -> int:
        if (name, protocol) != ("sqlexec", "tcp"):
            raise OSError("service/proto not found")
        return 9099

    monkeypatch.setattr("socket.getservbyname", getservbyname)
    assert parse_dsn("HOST=h;SERVER=s;SERVICE=sqlexec").port == 9099
    assert parse_dsn("HOST=h;SERVER=s;SERV=9090").port == 9090
    with pytest.raises(
        InterfaceError, match=r"^SERVICE: expected a port or a name in this machine's list"
    ) as caught:
        parse_dsn("HOST=h;SERVER=s;SERVICE=secret")
    assert "secret" not in str(caught.value)


def test_the_scheme_of_jdbc_15_is_the_same_as_the_old_one() -> None:
    rest = "//db1:9089/shop:INFORMIXSERVER=ol;user=u;password=secret"
    assert parse_dsn(f"jdbc:informix:{rest}") == parse_dsn(f"jdbc:informix-sqli:{rest}")


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("timeout", "did you mean 'connect_timeout'?"),
        ("maxsize", "max_size is an option of create_pool"),
        ("url", "did you mean 'dsn'?"),
        ("dns", "did you mean 'dsn'?"),
        ("hots", "did you mean 'host'?"),
    ],
)
def test_a_name_of_another_client_gets_a_hint(name: str, hint: str) -> None:
    with pytest.raises(InterfaceError) as caught:
        _ = aioifx.connect(**typing.cast("Any", {name: "x"}))
    assert str(caught.value) == f"{name}: unknown option; {hint}"


@pytest.mark.parametrize(
    ("name", "meant"), [("maxsize", "max_size"), ("max_sise", "max_size"), ("timeout", "connect_timeout")]
)
def test_a_name_of_another_pool_gets_a_hint(name: str, meant: str) -> None:
    with pytest.raises(InterfaceError) as caught:
        _ = aioifx.create_pool(**typing.cast("Any", {name: 5}))
    assert str(caught.value) == f"{name}: unknown option; did you mean {meant!r}?"


def test_what_was_resolved_is_found_again_unless_something_else_is_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("USER", "one")
    monkeypatch.delenv("LOGNAME", raising=False)
    dsn = "informix://db1/shop?server=ol_shop"
    first = resolve_again(dsn, {"autocommit": True})
    assert first == resolve(dsn, {"autocommit": True})
    assert resolve_again(dsn, {"autocommit": True}) is first
    assert resolve_again(dsn, {"autocommit": False}) != first
    with pytest.raises(InterfaceError, match=r"^autocommit: expected True or False"):
        resolve_again(dsn, {"autocommit": 1})  # type: ignore[typeddict-item] # the error is what is tested
    monkeypatch.setenv("USER", "two")
    assert resolve_again(dsn, {"autocommit": True}).user == "two"
    environment = {"PDQPRIORITY": "10"}
    assert resolve_again(dsn, {"environment": environment}) is not resolve_again(
        dsn, {"environment": environment}
    )


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
        ({"host": "a,::1"}, "host: expected an IPv6 address among several hosts in brackets"),
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
        ({"type_codecs": [str]}, "type_codecs: expected a mapping, got list"),
        ({"type_codecs": {"DECIMAL(8,2)": (None, str)}}, "type_codecs: expected the name of an Informix type"),
        ({"adapters": {"UUID": str}}, "adapters: expected classes as keys, got str"),
        ({"autocommit": 1}, "autocommit: expected True or False"),
        ({"read_only": "yes"}, "read_only: expected True or False"),
        ({"isolation": "serializable"}, "isolation: expected one of dirty_read, committed_read,"),
        ({"lock_wait": -2}, "lock_wait: expected a whole number of seconds up to 32767"),
        ({"lock_wait": 1.5}, "lock_wait: "),
        ({"ssl": "require"}, "ssl: expected None, True, False or an ssl.SSLContext"),
        ({"ssl_ca": "ca.pem", "ssl": False}, "ssl_ca: TLS is turned off"),
        ({"ssl_cert": "c.pem", "ssl": ssl.create_default_context()}, "ssl_cert: cannot be combined"),
        ({"ssl_key": "key.pem"}, "ssl_key: requires ssl_cert"),
        ({"ssl_ca": 1}, "ssl_ca: expected a str"),
        ({"connect_retries": -1}, "connect_retries: expected a whole number from 0"),
        ({"row_factory": "dict"}, "row_factory: expected a callable"),
        ({"locale": "en_US.utf8"}, 'locale: expected "auto" or None'),
        ({"client_locale": "en_US"}, "client_locale: code set missing"),
        ({"client_locale": "en_US.klingon"}, "client_locale: code set 'klingon'"),
        ({"db_locale": "en_US.klingon"}, "db_locale: code set 'klingon'"),
        ({"client_locale": "en_US.819", "db_locale": "dé_DE.utf8"}, "db_locale: expected a locale such as"),
        ({"client_locale": 819}, "client_locale: expected a locale"),
        ({"encoding_errors": "shrug"}, "encoding_errors: no policy"),
        ({"encoding_errors": "shrug", "client_locale": "en_US.utf8"}, "encoding_errors: no policy"),
        ({"encoding_errors": 1}, "encoding_errors: expected a str"),
        ({"environment": "PDQPRIORITY=1"}, "environment: expected a mapping"),
        ({"environment": {"PDQPRIORITY": 1}}, "environment: expected a mapping of str to str"),
        ({"environment": {1: "1"}}, "environment: expected a mapping of str to str"),
        ({"environment": {"OPTOFF": "1"}}, "environment: unknown variable 'OPTOFF'; did you mean 'OPTOFC'"),
        ({"environment": {"CLIENT_LOCALE": "x"}}, "environment: use the option client_locale instead of CLIENT_LOCALE"),
        ({"environment": {"CLNT_PAM_CAPABLE": "0"}}, "environment: CLNT_PAM_CAPABLE cannot be set"),
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


@pytest.mark.parametrize(
    ("dsn", "message"),
    [
        ("informix://u:secret@h/d", "server: missing"),
        ("informix://u:secret@/d?server=s", "host: missing"),
        ("informix://u:secret@h:port/d?server=s", "port: expected a whole number"),
        ("informix://u:secret@h:٣/d?server=s", "port: expected a whole number"),
        ("informix://u:secret@h:99999/d?server=s", "port: expected a whole number from 1"),
        ("informix://u:secret@h/d?server=s&fetch_size=big", "fetch_size: expected a whole number"),
        ("informix://u:secret@h/d?server=s&connect_timeout=soon", "connect_timeout: expected a number of seconds"),
        ("informix://u:secret@h/d?server=s&connect_timeout=nan", "connect_timeout: expected a number of seconds"),
        ("informix://u:secret@h/d?server=s&ssl=maybe", "ssl: expected true or false"),
        ("informix://u:secret@h/d?server=s&row_factory=dict", "row_factory: not supported in a DSN"),
        ("informix://u:secret@h/d?server=s&environment=A", "environment: not supported in a DSN"),
        ("informix://u:secret@h/d?server=s&isolation=1", "isolation: expected one of dirty_read"),
        ("informix://u:secret@h/d?server=s&lock_wait=-2", "lock_wait: expected a whole number"),
        ("informix://u:secret@h/d?server=s&lock_wait=soon", "lock_wait: expected a whole number"),
        ("informix://u:secret@h/d?server=s&autocommit=perhaps", "autocommit: expected true or false"),
        ("informix://u:secret@h/d?server=s&read_only=2", "read_only: expected true or false"),
        ("jdbc:informix-sqli://h/d:INFORMIXSERVER=s;user=u;password=secret;IFX_ISOLATION_LEVEL=5",
         "IFX_ISOLATION_LEVEL: expected one of 1, 2, 4"),
        ("informix://u:secret@h/d?server=s&isolate=1", "isolate: unknown option"),
        ("informix://u:secret@h/d?server=s&Server=t", "Server: unknown option; did you mean 'server'"),
        ("informix://u:secret@h/d?server=s&IFX_ISOLATION_LEVEL=2", "environment: unknown variable"),
        ("informix://u:sec/ret@h/d?server=s", "database: "),
        ("informix://u:secret€@h/d?server=s", "password: contains a character"),
    ],
)  # fmt: skip
def test_a_wrong_dsn_is_refused_by_name_and_without_its_password(dsn: str, message: str) -> None:
    with pytest.raises(InterfaceError) as caught:
        parse_dsn(dsn)
    assert str(caught.value).startswith(message)
    assert "secret" not in str(caught.value)


def test_a_dsn_must_be_a_str() -> None:
    with pytest.raises(InterfaceError, match=r"^dsn: expected a str, got bytes"):
        resolve(b"informix://h", {}, {})  # type: ignore[arg-type] # the error is what is tested


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
