"""The environment in the login, compared with that of JDBC 15."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from aioifx.client.config.environment import environment_variable, raw_environment
from aioifx.client.config.options import ConnectOptions
from aioifx.client.config.resolve import parse_dsn
from aioifx.errors import InterfaceError

VECTORS = Path(__file__).parents[2] / "vectors"
Pairs = list[tuple[bytes, bytes]]

# JDBC accepts these and sends nothing. Some change what its user sees, others have no known effect. All are rejected,
# so that no setting is dropped silently.
REFUSED = {
    "APPENDISAM", "APPNAME", "IFX_BATCHUPDATE_PER_SPEC", "IFX_CODESETLOB", "IFX_GET_SMFLOAT_AS_FLOAT",
    "IFX_SET_FLOAT_AS_SMFLOAT", "IFX_TRIMTRAILINGSPACES", "IFX_USE_STRENC", "IFX_XASPEC", "MY_OWN_VAR",
    "SECURITY", "STATCHANGE", "TRUSTED_CONTEXT",
    # This one JDBC does send; it changes the form of rows, which is not read here.
    "IFX_PAD_VARCHAR",
}  # fmt: skip
# JDBC makes statements of these after its login; so do the options isolation and lock_wait. Values that name no level
# are rejected.
REFUSED_VALUES = {f"IFX_ISOLATION_LEVEL={value}" for value in ("0", "1U", "5", "8")}
# JDBC drops these; other clients were seen to send them, so they come last in the login.
SENT_HERE_ONLY = {"DBMONEY", "LKNOTIFY"}


def cases(file: str) -> list[dict[str, Any]]:
    """The recorded logins, each with the frames that the client sent."""
    recorded = json.loads((VECTORS / file).read_text("utf-8"))["cases"]
    return [case for case in recorded if case["frames"] and "login request" in case["frames"][0]["means"]]


def frame(case: dict[str, Any], opcode: bytes) -> bytes | None:
    """The first frame of the client that begins with *opcode*."""
    for entry in case["frames"][1:]:
        if entry["dir"] == "C" and bytes.fromhex(entry["hex"]).startswith(opcode):
            return bytes.fromhex(entry["hex"])
    return None


def login_pairs(message: bytes) -> Pairs:
    """The variables in a recorded login: after the fixed part, user, password, server and database."""
    pos = 79

    def text() -> bytes:
        nonlocal pos
        size = int.from_bytes(message[pos : pos + 2], "big")
        pos += 2 + size
        return message[pos - size : pos].removesuffix(b"\0")

    assert (text(), text()) == (b"usr", b"pwd")
    pos += 8 + 4 + 8 + 4 + 2 + 2 + 4
    assert (text(), text()) == (b"rigsrv", b"")
    pos += 8
    assert message[pos : pos + 2] == bytes([0, 106])
    count = int.from_bytes(message[pos + 2 : pos + 4], "big")
    pos += 4
    return [(text(), text()) for _ in range(count)]


def session_pairs(message: bytes) -> Pairs:
    """The variables in a recorded SQ_INFO: after opcode, kind, size and the two longest lengths."""
    pos = 10

    def text() -> bytes:
        nonlocal pos
        size = int.from_bytes(message[pos : pos + 2], "big")
        found = message[pos + 2 : pos + 2 + size]
        pos += 2 + size + size % 2
        return found

    pairs: Pairs = []
    while name := text():
        pairs.append((name, text()))
    return pairs


INFO = b"\0\x51"
DEFAULT_INFO = next(frame(case, INFO) for case in cases("login.json") if case["name"] == "connect_db")


def expected_pairs(case: dict[str, Any]) -> tuple[Pairs, Pairs]:
    """Login and session variables of a case; session.json leaves out frames that are as in connect_db."""
    info = frame(case, INFO) or DEFAULT_INFO
    assert info is not None
    return login_pairs(bytes.fromhex(case["frames"][0]["hex"])), session_pairs(info)


def options(**given: Any) -> ConnectOptions:
    return ConnectOptions(host="h", server="s", user="u", **given)


def sent_pairs(found: ConnectOptions) -> tuple[Pairs, Pairs]:
    return list(found.login_environment()), list(found.session_environment())


OPTOFC_OFF = (b"OPTOFC", b"0")
ALWAYS_SENT = (b"CLIENT_LOCALE", b"DB_LOCALE", b"DBDATE")


def sent_as(found: ConnectOptions, theirs: tuple[Pairs, Pairs]) -> tuple[Pairs, Pairs]:
    """What is sent, without locales, the format of dates and OPTOFC=0 where JDBC omits them: deliberate differences."""
    login, session = sent_pairs(found)
    session = [pair for pair in session if pair != OPTOFC_OFF or pair in theirs[1]]
    unsaid = {name for name in ALWAYS_SENT if name not in dict(theirs[0])}
    return [pair for pair in login if pair[0] not in unsaid], session


PROPERTIES = {
    case["what"].removeprefix("connection property "): case
    for case in cases("session.json")
    if case["name"].startswith("opt_")
}
PLAIN = [
    case
    for case in cases("session.json") + cases("login.json")
    if not case["name"].startswith("opt_")
    and "LOCALE=" not in case["what"]
    and "NEWCODESET" not in case["what"]
]


def jdbc(properties: str) -> str:
    return (
        f"jdbc:informix-sqli://127.0.0.1:9088/stores:INFORMIXSERVER=rigsrv;user=usr;password=pwd;{properties}"
    )


def as_jdbc(properties: str) -> str:
    """JDBC requests OPTOFC only if configured; aioifx always sends it."""
    return jdbc(properties if name_of(properties) == "OPTOFC" else f"{properties};OPTOFC=0")


def name_of(properties: str) -> str:
    return properties.partition("=")[0]


def test_the_vectors_are_all_there() -> None:
    assert (len(PROPERTIES), len(PLAIN)) == (65, 17)
    assert {name_of(properties) for properties in PROPERTIES} >= REFUSED | SENT_HERE_ONLY


@pytest.mark.parametrize(
    "properties",
    sorted(p for p in PROPERTIES if p not in REFUSED_VALUES and name_of(p) not in REFUSED | SENT_HERE_ONLY),
)
def test_the_server_is_sent_what_jdbc_sends(properties: str) -> None:
    expected = expected_pairs(PROPERTIES[properties])
    assert sent_as(parse_dsn(as_jdbc(properties)), expected) == expected


def test_by_default_the_server_may_close_cursors_as_with_jdbcs_optofc() -> None:
    expected = expected_pairs(PROPERTIES["OPTOFC=1"])
    assert sent_as(parse_dsn(jdbc("")), expected) == expected
    assert sent_as(parse_dsn(jdbc("OPTOFC=1")), expected) == expected


@pytest.mark.parametrize("properties", sorted(p for p in PROPERTIES if name_of(p) in REFUSED))
def test_a_setting_of_jdbc_that_would_be_lost_is_refused(properties: str) -> None:
    with pytest.raises(InterfaceError, match=f"^environment: .*{name_of(properties)}"):
        parse_dsn(jdbc(properties))


@pytest.mark.parametrize("properties", sorted(REFUSED_VALUES))
def test_a_value_of_jdbcs_that_means_nothing_is_refused(properties: str) -> None:
    assert properties in PROPERTIES
    with pytest.raises(InterfaceError, match=f"^{name_of(properties)}: expected one of"):
        parse_dsn(jdbc(properties))


@pytest.mark.parametrize("properties", sorted(p for p in PROPERTIES if name_of(p) in SENT_HERE_ONLY))
def test_a_variable_that_only_other_clients_send_comes_after_jdbcs(properties: str) -> None:
    expected = login, session = expected_pairs(PROPERTIES[properties])
    name, _, value = properties.encode().partition(b"=")
    assert sent_as(parse_dsn(as_jdbc(properties)), expected) == ([*login, (name, value)], session)


@pytest.mark.parametrize("case", PLAIN, ids=lambda case: case["name"])
def test_a_plain_login_sends_what_jdbcs_sends(case: dict[str, Any]) -> None:
    expected = expected_pairs(case)
    assert sent_as(parse_dsn(as_jdbc("")), expected) == expected


@pytest.mark.parametrize(
    ("name", "locales"),
    [
        ("utf8_both", {"client_locale": "en_US.utf8", "db_locale": "en_US.utf8"}),
        ("utf8_db_only", {"db_locale": "en_US.utf8"}),
        ("utf8_client_only", {"client_locale": "en_US.utf8"}),
    ],
)
def test_locales_are_sent_as_jdbc_sends_them(name: str, locales: dict[str, str]) -> None:
    case = next(case for case in cases("login.json") + cases("session.json") if case["name"] == name)
    expected = expected_pairs(case)
    assert sent_as(options(**locales, environment={"OPTOFC": "0"}), expected) == expected


@pytest.mark.parametrize(
    ("name", "locales"),
    [
        ("both_8859_1_dbdate", {}),
        ("both_8859_1_dbdate", {"db_locale": "en_US.8859-1"}),
        ("both_utf8_dbdate", {"db_locale": "en_US.utf8"}),
        ("both_utf8_dbdate", {"client_locale": "en_US.utf8"}),
    ],
)
def test_settings_in_force_are_always_sent_as_jdbc_sends_them(name: str, locales: dict[str, str]) -> None:
    case = next(case for case in cases("locales.json") if case["name"] == name)
    expected = expected_pairs(case)
    login, session = sent_pairs(options(**locales, optofc=False))
    assert (login, [pair for pair in session if pair != OPTOFC_OFF]) == expected


@pytest.mark.parametrize(
    ("found", "value"),
    [
        (options(), b"1"),
        (options(optofc=False), b"0"),
        (options(environment={"OPTOFC": "0"}), b"0"),
        (options(optofc=False, environment={"OPTOFC": "1"}), b"1"),
        (options().without_optofc(), b"0"),
        (options(environment={"OPTOFC": "1"}).without_optofc(), b"0"),
    ],
)
def test_optofc_is_sent_on_or_off_since_the_server_may_have_a_default(
    found: ConnectOptions, value: bytes
) -> None:
    assert [pair for pair in found.session_environment() if pair[0] == b"OPTOFC"] == [(b"OPTOFC", value)]
    assert found.sends_optofc == (value == b"1")


def test_db_locale_may_be_left_to_the_server_as_jdbc_leaves_it() -> None:
    case = next(case for case in cases("login.json") if case["name"] == "connect_db")
    assert list(options().login_environment(sends_db_locale=False)) == expected_pairs(case)[0]


@pytest.mark.parametrize("pam", [None, lambda style, text: text])
def test_pam_is_always_announced_as_jdbc_announces_it(pam: Any) -> None:
    assert (b"CLNT_PAM_CAPABLE", b"1") in options(pam=pam).login_environment()


def test_many_variables_keep_the_order_that_each_has_alone() -> None:
    variables = dict.fromkeys(
        ["STMT_CACHE", "NODEFDAC", "DELIMIDENT", "OPT_GOAL", "OPTOFC", "PDQPRIORITY", "GL_DATE"], "1"
    )
    login, session = sent_pairs(
        options(client_locale="en_US.utf8", db_locale="en_US.utf8", environment=variables)
    )
    assert b" ".join(name for name, _ in login).decode() == (
        "GL_DATE DBPATH CLIENT_LOCALE CLNT_PAM_CAPABLE IFX_UPDDESC DELIMIDENT STMT_CACHE DB_LOCALE NODEFDAC"
    )
    assert b" ".join(name for name, _ in session).decode() == "PDQPRIORITY DBTEMP OPTOFC SUBQCACHESZ OPT_GOAL"


def test_dbdate_of_the_caller_is_sent_with_any_locale() -> None:
    login, _ = sent_pairs(options(client_locale="en_US.utf8", environment={"DBDATE": "DMY4."}))
    assert (b"DBDATE", b"DMY4.") in login
    login, _ = sent_pairs(options(client_locale="en_US.utf8"))
    assert dict(login)[b"DBDATE"] == b"Y4MD-"


@pytest.mark.parametrize("name", ["LOCKDOWN", "SINGLELEVEL", "SKALL", "SKINHIBIT", "SKSHOW", "SQLMODE"])
def test_variables_observed_from_other_clients_go_into_the_login(name: str) -> None:
    login, session = sent_pairs(options(environment={name: "x"}))
    assert login[-1] == (name.encode(), b"x")
    assert name.encode() not in dict(session)


def test_variable_is_read_again_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AIOIFX_TEST", raising=False)
    assert environment_variable("AIOIFX_TEST") is None
    for value in ("", "Grüße", "\udcff"):
        monkeypatch.setenv("AIOIFX_TEST", value)
        assert environment_variable("AIOIFX_TEST") == os.environ["AIOIFX_TEST"] == value


def test_each_change_changes_the_raw_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AIOIFX_TEST", raising=False)
    before = dict(raw_environment())
    monkeypatch.setenv("AIOIFX_TEST", "1")
    first = dict(raw_environment())
    monkeypatch.setenv("AIOIFX_TEST", "2")
    assert first not in (before, raw_environment())
    monkeypatch.delenv("AIOIFX_TEST")
    assert raw_environment() == before


def test_os_environ_may_be_replaced_by_another_mapping(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "environ", {"AIOIFX_TEST": "1"})
    assert (environment_variable("AIOIFX_TEST"), environment_variable("AIOIFX_NONE")) == ("1", None)
    assert raw_environment() == {"AIOIFX_TEST": "1"}
