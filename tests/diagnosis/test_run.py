"""The diagnosis as a whole: of a server that is well, and with every wrong setting that can be made."""

from __future__ import annotations

import asyncio
import datetime
import json
import pickle
import socket
import ssl as tls
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
import trustme

import aioifx
import aioifx.diagnosis
import aioifx.server
from aioifx.client.connect import locales
from aioifx.diagnosis import DiagnosisChange, DiagnosisReport, DiagnosisStep
from aioifx.diagnosis.listener import ListeningChannel
from aioifx.diagnosis.report import STEPS
from aioifx.errors import InterfaceError
from aioifx.server import Server, ServerOptions, serve
from aioifx.server.protocol.quirks import Quirk
from aioifx.testing.messages import accepted
from aioifx.testing.script import Peer
from aioifx.testing.script import listening as scripted
from tests.certificates import certified, trusting
from tests.diagnosis.ports import (
    Answer,
    closed,
    closing,
    drda,
    dropping,
    http,
    listening,
    patient_http,
    silent,
)
from tests.injection import Injection, Manner, eventually
from tests.server.protocol.test_pam import password_and_code

SECRET = "tr0ub4dor&3"
QUOTED = "tr0ub4dor%263"


@pytest.fixture(autouse=True)
def no_locale_is_known() -> Iterator[None]:
    locales._known.clear()
    yield
    locales._known.clear()


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    options = ServerOptions(("shop",), user="app", password=SECRET, server_name="ol_shop")
    async with serve(options) as server:
        yield server


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA(organization_name="Shop")


async def diagnose(dsn: str | None = None, **options: Any) -> DiagnosisReport:
    """A diagnosis that shows no password."""
    reported: list[DiagnosisStep] = []
    report = await aioifx.diagnosis.diagnose(dsn, on_step=reported.append, **options)
    assert tuple(reported) == report.steps
    for text in (repr(report), json.dumps(report.as_dict())):
        assert SECRET not in text and QUOTED not in text
    assert pickle.loads(pickle.dumps(report)) == report
    servers = dict.fromkeys(step.server for step in report.steps if step.server)
    for one in servers:
        assert [step.name for step in report.steps if step.server == one] == [*STEPS[1:]]
    return report


async def all_gone(server: Server) -> None:
    """Wait until the server's sessions have ended; it notices a dropped connection a little later."""
    await eventually(lambda: not server._sessions)


def dsn_for(port: int, more: str = "") -> str:
    return f"informix://app:{QUOTED}@127.0.0.1:{port}/shop?server=ol_shop{more}"


def outcomes(report: DiagnosisReport) -> dict[str, str]:
    return {step.name: step.outcome for step in report.steps}


def step_of(report: DiagnosisReport, name: str) -> DiagnosisStep:
    (found,) = (step for step in report.steps if step.name == name)
    return found


def failure(report: DiagnosisReport) -> tuple[str, str, dict[str, str]]:
    """The only failed step: its name, what was found, and its changes. Steps after it were not tried."""
    (step,) = report.failed
    if step.name != "address":
        after = report.steps[report.steps.index(step) + 1 :]
        assert {one.outcome for one in after} <= {"skipped"}
        assert {one.found for one in after} <= {f"{step.name.replace('_', ' ')} failed"}
    assert not report.ok and not report.connects
    return step.name, step.found, {change.setting: change.to for change in step.changes}


# -- a server that is well --------------------------------------------------------------------------------------------


async def test_a_connection_that_is_well(server: Server, tidy: None) -> None:
    report = await diagnose(server.dsn)
    assert report.ok and report.connects and report.changes == ()
    assert outcomes(report) == dict.fromkeys(STEPS, "ok") | {"dns": "skipped", "tls": "skipped"}
    assert step_of(report, "listener").found == "SQLI"
    assert step_of(report, "server_name").details == {"server_name": "ol_shop", "dbservername": "ol_shop"}
    assert "15.0" in step_of(report, "version").details["version"]
    assert step_of(report, "capabilities").details["bigint"] is True
    assert step_of(report, "locale").details["code_set"] == "latin-1"
    assert step_of(report, "log_mode").details == {"log_mode": "logged"}
    assert step_of(report, "role").details == {"role": "primary"}
    assert 32767 // 2 < step_of(report, "fetch_size").details["largest_reply"] < 33000
    assert step_of(report, "round_trip").details["count"] == 20
    assert step_of(report, "optofc").details == {"round_trips": 1.0}
    assert "honoured" in step_of(report, "interrupt").found
    assert server.stats.interrupts == 1
    await all_gone(server)


