"""Requests of a prepared statement, each with its messages in wire order. Never: when they are sent, their replies.

What ``fetch`` sends: PREPARE (`prepare`), `open_and_fetch_template`, and `next_block_request` while rows are left.
A scroll cursor's fetches are in `scroll_cursor`.
"""

from __future__ import annotations

from collections.abc import Sequence
from struct import pack
from typing import Final, NamedTuple

from aioifx.client.execution.parameters import RequestEncoder, RequestTemplate
from aioifx.sqltypes import SqlType
from aioifx.wire import requests
from aioifx.wire.capabilities import Capabilities
from aioifx.wire.opcodes import Op
from aioifx.wire.outbox import Outbox
from aioifx.wire.replies import ReplyReader
from aioifx.wire.tuples import RowReader

EXECUTE_EOT: Final = pack(">2H", Op.EXECUTE, Op.EOT)


class OpenRequest(NamedTuple):
    """Request of an ordinary opening and the reader of its reply; cached, since most are the same."""

    size: int
    read_rows: RowReader | None
    has_types: bool
    """Whether RET_TYPE had already been sent."""
    group: RequestTemplate
    reader: ReplyReader


def statement_request(statement_id: int) -> Outbox:
    """A new request, starting with ID."""
    outbox = Outbox()
    requests.put_id(outbox, statement_id)
    return outbox


def open_and_fetch_template(
    encoder: RequestEncoder,
    capabilities: Capabilities,
    statement_id: int,
    cursor: bytes,
    size: int,
    ret_types: Sequence[SqlType],
    *,
    hold: bool,
    autofree: bool,
) -> RequestTemplate:
    """Open the cursor and fetch the first block, in one group.

    Wire: ID · CURNAME · [BIND] · [HOLD] · [AUTOFREE] · OPEN · [ID · [RET_TYPE] · NFETCH]
    Source: observed: JDBC, prepared.json select_int_int; with RET_TYPE in the same group: select.json, OPTOFC with a
    prepared statement; with HOLD: select.json, holdable_int; with AUTOFREE: autofree_int. That variable-width columns
    need no second group was observed on 12.10, 14.10 and 15. Assumed: with AUTOFREE servers release the statement with
    its cursor, as JDBC then sends no RELEASE. Assumed: RET_TYPE may be in this group without BIND, too; see
    `Statement.open` for servers that refuse it.

    Args:
        cursor: its name.
        size: bytes of the fetch; 0: open only.
        ret_types: form of the values; empty if it was sent before.
        hold: keep the cursor open after the transaction.
        autofree: release the statement with its cursor.
    """
    before, after = statement_request(statement_id), Outbox()
    requests.put_curname(before, cursor)
    if hold:
        requests.put_hold(after)
    if autofree:
        requests.put_autofree(after)
    requests.put_open(after)
    if size:
        requests.put_id(after, statement_id)
        if ret_types:
            requests.put_ret_type(after, capabilities, ret_types)
        requests.put_fetch(after, size)
    requests.put_eot(after)
    return encoder.template(before.detach(), after.detach())


def next_block_request(
    statement_id: int, size: int, capabilities: Capabilities, ret_types: Sequence[SqlType] = ()
) -> bytearray:
    """Fetch the next block of at most *size* bytes, or of one row.

    Wire: ID · [RET_TYPE] · NFETCH
    Source: observed: JDBC, select.json; with RET_TYPE: after an OPEN in a group of its own

    Args:
        ret_types: form of the values; empty if it was sent before.
    """
    outbox = statement_request(statement_id)
    if ret_types:
        requests.put_ret_type(outbox, capabilities, ret_types)
    requests.put_fetch(outbox, size)
    requests.put_eot(outbox)
    return outbox.data


def execute_template(encoder: RequestEncoder, statement_id: int) -> RequestTemplate:
    """Execute a statement that returns no rows.

    Wire: ID · [BIND] · EXECUTE
    Source: observed: JDBC, prepared.json
    """
    return encoder.template(statement_request(statement_id).detach(), EXECUTE_EOT)
