"""One session of the model: login, requests in order, replies, locks waited for, interrupts. Never: who listens."""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from aioifx.codecs.large_objects import Descriptor, row_descriptor
from aioifx.codecs.params import decode_value
from aioifx.errors import DatabaseError
from aioifx.wire import completion, descriptions, objects, replies, requests, session_requests
from aioifx.wire.capabilities import SERVER_MASK, Capabilities
from aioifx.wire.fields import BLOB_DESCRIPTOR
from aioifx.wire.handshake import LoginReply, put_login_reply, read_login
from aioifx.wire.inbox import Inbox, padded
from aioifx.wire.opcodes import LoginType, OpenWarning, StatementType
from aioifx.wire.outbox import Outbox
from aioifx.wire.tuples import TUPLE_HEAD
from tests.system.simulation.model.capture import NO_SESSION, SESSION, Capture, rows_of
from tests.system.simulation.model.database import LOCKED, WIDE, DatabaseFailure, Key, Transaction, wide_text
from tests.system.simulation.model.differences import Difference
from tests.system.simulation.model.statements import (
    CODE_SET,
    TWICE,
    Statement,
    decoder_of,
    encoder_of,
    recognised,
)

if TYPE_CHECKING:
    from tests.system.simulation.model.server import ModelServer
    from tests.system.simulation.network import Transport

INTERRUPTED: Final = -213
LONG_TRANSACTION: Final = -458
"""The server has rolled the transaction back."""
VIOLATED: Final = -691
"""A COMMIT that fails: a deferred constraint is violated (documented)."""
NOT_INSERTED: Final = -271
"""Could not insert new row (documented), with the ISAM error of the lock."""
_BEGUN: Final = 1
_COMMITTED: Final = 2
_ROLLED_BACK: Final = 3
_LOGGED: Final = OpenWarning.INFORMIX | OpenWarning.LOGGED | 0x10
_SCROLL_NEXT: Final = 1
_SCROLL_FIRST: Final = 3
_SCROLL_LAST: Final = 4
_SCROLL_ABSOLUTE: Final = 6
_ON_NOTES: Final = frozenset({"insert", "notes", "delete"})
"""Statements that ALTER TABLE makes stale."""
_WRITE: Final = 32 * 1024
"""Bytes of a batch that the client sends at once."""
_REFUSED: Final = {"add": -346, "insert": -271, "duplicate": -271, "delete": -240, "alter": -346}
"""Changes, and their errors at a secondary server (documented; of ALTER TABLE assumed)."""
ISAM_SECONDARY: Final = -140


def _wake(pause: asyncio.Future[None]) -> None:
    if not pause.done():
        pause.set_result(None)


def _width(value: object) -> int:
    """Bytes of a value in a row, about."""
    return (
        len(value) + 1 if isinstance(value, str) else len(value.data) if isinstance(value, Descriptor) else 4
    )


class _Gone(Exception):
    """The client has gone, or the server has crashed."""


@dataclass(slots=True)
class _Prepared:
    number: int
    statement: Statement
    version: int
    values: tuple[Any, ...] = ()
    rows: list[tuple[Any, ...]] | None = None
    """Of the open cursor."""
    sent: int = 0
    row: int = 0
    is_hold: bool = False
    is_scroll: bool = False
    is_open: bool = False
    """An insert cursor."""
    is_released: bool = False
    """Whether the end of a transaction has closed the cursor."""
    put: list[bytes] = field(default_factory=list[bytes])
    autofree: bool = False
    has_values: bool = False
    """Whether BYTE values of the cursor can be requested although it is closed."""


@dataclass(slots=True)
class _Batch:
    """The executions that a client sends before it reads the replies to others, by their places in its stream."""

    starts: deque[int] = field(default_factory=deque[int])
    """Of the groups that are not handled yet."""
    begin: int = 0
    """Of the first group that was sent after the replies to all groups before it."""
    running: int = 0
    """Of the group that is handled."""
    sent: int = 0
    """Where the stream ended when the last reply was sent."""
    dropped: range = range(0)
    """Executions there have no reply."""

    def next(self, group: Sequence[Any]) -> bool:
        """The next group is taken; whether it is dropped."""
        self.running = self.starts.popleft()
        if self.running >= self.sent:
            self.begin = self.running
        return self.running in self.dropped and isinstance(group[-1], requests.Execute)

    def fail(self, sent: int) -> None:
        """The group has failed: those of later writes are dropped, as far as the client has sent them."""
        write = (self.running - self.begin) // _WRITE
        self.dropped = range(self.begin + (write + 1) * _WRITE, sent)


