"""What a trace shows of each message, and that nothing of a value is left without trace_values."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Iterator
from pathlib import Path
from struct import pack
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import aioifx
from aioifx import TraceEvent
from aioifx.codecs.text import code_set_of
from aioifx.server import ServerOptions, serve
from aioifx.server.protocol.pam import PamAsk
from aioifx.sqltypes import Column, SqlType, TypeCode
from aioifx.tracing import fields as module
from aioifx.tracing.decoder import UNDECODED, Decoder, EncodedRows, Message, Undecoded
from aioifx.tracing.events import event_line
from aioifx.tracing.fields import View, fields_of, hide_literals
from aioifx.wire import challenges, completion, files, objects, replies, requests, session_requests
from aioifx.wire.capabilities import Capabilities
from aioifx.wire.fields import BindEntry, put_entry
from aioifx.wire.handshake import LoginRequest, login_frame, put_login
from aioifx.wire.opcodes import Op, PamStyle
from aioifx.wire.outbox import Outbox

DIALECT = Capabilities()
HIDING = View(code_set_of("en_US.8859-1", "replace"), values=False)
SHOWING = View(code_set_of("en_US.8859-1", "replace"), values=True)


def shown(content: object, name: str = "", *, view: View = HIDING) -> dict[str, Any]:
    return fields_of(Message(True, name, 1, 2, [content]), view)


def test_each_request_is_listed_unless_it_has_no_fields() -> None:
    kinds = [kind for kind in get_args(requests.Request) if kind._fields]
    listed = {*module._PLAIN, *module._BY_TYPE, requests.Put, objects.Blob}
    hidden = {session_requests.Rollback}  # its flag is always 0
    assert {*kinds} <= listed | hidden


def test_each_reply_is_listed() -> None:
    kinds = {Op(tag).name for tag in replies.MESSAGE_READERS}
    by_name = {name.removeprefix("SQ_") for name in module._BY_NAME}
    by_type = {"DESCRIBE", "DONE", "COST", "INSERTDONE", "XACTSTAT", "GETROUTINE"}
    assert kinds == by_name | by_type


def test_fields_that_are_shown_exist() -> None:
    for kind, names in module._PLAIN.items():
        assert {*names} <= {*kind._fields}  # type: ignore[attr-defined]


def test_a_content_that_is_not_known_shows_nothing() -> None:
    assert shown(object()) == {}
    assert shown(("a", "b")) == {}


@pytest.mark.parametrize(
    ("content", "hidden", "with_values"),
    [
        (
            requests.Prepare(1, b"select 'x' from t where a = ?"),
            {"sql": "select ? from t where a = ?", "placeholders": 1},
            {"sql": "select 'x' from t where a = ?", "placeholders": 1},
        ),
        (
            requests.Bind((BindEntry(2, b"", b"", 0, 0, b"\0\0\0\7"), BindEntry(0, b"", b"", -1, 0, b""))),
            {"values": [{"type": "INTEGER", "size": 4}, {"type": "CHAR", "size": 0, "indicator": -1}]},
            {
                "values": [
                    {"type": "INTEGER", "size": 4, "value": 7},
                    {"type": "CHAR", "size": 0, "indicator": -1, "value": None},
                ]
            },
        ),
        (
            requests.Bind((BindEntry(2, b"", b"", 0, 0, b"\0"),)),
            {"values": [{"type": "INTEGER", "size": 1}]},
            {"values": [{"type": "INTEGER", "size": 1, "value": "00"}]},
        ),
        (requests.CurName(b"c1"), {"name": "c1"}, {"name": "c1"}),
        (requests.Put(3, (b"abc", b"def")), {"rows": 2}, {"rows": ["616263", "646566"]}),
        (objects.Blob(b"abc"), {"bytes": 3}, {"bytes": 3, "data": "616263"}),
        (objects.WriteObject(4, b"a"), {"handle": 4, "bytes": 1}, {"handle": 4, "bytes": 1, "data": "61"}),
        (objects.FetchBlob(b"abc"), {}, {"descriptor": "616263"}),
        (objects.ObjectData(0, 1, b"a"), {"kind": 0, "size": 1}, {"kind": 0, "size": 1, "data": "61"}),
        (files.FileWrite(b"a"), {"bytes": 1}, {"bytes": 1, "data": "61"}),
        (
            completion.Done(0, 1, 2, 3),
            {"warnings": 0, "rows": 1, "rowid": 2},
            {"warnings": 0, "rows": 1, "rowid": 2, "serial": 3},
        ),
        (completion.Serials(1, 2), {}, {"serial8": 1, "bigserial": 2}),
        (
            completion.ServerError(-217, 0, 8, "nix"),
            {"sqlcode": -217, "isamcode": 0, "offset": 8, "token": "nix"},
            {"sqlcode": -217, "isamcode": 0, "offset": 8, "token": "nix"},
        ),
        (
            completion.ServerError(-746, 0, 0, "x"),
            {"sqlcode": -746, "isamcode": 0, "offset": 0},
            {"sqlcode": -746, "isamcode": 0, "offset": 0, "token": "x"},
        ),
        (
            completion.ServerError(-937, 0, 0, "x", "U0001", "text"),
            {"sqlcode": -937, "isamcode": 0, "offset": 0, "sqlstate": "U0001"},
            {"sqlcode": -937, "isamcode": 0, "offset": 0, "token": "x", "sqlstate": "U0001", "text": "text"},
        ),
        (Undecoded(b"ab", "why"), {"reason": "why"}, {"reason": "why", "hex": "6162"}),
        (
            Undecoded(b"ab", "it answered b'ab' and closed"),
            {"reason": "it answered bytes"},
            {"reason": "it answered b'ab' and closed", "hex": "6162"},
        ),
    ],
)
def test_fields(content: object, hidden: dict[str, Any], with_values: dict[str, Any]) -> None:
    assert shown(content) == hidden
    assert shown(content, view=SHOWING) == with_values


def test_rows_without_their_columns_are_shown_as_bytes() -> None:
    columns = (Column("a", SqlType(TypeCode.INTEGER)),)
    rows = EncodedRows([b"\0\0\0\7"], columns)
    assert shown(rows) == {}
    assert shown(rows, view=SHOWING) == {"rows": [[7]]}
    assert shown(rows._replace(columns=()), view=SHOWING) == {"rows": ["00000007"]}
    unknown = (Column("a", SqlType(TypeCode.ROWREF)),)
    assert shown(rows._replace(columns=unknown), view=SHOWING) == {"rows": ["00000007"]}
    assert shown(rows._replace(payloads=[b"\0"]), view=SHOWING) == {"rows": ["00"]}


def test_values_become_types_of_json() -> None:
    values = (None, True, 1, "x", 1.5, float("nan"), b"ab", ("a", float("inf")))
    assert module._value(values) == [None, True, 1, "x", 1.5, "nan", "6162", ["a", "inf"]]


def test_the_password_of_a_login_is_shown_with_values_only() -> None:
    login = LoginRequest(b"me", b"secret", b"ol", ((b"DBDATE", b"Y4MD-"),))
    assert "password" not in shown(login) and shown(login)["user"] == "me"
    assert shown(login, view=SHOWING)["password"] == "secret"


# -- secrets ----------------------------------------------------------------------------------------------------------


def secrets(count: int, seed: int) -> list[str]:
    """Random texts that share no four characters with anything that a trace holds."""
    places = random.Random(seed)
    return ["".join(places.choices("QXZJKVW", k=12)) for _ in range(count)]


def assert_hidden(text: str, secret: str) -> None:
    for begin in range(len(secret) - 3):
        part = secret[begin : begin + 4]
        assert part not in text and part.lower() not in text and part.encode().hex() not in text.lower()


def planted(secret: bytes) -> Iterator[tuple[bool, Outbox]]:
    """Messages of both directions, in which each value is *secret*."""
    sent, received = Outbox(), Outbox()
    quoted = b"insert into t values ('" + secret + b"', \"" + secret + b'") -- ' + secret
    requests.put_prepare(sent, DIALECT, quoted, 1)
    requests.put_command(sent, DIALECT, b"select {" + secret + b"} /*" + secret + b"*/ '" + secret)
    entries = (
        BindEntry(TypeCode.CHAR, b"", b"", 0, 0, secret),
        BindEntry(TypeCode.LVARCHAR, b"", b"lvarchar", 0, 0, secret),
        BindEntry(TypeCode.OPAQUE, b"", b"json", 0, 0, secret),
        BindEntry(TypeCode.DECIMAL, b"", b"", 0, 0x0A02, secret),
    )
    sent.u16(Op.BIND)
    sent.i16(len(entries))
    for entry in entries:
        put_entry(sent, entry)
    sent.u16(Op.EXECUTE)
    sent.raw(pack(">hih", Op.PUT, len(secret), 1))
    sent.block(secret)
    objects.put_blob_count(sent, 1)
    objects.put_blob(sent, secret)
    objects.put_write_object(sent, objects.WriteObject(1, secret))
    objects.put_fetch_blob(sent, secret.ljust(56, b"\0")[:56])
    objects.put_find_routine(sent, DIALECT, b"f('" + secret + b"')")
    files.put_file_data(sent, secret)
    session_requests.put_response(sent, secret)
    requests.put_eot(sent)
    yield True, sent

    received.raw(pack(">hhi", Op.TUPLE, 0, len(secret)))
    received.block(secret)
    objects.put_blob_piece(received, secret)
    objects.put_object_data(received, objects.ObjectData(0, len(secret), secret))
    objects.put_returned(received, entries)
    for code in (-746, -937, 0):
        error = completion.ServerError(code, 0, 0, secret.decode(), "U0001", secret.decode())
        completion.put_error(received, DIALECT, error)
    challenges.put_challenge(received, challenges.Challenge(3, secret))
    files.put_file_request(received, files.FileWrite(secret))
    replies.put_eot(received)
    yield False, received

    for is_sent in (True, False):
        broken = Outbox()
        broken.raw(b"\x77\x77" + secret)
        yield is_sent, broken


@given(st.integers(min_value=0), st.integers(min_value=1, max_value=60))
@settings(max_examples=60)
def test_no_part_of_a_secret_in_any_message_is_left(seed: int, cut: int) -> None:
    (secret,) = secrets(1, seed)
    decoder = Decoder(starts_with_login=False)
    lines: list[str] = []
    found: set[str] = set()
    for is_sent, outbox in planted(secret.encode()):
        data = outbox.detach()
        for begin in range(0, len(data), cut):
            feed = decoder.sent if is_sent else decoder.received
            for message in feed(data[begin : begin + cut]):
                event = TraceEvent(0, 1, "sent", message.name, 1, message.size, 1, fields_of(message, HIDING))
                lines.append(event_line(event))
                found.add(message.name)
    assert_hidden("".join(lines), secret)
    assert found >= {
        "SQ_PREPARE", "SQ_COMMAND", "SQ_BIND", "SQ_PUT", "SQ_BLOB", "SQ_LODATA", "SQ_FETCHBLOB",
        "SQ_GETROUTINE", "SQ_RESPONSE", "SQ_CHALLENGE",
        "SQ_FILE_READ", "SQ_TUPLE", "SQ_FPROUTINE", "SQ_ERR", "SQ_FILE", UNDECODED,
    }  # fmt: skip


def test_no_part_of_a_password_is_left() -> None:
    (secret,) = secrets(1, 7)
    outbox = Outbox()
    put_login(outbox, login_frame(LoginRequest(b"u", b"", b"s")), secret.encode())
    (message,) = Decoder().sent(outbox.detach())
    assert_hidden(json.dumps(fields_of(message, HIDING)), secret)
    assert secret in json.dumps(fields_of(message, SHOWING))


@pytest.mark.parametrize("quote", ["", "'", '"'])
async def test_no_part_of_an_answer_in_another_protocol_is_left(quote: str) -> None:
    (secret,) = secrets(1, 3)
    answer = f"{secret}{quote}{secret}".encode()
    events: list[TraceEvent] = []

    async def serve_one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(answer)
        writer.close()

    async with await asyncio.start_server(serve_one, "127.0.0.1", 0) as other:
        port = other.sockets[0].getsockname()[1]
        with pytest.raises(aioifx.ConnectError, match=secret[:8]):
            await aioifx.connect(host="127.0.0.1", port=port, user="u", server="s", trace=events.append)
    assert {"open", "received"} <= {event.kind for event in events}
    assert_hidden("".join(map(event_line, events)), secret)


async def test_no_part_of_an_answer_to_pam_is_left() -> None:
    (secret,) = secrets(1, 4)

    async def dialogue(user: str, ask: PamAsk) -> bool:
        await ask(PamStyle.INFO, secret)
        return await ask(PamStyle.ECHO_OFF, "Password: ") == secret

    events: list[TraceEvent] = []
    async with serve(ServerOptions(pam=dialogue)) as server:
        async with aioifx.connect(server.dsn, pam=lambda style, text: secret, trace=events.append):
            pass
    names = [event.name for event in events]
    assert "SQ_RESPONSE" in names and "SQ_CHALLENGE" in names and "SQ_ACCEPT" in names
    assert_hidden("".join(map(event_line, events)), secret)


@pytest.mark.parametrize("seed", range(3))
async def test_no_part_of_a_secret_is_left_of_a_whole_session(seed: int, tmp_path: Path) -> None:
    password, inserted, literal, text, blob, in_file, user = secrets(7, seed)
    number = int("".join(random.Random(seed).choices("123456789", k=9)))
    (tmp_path / "in").write_text(in_file)
    path = tmp_path / "trace.jsonl"
    async with serve(ServerOptions(user="me", password=password)) as server:
        options: dict[str, Any] = {"password": password, "user": "me", "client_files": tmp_path}
        async with aioifx.connect(server.dsn, trace=path, **options) as conn:
            await conn.execute(
                "CREATE TABLE secret (a SERIAL, b VARCHAR(60), c BIGINT, d TEXT, e CLOB, f LVARCHAR(90))"
            )
            row = (inserted, number, text, blob, inserted)
            await conn.execute("INSERT INTO secret (b, c, d, e, f) VALUES (?, ?, ?, ?, ?)", *row)
            await conn.executemany("INSERT INTO secret (b, c, d) VALUES (?, ?, ?)", [row[:3]] * 3)
            await conn.execute(f"INSERT INTO secret (b, c) VALUES ('{literal}', {number}) -- {user}")
            await conn.load("secret", [(inserted, number)], columns=["b", "c"])
            rows = await conn.fetch("SELECT b, c, d, e FROM secret WHERE f = ?", inserted, lobs="inline")
            assert tuple(rows[0]) == row[:4]
            query = f"SELECT b, '{literal}' FROM secret WHERE c = {number}"
            assert len(await conn.fetch(query)) == 6
            await conn.execute("INSERT INTO secret (e) VALUES (filetoclob('in', 'client'))")
        with pytest.raises(aioifx.AuthenticationError):
            await aioifx.connect(server.dsn, trace=path, user="me", password=user)
    trace = path.read_text("utf-8")
    for secret in (password, inserted, literal, text, blob, in_file, user):
        assert_hidden(trace, secret)
    for begin in range(4):
        assert str(number)[begin : begin + 6] not in trace
    assert "SQ_FILE" in trace and "SQ_TUPLE" in trace and "SQ_BLOB" in trace


@pytest.mark.parametrize(
    ("sql", "hidden"),
    [
        ("select * from t", "select * from t"),
        ("select a, 'it''s' from t where n = 12", "select a, ?? from t where n = ?"),
        ("select -1.5e-3, .5, 7x", "select -?-?, .?, ?"),
        ('select "quoted" from t', "select ? from t"),
        ("select t1.a2 from t$1 where b = $5.00", "select t1.a2 from t$1 where b = ?"),
        ("select 1 -- the key is 42\nfrom t /* 'x' */", "select ? /*?*/\nfrom t /*?*/"),
        ("select {+ full(t)} a from t", "select {?} a from t"),
        ("insert into t values (SET{1, 2}, ?)", "insert into t values (SET{?}, ?)"),
        ("select 'open", "select ?"),
        ("select /* open", "select /*?*/"),
        ("select { open", "select {?}"),
        ("DATETIME (2026-01-01 10:00) YEAR TO MINUTE", "DATETIME (?-?-? ?:?) YEAR TO MINUTE"),
        ("insert into t values (SET{'a}b', 'secret'}, 'x')", "insert into t values (SET{?}?"),
        ("update t set { don't } a = 'x'", "update t set {?}?"),
        ("select {it's a \" } b } from t", "select {?}?"),
        ("select {'a', \"b\"} a from t", "select {?} a from t"),
        ("select größe from tür", "select größe from tür"),
    ],
)
def test_literals_and_comments_are_hidden(sql: str, hidden: str) -> None:
    assert hide_literals(sql) == hidden


@given(st.text(alphabet=st.characters(codec="utf-8", exclude_characters="'"), min_size=1))
def test_nothing_of_a_quoted_literal_is_left(secret: str) -> None:
    assert hide_literals(f"select '{secret}', a") == "select ?, a"


SECRET = "QXZJ"
PIECES = (
    "select", "a.b", ",", "(", ")", "?", "SET", "\n", " ", "{}", "{ don't }", '{ 6" }',
    "-- it's\n", "/* don't */", "'it''s'",
    f"'{SECRET}'", f'"{SECRET}"', f"'}} {SECRET}'", f"'{{ {SECRET}'", f"'-- {SECRET}'",
    f"'/* {SECRET}'", f"{{{SECRET}}}",
    f"-- {SECRET}\n", f"/* {SECRET} */", f"SET{{'{SECRET}', 1}}", f"LIST{{'}}{SECRET}', '{SECRET}'}}", f"7{SECRET}",
    f"MULTISET{{ROW('it''s }} {SECRET}')}}", f"{{+ {SECRET} }}",
)  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=12))
@settings(max_examples=300)
def test_no_secret_is_left_however_quotes_comments_and_braces_are_mixed(pieces: list[str]) -> None:
    assert SECRET not in hide_literals(" ".join(pieces))


@given(st.text(alphabet="a1'\"{}-/*.$ ?\n", max_size=40))
def test_the_text_after_a_number_is_part_of_it(sql: str) -> None:
    assert hide_literals("1" + sql)[0] == "?"
