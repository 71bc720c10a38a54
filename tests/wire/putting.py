"""Parsed messages back to bytes, by the package's own put_* wherever there is one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from aioifx.sqltypes import Row
from aioifx.wire import completion, descriptions, objects, replies, requests, routines, session_requests
from aioifx.wire.capabilities import Capabilities
from aioifx.wire.fields import put_entry, put_long_char
from aioifx.wire.inbox import Inbox, padded
from aioifx.wire.opcodes import Op
from aioifx.wire.outbox import Outbox
from aioifx.wire.replies import Reply
from aioifx.wire.requests import Request
from tests.feeding import feed

# -- requests: groups -------------------------------------------------------------------------------------------------

BARE: Final[dict[type, Callable[[Outbox], None]]] = {
    requests.Open: requests.put_open,
    requests.Execute: lambda outbox: outbox.u16(7),
    requests.Close: requests.put_close,
    requests.Release: requests.put_release,
    session_requests.Begin: session_requests.put_begin,
    session_requests.Commit: session_requests.put_commit,
    requests.DescribeInput: requests.put_describe_input,
    session_requests.Version: session_requests.put_version,
    session_requests.Ack: session_requests.put_ack,
    session_requests.Exit: session_requests.put_exit,
    requests.Describe: lambda outbox: outbox.u16(22),
    requests.Scroll: lambda outbox: outbox.u16(24),
    session_requests.DbList: lambda outbox: outbox.u16(26),
    session_requests.DbClose: lambda outbox: outbox.u16(37),
    requests.Hold: requests.put_hold,
    requests.WantDone: lambda outbox: outbox.u16(49),
    requests.AutoFree: lambda outbox: outbox.u16(108),
}


def put_group(outbox: Outbox, capabilities: Capabilities, messages: Sequence[Request]) -> None:
    """A whole group; what travels together is put together."""
    rest = list(messages)
    while rest:
        match rest:
            case [requests.Prepare(placeholders, sql), requests.Describe(), requests.WantDone(), *rest]:
                requests.put_prepare(outbox, capabilities, sql, placeholders)
            case [
                requests.Command(0, sql),
                requests.Describe(),
                requests.Execute(),
                requests.Release(),
                *rest,
            ]:
                requests.put_command(outbox, capabilities, sql)
            case [message, *rest]:
                put_request(outbox, capabilities, message)
    if not messages or not isinstance(messages[-1], session_requests.Exit):
        requests.put_eot(outbox)


def put_request(outbox: Outbox, capabilities: Capabilities, message: Request) -> None:
    """One message, without what usually follows it."""
    if (bare := BARE.get(type(message))) is not None:
        bare(outbox)
        return
    match message:
        case requests.Prepare(placeholders, sql) | requests.Command(placeholders, sql):
            outbox.u16(Op.PREPARE if isinstance(message, requests.Prepare) else Op.COMMAND)
            outbox.u16(placeholders)
            put_long_char(outbox, capabilities, sql)
        case requests.CurName(name):
            requests.put_curname(outbox, name)
        case requests.Id(statement_id):
            requests.put_id(outbox, statement_id)
        case requests.Bind(entries):
            body = Outbox()
            body.i16(len(entries))
            for entry in entries:
                put_entry(body, entry)
            requests.put_bind(outbox, body.detach())
        case requests.Fetch(size, 0):
            requests.put_fetch(outbox, size)
        case requests.ScrollFetch(kind, row, size):
            requests.put_scroll_fetch(outbox, kind, row, size)
        case requests.Put(size, rows):
            outbox.u16(Op.PUT)
            outbox.i32(size)
            outbox.u16(len(rows))
            for payload in rows:
                outbox.block(payload)
        case session_requests.Rollback(0):
            session_requests.put_rollback(outbox)
        case requests.RetType(direction, types):
            requests.put_ret_type(outbox, capabilities, types, direction)
        case requests.AutoGenKeys(kind, columns):
            put_autogenkeys(outbox, kind, columns)
        case session_requests.PamResponse(answer):
            session_requests.put_response(outbox, answer)
        case session_requests.DbOpen(name, 0):
            session_requests.put_dbopen(outbox, name)
        case session_requests.Info(environment):
            session_requests.put_info(outbox, environment)
        case session_requests.Protocols(mask):
            session_requests.put_protocols(outbox, mask)
        case session_requests.SetSavepoint(name, unique):
            outbox.u16(Op.SETSVPT)
            outbox.char(name)
            outbox.i16(unique)
        case session_requests.ReleaseSavepoint(name) | session_requests.RollbackSavepoint(name):
            outbox.u16(Op.RELSVPT if isinstance(message, session_requests.ReleaseSavepoint) else Op.RBSVPT)
            outbox.char(name)
        case _:
            put_object_request(outbox, capabilities, message)


def put_autogenkeys(outbox: Outbox, kind: int, columns: Sequence[bytes]) -> None:
    outbox.u16(Op.AUTOGENKEYS)
    outbox.i16(kind)
    if kind == 1:
        return
    outbox.i16(len(columns))
    for column in columns:
        if kind == 2:
            outbox.i16(int(column))
        else:
            outbox.char(column)


def put_object_request(outbox: Outbox, capabilities: Capabilities, message: object) -> None:
    match message:
        case objects.FetchBlob(descriptor):
            objects.put_fetch_blob(outbox, descriptor)
        case objects.BlobCount(values):
            objects.put_blob_count(outbox, values)
        case objects.Blob(data):
            objects.put_blob_piece(outbox, data)
        case objects.ReadObject():
            objects.put_read_object(outbox, message)
        case objects.WriteObject():
            objects.put_write_object(outbox, message)
        case objects.FindRoutine(signature, 0):
            objects.put_find_routine(outbox, capabilities, signature)
        case objects.CallRoutine():
            objects.put_call_routine(outbox, message)
        case routines.DescribeRoutine(numbered):
            routines.put_describe_routine(outbox, numbered)
        case routines.FindNumbered(numbered):
            routines.put_find_numbered(outbox, capabilities, numbered)
        case routines.Outputs():
            routines.put_outputs_request(outbox, message)
        case _:
            raise AssertionError(f"nothing puts {message!r}")


# -- replies: message by message, since a Reply does not keep their order ---------------------------------------------


def raw_rows(data: bytearray, pos: int, end: int, rows: list[Row]) -> int:
    """A run decoder whose rows are (warnings, payload)."""
    while pos + 8 <= end and data[pos : pos + 2] == b"\0\x0e":
        size = int.from_bytes(data[pos + 4 : pos + 8], "big", signed=True)
        if size < 0 or pos + 8 + padded(size) > end:
            break
        rows.append((int.from_bytes(data[pos + 2 : pos + 4], "big"), bytes(data[pos + 8 : pos + 8 + size])))
        pos += 8 + padded(size)
    return pos


def messages_of(data: bytes, capabilities: Capabilities) -> list[tuple[int, Reply]]:
    """Each message of a reply by itself: its tag, and a Reply that holds nothing else."""
    found: list[tuple[int, Reply]] = []
    while data:
        tag = int.from_bytes(data[:2], "big")
        reply, left = _first_message(data, capabilities)
        found.append((tag, reply))
        data = data[len(data) - left :]
    return found


def _first_message(data: bytes, capabilities: Capabilities) -> tuple[Reply, int]:
    inbox = Inbox()
    inbox.feed(data)

    async def read(_: Inbox) -> Reply:
        reply = Reply()
        tag = inbox.u16()
        if tag == Op.TUPLE:
            begin = inbox.pos - 2
            end = begin + 8 + padded(inbox.peek_i32(2))
            inbox.pos = raw_rows(inbox.data, begin, end, reply.rows)
        else:
            await replies._read_message(inbox, capabilities, reply, tag)
        return reply

    return feed(read, [])[0], inbox.unread


def put_reply_message(outbox: Outbox, capabilities: Capabilities, tag: int, reply: Reply) -> None:
    """One message of a reply."""
    value: Any
    match tag:
        case Op.TUPLE:
            ((warnings, payload),) = reply.rows
            outbox.u16(Op.TUPLE)
            outbox.u16(warnings)
            outbox.i32(len(payload))
            outbox.block(payload)
        case Op.EOT | Op.CLOSE | Op.EXIT:
            {Op.EOT: replies.put_eot, Op.CLOSE: replies.put_closed, Op.EXIT: session_requests.put_exit}[
                Op(tag)
            ](outbox)
        case Op.ERR:
            (error,) = filter(None, (reply.error, reply.no_rows, *reply.warnings))
            completion.put_error(outbox, capabilities, error)
        case Op.FPARAM:
            routines.put_outputs(outbox, reply.outputs)
        case _:
            in_dialect, put, value = _PUT[tag](reply)
            assert value is not None
            put(outbox, capabilities, value) if in_dialect else put(outbox, value)


_PUT: Final[dict[int, Callable[[Reply], tuple[bool, Callable[..., None], Any]]]] = {
    Op.DESCRIBE: lambda reply: (True, descriptions.put_describe, reply.description),
    Op.DONE: lambda reply: (True, completion.put_done, reply.done),
    Op.TUPID: lambda reply: (False, replies.put_tupid, reply.row_number),
    Op.DBLIST: lambda reply: (True, replies.put_dblist, reply.names),
    Op.VERSION: lambda reply: (True, replies.put_version, reply.version),
    Op.COST: lambda reply: (False, completion.put_cost, reply.cost),
    Op.INSERTDONE: lambda reply: (True, completion.put_insertdone, reply.serials),
    Op.XACTSTAT: lambda reply: (False, completion.put_xactstat, reply.transaction),
    Op.IDESCRIBE: lambda reply: (True, descriptions.put_idescribe, reply.parameters),
    Op.PROTOCOLS: lambda reply: (False, session_requests.put_protocols, reply.mask),
    Op.LODATA: lambda reply: (False, objects.put_object_data, reply.object_data),
    Op.GETROUTINE: lambda reply: (False, objects.put_routine, reply.routine),
    Op.FPROUTINE: lambda reply: (False, objects.put_returned, reply.returned),
    Op.FPDESCRIPTION: lambda reply: (True, routines.put_routine_parameters, reply.routine_parameters),
}


def put_reply(outbox: Outbox, capabilities: Capabilities, messages: Sequence[tuple[int, Reply]]) -> None:
    for tag, reply in messages:
        put_reply_message(outbox, capabilities, tag, reply)
