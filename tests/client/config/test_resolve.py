"""Options resolved: keywords before the DSN, the DSN before the process environment."""

from __future__ import annotations

import dataclasses
import inspect
import os
import ssl
import typing
from typing import Any

import pytest

import aioifx
from aioifx.client.config.options import AllOptionFields, ConnectOptions
from aioifx.client.config.resolve import POOL_OPTIONS, parse_dsn, resolve, resolve_again
from aioifx.errors import InterfaceError

URL = "informix://app:secret@db1:9088/shop?server=ol_shop"
BASE: AllOptionFields = {"host": "h", "server": "s", "user": "u"}


def options(**given: Any) -> ConnectOptions:
    return resolve(None, typing.cast("AllOptionFields", {**BASE, **given}), {})


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
def test_session_options_may_be_in_a_dsn(text: str, found: int) -> None:
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


def test_defaults_of_the_calling_function_come_last() -> None:
    defaults: AllOptionFields = {"autocommit": False, "lobs": "inline", "connect_timeout": 3}
    found = resolve(URL + "&lobs=handles", {}, {"INFORMIXCONTIME": "7"}, defaults=defaults)
    assert (found.autocommit, found.lobs, found.connect_timeout) == (False, "handles", 7)
    assert resolve(URL, {"autocommit": True}, {}, defaults=defaults).autocommit is True
    assert resolve(URL, {"autocommit": None}, {}, defaults=defaults).autocommit is False


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


def test_a_user_is_required_if_the_operating_system_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_a_port_with_known_tls_or_none_decides_if_ssl_is_not_given() -> None:
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
        ("timeout", "did you mean 'connect_timeout' or 'command_timeout'?"),
        ("tmeout", "did you mean 'connect_timeout' or 'command_timeout'?"),
        ("ssl_verify", "did you mean 'ssl' or 'ssl_ca'?"),
        ("env", "did you mean 'environment'?"),
        ("maxsize", "max_size is a keyword of create_pool"),
        ("max_size", "max_size is a keyword of create_pool"),
        ("acquire_timeout", "acquire_timeout is a keyword of create_pool"),
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
    ("name", "meant"), [("maxsize", "max_size"), ("max_sise", "max_size"), ("pool_siz", "max_size")]
)
def test_a_name_of_another_pool_gets_a_hint(name: str, meant: str) -> None:
    with pytest.raises(InterfaceError) as caught:
        _ = aioifx.create_pool(**typing.cast("Any", {name: 5}))
    assert str(caught.value) == f"{name}: unknown option; did you mean {meant!r}?"


def test_an_option_of_a_pool_in_a_dsn_gets_a_hint() -> None:
    with pytest.raises(
        InterfaceError, match="max_size: unknown option; max_size is a keyword of create_pool"
    ):
        _ = aioifx.create_pool("informix://u@h/d?server=s&max_size=3")


def test_the_keywords_of_a_pool_are_those_of_create_pool() -> None:
    own = [
        name for name in inspect.signature(aioifx.create_pool).parameters if name not in ("dsn", "options")
    ]
    assert [name for name in own if name != "row_factory"] == list(POOL_OPTIONS)


def test_resolved_options_are_reused_unless_overridden(monkeypatch: pytest.MonkeyPatch) -> None:
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
        ("informix://u:secret@h/d?server=s&pam=true", "pam: not supported in a DSN"),
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