class ModelSession(asyncio.Protocol):
    """One connection at the server."""

    def __init__(self, server: ModelServer, number: int) -> None:
        self.server = server
        self.number = number
        self.database = server.database
        self.dice = random.Random(f"session {server.seed} {number}")
        self.transport: Transport
        self.is_logged_in = False
        self.has_ended = False
        self.transaction: Transaction | None = None
        self.statements: dict[int, _Prepared] = {}
        self.isolation = "committed read"
        self.lock_wait: float = 0.0
        """Seconds; infinite: without end."""
        self.temp_table = False
        self.capture: Capture | None = None
        self.has_database = True
        self.must_end = ""
        """Why no other user of a pool may get the session; empty: one may."""
        self._inbox = Inbox()
        self._capabilities = Capabilities()
        self._parser: Any = None
        self._differs = server.differs
        self._has_login = False  # read, not answered
        self._groups: deque[list[Any]] = deque()
        self._waiting: asyncio.Future[None] | None = None  # for a group
        self._pause: asyncio.Future[None] | None = None  # of a statement
        self._is_interrupted = False
        self._interrupted_after = 0  # groups, until an urgent byte that has come late is noticed
        self._is_gone = False
        self._reads_on = random.Random(f"reads on {server.seed} {number}").choice((0, 0, 0, 1, 1, 2, 99))
        """Groups that are handled after the client has gone, with the running one: a server may notice as it writes."""
        self._task: asyncio.Task[None] | None = None
        self._out = Outbox()
        self._current: _Prepared | None = None
        self._group: Sequence[Any] = ()
        self._batch = _Batch()
        self._environment: dict[bytes, bytes] = {}

    def __repr__(self) -> str:
        return f"<ModelSession {self.number}>"

    @property
    def open_cursors(self) -> int:
        return sum(each.rows is not None or each.is_open for each in self.statements.values())

    # -- the connection ------------------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport  # type: ignore[assignment]
        self._task = asyncio.get_running_loop().create_task(
            self._serve(), name=f"model session {self.number}"
        )

    def data_received(self, data: bytes) -> None:
        self._inbox.feed(data)
        self._parse()

    def _parse(self) -> None:
        """Read groups as far as the bytes reach."""
        while self._parser is not None or self._inbox.unread:
            if self._parser is None:
                self._batch.starts.append(self._inbox.consumed)
                self._parser = (
                    requests.read_request(self._inbox, self._capabilities)
                    if self._has_login
                    else read_login(self._inbox)
                )
            try:
                self._parser.send(None)
                return
            except StopIteration as stop:
                group = stop.value if isinstance(stop.value, list) else [stop.value]
            except DatabaseError as error:
                self.server.complaints.append(f"session {self.number}: {error}")
                self._go()
                return
            self._parser, self._has_login = None, True
            self._groups.append(group)
            if self._waiting is not None and not self._waiting.done():
                self._waiting.set_result(None)
            if isinstance(group[-1], (session_requests.Protocols, session_requests.Exit)):
                return

    def eof_received(self) -> bool:
        self._go()
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self._go()

    def urgent_received(self, byte: bytes) -> None:
        """Interrupt the running statement, or else the next one (observed: 14.10)."""
        if Difference.LATE_INTERRUPTS in self._differs:
            self._interrupted_after = self.dice.randint(2, 4)
            return
        self._is_interrupted = True
        if self._pause is not None and not self._pause.done():
            self._pause.set_result(None)

    def pause_writing(self) -> None:
        pass

    def resume_writing(self) -> None:
        pass

    def _sent_by_client(self) -> int:
        """The bytes that the client has sent since the connection began, with those that are on their way."""
        peer = self.transport.peer
        return self._inbox.consumed + self._inbox.unread + len(peer.on_way) + len(peer.unsent)

    def _go(self) -> None:
        self._is_gone = True
        for waiter in (self._waiting, self._pause):
            if waiter is not None and not waiter.done():
                waiter.set_result(None)

    def vanish(self) -> None:
        """The server has crashed: the session is gone at once, and its transaction undone."""
        self._reads_on = 0
        self._go()
        if self._task is not None:
            self._task.cancel()
        self._undo()

    # -- serving -------------------------------------------------------------------------------------------------------

    async def _serve(self) -> None:
        try:
            await self._log_in()
            while not self.has_ended:
                group = await self._next_group()
                if self._batch.next(group):
                    continue
                self.server.before_group(self, group)
                await self._answer(group)
                self.server.before_reply(self, group)
                reply = self._out.detach()
                if not self._is_gone:
                    self.transport.write(reply)
                self._reads_on -= self._is_gone
                self._parse()
                self._batch.sent = self._sent_by_client()
        except (_Gone, asyncio.CancelledError):
            pass
        finally:
            self._undo()
            self.server.forget(self)
            self.transport.close()

    def _undo(self) -> None:
        self.statements.clear()
        transaction, self.transaction = self.transaction, None
        if transaction is not None:
            self.database.rollback(transaction)

    async def _next_group(self) -> list[Any]:
        while not self._groups:
            if self._is_gone:
                raise _Gone
            self._waiting = asyncio.get_running_loop().create_future()
            await self._waiting
        self._check_client()
        return self._groups.popleft()

    def _check_client(self) -> None:
        """Raise _Gone if the client has gone, and the server notices now."""
        if self._is_gone and self._reads_on <= 0:
            raise _Gone

    async def _log_in(self) -> None:
        [login] = await self._next_group()
        self._batch.next((login,))
        server = self.server
        if not await self._let_pass(server.login_time * self.dice.random(), is_interruptible=False):
            raise _Gone
        answer = server.answer_to_login(login)
        put_login_reply(self._out, answer)
        self.transport.write(self._out.detach())
        if answer.type != LoginType.ACCEPT:
            raise _Gone
        self.is_logged_in = True
        self._parse()

    async def _let_pass(self, seconds: float, *, is_interruptible: bool = True) -> bool:
        """Let time pass; False if an interrupt ended it."""
        if is_interruptible and self._is_interrupted:
            return False
        if not seconds:
            return True
        loop = asyncio.get_running_loop()
        pause: asyncio.Future[None] = loop.create_future()
        self.server.after(seconds, partial(_wake, pause))
        if is_interruptible:
            self._pause = pause
        try:
            await pause
        finally:
            self._pause = None
        if is_interruptible:
            self._check_client()
        return not (is_interruptible and self._is_interrupted)

    async def _answer(self, group: Sequence[Any]) -> None:
        """Handle one group; the first error ends it."""
        self._current, self._group = None, group
        if self._interrupted_after:
            self._interrupted_after -= 1
            self._is_interrupted = self._is_interrupted or not self._interrupted_after
        command: _Prepared | None = None
        put: _Prepared | None = None
        try:
            for message in group:
                if put is not None and not isinstance(message, requests.Put):
                    await self._flush(put)
                    put = None
                if isinstance(message, requests.Command):
                    command = self._current = self._prepare(message.sql)
                    continue  # the client always sends SQ_EXECUTE with it
                handler = _HANDLERS.get(type(message))
                if handler is None:
                    raise DatabaseFailure(-999)
                await handler(self, message)
                if isinstance(message, requests.Put):
                    put = self._current
            if put is not None:
                await self._flush(put)
        except DatabaseFailure as failure:
            if failure.sqlcode == INTERRUPTED:
                self._is_interrupted = False
            if Difference.SILENT_AFTER_ERROR in self._differs:
                self._batch.fail(self._sent_by_client())
            completion.put_error(
                self._out, self._capabilities, completion.ServerError(failure.sqlcode, failure.isamcode)
            )
            if failure.sqlcode == LONG_TRANSACTION and self.transaction is not None:
                self._end_transaction(self.transaction, self.database.rollback, _ROLLED_BACK)
        finally:
            if command is not None:
                self.statements.pop(command.number, None)
        if not self.has_ended:
            replies.put_eot(self._out)

    def _chosen(self) -> _Prepared:
        if self._current is None:
            raise DatabaseFailure(-258)
        return self._current

    def _done(self, rows: int = 0, *, warnings: int = 0, serial: int = 0) -> None:
        completion.put_done(self._out, self._capabilities, completion.Done(warnings, rows, 0, serial))
        completion.put_cost(self._out, completion.Cost(1, 1))

    def _event(self, event: int) -> None:
        inside = int(event == _BEGUN)
        completion.put_xactstat(self._out, completion.TransactionState(event, inside, 1 - inside))

    # -- session messages ----------------------------------------------------------------------------------------------

    async def _negotiate(self, message: session_requests.Protocols) -> None:
        self._capabilities = Capabilities.negotiated(message.mask, SERVER_MASK, CODE_SET.codec)
        session_requests.put_protocols(self._out, SERVER_MASK)

    async def _info(self, message: session_requests.Info) -> None:
        self._environment.update(message.environment)

    async def _open_database(self, message: session_requests.DbOpen) -> None:
        warnings = _LOGGED | (OpenWarning.SECONDARY if self.server.is_secondary else 0)
        self._done(warnings=warnings)

    def _change_database(self, prepared: _Prepared) -> None:
        """DATABASE or CLOSE DATABASE: cursors and statements are gone (documented)."""
        if self.transaction is not None:
            raise DatabaseFailure(-377)
        self.statements = {prepared.number: prepared}
        self.temp_table = False
        self.must_end = "its user has changed the database"
        is_opened = prepared.statement.kind == StatementType.DATABASE
        self.has_database = is_opened
        self._done(
            warnings=_LOGGED | (OpenWarning.SECONDARY if self.server.is_secondary else 0) if is_opened else 0
        )

    async def _version(self, message: session_requests.Version) -> None:
        replies.put_version(self._out, self._capabilities, self.server.version)

    async def _exit(self, message: session_requests.Exit) -> None:
        self._undo()
        self.has_ended = True
        session_requests.put_exit(self._out)

    async def _begin(self, message: session_requests.Begin) -> None:
        self._begin_work()

    def _begin_work(self) -> None:
        if self.transaction is not None:
            raise DatabaseFailure(-535)
        self.transaction = Transaction(self.database, self.number)
        self._done()
        self._event(_BEGUN)

    async def _commit(self, message: session_requests.Commit) -> None:
        await self._commit_work()

    async def _commit_work(self) -> None:
        transaction = self._open_transaction()
        await self._let_pass(self.server.time_of(self.dice), is_interruptible=False)
        self._check_client()
        self.server.before_commit(self)
        if self.server.fails_commit():
            if self.dice.random() < 0.5:
                self._end_transaction(transaction, self.database.rollback, _ROLLED_BACK)
            raise DatabaseFailure(VIOLATED)
        self._done()
        self._end_transaction(transaction, self.database.commit, _COMMITTED)

    async def _rollback(self, message: session_requests.Rollback) -> None:
        self._rollback_work()

    def _rollback_work(self) -> None:
        transaction = self._open_transaction()
        self._done()
        self._end_transaction(transaction, self.database.rollback, _ROLLED_BACK)

    def _end_transaction(
        self, transaction: Transaction, end: Callable[[Transaction], None], event: int
    ) -> None:
        self.transaction = None
        end(transaction)
        for prepared in self.statements.values():
            if prepared.is_hold:
                continue
            prepared.is_released = prepared.rows is not None or prepared.is_open
            prepared.rows, prepared.is_open = None, False
        self._event(event)

    def _open_transaction(self) -> Transaction:
        if self.transaction is None:
            raise DatabaseFailure(-255)
        return self.transaction

    async def _set_savepoint(self, message: session_requests.SetSavepoint) -> None:
        self._open_transaction().set_savepoint(message.name.decode().lower())
        self._done()

    async def _release_savepoint(self, message: session_requests.ReleaseSavepoint) -> None:
        self._open_transaction().release_savepoint(message.name.decode().lower())
        self._done()

    async def _rollback_to(self, message: session_requests.RollbackSavepoint) -> None:
        self._open_transaction().rollback_to(message.name.decode().lower())
        self._done()

    # -- statements ----------------------------------------------------------------------------------------------------

    def _prepare(self, sql: bytes) -> _Prepared:
        statement = recognised(sql.decode("latin-1"))
        if not self.has_database and statement.kind != StatementType.DATABASE:
            raise DatabaseFailure(-349)
        number = next(each for each in range(len(self.statements) + 1) if each not in self.statements)
        prepared = self.statements[number] = _Prepared(number, statement, self.database.version)
        return prepared

    async def _on_prepare(self, message: requests.Prepare) -> None:
        if not await self._let_pass(self.server.time_of(self.dice) / 4):
            raise DatabaseFailure(INTERRUPTED)
        self._current = self._prepare(message.sql)

    async def _choose(self, message: requests.Id) -> None:
        if message.statement_id not in self.statements:
            raise DatabaseFailure(-258)
        self._current = self.statements[message.statement_id]

    async def _describe(self, message: requests.Describe) -> None:
        prepared = self._chosen()
        statement = prepared.statement
        size = sum(each.type.length for each in statement.columns)
        description = descriptions.Description(statement.kind, prepared.number, statement.columns, size, 1)
        descriptions.put_describe(self._out, self._capabilities, description)

    async def _want_done(self, message: requests.WantDone) -> None:
        if self._chosen().statement.kind == StatementType.INSERT:
            completion.put_insertdone(self._out, self._capabilities, completion.Serials())
        self._done()

    async def _describe_input(self, message: requests.DescribeInput) -> None:
        descriptions.put_idescribe(self._out, self._capabilities, self._chosen().statement.parameters)

    async def _bind(self, message: requests.Bind) -> None:
        self._chosen().values = tuple(
            decode_value(each.code & 0xFF, each.indicator, each.precision, each.data, CODE_SET, each.name)
            for each in message.entries
        )

    async def _ignore(self, message: Any) -> None:
        pass

    async def _make_hold(self, message: requests.Hold) -> None:
        self._chosen().is_hold = True

    async def _make_scroll(self, message: requests.Scroll) -> None:
        self._chosen().is_scroll = True

    async def _make_autofree(self, message: requests.AutoFree) -> None:
        self._chosen().autofree = True

    async def _release(self, message: requests.Release) -> None:
        if self._current is not None:
            self.statements.pop(self._current.number, None)

    async def _close(self, message: requests.Close) -> None:
        prepared = self._chosen()
        prepared.rows, prepared.is_open = None, False
        if prepared.autofree:
            self.statements.pop(prepared.number, None)

    async def _on_execute(self, message: requests.Execute) -> None:
        await self._execute(self._chosen())

    async def _execute(self, prepared: _Prepared) -> None:
        """Run a statement that returns no rows."""
        statement = prepared.statement
        name = statement.name
        if name == "begin":
            return self._begin_work()
        if name in ("database", "close database"):
            return self._change_database(prepared)
        if name == "commit":
            return await self._commit_work()
        if name == "rollback":
            return self._rollback_work()
        rows, serial = await self._run(prepared, self._effect_of(prepared))
        if statement.kind == StatementType.INSERT:
            completion.put_insertdone(self._out, self._capabilities, completion.Serials())
        self._done(rows, serial=serial)
        return None

    def _effect_of(self, prepared: _Prepared) -> Callable[[Transaction], tuple[int, int]]:
        """What the statement does once its locks are held: rows and serial."""
        name, values, database = prepared.statement.name, prepared.values, self.database

        def effect(transaction: Transaction) -> tuple[int, int]:
            match name:
                case "add":
                    return database.add(transaction, values[1], values[0]), 0
                case "insert":
                    if values[1] == TWICE:
                        raise DatabaseFailure(-268, -100)
                    return 1, database.insert_note(transaction, values[0], values[1])
                case "delete":
                    return database.delete_notes(transaction, values[0]), 0
                case "duplicate":
                    raise DatabaseFailure(-268, -100)
                case "alter":
                    database.alter(transaction)
                case "set isolation":
                    self.isolation = prepared.statement.argument
                case "set lock mode":
                    self._set_lock_mode(prepared.statement.argument)
                case "create mine":
                    if self.temp_table:
                        raise DatabaseFailure(-958)
                    self._set_temp_table(transaction, True)
                case "drop mine":
                    if not self.temp_table:
                        raise DatabaseFailure(-206, -111)
                    self._set_temp_table(transaction, False)
                case _:
                    pass
            return 0, 0

        return effect

    def _set_temp_table(self, transaction: Transaction, exists: bool) -> None:
        self.temp_table = exists

        def undo() -> None:
            self.temp_table = not exists

        undo.change = None  # type: ignore[attr-defined]
        transaction.undo.append(undo)

    def _set_lock_mode(self, mode: str) -> None:
        words = mode.split()
        if words[0] == "not":
            self.lock_wait = 0.0
        else:
            self.lock_wait = float(words[1]) if len(words) > 1 else float("inf")

    async def _run(self, prepared: _Prepared, effect: Callable[[Transaction], Any]) -> Any:
        """Let time pass, take locks, run *effect*; outside a transaction, commit."""
        statement, values = prepared.statement, prepared.values
        if len(values) != len(statement.parameters):
            raise DatabaseFailure(-254)
        if self.server.is_secondary and statement.name in _REFUSED:
            raise DatabaseFailure(_REFUSED[statement.name], ISAM_SECONDARY)
        if statement.name in _ON_NOTES and prepared.version != self.database.version:
            raise DatabaseFailure(-710)
        seconds = values[0] / 1000 if statement.name == "pause" else self.server.time_of(self.dice)
        if not await self._let_pass(seconds):
            raise DatabaseFailure(INTERRUPTED)
        transaction = self.transaction or Transaction(self.database, self.number)
        mark = len(transaction.undo)
        try:
            for key, exclusive in self._locks_of(statement.name, values):
                try:
                    await self._lock(transaction, key, exclusive)
                except DatabaseFailure as failure:
                    if statement.name == "insert" and failure.sqlcode == LOCKED:
                        failure.sqlcode = NOT_INSERTED
                    raise
            if transaction is self.transaction and self.server.ends_transaction():
                raise DatabaseFailure(LONG_TRANSACTION)
            result = effect(transaction)
        except BaseException:
            transaction.undo_to(mark)
            if self.transaction is not transaction:
                self.database.rollback(transaction)
            raise
        if self.transaction is not transaction:
            self.server.before_commit(self)
            self.database.commit(transaction)
        elif not self._keeps_locks(statement.name):
            for key, exclusive in list(transaction.held.items()):
                if not exclusive:
                    self.database.unlock(transaction, key)
        return result

    def _keeps_locks(self, name: str) -> bool:
        return self.isolation == "repeatable read" or name == "account for update"

    def _locks_of(self, name: str, values: Sequence[Any]) -> list[tuple[Key, bool]]:
        if name.startswith("account") and self.isolation != "dirty read":
            if "no locks" in self.database.bugs:
                return []
            if name == "accounts":
                return [(("account", number), False) for number in self.database.accounts]
            return [(("account", values[0]), name == "account for update")]
        if name == "add":
            return [(("account", values[1]), True)]
        if name in ("insert", "delete"):
            return [(("note", values[0]), True)]
        if name == "notes" and self.isolation != "dirty read":
            return [(("note", values[0]), False)]
        return []

    async def _lock(self, transaction: Transaction, key: Key, exclusive: bool) -> None:
        database = self.database
        if database.try_lock(transaction, key, exclusive):
            return
        if not self.lock_wait:
            raise database.lock_timeout(False)
        granted = False
        pause = self._pause = asyncio.get_running_loop().create_future()

        def wake() -> None:
            nonlocal granted
            granted = True
            if not pause.done():
                pause.set_result(None)

        leave = database.wait(transaction, key, exclusive, wake)
        if self.lock_wait != float("inf"):
            self.server.after(self.lock_wait, partial(_wake, pause))
        try:
            if not self._is_interrupted and not self._is_gone:
                await pause
        finally:
            self._pause = None
            leave()
        if self._is_gone:
            raise _Gone
        if self._is_interrupted:
            raise DatabaseFailure(INTERRUPTED)
        if not granted:
            raise database.lock_timeout(True)

    # -- cursors -------------------------------------------------------------------------------------------------------

    async def _open(self, message: requests.Open) -> None:
        prepared = self._chosen()
        prepared.sent = prepared.row = 0
        prepared.rows, prepared.is_open, prepared.is_released = None, False, False
        prepared.has_values = False
        if prepared.statement.kind == StatementType.INSERT:
            if self.transaction is None:
                raise DatabaseFailure(-265)
            prepared.is_open = True
            prepared.put.clear()
            return
        if not prepared.statement.returns_rows:
            raise DatabaseFailure(-363)
        prepared.rows = await self._run(prepared, lambda transaction: self._rows_of(prepared))

    def _rows_of(self, prepared: _Prepared) -> list[tuple[Any, ...]]:
        database, values = self.database, prepared.values
        match prepared.statement.name:
            case "account" | "account for update":
                return [(values[0], database.accounts[values[0]])] if values[0] in database.accounts else []
            case "accounts":
                return list(database.accounts.items())
            case "notes":
                return [(number, *note) for number, note in database.notes.items() if note[0] == values[0]]
            case "wide":
                shift = "rows of another query" in database.bugs and self.dice.random() < 0.1
                return [
                    (number, wide_text(number))
                    for number in range(max(values[0], 0) + shift, min(values[1], WIDE))
                ]
            case "all wide":
                return [(number, wide_text(number)) for number in range(WIDE)]
            case "album":
                width = BLOB_DESCRIPTOR[self._capabilities.long_rowid]
                return [
                    (number, row_descriptor(len(wide_text(number)), width, number))
                    for number in range(max(values[0], 0), min(values[1], WIDE))
                ]
            case "mine":
                if not self.temp_table:
                    raise DatabaseFailure(-206, -111)
                return []
            case name if name.startswith("cdc "):
                return [(self._call_capture(name.removeprefix("cdc "), values),)]
            case name:
                return rows_of(name, database.log)

    def _opened(self) -> _Prepared:
        prepared = self._chosen()
        if prepared.is_released:
            raise DatabaseFailure(-267)
        if prepared.rows is None and not prepared.is_open:
            raise DatabaseFailure(-259)
        return prepared

    async def _read_on(self) -> None:
        """Let the time of a fetch pass.

        Raises:
            DatabaseFailure: the fetch was interrupted, or a row is locked; the cursor stays open.
        """
        if self._is_interrupted or not await self._let_pass(self.server.time_of(self.dice) / 8):
            raise DatabaseFailure(INTERRUPTED)
        if self.server.fails_fetch():
            raise self.database.lock_timeout(False)

    async def _take_types(self, message: requests.RetType) -> None:
        kinds = {type(each) for each in self._group}
        if (
            Difference.RET_TYPE_REFUSED in self._differs
            and requests.Fetch in kinds
            and requests.Open in kinds
            and requests.Bind not in kinds
        ):
            raise DatabaseFailure(-999)

    async def _fetch(self, message: requests.Fetch) -> None:
        prepared = self._opened()
        assert prepared.rows is not None
        await self._read_on()
        room: list[tuple[Any, ...]] = []
        size = 0
        for row in prepared.rows[prepared.sent :]:
            width = TUPLE_HEAD + padded(sum(map(_width, row)))
            if room and (size + width > message.size or prepared.statement.name == "account for update"):
                break
            room.append(row)
            size += width
        self._out.raw(encoder_of(prepared.statement.columns).encode(room))
        prepared.sent += len(room)
        self._end_block(prepared, len(room), is_last=prepared.sent == len(prepared.rows))

    def _end_block(self, prepared: _Prepared, count: int, *, is_last: bool) -> None:
        """What follows *count* rows."""
        differs, total = self._differs, prepared.sent
        if count and Difference.NO_DONE_WITH_ROWS in differs:
            return
        if not is_last:
            if Difference.DONE_WITH_EACH_BLOCK in differs:
                self._done(total)
            return
        if self._closes_with_last_row(prepared):
            replies.put_closed(self._out)
            prepared.rows, prepared.has_values = None, Difference.VALUES_KEPT in differs
            if prepared.autofree:
                self.statements.pop(prepared.number, None)
        if count or not {Difference.END_WITHOUT_DONE, Difference.END_WITH_ZERO}.intersection(differs):
            self._done(total)
        elif Difference.END_WITH_ZERO in differs:
            self._done()

    def _closes_with_last_row(self, prepared: _Prepared) -> bool:
        differs, asked = self._differs, self._environment.get(b"OPTOFC", b"")
        if (
            prepared.statement.name == "album"
            and not {Difference.VALUES_KEPT, Difference.VALUES_GONE} & differs
        ):
            return False
        if Difference.OPTOFC_IGNORED in differs:
            return False
        return asked == b"1" or (Difference.OPTOFC_ALWAYS in differs and asked != b"0")

    async def _send_value(self, message: objects.FetchBlob) -> None:
        """A BYTE value in pieces (observed: the last one is empty)."""
        prepared = self._chosen()
        if prepared.rows is None and not prepared.has_values:
            raise DatabaseFailure(-602)
        if not await self._let_pass(self.server.time_of(self.dice) / 8):
            raise DatabaseFailure(INTERRUPTED)
        value = wide_text(Descriptor(message.descriptor).reference).encode()
        for begin in range(0, len(value), 40):
            objects.put_blob_piece(self._out, value[begin : begin + 40])
        objects.put_blob_piece(self._out, b"")
        self._done()

    def _call_capture(self, routine: str, values: Sequence[Any]) -> int:
        """The result of a routine of syscdcv1."""
        if routine == "opensess":
            number = SESSION + self.number
            self.capture = Capture(self.database.log, self.dice, number, values[2], values[3])
            return number
        if self.capture is None:
            return NO_SESSION
        if routine == "closesess":
            self.capture = None
            return 0
        return self.capture.call(routine, values)

    async def _read_changes(self, message: objects.ReadObject) -> None:
        """The next records of the capture session, or a TIMEOUT."""
        capture = self.capture
        if capture is None or message.handle != objects.handle_of(capture.number):
            raise DatabaseFailure(-999)
        data, readers = capture.take(message.size), self.database.log.readers
        if not data:
            readers[self] = self._wake_reader
            try:
                await self._let_pass(capture.seconds)
            finally:
                del readers[self]
            data = capture.take(message.size) or capture.silence()
        self.server.before_read()
        objects.put_object_data(self._out, objects.ObjectData(0, len(data), data))

    def _wake_reader(self) -> None:
        if self._pause is not None:
            _wake(self._pause)

    async def _scroll(self, message: requests.ScrollFetch) -> None:
        prepared = self._opened()
        if not prepared.is_scroll or prepared.rows is None:
            raise DatabaseFailure(-285)
        await self._read_on()
        count = len(prepared.rows)
        match message.kind:
            case kind if kind == _SCROLL_NEXT:
                row = message.row or count
            case kind if kind == _SCROLL_FIRST:
                row = 1
            case kind if kind == _SCROLL_LAST:
                row = count
            case kind if kind == _SCROLL_ABSOLUTE:
                row = message.row if message.row >= 0 else count + 1 + message.row
            case _:
                raise DatabaseFailure(-999)
        prepared.row = max(0, min(row, count + 1))
        if not 1 <= prepared.row <= count:
            self._done()
            return
        self._out.raw(encoder_of(prepared.statement.columns).encode([prepared.rows[prepared.row - 1]]))
        replies.put_tupid(self._out, prepared.row)
        if message.kind != _SCROLL_LAST:
            self._done(1)

    async def _put(self, message: requests.Put) -> None:
        prepared = self._opened()
        if Difference.PUT_REFUSED in self._differs:
            raise DatabaseFailure(-999)
        if not prepared.is_open:
            raise DatabaseFailure(-259)
        if self.transaction is None:
            raise DatabaseFailure(-265)
        prepared.put.extend(message.rows)

    async def _flush(self, prepared: _Prepared) -> None:
        """Insert the rows of all SQ_PUT before."""
        payloads, prepared.put = prepared.put, []
        data = bytearray()
        for payload in payloads:
            data += b"\0\x0e\0\0" + len(payload).to_bytes(4, "big") + payload + b"\0" * (len(payload) & 1)
        rows: list[Any] = []
        decoder_of(prepared.statement.columns)(data, 0, len(data), rows)
        serial = 0
        for row in rows:
            prepared.values = row
            _, serial = await self._run(prepared, self._effect_of(prepared))
        self._done(len(rows), serial=serial)


