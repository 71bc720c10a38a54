"""Messages -> fields of events; what is hidden unless values are wanted. Never: how a message is encoded.

Invariants:
1. Only what is listed here is shown: a content that is not known has no fields.
2. Without values no field holds any byte of a password, a literal, a parameter, a row, a large object or a file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import isfinite
from typing import Any, Final, TypeAlias, cast

from aioifx.codecs.params import decode_value
from aioifx.codecs.rows import RowDecoder
from aioifx.codecs.text import CodeSet
from aioifx.errors import Error
from aioifx.sqltypes import Column, TypeCode
from aioifx.tracing.decoder import EncodedRows, Message, Undecoded
from aioifx.wire import (
    challenges,
    completion,
    descriptions,
    files,
    handshake,
    objects,
    requests,
    routines,
    session_requests,
)
from aioifx.wire.fields import BindEntry
from aioifx.wire.opcodes import LoginType, StatementType

HIDDEN: Final = "?"
"""Stands for a literal."""

# Quoted text in double quotes is a string unless DELIMIDENT is set, so it is hidden, too. An open quote or comment
# extends to the end. A number takes the characters after it, so that no part of an odd literal is left.
_TOKEN: Final = re.compile(
    r"""
    [^\W\d][\w$]*+
  | (?P<comment> -- [^\n]*+ | /\* .*? (?: \*/ | \Z ) )
  | \{ (?P<braces> [^}]*+ ) \}?+
  | (?P<literal> ' [^']*+ '?+ | " [^"]*+ "?+ | [\d$][\w.$]*+ )
    """,
    re.VERBOSE | re.DOTALL,
)


def hide_literals(sql: str) -> str:
    """*sql* with ``?`` for each literal, and without the text of comments, hints and collections in braces.

    Braces enclose a comment or, after SET, MULTISET and LIST, a collection. Quoted text in a collection may contain
    braces. If a quote is open at the first closing brace, the end of the braces is ambiguous, and the rest is hidden.
    """
    parts: list[str] = []
    end = 0
    for found in _TOKEN.finditer(sql):
        parts.append(sql[end : found.start()])
        end = found.end()
        braces = found["braces"]
        if braces is not None:
            parts.append("{?}")
            if braces.count("'") % 2 or braces.count('"') % 2:
                return "".join([*parts, HIDDEN])
        elif found["comment"] is not None:
            parts.append("/*?*/")
        else:
            parts.append(found[0] if found["literal"] is None else HIDDEN)
    return "".join([*parts, sql[end:]])


_TEXTS_OF_ROUTINES: Final = frozenset({0, -746, -937})
"""SQLCODEs whose texts a routine chose (documented)."""


@dataclass(frozen=True, slots=True)
class View:
    """How contents are shown."""

    code_set: CodeSet
    """Its errors must be "replace"."""
    values: bool
    """Whether values and literals are shown."""

    def text(self, data: bytes) -> str:
        return self.code_set.decode(data)

    def sql(self, data: bytes) -> str:
        text = self.text(data)
        return text if self.values else hide_literals(text)


def fields_of(message: Message, view: View) -> dict[str, Any]:
    """The fields of a message in the types of JSON."""
    content: object = message.content
    if isinstance(content, EncodedRows):
        return {"rows": [row for run in message.contents for row in _rows(run, view)]} if view.values else {}
    if isinstance(content, objects.Blob):
        return _data(b"".join(piece.data for piece in message.contents), view)
    if isinstance(content, requests.Put):
        return _put(message.contents, view)
    if (show := _BY_NAME.get(message.name)) is not None and not hasattr(content, "_fields"):
        return show(content, view)
    if (names := _PLAIN.get(type(content))) is not None:
        return {name: _plain(getattr(content, name), view) for name in names}
    show = _BY_TYPE.get(type(content))
    return show(content, view) if show is not None else {}


def _plain(value: object, view: View) -> object:
    """A name, a number or a flag."""
    if isinstance(value, bytes):
        return view.text(value)
    if isinstance(value, tuple):
        return [_plain(item, view) for item in cast(tuple[object, ...], value)]
    return value


_PLAIN: Final[dict[type, tuple[str, ...]]] = {
    requests.CurName: ("name",),
    requests.Id: ("statement_id",),
    requests.Fetch: ("size",),
    requests.ScrollFetch: ("kind", "row", "size"),
    requests.AutoGenKeys: ("kind", "columns"),
    session_requests.SetSavepoint: ("name", "is_unique"),
    session_requests.ReleaseSavepoint: ("name",),
    session_requests.RollbackSavepoint: ("name",),
    session_requests.DbOpen: ("name",),
    objects.BlobCount: ("values",),
    objects.ReadObject: ("handle", "size", "offset", "whence"),
    objects.CallRoutine: ("database", "routine", "arguments"),
    routines.DescribeRoutine: ("routine",),
    routines.FindNumbered: ("routine",),
    routines.Outputs: ("described",),
    objects.Routine: ("database", "routine"),
    files.FileOpen: ("name", "mode", "flags", "offset"),
    files.FileRead: ("buffer", "amount"),
    files.FileWritten: ("size",),
    files.FileFailed: ("code",),
    completion.Cost: ("rows", "cost"),
    completion.TransactionState: ("event", "level", "previous"),
}
"""The fields that are shown of contents without values."""


# -- statements -------------------------------------------------------------------------------------------------------


def _statement(content: requests.Prepare | requests.Command, view: View) -> dict[str, Any]:
    return {"sql": view.sql(content.sql), "placeholders": content.placeholders}


def _bind(content: requests.Bind, view: View) -> dict[str, Any]:
    return {"values": [_entry(entry, view) for entry in content.entries]}


def _entry(entry: BindEntry, view: View) -> dict[str, Any]:
    """One value with its type."""
    shown: dict[str, Any] = {"type": view.text(entry.name) or _type_name(entry.code), "size": len(entry.data)}
    if entry.indicator:
        shown["indicator"] = entry.indicator
    if view.values:
        try:
            value = decode_value(
                entry.code, entry.indicator, entry.precision, entry.data, view.code_set, entry.name
            )
        except Error:
            value = entry.data
        shown["value"] = _value(value)
    return shown


def _put(contents: Sequence[requests.Put], view: View) -> dict[str, Any]:
    rows = [row for put in contents for row in put.rows]
    return {"rows": [row.hex() for row in rows] if view.values else len(rows)}


def _ret_type(content: requests.RetType, view: View) -> dict[str, Any]:
    return {"types": [str(sql_type) for sql_type in content.types]}


def _description(content: descriptions.Description, view: View) -> dict[str, Any]:
    try:
        kind: str | int = StatementType(content.statement_type).name
    except ValueError:
        kind = content.statement_type
    return {
        "statement_id": content.statement_id,
        "statement_type": kind,
        "columns": [{"name": column.name, "type": str(column.type)} for column in content.columns],
    }


def _rows(run: EncodedRows, view: View) -> Iterator[object]:
    """The values of each row; its bytes if the columns are not known."""
    for payload in run.payloads:
        try:
            decoder = _decoder_of(run.columns, view.code_set)
            yield [_value(value) for value in decoder.decode_payload(payload)]
        except Error:
            yield payload.hex()


@lru_cache(maxsize=64)
def _decoder_of(columns: tuple[Column, ...], code_set: CodeSet) -> RowDecoder:
    return RowDecoder(columns, code_set)


def _value(value: object) -> object:
    """A value in the types of JSON."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float) and isfinite(value):
        return value
    if isinstance(value, (bytes, bytearray)):
        return value.hex()
    if isinstance(value, tuple):
        return [_value(item) for item in cast(tuple[object, ...], value)]
    return str(value)


