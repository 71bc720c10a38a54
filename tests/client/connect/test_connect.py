"""From options to an open connection: JDBC's login, and all kinds of wrong servers."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import logging
import os
import re
import socket
import ssl as tls
import struct
import traceback
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import trustme

import aioifx
import aioifx.server
from aioifx import Connection
from aioifx.client.config.options import ConnectOptions
from aioifx.client.config.resolve import parse_dsn
from aioifx.client.connect import login as client_login
from aioifx.client.connect import login_messages
from aioifx.client.connect.connect import _Connector, open_connection
from aioifx.client.connect.login_messages import login_frame_of
from aioifx.client.connect.transport import StaggeredRace
from aioifx.errors import (
    AuthenticationError,
    ConnectError,
    DatabaseError,
    InterfaceError,
    LocaleError,
    NotSupportedError,
    ProtocolError,
)
from aioifx.server import ServerOptions, serve
from aioifx.testing.messages import EOT, LOGGED, UNLOGGED, accepted, agreed, error
from aioifx.testing.script import (
    END_SESSION,
    NO_REPLY,
    Chunking,
    Delayed,
    Disconnect,
    Exchange,
    Listener,
    Peer,
    listening,
    login,
    select_ints,
)
from aioifx.wire.capabilities import SERVER_MASK
from aioifx.wire.handshake import LoginFrame, LoginRequest, login_frame, put_login, read_login
from aioifx.wire.opcodes import LoginType, OpenWarning
from aioifx.wire.outbox import Outbox
from tests.certificates import certified, trusting
from tests.feeding import feed
from tests.injection import Injection, Manner, eventually
from tests.scripted import CHUNKINGS, options_with, played
from tests.wire.frames import frames


def options_for(port: int, **more: Any) -> dict[str, Any]:
    return {
        "host": "127.0.0.1",
        "port": port,
        "user": "usr",
        "password": "pwd",
        "server": "rigsrv",
        "database": "stores",
        "connect_timeout": 10,
        **more,
    }


async def failing(peer: Peer, **options: Any) -> DatabaseError:
    """Connect to *peer*, which must fail; the error."""
    async with listening(peer) as listener:
        with pytest.raises(DatabaseError) as caught:
            await asyncio.wait_for(_connect(listener.port, **options), 15)
        await asyncio.wait_for(peer.gone.wait(), 10)  # nothing is left open
    return caught.value


async def _connect(port: int, **options: Any) -> Connection:
    return await aioifx.connect(**options_for(port, **options))


# -- law: what we send is what JDBC sent ------------------------------------------------------------------------------


def login_request(data: bytes) -> LoginRequest:
    request, _ = feed(read_login, [data])
    return request


def logins() -> list[tuple[str, bytes]]:
    found = [(f"{frame.file} {frame.case}", frame.data) for file in ("login", "session") for frame in frames(file)
             if frame.side == "C" and frame.is_login]  # fmt: skip
    assert len(found) > 50
    return found


@pytest.mark.parametrize(("name", "data"), logins(), ids=[name for name, _ in logins()])
def test_every_login_of_jdbcs_is_written_again_byte_for_byte(name: str, data: bytes) -> None:
    outbox = Outbox()
    request = login_request(data)
    put_login(outbox, login_frame(request), request.password)
    assert outbox.detach() == data


AS_JDBC = {"optofc": False}
"""JDBC requests OPTOFC only if configured."""


def without_optofc(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out OPTOFC=0, which JDBC does not send."""
    own = ConnectOptions.session_environment
    monkeypatch.setattr(
        ConnectOptions,
        "session_environment",
        lambda options: tuple(pair for pair in own(options) if pair != (b"OPTOFC", b"0")),
    )


class _AsJdbc:
    """Makes a login say of itself what JDBC's said: who asks is not part of the law, how it is asked is.

    Locales and the format of dates are sent even where JDBC omits them, deliberately; these are left out here.
    """

    def __init__(self, data: bytes) -> None:
        self._theirs = login_request(data)

    def __call__(self, ours: LoginRequest) -> LoginFrame:
        theirs = self._theirs
        unsaid = {b"CLIENT_LOCALE", b"DB_LOCALE", b"DBDATE"} - dict(theirs.environment).keys()
        return login_frame(
            ours._replace(
                environment=tuple(pair for pair in ours.environment if pair[0] not in unsaid),
                process_id=theirs.process_id,
                thread_id=theirs.thread_id,
                host=theirs.host,
                directory=theirs.directory,
                application=theirs.application,
            )
        )


def as_jdbc(monkeypatch: pytest.MonkeyPatch, script: list[Exchange]) -> None:
    data = script[0][0]
    assert isinstance(data, bytes)
    without_optofc(monkeypatch)
    monkeypatch.setattr(login_messages, "login_frame", _AsJdbc(data))
    monkeypatch.setattr(client_login, "login_frame_of", login_frame_of.__wrapped__)  # without its cache


