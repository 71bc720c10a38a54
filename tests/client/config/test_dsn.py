"""The three ways to write a connection on one line."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aioifx.client.config.dsn import split_dsn
from aioifx.errors import InterfaceError

# -- informix:// ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dsn", "options"),
    [
        (
            "informix://app:secret@db1:9088/shop?server=ol_shop",
            {"user": "app", "password": "secret", "host": "db1", "port": "9088", "database": "shop",
             "server": "ol_shop"},
        ),
        ("INFORMIX://db1/?server=x", {"host": "db1", "server": "x"}),
        ("informix://db1", {"host": "db1"}),
        ("informix:///shop?host=db1", {"database": "shop", "host": "db1"}),
        ("informix://app@db1", {"user": "app", "host": "db1"}),
        ("informix://app:@db1", {"user": "app", "password": "", "host": "db1"}),
        ("informix://:secret@db1", {"password": "secret", "host": "db1"}),
        ("informix://[::1]:9088/shop", {"host": "::1", "port": "9088", "database": "shop"}),
        ("informix://[fe80::1%25eth0]", {"host": "fe80::1%eth0"}),
        ("informix://a%40b:p%3A%2F%3F%23%25%C3%A9+@h", {"user": "a@b", "password": "p:/?#%é+", "host": "h"}),
        ("informix://u:p@ss:w@h", {"user": "u", "password": "p@ss:w", "host": "h"}),
        ("informix://u@db1:9088,db2,[::1]:9089/d?server=a,b,c",
         {"user": "u", "host": "db1:9088,db2,[::1]:9089", "database": "d", "server": "a,b,c"}),
        ("informix://[fe80::1%25eth0]:1,h", {"host": "[fe80::1%eth0]:1,h"}),
        ("informix:///shop?INFORMIXSQLHOSTS=/etc/sqlhosts&server=g",
         {"database": "shop", "sqlhosts": "/etc/sqlhosts", "server": "g"}),
        ("informix://h?db_locale=de_DE.utf8&&ssl=true&", {"host": "h", "db_locale": "de_DE.utf8", "ssl": "true"}),
        ("informix://h?password=a%26b%3Dc=d", {"host": "h", "password": "a&b=c=d"}),
    ],
)  # fmt: skip
def test_a_url_is_taken_apart(dsn: str, options: dict[str, str]) -> None:
    assert split_dsn(dsn) == (options, {})


def test_names_in_capitals_are_environment_variables_in_a_url() -> None:
    parts = split_dsn("informix://h?PDQPRIORITY=10&DBTIME=%25H&CLIENT_LOCALE=en_US.utf8&INFORMIXSERVER=x")
    assert parts.environment == {"PDQPRIORITY": "10", "DBTIME": "%H"}
    assert parts.options == {"host": "h", "client_locale": "en_US.utf8", "server": "x"}


# -- JDBC -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dsn", "options"),
    [
        (
            "jdbc:informix-sqli://db1:9088/shop:INFORMIXSERVER=ol_shop;user=app;password=se:c/r=t@;SSLCONNECTION=true",
            {"host": "db1", "port": "9088", "database": "shop", "server": "ol_shop", "user": "app",
             "password": "se:c/r=t@", "ssl": "true"},
        ),
        (
            "jdbc:informix-sqli://db1:9088:INFORMIXSERVER=ol; CLIENT_LOCALE = en_US.utf8;",
            {"host": "db1", "port": "9088", "server": "ol", "client_locale": "en_US.utf8"},
        ),
        ("jdbc:informix-sqli://[::1]:9088/shop:informixserver=ol",
         {"host": "::1", "port": "9088", "database": "shop", "server": "ol"}),
        ("JDBC:Informix-SQLI://db1:9088/shop", {"host": "db1", "port": "9088", "database": "shop"}),
        ("jdbc:informix-sqli:INFORMIXSERVER=ol;DB_LOCALE=en_US.819", {"server": "ol", "db_locale": "en_US.819"}),
        ("jdbc:informix-sqli:INFORMIXSERVER=g;SQLH_TYPE=FILE;SQLH_FILE=/etc/sqlhosts",
         {"server": "g", "sqlhosts": "/etc/sqlhosts"}),
        ("jdbc:informix-sqli://h/d:LOGINTIMEOUT=2500", {"host": "h", "database": "d", "connect_timeout": "2.5"}),
        ("jdbc:informix-sqli://h/d:password=a%41", {"host": "h", "database": "d", "password": "a%41"}),
        (
            "jdbc:informix://db1:9088/shop;user=app;password=se:c/r=t@;serverName=ol_shop;encrypt=true",
            {"host": "db1", "port": "9088", "database": "shop", "server": "ol_shop", "user": "app",
             "password": "se:c/r=t@", "ssl": "true"},
        ),
        ("jdbc:informix://[::1]:9088;database=shop; ServerName = ol;",
         {"host": "::1", "port": "9088", "database": "shop", "server": "ol"}),
        ("jdbc:informix://[fe80::1%25eth0]/shop;", {"host": "fe80::1%eth0", "database": "shop"}),
        ("jdbc:informix://db1,db2:9089/shop;user=a", {"host": "db1,db2:9089", "database": "shop", "user": "a"}),
        ("jdbc:informix:host=db1;port=9088;database=shop", {"host": "db1", "port": "9088", "database": "shop"}),
        ("jdbc:informix://h/d:INFORMIXSERVER=ol;loginRetries=2",
         {"host": "h", "database": "d", "server": "ol", "connect_retries": "2"}),
        ("jdbc:informix://h;loginTimeout=2500;lockTimeout=-1;transactionIsolationLevel=4",
         {"host": "h", "connect_timeout": "2.5", "lock_wait": "-1", "isolation": "repeatable_read"}),
        ("jdbc:informix://h", {"host": "h"}),
    ],
)  # fmt: skip
def test_a_jdbc_url_is_taken_apart(dsn: str, options: dict[str, str]) -> None:
    assert split_dsn(dsn) == (options, {})


def test_settings_of_the_jdbc_driver_itself_are_dropped_and_the_others_are_sent() -> None:
    parts = split_dsn("jdbc:informix-sqli://h/d:INFORMIXSERVER=ol;IFX_USEPUT=1;OPTCOMPIND=0;lobcache=4096")
    assert parts.environment == {"OPTCOMPIND": "0"}


@pytest.mark.parametrize(
    "name",
    [
        "appendIsamCodeToSqlException", "autoCaseSchema", "autoFreeCursors", "commitBeforeIsolationChange",
        "connectionCleanerDelay", "defaultCursorHoldability", "emulateInformixServer",
        "invalidAutoCommitThrowError", "lobBufferSize", "lobCodesetConversionMemory", "lobReadonly",
        "metadataReplicationColumn", "metadataUppercaseValues", "optimizeOpenFetchClose",
        "overrideDatabaseProductName", "preparedStatementCacheSize", "processTableNameInResultSets",
        "queryBufferSize", "removeLobTempFilesOnRSClose", "setJvmLocale", "uppercaseMetaDataRSColumnNames",
    ],
)  # fmt: skip
def test_properties_of_version_15_that_change_no_result_are_ignored(name: str) -> None:
    assert split_dsn(f"jdbc:informix://h/d;{name}=1") == ({"host": "h", "database": "d"}, {})


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("trustStore", "Java trust stores are not supported; use PEM files with ssl_ca"),
        ("trustStorePassword", "Java trust stores are not supported"),
        ("certificateVerification", "certificates are always verified; use ssl_ca"),
        ("certificateVerfication", "certificates are always verified"),
        ("customCodeSet", "not supported; use client_locale and db_locale"),
        ("customLocale", "not supported; use client_locale and db_locale"),
        ("customNLSMap", "not supported; use client_locale and db_locale"),
        ("secondarySwitch", "not supported; list the hosts of both servers"),
        ("sessionVariables", "not supported; execute SET ENVIRONMENT after connecting"),
    ],
)
def test_properties_of_version_15_that_have_an_effect_are_refused_with_the_way_out(
    name: str, message: str
) -> None:
    with pytest.raises(InterfaceError, match=f"^{name.upper()}: {message}") as caught:
        split_dsn(f"jdbc:informix://h/d;{name}=secret")
    assert "secret" not in str(caught.value)


def test_an_unknown_property_is_not_a_variable() -> None:
    assert split_dsn("jdbc:informix://h/d;OPTCOMPIND=0;delimident=true").environment == {
        "OPTCOMPIND": "0",
        "DELIMIDENT": "true",
    }
    with pytest.raises(
        InterfaceError, match=r"^clientLocale: unknown property; write an environment variable in capitals"
    ):
        split_dsn("jdbc:informix://h/d;clientLocale=secret")


def test_the_isolation_level_of_version_15_is_a_number() -> None:
    with pytest.raises(InterfaceError, match=r"^TRANSACTIONISOLATIONLEVEL: expected one of 1, 2, 4; or use"):
        split_dsn("jdbc:informix://h/d;transactionIsolationLevel=COMMITTED_READ")


def test_variables_for_which_jdbc_sends_statements_are_options() -> None:
    parts = split_dsn("jdbc:informix-sqli://h/d:ifx_isolation_level=2;IFX_LOCK_MODE_WAIT=17")
    assert parts.options == {"host": "h", "database": "d", "isolation": "committed_read", "lock_wait": "17"}
    for level in ("0", "1U", "5", "8", "x"):
        with pytest.raises(
            InterfaceError, match=r"^IFX_ISOLATION_LEVEL: expected one of 1, 2, 4; or use isolation="
        ):
            split_dsn(f"jdbc:informix-sqli://h/d:IFX_ISOLATION_LEVEL={level}")


def test_javas_trust_stores_are_refused_with_the_way_out() -> None:
    with pytest.raises(InterfaceError, match=r"SSL_TRUSTSTORE: .*use PEM files with ssl_ca"):
        split_dsn("jdbc:informix-sqli://h/d:SSLCONNECTION=true;SSL_TRUSTSTORE=/certs")


# -- ODBC -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dsn", "options"),
    [
        (
            "DRIVER={IBM INFORMIX ODBC DRIVER (64-bit)};HOST=db1;SERVICE=9088;SERVER=ol_shop;DATABASE=shop;UID=app;"
            "PWD=secret;CLIENT_LOCALE=en_us.utf8;PROTOCOL=onsoctcp",
            {"host": "db1", "port": "9088", "server": "ol_shop", "database": "shop", "user": "app",
             "password": "secret", "client_locale": "en_us.utf8", "ssl": "false"},
        ),
        (
            "host = db1 ;serv=9088; srvr=ol ;db=shop;logonid=app;cloc=en_us.819;dloc=en_us.819;pro=OLSOCSSL;",
            {"host": "db1", "port": "9088", "server": "ol", "database": "shop", "user": "app",
             "client_locale": "en_us.819", "db_locale": "en_us.819", "ssl": "true"},
        ),
        ("HOST=h;PWD={a;b=}}c} ;UID={}", {"host": "h", "password": "a;b=}c", "user": ""}),
        ("HOST=h;PWD=a{b}=c d", {"host": "h", "password": "a{b}=c d"}),
    ],
)  # fmt: skip
def test_an_odbc_connection_string_is_taken_apart(dsn: str, options: dict[str, str]) -> None:
    assert split_dsn(dsn) == (options, {})


def test_other_names_in_an_odbc_connection_string_are_environment_variables() -> None:
    assert split_dsn("HOST=h;DELIMIDENT=y;optofc=1").environment == {"DELIMIDENT": "y", "OPTOFC": "1"}


# -- wrong ones -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dsn", "named"),
    [
        ("", "dsn"),
        ("secret", "dsn"),
        ("postgresql://u:secret@h/d?a=b", "dsn"),
        ("jdbc:postgresql://h/d?user=u&password=secret", "dsn"),
        ("informix:/secret", "dsn"),
        ("informix://u:secret#secret@h", "dsn"),
        ("informix://u:sec/ret@h/d", "database"),
        ("informix://u:12/secret@h/d", "database"),
        ("informix://u:sec?ret@h/d", "host|dsn"),
        ("informix://u:a%secret@h/d", "password"),
        ("informix://u:%ff%fesecret@h/d", "password"),
        ("informix://u:secret@h:1:2/d", "host"),
        ("informix://u:secret@::1/d", "host"),
        ("informix://u:secret@[::1/d", "host"),
        ("informix://u:secret@[::1]9088/d", "host"),
        ("informix://u:secret@h/d?password=secret", "password"),
        ("informix://h/d?server=a&server=a", "server"),
        ("informix://h/d?INFORMIXSERVER=a&server=b", "server"),
        ("informix://h/d?PDQPRIORITY=1&PDQPRIORITY=1", "environment: .*PDQPRIORITY"),
        ("informix://h/d?password=a&secret", "dsn"),
        ("informix://h/d?password=a&secret stuff=1", "dsn"),
        ("jdbc:informix-sqli://h/d:INFORMIXSERVER=x;secret", "dsn"),
        ("jdbc:informix-sqli://h/d:INFORMIXSERVER=x;password=a;secret!b=c", "dsn"),
        ("jdbc:informix-sqli://INFORMIXSERVER=secret", "dsn"),
        ("jdbc:informix-sqli://h/d:LOGINTIMEOUT=secret", "LOGINTIMEOUT"),
        ("jdbc:informix-sqli://h/d:SQLH_TYPE=LDAP", "SQLH_TYPE"),
        ("HOST=h;PWD=a;secret", "dsn"),
        ("HOST=h;PWD=a;secret;UID=u", "dsn"),
        ("HOST=h;PWD={secret", "PWD"),
        ("HOST=h;PWD={sec}ret;UID=u", "PWD"),
        ("HOST=h;HOST=h", "host"),
        ("HOST=h;PROTOCOL=onipcshm", "PROTOCOL"),
        ("DSN=shop;PWD=secret", "DSN"),
    ],
)
def test_a_wrong_dsn_is_refused_by_name_and_without_its_password(dsn: str, named: str) -> None:
    with pytest.raises(InterfaceError, match=f"^({named}).*") as caught:
        split_dsn(dsn)
    assert "secret" not in str(caught.value).lower()


PIECES = st.sampled_from(
    ["informix://", "jdbc:informix-sqli:", "//", "u", ":", "@", "h", "/", "?", "&", "=", ";", "{", "}", "[", "]",
     "%", "%41", "HOST", "PWD", "server", "#", " ", "\n", "é"]
)  # fmt: skip


# Law: any text is taken apart or refused, and nothing else happens.
@given(st.lists(PIECES, max_size=25).map("".join))
def test_any_text_is_taken_apart_or_refused(dsn: str) -> None:
    try:
        parts = split_dsn(dsn)
    except InterfaceError:
        return
    assert all(isinstance(text, str) for part in parts for text in part.values())


# Law: what is percent-encoded comes back whole.
@given(st.text(), st.text(min_size=1), st.text(alphabet=st.characters(codec="utf-8")))
def test_any_user_password_and_database_fit_a_url_when_encoded(
    password: str, user: str, database: str
) -> None:
    parts = split_dsn(f"informix://{quote(user, '')}:{quote(password, '')}@h/{quote(database, '')}")
    expected = {"user": user, "password": password, "host": "h", "database": database}
    if not database:
        del expected["database"]
    assert parts.options == expected