def _type_name(code: int) -> str:
    try:
        return TypeCode(code).name
    except ValueError:
        return str(code)


# -- how a statement ended --------------------------------------------------------------------------------------------


def _done(content: completion.Done, view: View) -> dict[str, Any]:
    shown = {"warnings": content.warnings, "rows": content.rows, "rowid": content.rowid}
    return {**shown, "serial": content.serial} if view.values else shown


def _serials(content: completion.Serials, view: View) -> dict[str, Any]:
    return {"serial8": content.serial8, "bigserial": content.bigserial} if view.values else {}


def _error(content: completion.ServerError, view: View) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "sqlcode": content.sqlcode,
        "isamcode": content.isamcode,
        "offset": content.offset,
    }
    if content.token and (view.values or content.sqlcode not in _TEXTS_OF_ROUTINES):
        shown["token"] = content.token
    if content.sqlstate:
        shown["sqlstate"] = content.sqlstate
    if content.text and view.values:
        shown["text"] = content.text
    return shown


# -- large objects, routines and files --------------------------------------------------------------------------------


def _data(data: bytes, view: View) -> dict[str, Any]:
    shown: dict[str, Any] = {"bytes": len(data)}
    return {**shown, "data": data.hex()} if view.values else shown


def _descriptor(content: objects.FetchBlob, view: View) -> dict[str, Any]:
    return {"descriptor": content.descriptor.hex()} if view.values else {}