@pytest.mark.parametrize("chunks", CHUNKINGS, ids=lambda chunks: chunks.__name__)
@pytest.mark.parametrize(
    ("file", "case", "options"),
    [
        ("locales", "both_8859_1_dbdate", {}),
        ("locales", "both_utf8_dbdate", {"db_locale": "en_US.utf8"}),
        ("login", "utf8_both", {"client_locale": "en_US.utf8", "db_locale": "en_US.utf8"}),
        ("login", "utf8_db_only", {"db_locale": "en_US.utf8"}),
        ("login", "connect_nodb", {"database": ""}),
    ],
)
async def test_a_whole_session_from_login_to_exit_is_jdbcs(
    file: str, case: str, options: dict[str, Any], chunks: Chunking, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = played(file, case)
    as_jdbc(monkeypatch, script)
    peer = Peer(script, with_login=True, chunks=chunks)
    async with listening(peer) as listener:
        async with aioifx.connect(**options_for(listener.port, **AS_JDBC, **options)) as conn:
            assert conn.stats.round_trips == len(script) - 1
            assert "15.0" in conn.server_version
        assert conn.stats.round_trips == len(script)
        await peer.gone.wait()
    peer.check()


@pytest.mark.parametrize(
    ("file", "case", "options"),
    [
        ("login", "connect_db", {}),
        ("session", "utf8_client_only", {"client_locale": "en_US.utf8"}),
        *(("session", f"dbopen_warn_{bits}", {}) for bits in (0, 1, 2, 4, 8, 16, 21)),
    ],
)
async def test_a_session_without_db_locale_is_jdbcs_but_for_its_question(
    file: str, case: str, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A deliberate difference: without DB_LOCALE JDBC queries systables for the code set, five round trips;
    a DB_LOCALE is always sent here.
    """
    script = [*played(file, case)[:4], END_SESSION]
    as_jdbc(monkeypatch, script)
    peer = Peer(script, with_login=True)
    async with listening(peer) as listener:
        async with aioifx.connect(**options_for(listener.port, **AS_JDBC, **options)) as conn:
            assert conn.stats.round_trips == 4
            if case.startswith("dbopen"):
                bits = int(case.rpartition("_")[2])
                assert conn._session.database.is_logged == bool(bits & 3)
                assert conn._session.database.is_ansi == bool(bits & 2)
        await peer.gone.wait()
    peer.check()


async def test_optofc_is_sent_as_jdbc_sends_it() -> None:
    info = played("session", "opt_OPTOFC_1")[1][0]
    peer = Peer([*login()[:2], (info, EOT), *login()[3:], END_SESSION], with_login=True)
    async with listening(peer) as listener:
        async with aioifx.connect(**options_for(listener.port)):
            pass
    peer.check()


async def test_what_the_login_sends_about_the_client_is_true() -> None:
    peer = Peer([*login(), END_SESSION], with_login=True)
    async with listening(peer) as listener:
        async with aioifx.connect(**options_for(listener.port, application_name="stock taking")):
            pass
    said = login_request(peer.groups[0])
    assert (said.user, said.password, said.server, said.database) == (b"usr", b"pwd", b"rigsrv", b"")
    assert (said.process_id, said.application) == (os.getpid(), b"stock taking")
    assert said.host == socket.gethostname().encode("ascii", "replace")
    assert b"pwd" not in repr(said).encode()


async def test_environment_variables_go_where_jdbc_puts_them() -> None:
    peer = Peer([*login(), END_SESSION], with_login=True)
    async with listening(peer) as listener:
        environment = {"PDQPRIORITY": "10", "DBSPACETEMP": "tmpdbs"}
        async with aioifx.connect(**options_for(listener.port, environment=environment)):
            pass
    assert (b"DBSPACETEMP", b"tmpdbs") in login_request(peer.groups[0]).environment
    assert b"PDQPRIORITY" in peer.groups[2] and b"DBSPACETEMP" not in peer.groups[2]


# -- ways to connect --------------------------------------------------------------------------------------------------


async def test_a_connection_may_be_awaited_or_entered() -> None:
    async with listening(*(Peer([*login(), END_SESSION], with_login=True) for _ in range(3))) as listener:
        conn = await aioifx.connect(**options_for(listener.port))
        assert not conn.is_closed()
        await conn.close()
        async with await aioifx.connect(**options_for(listener.port)) as conn:
            pass
        assert conn.is_closed()
        async with aioifx.connect(**options_for(listener.port)) as conn:
            assert "stores" in repr(conn) and "pwd" not in repr(conn)
        assert conn.is_closed()


async def test_the_task_that_connects_is_woken_once_for_the_whole_login() -> None:
    async with listening(Peer([*login(), END_SESSION], with_login=True)) as listener:
        counting = Injection(Manner.WAITING, 0)
        conn = await counting.into(open_connection(parse_dsn(listener_dsn(listener.port))))
        assert conn.stats.round_trips == 4
        assert counting.suspensions <= 3  # TCP and the transport, which are one with uvloop, and the login
        await conn.close()


async def test_a_dsn_says_the_same() -> None:
    peer = Peer([*login(), END_SESSION], with_login=True)
    async with listening(peer) as listener:
        conn = await open_connection(parse_dsn(listener_dsn(listener.port)))
        await conn.close()
    assert peer.failure is None


def listener_dsn(port: int) -> str:
    return f"informix://usr:pwd@127.0.0.1:{port}/stores?server=rigsrv"


async def password_later() -> str:
    await asyncio.sleep(0)
    return "later"


@pytest.mark.parametrize(
    ("password", "sent"),
    [("x", b"x"), (None, b""), (lambda: "called", b"called"), (password_later, b"later")],
)
async def test_the_password_may_be_a_function(password: Any, sent: bytes) -> None:
    peer = Peer([*login(), END_SESSION], with_login=True)
    async with listening(peer) as listener:
        async with aioifx.connect(**options_for(listener.port, password=password)):
            pass
    assert login_request(peer.groups[0]).password == sent


async def test_an_invalid_password_is_rejected_before_a_socket_opens() -> None:
    peer = Peer(with_login=True)
    async with listening(peer) as listener:
        with pytest.raises(InterfaceError, match="password"):
            await _connect(listener.port, password=lambda: 7)
        assert peer.received == b""


@pytest.mark.parametrize(
    "password",
    ["s3cr\0t", "s3cr\u20act", "s3cr\udc80t", "s3cr" * 20_000],
    ids=["NUL", "not in the code set", "no character", "too long"],
)
async def test_a_password_that_cannot_be_sent_is_refused_without_a_trace_of_it(password: str) -> None:
    peer = Peer(with_login=True)
    async with listening(peer) as listener:
        with pytest.raises(InterfaceError, match=r"^password: ") as caught:
            await _connect(listener.port, password=lambda: password)
        assert peer.received == b""
    text = "".join(traceback.format_exception(caught.value))
    assert "s3cr" not in text
    assert "offset" not in text


async def test_a_timeout_of_the_passwords_own_is_not_taken_for_ours() -> None:
    async def slow() -> str:
        raise TimeoutError("the vault does not answer")

    with pytest.raises(TimeoutError, match="vault"):
        await _connect(1, password=slow)


@pytest.mark.parametrize(
    "wrong", [{"port": 0}, {"server": ""}, {"host": ""}, {"hots": "x"}, {"connect_timeout": 0}]
)
def test_wrong_options_are_refused_before_anything_is_awaited(wrong: dict[str, Any]) -> None:
    options: dict[str, Any] = {**options_for(9088), **wrong}
    with pytest.raises(InterfaceError, match=next(iter(wrong))):
        _ = aioifx.connect(**options)


@pytest.mark.parametrize("value", ["0", "1", None])
async def test_the_reader_is_chosen_once_when_the_connection_is_made(
    value: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if value is None:
        monkeypatch.delenv("AIOIFX_BUFFERED_READER", raising=False)
    else:
        monkeypatch.setenv("AIOIFX_BUFFERED_READER", value)
    peer = Peer([*login(), *select_ints(1, 5, 6, kept=True, until_empty=True), END_SESSION], with_login=True)
    async with listening(peer) as listener:
        async with aioifx.connect(**options_for(listener.port)) as conn:
            monkeypatch.setenv("AIOIFX_BUFFERED_READER", "1" if value == "0" else "0")
            assert conn._session.read_ahead == (value != "0")
            assert await conn.fetch("select c1 from t") == [(5,), (6,)]


async def test_two_attempts_at_once_do_not_meet() -> None:
    async with listening(*(Peer([*login(), END_SESSION], with_login=True) for _ in range(8))) as listener:
        connections = await asyncio.gather(*(_connect(listener.port) for _ in range(8)))
        await asyncio.gather(*(conn.close() for conn in connections))


# -- the server says no -----------------------------------------------------------------------------------------------


async def test_jdbcs_reject_is_an_authentication_error() -> None:
    answer = played("login", "reject_951")[0][1]
    assert isinstance(answer, bytes)
    refused = await failing(Peer([(None, answer)], with_login=True))
    assert isinstance(refused, AuthenticationError)
    assert (refused.sqlcode, refused.sqlstate) == (-951, "28000")
    assert "usr" in str(refused) and "pwd" not in str(refused) and "127.0.0.1" in str(refused)


@pytest.mark.parametrize("sqlcode", [-951, -952, -25590])
async def test_a_wrong_password_is_an_authentication_error(sqlcode: int) -> None:
    refused = await failing(Peer([(None, accepted(type=LoginType.REJECT, sqlcode=sqlcode))], with_login=True))
    assert type(refused) is AuthenticationError
    assert refused.sqlcode == sqlcode and not refused.connection_usable and not refused.retryable


async def test_a_wrong_password_may_show_at_the_second_message() -> None:
    script: list[Exchange] = [(None, accepted()), ("Protocols", error(-951, token="usr") + EOT)]
    assert type(await failing(Peer(script, with_login=True))) is AuthenticationError


async def test_a_wrong_server_name_is_answered_with_the_right_one() -> None:
    answer = accepted(type=LoginType.REJECT, sqlcode=-761, server=b"ol_right")
    refused = await failing(Peer([(None, answer)], with_login=True))
    assert type(refused) is ConnectError and refused.sqlcode == -761
    assert "rigsrv" in str(refused) and "'ol_right'" in str(refused) and "server" in str(refused)


@pytest.mark.parametrize("sqlcode", [-23197, -23101, -23115])
async def test_a_locale_that_does_not_match_is_a_locale_error(sqlcode: int) -> None:
    answer = accepted(type=LoginType.REJECT, sqlcode=sqlcode)
    assert type(await failing(Peer([(None, answer)], with_login=True))) is LocaleError
    at_open = Peer([*login()[:-1], ("DbOpen", error(sqlcode) + EOT)], with_login=True)
    refused = await failing(at_open)
    assert type(refused) is LocaleError and "db_locale" in str(refused)


async def test_a_reject_without_a_reason_is_one_all_the_same() -> None:
    refused = await failing(Peer([(None, accepted(type=LoginType.REJECT))], with_login=True))
    assert type(refused) is AuthenticationError and "without a reason; usually user or password" in str(
        refused
    )
    assert refused.sqlstate == "28000"


async def test_an_accept_with_a_code_is_a_reject() -> None:
    refused = await failing(Peer([(None, accepted(sqlcode=-952))], with_login=True))
    assert type(refused) is AuthenticationError


async def test_an_unknown_database_is_named() -> None:
    script: list[Exchange] = [*login()[:-1], ("DbOpen", error(-329, -111) + EOT)]
    refused = await failing(Peer(script, with_login=True))
    assert type(refused) is ConnectError
    assert (refused.sqlcode, refused.isamcode, refused.sqlstate) == (-329, -111, "3D000")
    assert "stores" in str(refused)


async def test_jdbcs_transcript_of_an_unknown_database_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    script = played("session", "dbopen_329")[:4]
    as_jdbc(monkeypatch, script)
    refused = await failing(Peer(script, with_login=True), **AS_JDBC)
    assert refused.sqlcode == -329


async def test_control_characters_in_a_version_are_escaped() -> None:
    peer = Peer([(None, accepted(version=b"15\x1b[2J\n")), *login()[1:], END_SESSION], with_login=True)
    async with listening(peer) as listener, await _connect(listener.port) as conn:
        assert conn.server_version == r"15\x1b[2J\n"


@pytest.mark.parametrize(("level", "words"), [(307, "an older SQLI: 307"), (317, "another SQLI: 317")])
async def test_a_server_of_another_protocol_level_is_refused(level: int, words: str) -> None:
    refused = await failing(Peer([(None, accepted(level=level))], with_login=True))
    assert type(refused) is NotSupportedError and f"speaks {words}; aioifx speaks 316" in str(refused)


@pytest.mark.parametrize("bit", [13, 50, 63])
async def test_bits_that_switch_nothing_change_nothing(bit: int) -> None:
    mask = bytearray(SERVER_MASK)
    mask[bit // 8] &= ~(0x80 >> bit % 8)
    seed = "create table t (a varchar(20), b integer); insert into t values ('ab', 7)"
    async with serve(ServerOptions(seed=seed, mask=bytes(mask))) as server:
        async with aioifx.connect(server.dsn, fetch_size=100_000) as conn:
            assert await conn.fetch("select a, b from t where a = ?", "ab") == [("ab", 7)]


async def test_a_server_whose_descriptions_name_no_types_is_refused() -> None:
    refused = await failing(
        Peer([(None, accepted()), ("Protocols", agreed("9dbe9ffe7fb7ffeff8"))], with_login=True)
    )
    assert type(refused) is NotSupportedError and "too old" in str(refused)


async def test_an_answer_to_protocols_without_a_mask_is_a_protocol_error() -> None:
    refused = await failing(Peer([(None, accepted()), ("Protocols", EOT)], with_login=True))
    assert isinstance(refused, ProtocolError)


async def test_an_error_to_the_environment_is_a_connect_error() -> None:
    refused = await failing(Peer([*login()[:2], ("Info", error(-19837) + EOT)], with_login=True))
    assert isinstance(refused, ConnectError) and refused.sqlcode == -19837


@pytest.mark.parametrize(
    "mask", ["bdbe9ffe7fb7ffeff0", "bdbe9ffe7fb7ffeff8", "bdbe9ffe7fb7ffefff", "bdbe9ffe7fb7d0"]
)
async def test_layouts_follow_the_mask(mask: str) -> None:
    """12.10, 14.10, 15, and a mask of seven bytes as 11.50's clients had them."""
    peer = Peer(
        [(None, accepted()), ("Protocols", agreed(mask)), ("Info", EOT), END_SESSION], with_login=True
    )
    async with listening(peer) as listener:
        async with aioifx.connect(**options_for(listener.port, database="")) as conn:
            capabilities = conn._session.conversation.capabilities
            assert capabilities.long_rowid == capabilities.long_tuple == mask.endswith("ff")
            assert capabilities.long_text == (len(mask) == 18)


# -- no SQLI at all ---------------------------------------------------------------------------------------------------

STRANGERS = {
    "HTTP": b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n",
    "DRDA": bytes.fromhex("0015d0020001000f1213") + b"\0\x06\x11\x49\0\x08\0\x05\x11\x4a\x03",
    "MySQL": b"\x4a\0\0\0\x0a8.0.36\0",
    "TLS alert": bytes.fromhex("15030100020228"),
    "SSH": b"SSH-2.0-OpenSSH_9.6\r\n",
    "a request instead of an answer": bytes.fromhex("0176013c00000064"),
}


@pytest.mark.parametrize("closes", [True, False])
@pytest.mark.parametrize("stranger", STRANGERS)
async def test_a_port_of_another_service_is_recognised(stranger: str, closes: bool) -> None:
    answer = STRANGERS[stranger]
    refused = await failing(Peer([(None, Disconnect(answer) if closes else answer)], with_login=True))
    assert type(refused) is ConnectError
    assert "not an SQLI port" in str(refused) and "127.0.0.1" in str(refused)
    assert ("option: ssl" in str(refused)) == (stranger == "TLS alert")


async def test_a_peer_that_sends_first_is_recognised_too() -> None:
    peer = Peer([(None, NO_REPLY)], with_login=True, greeting=b"220 mail.example.com ESMTP\r\n")
    assert "not an SQLI port" in str(await failing(peer))


async def test_a_missing_reply_ends_with_the_timeout() -> None:
    refused = await failing(Peer([(None, NO_REPLY)], with_login=True), connect_timeout=0.2)
    assert type(refused) is ConnectError
    assert "no answer within 0.2 s while waiting for the login reply" in str(refused)
    assert "TLS" in str(refused)


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("step", "phase"),
    [(1, "negotiating the protocol"), (2, "setting the environment"), (3, "opening database stores")],
)
async def test_silence_later_on_names_the_step(step: int, phase: str) -> None:
    script = [*login()[:step], (login()[step][0], NO_REPLY)]
    refused = await failing(Peer(script, with_login=True), connect_timeout=1)
    assert type(refused) is ConnectError and phase in str(refused) and "TLS" not in str(refused)


async def test_a_server_that_closes_at_once_is_a_connect_error() -> None:
    refused = await failing(Peer([(None, Disconnect())], with_login=True))
    assert type(refused) is ConnectError
    assert "without an answer" in str(refused)


@pytest.mark.parametrize("reset", [True, False])
@pytest.mark.parametrize("step", [0, 1, 2, 3])
async def test_a_server_that_closes_in_the_middle_is_a_connect_error(step: int, reset: bool) -> None:
    answer = login()[step][1]
    assert isinstance(answer, bytes)
    script: list[Exchange] = [
        *login()[:step],
        (login()[step][0], Disconnect(answer[: len(answer) // 2], reset=reset)),
    ]
    refused = await failing(Peer(script, with_login=True))
    assert isinstance(refused, ConnectError), refused


@pytest.mark.parametrize("step", [1, 2, 3])
async def test_garbage_later_on_is_a_protocol_error(step: int) -> None:
    script: list[Exchange] = [*login()[:step], (login()[step][0], b"\x7f\x7f\x7f\x7f")]
    assert isinstance(await failing(Peer(script, with_login=True)), ProtocolError)


async def test_an_endless_login_reply_ends_with_the_timeout() -> None:
    refused = await failing(
        Peer([(None, b"\xff\xff\x02\x3c" + bytes(100))], with_login=True), connect_timeout=0.2
    )
    assert isinstance(refused, ConnectError)


@pytest.mark.parametrize("cut", [25, 40, 100, 200])
async def test_a_login_reply_with_a_wrong_size_is_a_protocol_error(cut: int) -> None:
    answer = accepted()
    refused = await failing(Peer([(None, cut.to_bytes(2, "big") + answer[2:])], with_login=True))
    assert isinstance(refused, (ConnectError, ProtocolError))


async def test_a_refused_port_says_so() -> None:
    async with listening() as listener:
        port = listener.port
    with pytest.raises(ConnectError, match=f"127.0.0.1:{port}.*refused") as caught:
        await _connect(port)
    assert caught.value.sqlstate == "08001"


@pytest.mark.parametrize("host", ["no-such-host.invalid", "x" * 64 + ".example", "bad..name"])
async def test_an_unknown_host_says_so(host: str) -> None:
    with pytest.raises(ConnectError, match=host[:20]) as caught:
        await aioifx.connect(**options_for(9088, host=host))
    assert str(caught.value).rstrip()[-1] != ":"  # there is a reason


async def test_a_cancelled_attempt_leaves_nothing_open() -> None:
    held = Delayed(accepted())
    peer = Peer([(None, held)], with_login=True)
    async with listening(peer) as listener:
        task = asyncio.ensure_future(_connect(listener.port))
        await held.reached.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.wait_for(peer.gone.wait(), 10)


# -- TLS --------------------------------------------------------------------------------------------------------------


@contextlib.asynccontextmanager
async def tls_peer(authority: trustme.CA, *names: str) -> AsyncIterator[tuple[Listener, Peer]]:
    peer = Peer([*login(), *select_ints(1, 5, kept=True, until_empty=True), END_SESSION], with_login=True)
    async with listening(peer, ssl=certified(authority, *names)) as listener:
        yield listener, peer


async def test_inside_of_tls_it_is_the_same_conversation(authority: trustme.CA) -> None:
    async with tls_peer(authority, "127.0.0.1") as (listener, peer):
        async with aioifx.connect(**options_for(listener.port, ssl=trusting(authority))) as conn:
            assert await conn.fetch("select c1 from t") == [(5,)]
        assert conn.is_closed()
        peer.check()


@pytest.mark.parametrize(
    "names", [("127.0.0.1",), ("somewhere.else.example",)], ids=["unknown CA", "both wrong"]
)
async def test_a_certificate_of_an_unknown_authority_is_refused(
    authority: trustme.CA, names: tuple[str, ...]
) -> None:
    async with tls_peer(authority, *names) as (listener, peer):
        with pytest.raises(ConnectError, match="certificate was rejected") as caught:
            await _connect(listener.port, ssl=True)
        assert not caught.value.retryable
        assert peer.received == b""  # no password has left


async def test_a_certificate_of_another_host_is_refused(authority: trustme.CA) -> None:
    async with tls_peer(authority, "db.example.com") as (listener, peer):
        with pytest.raises(ConnectError, match=r"certificate was rejected.*127\.0\.0\.1"):
            await _connect(listener.port, ssl=trusting(authority))
        assert peer.received == b""


async def test_the_error_of_a_plain_client_at_a_tls_port_suggests_tls(authority: trustme.CA) -> None:
    async with tls_peer(authority, "127.0.0.1") as (listener, peer):
        with pytest.raises(ConnectError, match="TLS port") as caught:
            await _connect(listener.port, connect_timeout=2)
        assert "ssl" in str(caught.value)
        assert peer.received == b""


@pytest.mark.parametrize(
    "answer", [NO_REPLY, b"HTTP/1.1 400 Bad Request\r\n\r\n", Disconnect()], ids=["silence", "text", "closes"]
)
async def test_the_error_of_a_tls_client_at_a_plain_port_suggests_a_plain_connection(
    authority: trustme.CA, answer: Any
) -> None:
    peer = Peer([(None, answer)], framed=False)
    async with listening(peer) as listener:
        with pytest.raises(ConnectError, match=r"127\.0\.0\.1") as caught:
            await _connect(listener.port, ssl=trusting(authority), connect_timeout=0.5)
        assert "port without TLS" in str(caught.value)


# -- odds and ends ----------------------------------------------------------------------------------------------------


async def test_an_unlogged_database_is_known_to_be_one() -> None:
    peer = Peer([*login(warnings=UNLOGGED), END_SESSION], with_login=True)
    async with listening(peer) as listener:
        async with aioifx.connect(**options_for(listener.port)) as conn:
            with pytest.raises(NotSupportedError):
                await conn.transaction().start()


async def test_one_address_needs_no_task() -> None:
    loop, made = asyncio.get_running_loop(), list[str]()

    def note(loop: asyncio.AbstractEventLoop, coro: Any, **more: Any) -> asyncio.Task[Any]:
        made.append(coro.__qualname__)
        return asyncio.Task(coro, loop=loop, **more)

    peer = Peer([*login(), END_SESSION], with_login=True)
    async with listening(peer) as listener:
        loop.set_task_factory(note)
        try:
            async with aioifx.connect(**options_for(listener.port)):
                pass
        finally:
            loop.set_task_factory(None)
    assert [name for name in made if "accept" not in name] == []  # what the listener does is its own


async def test_the_socket_does_not_wait_to_fill_its_packets() -> None:
    peer = Peer([*login(), END_SESSION], with_login=True)
    async with listening(peer) as listener:
        async with aioifx.connect(**options_for(listener.port)) as conn:
            sock = conn._session.channel.transport.get_extra_info("socket")
            assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
            assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)


def keepalive_of(sock: Any) -> list[int]:
    names = ("TCP_KEEPIDLE", "TCP_KEEPINTVL", "TCP_KEEPCNT", "TCP_USER_TIMEOUT")
    tcp = [sock.getsockopt(socket.IPPROTO_TCP, getattr(socket, name)) for name in names]
    return [sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE), *tcp]


@pytest.mark.skipif(not hasattr(socket, "TCP_USER_TIMEOUT"), reason="the platform lacks the options")
@pytest.mark.parametrize(
    ("keepalive", "found"),
    [(True, [1, 60, 10, 6, 120_000]), ((5, 2, 3), [1, 5, 2, 3, 11_000]), (False, None)],
)
async def test_the_socket_options_of_keepalive_are_set(keepalive: Any, found: list[int] | None) -> None:
    peer = Peer([*login(), END_SESSION], with_login=True)
    async with listening(peer) as listener:
        async with aioifx.connect(**options_for(listener.port, keepalive=keepalive)) as conn:
            sock = conn._session.channel.transport.get_extra_info("socket")
            with socket.socket() as untouched:
                assert keepalive_of(sock) == (found or keepalive_of(untouched))


# -- several servers --------------------------------------------------------------------------------------------------

SECONDARY = LOGGED | OpenWarning.SECONDARY


def answering(**how: Any) -> Peer:
    return Peer([*login(**how), END_SESSION], with_login=True)


def silent() -> Peer:
    return Peer([(None, NO_REPLY)], with_login=True)


def rejecting(sqlcode: int) -> Peer:
    return Peer([(None, accepted(type=LoginType.REJECT, sqlcode=sqlcode))], with_login=True)


async def test_the_time_is_shared_by_the_servers_that_have_not_failed() -> None:
    connector = _Connector(options_with(connect_timeout=30), None)
    failed, *others = [SimpleNamespace(failure=failure) for failure in (ConnectError("x"), None, None)]
    connector._attempts = cast(Any, [failed, *others])
    share = connector._share()
    assert share is not None and 10 < share <= 15
    connector._attempts = cast(Any, [failed, others[0]])
    assert connector._share() is None


@contextlib.asynccontextmanager
async def ports(*peers: Peer | None) -> AsyncIterator[list[int]]:
    """A port for each peer; None for a port without a listener."""
    async with contextlib.AsyncExitStack() as stack:
        found: list[int] = []
        for peer in peers:
            if peer is None:
                # Bound, so that no other socket gets the port meanwhile, and not listening.
                bound = stack.enter_context(socket.socket())
                bound.bind(("127.0.0.1", 0))
                found.append(bound.getsockname()[1])
            else:
                found.append((await stack.enter_async_context(listening(peer))).port)
        yield found


def to_all(found: list[int], **more: Any) -> dict[str, Any]:
    hosts = ",".join(f"127.0.0.1:{port}" for port in found)
    return options_for(1, host=hosts, **more)


async def test_each_step_of_connecting_is_logged_at_debug(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "aioifx.connect")
    async with ports(rejecting(-761), answering(), None) as (wrong, right, down):
        async with aioifx.connect(**to_all([down, wrong, right], password="s3cret")):
            pass
    log = [record.message for record in caplog.records]
    expected = [
        f"connecting to 127.0.0.1:{down}, 127.0.0.1:{wrong}, 127.0.0.1:{right} as ",
        f"could not connect to 127.0.0.1:{down}: Connection refused",
        f"127.0.0.1:{wrong}: connected to 127.0.0.1",
        f"login failed: 127.0.0.1:{wrong}: ",
        f"127.0.0.1:{right}: connected to 127.0.0.1",
        f"127.0.0.1:{right}: capabilities: type_names, ",
        "<Connection open stores at ",
    ]
    assert len(log) == len(expected)
    assert all(message.startswith(start) for message, start in zip(log, expected, strict=True)), log
    assert re.search(r" opened in \d\.\d{3} s, server ", log[-1])
    assert "s3cret" not in caplog.text


async def test_a_connect_that_fails_is_logged_at_debug(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "aioifx.connect")
    async with ports(rejecting(-951)) as found:
        with pytest.raises(AuthenticationError):
            await aioifx.connect(**to_all(found, password="s3cret"))
    last = caplog.records[-1].message
    assert re.match(
        rf"not connected to 127\.0\.0\.1:{found[0]} after \d\.\d{{3}} s: AuthenticationError: ", last
    )
    assert "s3cret" not in caplog.text


async def test_the_first_server_that_accepts_is_used_and_the_others_are_not_contacted() -> None:
    first, second = answering(), answering()
    async with ports(first, second) as found:
        async with aioifx.connect(**to_all(found)) as conn:
            assert f"127.0.0.1:{found[0]}" in repr(conn)
    first.check()
    assert second.received == b""


@pytest.mark.exhaustive
async def test_after_servers_that_do_not_answer_the_next_is_tried() -> None:
    quiet, last = silent(), answering()
    async with ports(None, quiet, last) as found:
        async with aioifx.connect(**to_all(found, server="a,b,c", connect_timeout=4)) as conn:
            assert f"127.0.0.1:{found[2]}" in repr(conn)
        await asyncio.wait_for(quiet.gone.wait(), 10)
    assert login_request(quiet.groups[0]).server == b"b"
    assert login_request(last.groups[0]).server == b"c"


async def test_a_server_with_which_tls_is_never_agreed_does_not_keep_the_next_waiting(
    authority: trustme.CA,
) -> None:
    quiet, second = Peer([(None, NO_REPLY)], framed=False), answering()
    async with listening(quiet) as first, listening(second, ssl=certified(authority, "127.0.0.1")) as other:
        options = to_all([first.port, other.port], ssl=trusting(authority), connect_timeout=200, stagger=0.05)
        async with aioifx.connect(**options) as conn:
            assert f"127.0.0.1:{other.port}" in repr(conn)
        await asyncio.wait_for(quiet.gone.wait(), 10)


class Resetting(asyncio.Protocol):
    """Accepts and resets at once, as a load balancer does that has no server left."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        linger = struct.pack("ii", 1, 0)
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        transport.abort()  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]


@contextlib.asynccontextmanager
async def resetting() -> AsyncIterator[int]:
    server = await asyncio.get_running_loop().create_server(Resetting, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        await server.wait_closed()


@pytest.mark.parametrize("encrypted", [False, True], ids=["plain", "TLS"])
async def test_a_host_that_accepts_and_resets_is_a_connect_error(encrypted: bool) -> None:
    context = tls.create_default_context() if encrypted else False
    async with resetting() as port:
        for _ in range(10):
            with pytest.raises(ConnectError, match=f"127.0.0.1:{port}"):
                await _connect(port, ssl=context)
        with pytest.raises(ConnectError, match=f"127.0.0.1:{port}"):
            async with aioifx.create_pool(**options_for(port, ssl=context)):
                pass


async def test_after_a_host_that_accepts_and_resets_the_next_is_tried() -> None:
    peers = [answering() for _ in range(20)]
    async with resetting() as port, listening(*peers) as listener:
        for _ in peers:
            async with aioifx.connect(**to_all([port, listener.port])) as conn:
                assert f"127.0.0.1:{listener.port}" in repr(conn)


async def test_a_server_that_comes_back_is_found_by_a_retry() -> None:
    async with ports(rejecting(-761)) as found:
        with pytest.raises(ConnectError):  # it is there, and does not want us: no reason to try again
            await aioifx.connect(**to_all(found, connect_retries=2, connect_timeout=60))
    first, second = Peer([(None, Disconnect())], with_login=True), answering()
    async with listening(first, second) as listener:
        async with aioifx.connect(**options_for(listener.port, connect_retries=4, connect_timeout=2)):
            pass
    second.check()


async def test_an_attempt_at_a_server_that_does_not_answer_ends_early_for_a_retry() -> None:
    quiet = silent()
    async with listening(quiet, *(answering() for _ in range(8))) as listener:
        async with aioifx.connect(**options_for(listener.port, connect_retries=9, connect_timeout=3)):
            pass
    assert quiet.gone.is_set()


async def test_retries_end_with_the_time() -> None:
    async with ports(None) as found:
        with pytest.raises(ConnectError, match="Connection refused"):
            await aioifx.connect(**to_all(found, connect_retries=3, connect_timeout=0.2))


@pytest.mark.parametrize("sqlcode", [-761, -27002, -908])
async def test_after_a_server_that_accepts_no_logins_the_next_is_tried(sqlcode: int) -> None:
    async with ports(rejecting(sqlcode), answering()) as found:
        async with aioifx.connect(**to_all(found)) as conn:
            assert f"127.0.0.1:{found[1]}" in repr(conn)


@pytest.mark.parametrize("sqlcode", [-951, -952, 0])
async def test_a_rejected_password_ends_the_search(sqlcode: int) -> None:
    second = answering()
    async with ports(rejecting(sqlcode), second) as found:
        with pytest.raises(AuthenticationError, match=f"127.0.0.1:{found[0]}") as caught:
            await aioifx.connect(**to_all(found))
    assert caught.value.sqlcode == sqlcode
    assert second.received == b""


async def test_the_error_has_a_note_for_each_server() -> None:
    async with ports(None, rejecting(-761), silent(), Peer([(None, Disconnect())], with_login=True)) as found:
        with pytest.raises(ConnectError, match="all 4 servers failed") as caught:
            await aioifx.connect(**to_all(found, connect_timeout=1.5))
    *notes, advice = caught.value.__notes__
    assert advice == "`aioifx doctor ADDRESS` finds out why, step by step"
    assert len(notes) == 4
    expected = ("Connection refused", "is not named rigsrv", "no answer within", "without an answer")
    for note, port, what in zip(notes, found, expected, strict=True):
        assert f"127.0.0.1:{port}" in note and what in note
    assert "without an answer" in str(caught.value)
    assert (caught.value.sqlcode, caught.value.sqlstate, caught.value.retryable) == (0, "08001", True)
    text = "".join(traceback.format_exception(caught.value))
    assert "pwd" not in text.replace("test_connect.py", "")


async def test_what_all_servers_agree_on_is_the_error() -> None:
    wrong: list[Exchange] = [*login()[:-1], ("DbOpen", error(-329, -111) + EOT)]
    async with ports(*(Peer(wrong, with_login=True) for _ in range(2))) as found:
        with pytest.raises(ConnectError) as caught:
            await aioifx.connect(**to_all(found))
    assert (caught.value.sqlcode, caught.value.isamcode, caught.value.sqlstate) == (-329, -111, "3D000")
    assert not caught.value.retryable
    async with ports(rejecting(-23197), rejecting(-23197)) as found:
        with pytest.raises(LocaleError):
            await aioifx.connect(**to_all(found))


async def test_a_timeout_has_a_note_with_the_progress_at_each_server(authority: trustme.CA) -> None:
    quiet = [Peer([(None, NO_REPLY)], framed=False) for _ in range(2)]
    async with ports(*quiet) as found:
        options = to_all(found, ssl=trusting(authority), connect_timeout=0.4)
        with pytest.raises(ConnectError, match="all 2 servers failed") as caught:
            await aioifx.connect(**options)
        for peer in quiet:
            await asyncio.wait_for(peer.gone.wait(), 10)
    assert all("while connecting and negotiating TLS" in note for note in caught.value.__notes__[:-1])
    assert caught.value.retryable


async def test_a_password_that_does_not_come_in_time_is_named() -> None:
    async def never() -> str:
        await asyncio.Event().wait()
        raise AssertionError

    with pytest.raises(ConnectError, match=r"^password: the callable did not return within 0\.1 s"):
        await _connect(1, password=never, connect_timeout=0.1)


async def test_the_password_function_is_called_once_however_many_servers_are_tried() -> None:
    answers = iter(["pwd"])
    async with ports(rejecting(-761), answering()) as found:
        async with aioifx.connect(**to_all(found, password=lambda: next(answers))):
            pass
    assert next(answers, None) is None


async def test_a_cancelled_search_leaves_nothing_open() -> None:
    held = Delayed(accepted())
    first, second = Peer([(None, held)], with_login=True), answering()
    async with ports(first, second) as found:
        task = asyncio.ensure_future(aioifx.connect(**to_all(found)).__aenter__())
        await held.reached.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.wait_for(first.gone.wait(), 10)
    assert second.received == b""


# -- roles ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("role", "taken"), [("any", 0), ("primary", 1), ("secondary", 0)], ids=["any", "primary", "secondary"]
)
async def test_a_server_of_another_role_is_passed_over(role: str, taken: int) -> None:
    async with ports(answering(warnings=SECONDARY), answering()) as found:
        async with aioifx.connect(**to_all(found, role=role)) as conn:
            assert f"127.0.0.1:{found[taken]}" in repr(conn)


async def test_when_no_server_has_the_role_there_is_a_note_for_each() -> None:
    async with ports(answering(warnings=SECONDARY), answering(warnings=SECONDARY)) as found:
        with pytest.raises(
            ConnectError, match="role: expected a primary server, got a secondary one"
        ) as caught:
            await aioifx.connect(**to_all(found, role="primary"))
    assert caught.value.sqlstate == "08004" and len(caught.value.__notes__) == 3


# -- sqlhosts ---------------------------------------------------------------------------------------------------------


async def test_a_group_of_the_sqlhosts_file_is_tried_in_order(tmp_path: Path) -> None:
    file = tmp_path / "sqlhosts"
    last = answering()
    async with ports(None, last) as found:
        file.write_text(
            "g_shop group - - e=ol_b\n"
            f"ol_a onsoctcp 127.0.0.1 {found[0]} g=g_shop\nol_b onsoctcp *127.0.0.1 {found[1]} g=g_shop,k=0\n"
        )
        dsn = f"informix://usr:pwd@/stores?server=g_shop&sqlhosts={file}"
        async with aioifx.connect(dsn) as conn:
            sock = conn._session.channel.transport.get_extra_info("socket")
            assert not sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
    assert login_request(last.groups[0]).server == b"ol_b"


async def test_a_tls_line_of_the_sqlhosts_file_means_tls(tmp_path: Path, authority: trustme.CA) -> None:
    file = tmp_path / "sqlhosts"
    async with tls_peer(authority, "127.0.0.1") as (listener, peer):
        file.write_text(f"ol_tls onsocssl 127.0.0.1 {listener.port}\n")
        with pytest.raises(ConnectError, match="certificate was rejected"):
            await aioifx.connect(**options_for(1, host=None, sqlhosts=str(file), server="ol_tls"))
        assert peer.received == b""


async def test_the_file_is_read_when_a_connection_is_made(tmp_path: Path) -> None:
    file = tmp_path / "sqlhosts"
    connecting = aioifx.connect(**options_for(1, host=None, sqlhosts=str(file), server="ol_a,ol_b"))
    with pytest.raises(InterfaceError, match=r"^sqlhosts: .* cannot be read"):
        await connecting
    async with ports(None, answering()) as found:
        file.write_text(f"ol_a onsoctcp 127.0.0.1 {found[0]}\nol_b onsoctcp 127.0.0.1 {found[1]}\n")
        async with connecting:
            pass


# -- embedded servers -------------------------------------------------------------------------------------------------


async def test_of_several_embedded_servers_the_first_that_runs_is_used() -> None:
    async with (
        aioifx.server.running(seed="CREATE TABLE who (n INTEGER); INSERT INTO who VALUES (1);") as one,
        aioifx.server.running(seed="CREATE TABLE who (n INTEGER); INSERT INTO who VALUES (2);") as two,
        ports(None) as (down,),
    ):
        first, second = parse_dsn(one), parse_dsn(two)
        hosts = f"127.0.0.1:{down},{first.destination},{second.destination}"
        options = dataclasses.replace(first, host=hosts)
        conn = await open_connection(options)
        assert await conn.fetchval("SELECT n FROM who") == 1
        await conn.close()
        conn = await open_connection(
            dataclasses.replace(options, host=f"{second.destination},{first.destination}")
        )
        assert await conn.fetchval("SELECT n FROM who") == 2
        await conn.close()


async def test_a_wrong_password_is_not_tried_at_the_next_embedded_server() -> None:
    async with (
        aioifx.server.running(user="app", password="right") as strict,
        aioifx.server.running() as lenient,
    ):
        options = parse_dsn(strict)
        hosts = f"{options.destination},{parse_dsn(lenient).destination}"
        with pytest.raises(AuthenticationError) as caught:
            await open_connection(dataclasses.replace(options, host=hosts, password="wr0ng"))
        assert caught.value.sqlcode == -951 and "wr0ng" not in str(caught.value)


async def test_a_connection_whose_caller_is_cancelled_at_the_last_moment_is_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """While the attempts at the other hosts are given up."""
    close = StaggeredRace.close

    async def cancelled(race: StaggeredRace[Any]) -> None:
        await close(race)
        raise asyncio.CancelledError

    monkeypatch.setattr(StaggeredRace, "close", cancelled)
    async with serve() as server:
        host = f"127.0.0.1:{server.port},127.0.0.1:{server.port}"
        with pytest.raises(asyncio.CancelledError):
            await aioifx.connect(host=host, server="ol", user="usr", database="demo")
        assert server.stats.logins == 1  # a connection left open would warn
        await eventually(lambda: not server.stats.sessions)


# -- not asyncio ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("what", ["connect", "async with", "pool", "server"])
def test_without_asyncio_the_error_says_what_is_needed(what: str) -> None:
    """As under trio, which steps the coroutine without an event loop of asyncio."""
    dsn = "informix://u:p@127.0.0.1:1/d?server=s"
    steps: dict[str, Callable[[], Any]] = {
        "connect": lambda: aioifx.connect(dsn).__await__(),
        "async with": lambda: aioifx.connect(dsn).__aenter__(),
        "pool": lambda: aioifx.create_pool(dsn).__await__(),
        "server": lambda: aioifx.server.Server(ServerOptions()).start(),
    }
    message = r"^aioifx needs asyncio \(anyio with the asyncio backend works\)$"
    with pytest.raises(InterfaceError, match=message):
        steps[what]().send(None)
