"""Hypothesis strategies: every message, every layout, and bytes that are nearly right."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

from hypothesis import strategies as st

from aioifx.sqltypes import Column, SqlType, TypeCode
from aioifx.wire import completion, descriptions, objects, replies, requests, routines, session_requests
from aioifx.wire.capabilities import Capabilities
from aioifx.wire.fields import BindEntry, is_named
from aioifx.wire.opcodes import MAX_TEXT, Op
from aioifx.wire.outbox import Outbox
from tests.wire.frames import JDBC_FILES, frames
from tests.wire.putting import put_group, put_reply

i16 = st.integers(-(2**15), 2**15 - 1)
u16 = st.integers(0, 2**16 - 1)
i32 = st.integers(-(2**31), 2**31 - 1)
i64 = st.integers(-(2**63), 2**63 - 1)
size32 = st.integers(0, 2**31 - 1)
block = st.binary(max_size=20)
name = st.binary(min_size=1, max_size=20)
text = st.text(st.characters(max_codepoint=255), max_size=12)
word = text.filter(lambda value: "\0" not in value)
sqlstate = st.text(st.characters(max_codepoint=127), min_size=5, max_size=5)
ascii_text = st.text(st.characters(max_codepoint=127), max_size=12)

dialects = st.builds(
    Capabilities,
    bigint=st.booleans(),
    long_text=st.booleans(),
    long_tuple=st.booleans(),
    long_rowid=st.booleans(),
)


# -- requests ---------------------------------------------------------------------------------------------------------

_FIXED = {1: 2, 2: 4, 6: 4, 7: 4, 3: 8, 4: 4, 17: 10, 18: 10, 52: 8, 53: 8}


@st.composite
def entries(draw: st.DrawFn, capabilities: Capabilities) -> BindEntry:
    """A value as it is bound or returned."""
    widths = _FIXED | dict.fromkeys((11, 12), 68 if capabilities.long_rowid else 56)
    code = draw(st.one_of(st.integers(0, 60), i16))
    owner, type_name = (draw(block), draw(block)) if is_named(code) else (b"", b"")
    indicator = draw(st.sampled_from([0, -1, -2]))
    if indicator == -1:
        data = b""
    else:
        width = widths.get(code)
        data = draw(block if width is None else st.binary(min_size=width, max_size=width))
    return BindEntry(code, owner, type_name, indicator, draw(i16), data)


@st.composite
def wanted_types(draw: st.DrawFn) -> SqlType:
    """A column of SQ_RET_TYPE."""
    code = draw(u16)
    if not is_named(code):
        return SqlType(code, draw(i32))
    return SqlType(code, draw(i32), owner=draw(ascii_text), extended_name=draw(ascii_text))


@st.composite
def puts(draw: st.DrawFn) -> requests.Put:
    size = draw(st.integers(1, 9))
    return requests.Put(
        size, tuple(draw(st.lists(st.binary(min_size=size, max_size=size), min_size=1, max_size=4)))
    )


def _bares() -> list[st.SearchStrategy[Any]]:
    return [
        st.just(kind())
        for kind in (
            requests.Open, requests.Execute, requests.Close, requests.Release,
            session_requests.Begin, session_requests.Commit,
            requests.Describe, requests.Scroll, requests.Hold, requests.AutoFree, requests.WantDone,
            requests.DescribeInput, session_requests.DbClose, session_requests.DbList, session_requests.Version,
            session_requests.Ack,
        )
    ]  # fmt: skip


def request_strategies(capabilities: Capabilities) -> list[st.SearchStrategy[Any]]:
    """One strategy for each kind of message."""
    descriptor = 68 if capabilities.long_rowid else 56
    return [
        st.builds(requests.Prepare, u16, block),
        st.builds(requests.Command, u16, block),
        st.builds(requests.CurName, block),
        st.builds(requests.Id, i16),
        st.builds(requests.Bind, st.lists(entries(capabilities), max_size=4).map(tuple)),
        i32.map(requests.Fetch),
        st.builds(requests.ScrollFetch, i16, i32, i32),
        puts(),
        st.just(session_requests.Rollback()),
        st.builds(requests.RetType, i16, st.lists(wanted_types(), max_size=4).map(tuple)),
        st.just(requests.AutoGenKeys(1)),
        st.builds(
            requests.AutoGenKeys, st.just(2), st.lists(i16.map(lambda n: b"%d" % n), max_size=3).map(tuple)
        ),
        st.builds(requests.AutoGenKeys, st.just(3), st.lists(block, max_size=3).map(tuple)),
        block.map(session_requests.DbOpen),
        block.map(session_requests.PamResponse),
        st.builds(session_requests.Info, st.lists(st.tuples(name, block), max_size=4).map(tuple)),
        st.builds(session_requests.Protocols, block),
        st.builds(session_requests.SetSavepoint, block, st.booleans()),
        st.builds(session_requests.ReleaseSavepoint, block),
        st.builds(session_requests.RollbackSavepoint, block),
        st.builds(objects.FetchBlob, st.binary(min_size=descriptor, max_size=descriptor)),
        st.builds(objects.BlobCount, u16),
        st.builds(objects.Blob, block),
        st.builds(objects.ReadObject, i16, size32, st.none(), st.just(0), i16),
        st.builds(objects.ReadObject, i16, size32, st.integers(1 - 2**64, 2**64 - 1), i16, i16),
        st.builds(objects.WriteObject, i16, block, i16),
        block.map(objects.FindRoutine),
        st.builds(objects.CallRoutine, block, i32, i16, i16),
        numbered.map(routines.DescribeRoutine),
        numbered.map(routines.FindNumbered),
        st.builds(routines.Outputs, st.booleans()),
        *_bares(),
    ]


@st.composite
def conversations(draw: st.DrawFn, count: int) -> tuple[Capabilities, list[list[Any]]]:
    """A dialect and *count* groups of requests in it; SQ_EXIT, when it is there, is the last of its group."""
    capabilities = draw(dialects)
    groups: list[list[Any]] = []
    for _ in range(count):
        messages = draw(st.lists(st.one_of(request_strategies(capabilities)), max_size=6))
        if draw(st.integers(0, 9)) == 0:
            messages.append(session_requests.Exit())
        groups.append(messages)
    return capabilities, groups


def groups() -> st.SearchStrategy[tuple[Capabilities, list[Any]]]:
    """A dialect and a group of requests in it."""
    return conversations(1).map(lambda drawn: (drawn[0], drawn[1][0]))


# -- replies ----------------------------------------------------------------------------------------------------------


def _types(code: st.SearchStrategy[int], length: st.SearchStrategy[int]) -> st.SearchStrategy[SqlType]:
    return st.builds(
        SqlType,
        code=code,
        length=length,
        extended_id=i32,
        owner=text,
        extended_name=text,
        source=i32,
        flags=st.integers(0, 127).map(lambda bits: bits << 9),
    )


_LIMITED = (TypeCode.CHAR, TypeCode.NCHAR, TypeCode.DECIMAL, TypeCode.MONEY)
sqltypes = st.one_of(
    _types(st.integers(0, 255).filter(lambda code: code not in _LIMITED), i32),
    _types(st.sampled_from(_LIMITED).map(int), st.integers(0, 0x20FF)),
)
columns = st.builds(Column, word, sqltypes, st.booleans(), i32)
numbered = st.builds(objects.Routine, block, i32)
parameters = st.builds(routines.RoutineParameter, st.integers(0, 255), text, sqltypes)


def errors(*fields: st.SearchStrategy[Any]) -> st.SearchStrategy[completion.ServerError]:
    """Errors with these fields; the others are empty. `st.builds` would fill them, too."""
    return st.tuples(*fields).map(lambda values: completion.ServerError(*values))


def _is_ordinary(sqlcode: int) -> bool:
    """Whether SQ_ERR with this code has the layout that most have."""
    return sqlcode not in (0, 100, -368, -937)


def reply_strategies(capabilities: Capabilities) -> dict[int, st.SearchStrategy[replies.Reply]]:
    """For each tag, replies that hold one message of it and nothing else."""
    row_size = st.integers(0, MAX_TEXT) if capabilities.long_tuple else st.integers(0, 0x7FFF)
    rowid = i64 if capabilities.long_rowid else i32
    rows = st.integers(0, 2**63 - 1 if capabilities.long_rowid else 2**31 - 1)
    int8 = st.integers(1 - 2**64, 2**64 - 1)
    bigserial = i64 if capabilities.bigint else st.just(0)
    described = st.builds(
        descriptions.Description, i16, i16, st.lists(columns, max_size=4).map(tuple), row_size, i32
    )
    offset = i32 if capabilities.long_text else i16
    read = st.binary(max_size=20).map(lambda data: objects.ObjectData(0, len(data), data))
    written = i32.map(lambda size: objects.ObjectData(2, size))
    failed = st.integers(-(2**31), -1).map(lambda size: objects.ObjectData(0, size))
    done = st.builds(completion.Done, u16, rows, rowid, i32)

    def one(field: str, values: st.SearchStrategy[Any]) -> st.SearchStrategy[replies.Reply]:
        return values.map(lambda value: replies.Reply(**{field: value}))

    return {
        Op.DESCRIBE: one("description", described),
        Op.CLOSE: st.just(replies.Reply(is_cursor_closed=True)),
        Op.ERR: st.one_of(
            one("error", errors(i16.filter(_is_ordinary), i16, offset, text)),
            one("error", errors(st.just(-937), i16, offset, text, sqlstate, text)),
            one("error", errors(st.just(-368), i16, offset)),
            one("no_rows", errors(st.just(100), i16, offset, text)),
            one("warnings", st.tuples(errors(st.just(0), i16, offset, text, sqlstate, text))),
        ),
        Op.TUPLE: one("rows", st.tuples(u16, block).map(lambda row: [row])),
        Op.DONE: done.map(lambda value: replies.Reply(done=value)),
        Op.TUPID: one("row_number", st.integers(0, 2**31 - 1)),
        Op.DBLIST: one("names", st.lists(text.filter(bool), max_size=3).map(tuple)),
        Op.VERSION: one("version", text),
        Op.COST: one("cost", st.builds(completion.Cost, i32, i32)),
        Op.INSERTDONE: one("serials", st.builds(completion.Serials, int8, bigserial)),
        Op.LODATA: one("object_data", st.one_of(read, written, failed)),
        Op.XACTSTAT: one("transaction", st.builds(completion.TransactionState, i16, i16, i16)),
        Op.GETROUTINE: one("routine", st.builds(objects.Routine, block, i32)),
        Op.FPROUTINE: one("returned", st.lists(entries(capabilities), max_size=3).map(tuple)),
        Op.FPARAM: one("outputs", st.lists(st.booleans(), max_size=4).map(tuple)),
        Op.FPDESCRIPTION: one("routine_parameters", st.lists(parameters, max_size=3).map(tuple)),
        Op.IDESCRIBE: one("parameters", st.lists(sqltypes, max_size=3).map(tuple)),
        Op.PROTOCOLS: one("mask", st.binary(min_size=1, max_size=12)),
    }


@st.composite
def reply_groups(draw: st.DrawFn) -> tuple[Capabilities, list[tuple[int, replies.Reply]]]:
    """A dialect and a reply in it, message by message, without its end. At most one SQ_LODATA; a second is refused."""
    capabilities = draw(dialects)
    strategies = reply_strategies(capabilities)
    groups = st.lists(st.sampled_from(sorted(strategies)), max_size=5)
    tags = draw(groups.filter(lambda tags: tags.count(Op.LODATA) <= 1))
    return capabilities, [(tag, draw(strategies[tag])) for tag in tags]


def merged(messages: list[tuple[int, replies.Reply]]) -> replies.Reply:
    """What one Reply should hold after these in a row: the last of each, all rows, the first error."""
    whole = replies.Reply()
    for tag, part in messages:
        match tag:
            case Op.TUPLE | Op.DONE:
                whole.rows += part.rows
                whole.done = part.done or whole.done
            case Op.ERR:
                whole.error = whole.error or part.error
                whole.warnings += part.warnings
                whole.no_rows = part.no_rows or whole.no_rows
            case _:
                fresh = replies.Reply()
                changed = {
                    field: getattr(part, field)
                    for field in replies.Reply.__dataclass_fields__
                    if getattr(part, field) != getattr(fresh, field)
                }
                whole = replace(whole, **changed)
    return whole


# -- bytes that are nearly right --------------------------------------------------------------------------------------


@cache
def recorded(side: str) -> list[bytes]:
    """Short frames of the vectors, one of each."""
    found = {
        frame.data
        for file in JDBC_FILES
        for frame in frames(file)
        if frame.side == side and not frame.is_event and not frame.is_login and len(frame.data) < 600
    }
    return sorted(found, key=lambda data: (len(data), data))


@st.composite
def damaged(draw: st.DrawFn, originals: st.SearchStrategy[bytes]) -> bytes:
    """Valid bytes after a few accidents: changed, removed, doubled, cut off."""
    data = bytearray(draw(originals))
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(data)))
        match draw(st.integers(0, 4)):
            case 0:
                data[at : at + 1] = draw(st.binary(min_size=1, max_size=1))
            case 1:
                data[at : at + 4] = draw(
                    st.sampled_from([b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff", b"\0\0\0\0"])
                )
            case 2:
                del data[at : at + draw(st.integers(1, 8))]
            case 3:
                data[at:at] = data[at : at + 16]
            case _:
                del data[at:]
    return bytes(data)


def request_bytes() -> st.SearchStrategy[bytes]:
    def put(group: tuple[Capabilities, list[Any]]) -> bytes:
        outbox = Outbox()
        put_group(outbox, *group)
        return outbox.detach()

    return st.one_of(st.sampled_from(recorded("C")), groups().map(put))


def reply_bytes() -> st.SearchStrategy[bytes]:
    def put(group: tuple[Capabilities, list[tuple[int, replies.Reply]]]) -> bytes:
        outbox = Outbox()
        put_reply(outbox, *group)
        return outbox.detach() + b"\0\x0c"

    return st.one_of(st.sampled_from(recorded("S")), reply_groups().map(put))