async def test_nothing_is_left_at_the_server(server: Server) -> None:
    async with aioifx.connect(server.dsn) as conn:
        tables = "SELECT COUNT(*) FROM systables"
        before = await conn.fetchval(tables)
        await diagnose(server.dsn)
        assert await conn.fetchval(tables) == before
        await eventually(lambda: len(server.stats.sessions) == 1)  # this one
        assert server.stats.logins == 1 + 3


async def test_without_a_database_the_steps_that_need_one_are_skipped(server: Server) -> None:
    report = await diagnose(server.dsn.replace("/shop?", "?"))
    assert report.ok and report.connects
    skipped = {step.name for step in report.steps if step.outcome == "skipped"}
    assert skipped == {
        "dns", "tls", "database", "locale", "log_mode", "role", "fetch_size", "optofc", "interrupt"
    }  # fmt: skip


async def test_a_name_is_looked_up(server: Server) -> None:
    report = await diagnose(server.dsn.replace("127.0.0.1", "localhost"))
    assert report.ok
    assert "127.0.0.1" in step_of(report, "dns").details["addresses"]
    assert step_of(report, "tcp").details["address"] == "127.0.0.1"


async def test_large_fetches_are_measured(server: Server) -> None:
    report = await diagnose(server.dsn, fetch_size=100_000)
    assert report.ok
    assert 50_000 < step_of(report, "fetch_size").details["largest_reply"] < 101_000


async def test_the_locale_is_found_if_the_options_say_so() -> None:
    async with aioifx.server.running("shop:en_US.utf8") as dsn:
        report = await diagnose(dsn.partition("&client_locale")[0], locale="auto")
    assert report.ok
    assert step_of(report, "locale").details["connection"] == "en_US.57372"


@pytest.mark.parametrize("mode", ["ansi", "unlogged"])
async def test_other_log_modes(mode: str) -> None:
    async with aioifx.server.running(log_mode=mode) as dsn:
        report = await diagnose(dsn)
        assert report.ok
        assert step_of(report, "log_mode").details == {"log_mode": mode}
        assert step_of(report, "log_mode").outcome == ("warning" if mode == "unlogged" else "ok")


