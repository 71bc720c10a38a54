"""Handlers of the bytes of large objects: sent to the client, and received from it. Never: their storage."""

from __future__ import annotations

from typing import Final

from aioifx.codecs.large_objects import Descriptor
from aioifx.server.protocol.context import Handler, SessionContext
from aioifx.server.protocol.incoming_values import IncomingValues, descriptors
from aioifx.server.sql.errors import SqlError
from aioifx.wire import objects
from aioifx.wire.completion import Done

SENT_PIECE: Final = 32000
"""Bytes of one SQ_BLOB that the server sends (observed: JDBC accepts pieces of this size)."""

STREAM_READ: Final = "READ CHANGES"
"""What faults match for a read of a stream, which has no text."""

_BAD_TRANSFER: Final = -619


def send_value(context: SessionContext, message: objects.FetchBlob) -> None:
    """SQ_FETCHBLOB: the value in pieces, then an empty one, SQ_DONE and SQ_COST (observed: 12.10, 14.10, 15).

    Raises:
        SqlError: -602, no such value, or its cursor is closed; -213, interrupted. The pieces that were written before
            are sent (observed: JDBC accepts an error after a piece).
    """
    context.engine.check_interrupt()
    for piece in context.engine.kept_value(Descriptor(message.descriptor).reference, SENT_PIECE):
        objects.put_blob_piece(context.outbox, piece)
    objects.put_blob_piece(context.outbox, b"")
    context.write_done(Done())


def expect_values(context: SessionContext, message: objects.BlobCount) -> None:
    """SQ_BBIND: the number of BYTE and TEXT values that follow for the last SQ_BIND.

    Raises:
        SqlError: -619, the parameters have more or fewer such values.
    """
    prepared = context.current
    if message.values != descriptors([prepared.values]):
        raise SqlError(_BAD_TRANSFER)
    prepared.incoming = IncomingValues()


def take_piece(context: SessionContext, message: objects.Blob) -> None:
    """SQ_BLOB: a piece of a value of SQ_BBIND or SQ_PUT.

    Raises:
        SqlError: -619, no value is expected.
    """
    prepared = context.current
    if context.inserting is not None and prepared.insertion is not None:
        prepared.insertion.incoming.add(message.data)
        return
    incoming = prepared.incoming
    if incoming is None:
        raise SqlError(_BAD_TRANSFER)
    if incoming.add(message.data) and incoming.count == descriptors([prepared.values]):
        (prepared.values,) = incoming.placed([prepared.values])
        prepared.incoming = None


def read_object(context: SessionContext, message: objects.ReadObject) -> None:
    """SQ_LODATA 0 and 1: bytes of an open smart large object; kind 0 reads a stream as well (documented: CDC API).

    Raises:
        SqlError: -9810, bad descriptor.
    """
    if message.offset is None and context.engine.streams.find(message.handle) is not None:
        _read_stream(context, message)
        return
    opened = context.engine.objects
    with context.engine.routine_call():
        if message.offset is not None:
            opened.seek(message.handle, message.offset, message.whence)
        data = opened.read(message.handle, message.size)
    kind = _READ if message.offset is None else _READ_AT
    objects.put_object_data(context.outbox, objects.ObjectData(kind, len(data), data))


def _read_stream(context: SessionContext, message: objects.ReadObject) -> None:
    points = context.points
    if points.on_statements:
        points.before(STREAM_READ)
    data = context.engine.streams.read(message.handle, message.size)
    if points.on_statements:
        points.after(STREAM_READ)
    objects.put_object_data(context.outbox, objects.ObjectData(_READ, len(data), data))


def write_object(context: SessionContext, message: objects.WriteObject) -> None:
    """SQ_LODATA 2.

    Raises:
        SqlError: -9810, bad descriptor.
    """
    with context.engine.routine_call():
        written = context.engine.objects.write(message.handle, message.data)
    objects.put_object_data(context.outbox, objects.ObjectData(_WRITE, written))


_READ, _READ_AT, _WRITE = 0, 1, 2

HANDLERS: Final[dict[type, Handler]] = {
    objects.FetchBlob: send_value,
    objects.BlobCount: expect_values,
    objects.Blob: take_piece,
    objects.ReadObject: read_object,
    objects.WriteObject: write_object,
}