_HANDLERS: Final[dict[type, Callable[[ModelSession, Any], Any]]] = {
    session_requests.Protocols: ModelSession._negotiate,
    session_requests.Info: ModelSession._info,
    session_requests.DbOpen: ModelSession._open_database,
    session_requests.Version: ModelSession._version,
    session_requests.Exit: ModelSession._exit,
    session_requests.Begin: ModelSession._begin,
    session_requests.Commit: ModelSession._commit,
    session_requests.Rollback: ModelSession._rollback,
    session_requests.SetSavepoint: ModelSession._set_savepoint,
    session_requests.ReleaseSavepoint: ModelSession._release_savepoint,
    session_requests.RollbackSavepoint: ModelSession._rollback_to,
    requests.Prepare: ModelSession._on_prepare,
    requests.Id: ModelSession._choose,
    requests.Describe: ModelSession._describe,
    requests.WantDone: ModelSession._want_done,
    requests.DescribeInput: ModelSession._describe_input,
    requests.Bind: ModelSession._bind,
    requests.CurName: ModelSession._ignore,
    requests.Scroll: ModelSession._make_scroll,
    requests.RetType: ModelSession._take_types,
    requests.Hold: ModelSession._make_hold,
    requests.AutoFree: ModelSession._make_autofree,
    requests.Release: ModelSession._release,
    requests.Close: ModelSession._close,
    requests.Execute: ModelSession._on_execute,
    requests.Open: ModelSession._open,
    requests.Fetch: ModelSession._fetch,
    objects.FetchBlob: ModelSession._send_value,
    objects.ReadObject: ModelSession._read_changes,
    requests.ScrollFetch: ModelSession._scroll,
    requests.Put: ModelSession._put,
}

__all__ = ["INTERRUPTED", "LoginReply", "ModelSession"]
