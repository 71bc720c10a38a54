"""Requests of a statement's cursor, and what later ones depend on. Never: when they are sent, the state of the cursor.

What ``fetch`` sends: PREPARE (`prepare`), `open_and_fetch_template`, and `next_block_request` while rows are left.
A scroll cursor's fetches are in `scroll_cursor`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from aioifx.client.execution.parameters import RequestEncoder, RequestTemplate
from aioifx.client.execution.row_plan import RowPlans
from aioifx.client.execution.statement_requests import statement_request
from aioifx.client.session.session import Session
from aioifx.sqltypes import SqlType
from aioifx.wire import requests
from aioifx.wire.capabilities import Capabilities
from aioifx.wire.outbox import Outbox
from aioifx.wire.replies import Continuation, Reply, ReplyReader
from aioifx.wire.tuples import RowReader

REPLY_SLACK: Final = 1 << 20
"""Bytes that a reply may have beyond its rows."""


class OpenRequest(NamedTuple):
    """Request of an ordinary opening and the reader of its reply; cached, since most are the same."""

    size: int
    hold: bool
    read_rows: RowReader | None
    group: RequestTemplate
    reader: ReplyReader


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
) -> bytes:
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
    return outbox.detach()


class CursorRequests:
    """The requests of one statement's cursor.

    Args:
        row_size: bytes of a row at most, as described.
        ret_types: the form in which the server is to send values; empty if it is the usual one.
        has_parameters: whether its opening has BIND.
    """

    def __init__(
        self,
        session: Session,
        statement_id: int,
        row_size: int,
        ret_types: Sequence[SqlType],
        plans: RowPlans,
        *,
        has_parameters: bool,
    ) -> None:
        self._session = session
        self._statement_id = statement_id
        self.row_size = row_size
        self.ret_types = ret_types
        self._plans = plans
        self._has_parameters = has_parameters
        self._name: bytes | None = None
        self.read_rows: RowReader | None = None
        """The reader of the open cursor's tuples; None: the one of plain tuples."""
        self.are_types_sent = not ret_types
        """Whether the server knows the form in which to send values."""
        self.autofree_asked = False
        self.autofree_granted = False
        """Whether closing the cursor releases the statement."""
        self.had_done: bool | None = None
        """Whether the block before had an SQ_DONE with a row count; None: there was none, or it does not matter."""
        self.last_open: OpenRequest | None = None
        self.continuation = Continuation()
        self._last_reader: ReplyReader | None = None
        self._next_blocks: dict[tuple[int, bool], bytes] = {}
        self._templates: dict[tuple[int, bool, bool, bool], RequestTemplate] = {}

    @property
    def has_uncertain_ret_types(self) -> bool:
        """Whether the next opening has RET_TYPE without BIND, which no other client sends with OPEN."""
        return not (self.are_types_sent or self._has_parameters)

    def name(self) -> bytes:
        """The name of the cursor, the same for every opening."""
        if self._name is None:
            self._name = self._session.conversation.cursor_name()
        return self._name

    def on_types_sent(self) -> None:
        """Called after the first reply: later requests have no RET_TYPE."""
        self.are_types_sent, self.last_open = True, None

    def fetch_size(self, wanted: int = 0) -> int:
        """Bytes of one fetch, 0 for the session's; JDBC raises it to the row's size (observed: select.json)."""
        return max(wanted or self._session.fetch_buffer.size, self.row_size)

    def opening(
        self,
        encoder: RequestEncoder,
        size: int,
        read_rows: RowReader | None,
        *,
        hold: bool,
        is_one_shot: bool,
    ) -> OpenRequest | None:
        """The request for fetches of *size* bytes, or of a row's size if larger; None if it may be refused."""
        if self.has_uncertain_ret_types and not self._session.behavior.ret_type_with_open:
            return None
        self.read_rows = read_rows
        enough = self.fetch_size(size)
        group = self.open_template(encoder, enough, hold=hold, is_one_shot=is_one_shot)
        reader = self.reply_reader(enough)
        self.last_open = OpenRequest(size, hold, read_rows, group, reader)
        return self.last_open

    def open_template(
        self, encoder: RequestEncoder, size: int, *, hold: bool, is_one_shot: bool
    ) -> RequestTemplate:
        """See `open_and_fetch_template`.

        Args:
            is_one_shot: the statement is opened only once.
        """
        session = self._session
        # A statement that may have to be opened again must not be released by AUTOFREE.
        autofree = (
            session.autofree
            and is_one_shot
            and not session.fetch_buffer.is_unconfirmed
            and not (self.has_uncertain_ret_types and session.behavior.ret_type_with_open is None)
        )
        self.autofree_asked = autofree
        key = (size, hold, autofree, self.are_types_sent)
        template = self._templates.get(key)
        if template is None:
            template = self._templates[key] = open_and_fetch_template(
                encoder,
                session.conversation.capabilities,
                self._statement_id,
                self.name(),
                size,
                () if self.are_types_sent else self.ret_types,
                hold=hold,
                autofree=autofree,
            )
        return template

    def next_block(self, size: int) -> bytes:
        """See `next_block_request`; cached, since a result has many blocks."""
        key = (size, self.are_types_sent)
        request = self._next_blocks.get(key)
        if request is None:
            ret_types = () if self.are_types_sent else self.ret_types
            request = self._next_blocks[key] = next_block_request(
                self._statement_id, size, self._session.conversation.capabilities, ret_types
            )
        return request

    def reply_reader(self, size: int) -> ReplyReader:
        """The reader of the reply to a fetch of *size* bytes; cached, since most fetches have the same size."""
        read_rows = self.read_rows or self._plans.reader()
        limit = 2 * size + REPLY_SLACK
        reader = self._last_reader
        if reader is None or reader.limit != limit or reader.read_rows is not read_rows:
            reader = self._last_reader = self._session.conversation.reader(
                read_rows, limit, self.continuation
            )
        return reader

    def has_last_rows(self, reply: Reply) -> bool:
        """Whether the rows of a query's reply without SQ_CLOSE are the last ones.

        JDBC ends them with an SQ_DONE that has a row count (observed: select.json). Other clients fetch once more, on
        12.10 to 15; one of them expects rows after such an SQ_DONE (14.10, 15). So it is the end only after the blocks
        of a query have shown that this server sends it with the last rows alone.
        Assumed: what the blocks of one query show is true of all queries at this server.
        """
        if reply.no_rows is not None:
            return True
        behavior, has_done = self._session.behavior, reply.done is not None and reply.done.rows > 0
        if self.had_done is not None and reply.rows:
            behavior.learn("done_ends_rows", not self.had_done)
        self.had_done = has_done
        return has_done and behavior.done_ends_rows is True