def _write_object(content: objects.WriteObject, view: View) -> dict[str, Any]:
    return {"handle": content.handle, **_data(content.data, view)}


def _object_data(content: objects.ObjectData, view: View) -> dict[str, Any]:
    shown = {"kind": content.kind, "size": content.size}
    return {**shown, "data": content.data.hex()} if view.values and content.data else shown


def _find_routine(content: objects.FindRoutine, view: View) -> dict[str, Any]:
    return {"signature": view.sql(content.signature)}


def _file_data(content: files.FileData | files.FileWrite, view: View) -> dict[str, Any]:
    return _data(content.data, view)


# -- the session ------------------------------------------------------------------------------------------------------


def _login(content: handshake.LoginRequest, view: View) -> dict[str, Any]:
    shown = {
        "user": view.text(content.user),
        "server": view.text(content.server),
        "environment": _environment(content.environment, view),
        "process_id": content.process_id,
        "host": view.text(content.host),
        "application": view.text(content.application),
    }
    return {**shown, "password": view.text(content.password)} if view.values else shown


def _login_reply(content: handshake.LoginReply, view: View) -> dict[str, Any]:
    try:
        kind: str | int = LoginType(content.type).name
    except ValueError:
        kind = content.type
    shown: dict[str, Any] = {
        "type": kind,
        "server": view.text(content.server),
        "version": view.text(content.version),
        "sqlcode": content.sqlcode,
        "oserror": content.oserror,
    }
    return {**shown, "redirect": view.text(content.redirect)} if content.redirect is not None else shown


def _info(content: session_requests.Info, view: View) -> dict[str, Any]:
    return {"environment": _environment(content.environment, view)}


def _environment(pairs: Sequence[tuple[bytes, bytes]], view: View) -> dict[str, str]:
    return {view.text(name): view.text(value) for name, value in pairs}


def _challenge(content: challenges.Challenge, view: View) -> dict[str, Any]:
    shown: dict[str, Any] = {"style": content.style}
    return {**shown, "text": view.text(content.text)} if view.values else shown


def _pam_response(content: session_requests.PamResponse, view: View) -> dict[str, Any]:
    return {"answer": view.text(content.answer)} if view.values else {}


def _protocols(content: session_requests.Protocols, view: View) -> dict[str, Any]:
    return {"mask": content.mask.hex()}


def _undecoded(content: Undecoded, view: View) -> dict[str, Any]:
    if view.values:
        return {"reason": content.reason, "hex": content.data.hex()}
    return {"reason": without_bytes(content.reason)}


_BYTES: Final = re.compile(r"""\bb['"].*""", re.DOTALL)


def without_bytes(reason: str) -> str:
    """The text of an error without the bytes of an answer, which the error of a login quotes at its end."""
    return _BYTES.sub("bytes", reason)


_Show: TypeAlias = Callable[[Any, View], dict[str, Any]]

_BY_TYPE: Final[dict[type, _Show]] = {
    requests.Prepare: _statement,
    requests.Command: _statement,
    requests.Bind: _bind,
    requests.RetType: _ret_type,
    session_requests.Info: _info,
    session_requests.Protocols: _protocols,
    session_requests.PamResponse: _pam_response,
    challenges.Challenge: _challenge,
    objects.FetchBlob: _descriptor,
    objects.WriteObject: _write_object,
    objects.FindRoutine: _find_routine,
    objects.ObjectData: _object_data,
    files.FileData: _file_data,
    files.FileWrite: _file_data,
    descriptions.Description: _description,
    completion.Done: _done,
    completion.Serials: _serials,
    completion.ServerError: _error,
    handshake.LoginRequest: _login,
    handshake.LoginReply: _login_reply,
    Undecoded: _undecoded,
}

_BY_NAME: Final[dict[str, _Show]] = {
    "SQ_TUPID": lambda row, view: {"row": row},
    "SQ_DBLIST": lambda names, view: {"names": list(names)},
    "SQ_VERSION": lambda text, view: {"version": text},
    "SQ_PROTOCOLS": lambda mask, view: {"mask": mask.hex()},
    "SQ_IDESCRIBE": lambda types, view: {"types": [str(sql_type) for sql_type in types]},
    "SQ_FPDESCRIPTION": lambda parameters, view: {
        "parameters": [f"{parameter.name} {parameter.type}" for parameter in parameters]
    },
    "SQ_FPARAM": lambda outputs, view: {} if outputs is None else {"outputs": list(outputs)},
    "SQ_FPROUTINE": lambda entries, view: {"values": [_entry(entry, view) for entry in entries]},
}
"""Replies whose contents have no class of their own."""