# -- options ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dsn", "setting", "to"),
    [
        ("informix://app@db1/shop", "server", "DBSERVERNAME"),
        ("informix://app@db1/shop?server=s&databse=x", "databse", "'database'"),
        ("informix://app@db1:99999/shop?server=s", "port", "from 1 to 65535"),
        ("postgres://app@db1/shop", "dsn", "informix://"),
        ("informix://app@/shop?server=s", "host", "sqlhosts"),
        ("informix://app@db1/shop?server=s&fetch_size=1", "fetch_size", "4096"),
        ("informix://app@db1,db2/shop?server=a,b,c", "server", "one name or 2"),
    ],
)
async def test_a_wrong_option_is_named(
    dsn: str, setting: str, to: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("INFORMIXSERVER", "INFORMIXSQLHOSTS", "INFORMIXDIR"):
        monkeypatch.delenv(variable, raising=False)
    report = await diagnose(dsn)
    step, _, changes = failure(report)
    assert step == "address" and len(report.steps) == 1
    assert to in changes[setting]


async def test_a_step_timeout_must_be_a_time() -> None:
    with pytest.raises(InterfaceError, match="step_timeout"):
        await aioifx.diagnosis.diagnose("informix://", step_timeout=0)


@pytest.mark.parametrize(
    ("line", "setting", "to"),
    [
        ("ol_shop onsoctcp 127.0.0.1 {port}", None, ""),
        ("ol_store onsoctcp 127.0.0.1 {port}", "server", "'ol_store'"),
        ("ol_shop drsoctcp 127.0.0.1 {port}", "server", "DRDA"),
        ("ol_shop onipcshm 127.0.0.1 {port}", "server", "shared memory"),
        ("ol_shop onsoctcp 127.0.0.1 no_such_service", "server", "unknown on this machine"),
        ("ol_shop onsocssl 127.0.0.1 {port}", "sqlhosts", "type onsoctcp in the line of ol_shop"),
        ("ol_shop group - -", "server", "no member"),
    ],
)
async def test_mistakes_in_sqlhosts(
    line: str, setting: str | None, to: str, server: Server, tmp_path: Path
) -> None:
    file = tmp_path / "sqlhosts"
    file.write_text(line.format(port=server.port) + "\n")
    report = await diagnose(
        sqlhosts=str(file), server="ol_shop", database="shop", user="app", password=SECRET, ssl_ca=""
    )
    if setting is None:
        assert report.ok
        assert f"from {file}" in report.steps[0].found
    else:
        _, _, changes = failure(report)
        assert to in changes[setting]


async def test_a_sqlhosts_file_that_is_not_there(tmp_path: Path) -> None:
    report = await diagnose(sqlhosts=str(tmp_path / "none"), server="s", user="app")
    assert failure(report)[0] == "address"
    assert "cannot be read" in failure(report)[1]


async def test_a_password_is_asked_for_once(server: Server) -> None:
    asked = 0

    async def password() -> str:
        nonlocal asked
        asked += 1
        return SECRET

    assert (await diagnose(server.dsn, password=password)).ok
    assert asked == 1


@pytest.mark.parametrize("error", [ValueError(SECRET), TimeoutError(SECRET)])
async def test_what_a_password_callable_raises_is_not_shown(error: Exception, server: Server) -> None:
    def password() -> str:
        raise error

    report = await diagnose(server.dsn, password=password)
    step, found, _ = failure(report)
    assert (step, found) == ("address", f"password: the callable raised {type(error).__name__}")


async def test_a_password_callable_that_hangs(server: Server) -> None:
    async def password() -> str:
        await asyncio.Event().wait()
        return ""

    report = await diagnose(server.dsn, password=password, step_timeout=0.01)
    assert failure(report)[1] == "password: the callable did not return within 0.01 s"


# -- the network ------------------------------------------------------------------------------------------------------


async def test_an_unknown_host(monkeypatch: pytest.MonkeyPatch) -> None:
    async def getaddrinfo(*args: object, **options: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", getaddrinfo, raising=False)
    step, found, changes = failure(await diagnose("informix://app@db9.example/shop?server=s"))
    assert step == "dns" and "not known" in found
    assert [*changes] == ["host"]


async def test_a_name_server_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    async def getaddrinfo(*args: object, **options: object) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", getaddrinfo, raising=False)
    report = await diagnose("informix://app@db9.example/shop?server=s", step_timeout=0.01)
    assert failure(report)[:2] == ("dns", "no answer within 0.01 s")


async def test_a_closed_port() -> None:
    with closed() as port:
        step, found, changes = failure(await diagnose(dsn_for(port)))
    assert step == "tcp" and "refused" in found
    assert "onsoctcp" in changes["port"] and "onstat" in changes["the server"]


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a full queue refuses")
async def test_a_firewall_that_drops() -> None:
    with dropping() as port:
        step, found, changes = failure(await diagnose(dsn_for(port), step_timeout=0.3))
    assert (step, found) == ("tcp", "no answer within 0.3 s")
    assert next(iter(changes)) == "the firewall"


# -- what listens -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "spoken", "to"),
    [
        (http, "HTTP", "onsoctcp"),
        (drda, "DRDA", "this one is of a drsoctcp line"),
        (lambda request: b"\x15\x03\x01\0\x02\x02\x46", "a TLS port", "True"),
    ],
)
async def test_another_protocol(answer: Answer, spoken: str, to: str) -> None:
    async with listening(answer) as (port, _):
        step, found, changes = failure(await diagnose(dsn_for(port)))
    assert step == "listener" and found.startswith(spoken)
    assert to in changes["ssl" if "TLS" in spoken else "port"]


@pytest.mark.parametrize(
    ("greeting", "spoken"),
    [
        (b"SSH-2.0-OpenSSH_9.6\r\n", "SSH"),
        (b"220 mail.example ESMTP\r\n", "SMTP or FTP"),
        (b"\x4a\0\0\0\x0a8.0.36\0", "MySQL"),
        (b"what?", ""),
    ],
)
async def test_a_server_that_speaks_first_is_sent_nothing(
    greeting: bytes, spoken: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("aioifx.diagnosis.examination.BANNER_WAIT", 10.0)
    for more in ("", "&ssl=true"):
        async with listening(silent, greeting=greeting) as (port, received):
            report = await diagnose(dsn_for(port, more))
        step, found, changes = failure(report)
        assert step == "listener" and next(iter(changes)) == "port"
        assert found.startswith(f"{spoken} listens here, not SQLI" if spoken else "SQLI does not answer here")
        assert received == b""
        assert step_of(report, "tls").outcome == "skipped"


async def test_a_web_server_that_waits_for_a_whole_line() -> None:
    async with listening(patient_http) as (port, _):
        step, found, _ = failure(await diagnose(dsn_for(port), step_timeout=0.5))
    assert step == "listener" and found.startswith("HTTP listens here")


async def test_a_port_that_is_silent() -> None:
    async with listening(silent) as (port, _):
        step, found, changes = failure(await diagnose(dsn_for(port), step_timeout=0.5))
    assert step == "listener" and "no answer within 0.5 s" in found
    assert [*changes] == ["port", "the server"]


async def test_a_port_that_closes() -> None:
    async with listening(closing) as (port, _):
        step, found, changes = failure(await diagnose(dsn_for(port)))
    assert step == "listener" and "closed the connection" in found
    assert [*changes] == ["port", "the server"]


# -- TLS --------------------------------------------------------------------------------------------------------------


async def test_tls_that_is_well(authority: trustme.CA) -> None:
    async with aioifx.server.running(ssl=certified(authority, "127.0.0.1", "db.example")) as dsn:
        report = await diagnose(dsn, ssl=trusting(authority))
    assert report.ok
    step = step_of(report, "tls")
    assert step.outcome == "ok"
    assert {*step.details["names"]} == {"127.0.0.1", "db.example"}
    assert step.details["tls_version"] == "TLSv1.3" and step.details["issuer"]
    assert step.details["not_before"] < step.details["not_after"]


async def test_a_certificate_that_is_not_verified_is_a_warning(authority: trustme.CA) -> None:
    context = tls.create_default_context()
    context.check_hostname, context.verify_mode = False, tls.CERT_NONE
    async with aioifx.server.running(ssl=certified(authority, "db.example")) as dsn:
        report = await diagnose(dsn, ssl=context)
    assert report.ok
    step = step_of(report, "tls")
    assert step.outcome == "warning" and step.changes[0].setting == "ssl"


def day(days: int) -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=days)


def valid(authority: trustme.CA, begin: datetime.datetime, end: datetime.datetime) -> tls.SSLContext:
    context = tls.SSLContext(tls.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1", not_before=begin, not_after=end).configure_cert(context)
    return context


async def test_a_certificate_that_expires_soon_is_a_warning(authority: trustme.CA) -> None:
    async with aioifx.server.running(ssl=valid(authority, day(-10), day(3))) as dsn:
        report = await diagnose(dsn, ssl=trusting(authority))
    assert report.ok
    step = step_of(report, "tls")
    assert step.outcome == "warning" and "expires in 2 days" in step.found


@pytest.mark.parametrize(
    ("begin", "end", "setting"),
    [(-10, -2, "the server's certificate"), (2, 10, "this machine's clock")],
    ids=["expired", "not yet valid"],
)
async def test_a_certificate_out_of_its_time(
    authority: trustme.CA, begin: int, end: int, setting: str
) -> None:
    first, last = day(begin), day(end)
    async with listening(closing, ssl=valid(authority, first, last)) as (port, received):
        report = await diagnose(dsn_for(port), ssl=trusting(authority))
    step, found, changes = failure(report)
    assert step == "tls" and f"{first:%Y-%m-%d} to {last:%Y-%m-%d}" in found
    assert next(iter(changes)) == setting
    assert received == b""


async def test_a_certificate_for_another_host(authority: trustme.CA) -> None:
    async with listening(closing, ssl=certified(authority, "db.example")) as (port, received):
        report = await diagnose(dsn_for(port), ssl=trusting(authority))
    step, found, changes = failure(report)
    assert step == "tls" and "for db.example" in found
    assert changes["host"] == "db.example, the name in the certificate"
    assert received == b""


async def test_a_certificate_of_a_foreign_authority(authority: trustme.CA, tmp_path: Path) -> None:
    file = tmp_path / "ca.pem"
    trustme.CA().cert_pem.write_to_path(file)
    async with listening(closing, ssl=certified(authority, "127.0.0.1")) as (port, received):
        report = await diagnose(dsn_for(port), ssl_ca=str(file))
    step, _, changes = failure(report)
    assert step == "tls"
    assert "authority" in changes["ssl_ca"] and f"instead of {file}" in changes["ssl_ca"]
    assert received == b""


async def test_a_file_of_authorities_that_is_not_there(server: Server, tmp_path: Path) -> None:
    report = await diagnose(server.dsn, ssl_ca=str(tmp_path / "none.pem"))
    step, found, changes = failure(report)
    assert step == "tls" and "cannot be read" in found
    assert [*changes] == ["ssl_ca"]


async def test_tls_on_a_plain_port(server: Server, authority: trustme.CA) -> None:
    report = await diagnose(server.dsn, ssl=trusting(authority))
    step, found, changes = failure(report)
    assert step == "tls" and found.startswith("no TLS: SQLI listens here")
    assert "onsocssl" in changes["port"] and changes["ssl"].startswith("False")


async def test_tls_on_a_plain_port_sends_no_password(authority: trustme.CA) -> None:
    def sqli(request: bytes) -> bytes:
        return accepted() if b"sqlexec" in request else b""

    async with listening(sqli) as (port, received):
        report = await diagnose(dsn_for(port), ssl=trusting(authority))
    assert failure(report)[1].startswith("no TLS: SQLI listens here")
    assert b"aioifx_doctor" in received
    assert SECRET.encode() not in received


@pytest.mark.parametrize("answer", [http, patient_http])
async def test_tls_on_a_port_of_another_protocol(answer: Answer, authority: trustme.CA) -> None:
    async with listening(answer) as (port, _):
        report = await diagnose(dsn_for(port), ssl=trusting(authority), step_timeout=0.5)
    step, found, changes = failure(report)
    assert (step, found) == ("tls", "no TLS: HTTP listens here")
    assert [*changes] == ["port"]


async def test_a_plain_login_on_a_tls_port(authority: trustme.CA) -> None:
    async with aioifx.server.running(ssl=certified(authority, "127.0.0.1")) as dsn:
        report = await diagnose(dsn.replace("&ssl=true", ""))
    step, found, changes = failure(report)
    assert (step, found) == ("listener", "a TLS port, and TLS is off")
    assert changes == {"ssl": "True"}


async def test_http_inside_tls(authority: trustme.CA) -> None:
    async with listening(http, ssl=certified(authority, "127.0.0.1")) as (port, _):
        report = await diagnose(dsn_for(port), ssl=trusting(authority))
    step, found, _ = failure(report)
    assert step == "listener" and found.startswith("HTTP listens here, not SQLI")


@pytest.mark.parametrize(
    ("alert", "settings"),
    [
        (0x28, ["ssl_cert", "ssl"]),  # handshake_failure, also for a missing certificate in TLS 1.2
        (0x46, ["ssl"]),  # protocol_version
        (0x74, ["ssl_cert"]),  # certificate_required
    ],
)
async def test_a_server_that_ends_the_handshake_with_an_alert(alert: int, settings: list[str]) -> None:
    async with listening(lambda _: b"\x15\x03\x03\0\x02\x02" + bytes([alert])) as (port, _):
        report = await diagnose(dsn_for(port), ssl=trusting(trustme.CA()))
    step, found, changes = failure(report)
    assert step == "tls" and "alert" in found.lower()
    assert [*changes] == settings


async def test_a_server_that_ends_the_handshake_without_an_alert(authority: trustme.CA) -> None:
    context = certified(authority, "127.0.0.1")
    context.verify_mode = tls.CERT_REQUIRED  # a client's; asyncio sends no alert
    context.maximum_version = tls.TLSVersion.TLSv1_2
    async with listening(silent, ssl=context) as (port, _):
        step, _, changes = failure(await diagnose(dsn_for(port), ssl=trusting(authority)))
    assert step == "tls"
    assert [*changes] == ["port", "ssl_cert", "ssl"]


async def test_a_server_that_ends_tls_after_the_handshake(
    authority: trustme.CA, monkeypatch: pytest.MonkeyPatch
) -> None:
    error = tls.SSLError(1, "[SSL: TLSV13_ALERT_CERTIFICATE_REQUIRED] alert")
    error.reason = "TLSV13_ALERT_CERTIFICATE_REQUIRED"
    lose = ListeningChannel.connection_lost
    monkeypatch.setattr(ListeningChannel, "connection_lost", lambda self, _: lose(self, error))
    monkeypatch.setattr(ListeningChannel, "eof_received", lambda self: lose(self, error))
    async with listening(closing, ssl=certified(authority, "127.0.0.1")) as (port, _):
        step, found, changes = failure(await diagnose(dsn_for(port), ssl=trusting(authority)))
    assert (step, found) == ("listener", "the server ended TLS: tlsv13 alert certificate required")
    assert [*changes] == ["ssl_cert"]


# -- the login --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "step", "setting", "to"),
    [
        ({"server": "ol_store"}, "server_name", "server", "ol_shop"),
        ({"password": "wrong"}, "login", "password", "the password of app"),
        ({"user": "nobody"}, "login", "user", "a user that may log in"),
        ({"database": "shops"}, "database", "database", "one of shop, sysadmin, syscdcv1, sysmaster"),
        ({"db_locale": "en_US.utf8"}, "locale", "db_locale", "en_US.819"),
        ({"role": "secondary"}, "role", "host", "a secondary server of the cluster"),
    ],
)
async def test_a_wrong_login(
    options: dict[str, str], step: str, setting: str, to: str, server: Server, tidy: None
) -> None:
    failed, _, changes = failure(await diagnose(server.dsn, **options))
    assert failed == step and to in changes[setting]
    await all_gone(server)


async def test_a_missing_password(server: Server) -> None:
    report = await diagnose(server.dsn.replace(f":{QUOTED}", ""))
    assert failure(report)[2] == {"password": "the password of app; none was given"}


async def test_autocommit_is_needed_without_a_log() -> None:
    async with aioifx.server.running(log_mode="unlogged") as dsn:
        step, _, changes = failure(await diagnose(dsn, autocommit=False))
    assert step == "log_mode" and changes["autocommit"] == "True"


@pytest.mark.parametrize(
    ("redirect", "changes"),
    [
        (b"ol_b|db2.example|9089", {"allow_redirect_to": "db2.example", "host": "db2.example:9089"}),
        (b"somewhere", {"host": "the server itself"}),
    ],
)
async def test_a_redirect_that_is_not_allowed(redirect: bytes, changes: dict[str, str]) -> None:
    peer = Peer([(None, accepted(type=13, redirect=redirect))], with_login=True)
    async with scripted(peer) as listener:
        step, _, found = failure(await diagnose(dsn_for(listener.port)))
    assert step == "login"
    assert {setting: to for setting, to in found.items() if to.startswith(changes[setting])} == found
    assert [*found] == [*changes]


async def test_a_server_of_another_protocol_level() -> None:
    peer = Peer([(None, accepted(level=307))], with_login=True)
    async with scripted(peer) as listener:
        step, found, changes = failure(await diagnose(dsn_for(listener.port)))
    assert step == "capabilities" and "307" in found
    assert "12.10" in changes["the server"]


async def test_a_full_server() -> None:
    options = ServerOptions(("shop",), max_sessions=1)
    async with serve(options) as server, aioifx.connect(server.dsn):
        step, _, changes = failure(await diagnose(server.dsn))
    assert step == "login" and "more sessions" in changes["the server"]


async def test_pam_is_answered() -> None:
    async with aioifx.server.running(pam=password_and_code) as dsn:
        report = await diagnose(dsn, pam=lambda style, text: "right" if "assword" in text else "123")
    assert report.ok
    assert step_of(report, "capabilities").details["pam"] is True


@pytest.mark.parametrize(
    ("options", "settings"),
    [
        ({}, ["password", "pam"]),
        ({"password": "right"}, ["password", "user", "pam"]),
        ({"pam": lambda style, text: "wrong"}, ["pam"]),
        ({"pam": lambda style, text: None}, ["pam"]),
        ({"pam": lambda style, text: 5}, ["pam"]),
    ],
)
async def test_pam_that_is_not_answered(options: dict[str, Any], settings: list[str]) -> None:
    async with aioifx.server.running(pam=password_and_code) as dsn:
        step, _, changes = failure(await diagnose(dsn, **options))
    assert (step, [*changes]) == ("login", settings)


async def test_pam_with_codes_that_are_used_up() -> None:
    answers = ["right", "123"]
    async with aioifx.server.running(pam=password_and_code) as dsn:
        report = await diagnose(dsn, pam=lambda style, text: answers.pop(0) if answers else None)
    step, _, changes = failure(report)
    assert (step, [*changes]) == ("database", ["pam"])


# -- several servers --------------------------------------------------------------------------------------------------


async def test_each_of_several_servers_is_examined(server: Server) -> None:
    with closed() as port:
        dsn = dsn_for(port).replace(f"127.0.0.1:{port}", f"127.0.0.1:{port},127.0.0.1:{server.port}")
        report = await diagnose(dsn)
    assert not report.ok and report.connects
    assert [(step.server, step.name) for step in report.failed] == [(f"127.0.0.1:{port}", "tcp")]
    assert report.changes == report.failed[0].changes
    assert isinstance(report.changes[0], DiagnosisChange)
    assert [step.outcome for step in report.steps if step.name == "interrupt"] == ["skipped", "ok"]


# -- other servers ----------------------------------------------------------------------------------------------------

FOUND = {
    Quirk.NO_OPTOFC: "optofc",
    Quirk.SEPARATE_END: "optofc",
    Quirk.NO_INTERRUPTS: "interrupt",
    Quirk.LATE_INTERRUPTS: "interrupt",
    Quirk.STANDARD_BLOCKS: "fetch_size",
    Quirk.ROW_BY_ROW: "fetch_size",
}
"""Quirks that a check finds; the others make no difference."""


@pytest.mark.parametrize(
    "quirk",
    [quirk if quirk in FOUND else pytest.param(quirk, marks=pytest.mark.exhaustive) for quirk in Quirk],
)
async def test_differences_of_other_servers_are_warnings_at_most(quirk: Quirk) -> None:
    async with aioifx.server.running(quirks=[quirk]) as dsn:
        report = await diagnose(dsn, cancel_timeout=0.1)
    assert report.ok and report.connects
    warned = [step for step in report.steps if step.outcome == "warning"]
    assert [step.name for step in warned] == ([FOUND[quirk]] if quirk in FOUND else [])
    assert all(step.changes for step in warned)
    assert {step.name for step in report.steps if step.outcome == "skipped"} == {"dns", "tls"}


# -- cancellation -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("manner", [Manner.WAITING, Manner.TIMEOUT])
async def test_a_cancelled_diagnosis_leaves_nothing(manner: Manner, server: Server, tidy: None) -> None:
    for point in (1, 2, 3, 5, 8, 13, 21):
        injection = Injection(manner, point)
        with pytest.raises((asyncio.CancelledError, TimeoutError)):
            await injection.into(aioifx.diagnosis.diagnose(server.dsn))
        assert injection.reached
    await all_gone(server)
