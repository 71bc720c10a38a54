"""Past defects of the client, put back one at a time, to prove that the simulation finds them. Never: a new one.

Those of locks are mistakes that the embedded server's lock manager could have.
A defect is a replaced piece of the source of one function. If the piece is no longer there, planting it fails.
"""

from __future__ import annotations

import ast
import contextlib
import inspect
import sys
import textwrap
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, Final, NamedTuple


class Defect(NamedTuple):
    """One mistake."""

    was: str
    """What users saw."""
    module: str
    function: str
    """The qualified name in its module."""
    mended: str
    """A piece of the source."""
    broken: str
    """What stands for it in the defect."""
    seeds: int
    """The seeds from 0 on that a test tries: three times as many as find it, or more (measured). 0: none."""
    scenario: str = ""
    """A scenario in data/ that finds it, where few seeds do. Without either, nothing has found it yet: a hole."""


DEFECTS: Final = {
    "frozen loop": Defect(
        "With pipelining, a connection released with an open transaction blocked the event loop.",
        "aioifx.client.pool.lifecycle",
        "PooledSession.wait_idle",
        "apply_settings=False, idle=True",
        "apply_settings=False",
        30,
    ),
    "OSError out of connect": Defect(
        "A host that accepts and resets at once was a bare OSError.",
        "aioifx.client.connect.transport",
        "_keep_alive",
        "except OSError:",
        "except ZeroDivisionError:",
        0,
        "reset_as_it_is_accepted",
    ),
    "slot lost on cancel": Defect(
        "A pool lost a connection whose task was cancelled as it got it.",
        "aioifx.client.pool.manager",
        "PoolManager._on_wait_cancelled",
        "if future.done() and",
        "if False and",
        0,
        "cancelled_as_it_gets_a_connection",
    ),
    "late urgent byte": Defect(
        "An interrupt that came after its statement had ended interrupted the next one.",
        "aioifx.client.session.dispatcher",
        "Dispatcher._run_deferred",
        "self.defer_first(self._probe())",
        "pass",
        0,
        "interrupt_that_comes_late",
    ),
    "COMMIT reported as failed": Defect(
        "A COMMIT whose reply was lost did not say that its outcome is unknown.",
        "aioifx.client.session.transactions",
        "_on_commit_lost",
        "_note_unknown(error, _COMMIT_LOST)",
        "pass",
        0,
        "reply_to_a_commit_lost",
    ),
    "lone INSERT reported as failed": Defect(
        "A change outside a transaction whose reply was lost did not say that its outcome is unknown.",
        "aioifx.client.session.transactions",
        "Transactions.on_reply_lost",
        "_note_unknown(error, _STATEMENT_LOST)",
        "pass",
        0,
        "reply_to_an_insert_lost",
    ),
    "rollback lost": Defect(
        "A transaction that was abandoned by a cancellation stayed open.",
        "aioifx.client.session.transactions",
        "Transactions.rollback_later",
        "self._dispatcher.defer(Cleanup(session_requests.put_rollback, self._on_deferred_rollback))",
        "self._on(TransactionEvent.ROLLED_BACK)",
        50,
    ),
    "unfair pool": Defect(
        "Who came last to a pool was served first.",
        "aioifx.client.pool.decisions",
        "PoolState.enqueue",
        "self.waiting[waiter] = None",
        "self.waiting[waiter] = None; self.waiting.move_to_end(waiter, last=False)",
        200,
    ),
    "unfair connection": Defect(
        "Who came last to a connection was served first.",
        "aioifx.client.session.dispatcher",
        "Dispatcher.enqueue",
        "self._waiters[waiter] = None",
        "self._waiters[waiter] = None; self._waiters.move_to_end(waiter, last=False)",
        100,
    ),
    "rows of another query": Defect(
        "The reply to a cancelled request was taken for the reply to the next.",
        "aioifx.client.session.dispatcher",
        "Dispatcher.abandon",
        "\n    future.cancel()",
        "\n    future.cancel()\n    self._in_flight.remove(in_flight)",
        100,
    ),
    "rows there twice": Defect(
        "A batch whose statement became stale midway was executed again, although its first rows were stored.",
        "aioifx.client.execution.execute",
        "_executemany",
        "statement.is_partly_executed = error.row_index != 0",
        "pass",
        0,
        "batch_with_a_stale_statement",
    ),
    "session lent twice": Defect(
        "A pool assigned one connection to two tasks.",
        "aioifx.client.pool.decisions",
        "PoolState._take",
        "self.idle.pop()",
        "self.idle[-1]",
        20,
    ),
    "opening never counted down": Defect(
        "Attempts that failed counted as connections that were opening, until the pool opened no more.",
        "aioifx.client.pool.decisions",
        "PoolState.on_open_failed",
        "self.opening -= 1",
        "pass",
        100,
    ),
    "time limit ignored": Defect(
        "A statement whose server was silent had no time limit.",
        "aioifx.client.session.dispatcher",
        "Dispatcher.reply",
        "if self._timeout is not None:",
        "if False:",
        100,
    ),
    "cursor left open": Defect(
        "A stream that was left early kept its cursor at the server.",
        "aioifx.client.execution.statement",
        "Statement.close_cursor",
        "self.session.conversation.release_later(self.statement_id, cursor=True, release=False)",
        "pass",
        400,
    ),
    "pool gone for 30 s": Defect(
        "A pool refused calls for up to 30 s although its server was back.",
        "aioifx.client.pool.decisions",
        "PoolState._next_attempt_at",
        "if self.waiting and not self._permanent:",
        "if False:",
        0,
        "server_that_was_down_for_long",
    ),
    "connection left by a race": Defect(
        "Of two addresses of a name that accepted at the same moment, one connection stayed open.",
        "aioifx.client.connect.transport",
        "StaggeredRace.close",
        "task.add_done_callback(self._on_done)",
        "pass",
        0,
        "addresses_that_accept_at_once",
    ),
    "cancelled call without limit": Defect(
        "The rest of a cancelled call had no time limit, so the next call waited for it.",
        "aioifx.client.session.interrupts",
        "Interrupter.start_timeout",
        "self.cancel_timer = self._channel.loop.call_later(self.cancel_timeout, self._drop)",
        "pass",
        0,
        "silence_after_a_cancellation",
    ),
    "idle connection kept": Defect(
        "A pool's timer for an idle connection at its deadline fired again and again.",
        "aioifx.client.pool.decisions",
        "PoolState._close_overdue",
        "now >= self._surplus_at",
        "self._surplus_at < math.inf and now - self.idle[0].idle_since >= self.limits.max_idle",
        0,
        "idle_at_its_deadline",
    ),
    "batch goes on without its transaction": Defect(
        "A batch that collects errors stored its rows one by one after the server had ended the transaction.",
        "aioifx.client.execution.pipeline",
        "_ExecutePipeline.drain_one",
        "if failures and (number := self._ending()) is not None:",
        "if failures and (number := None) is not None:",
        0,
        "batch_in_a_transaction_that_ends",
    ),
    "rows stored unsaid": Defect(
        "A batch whose transaction the server ended did not say that rows in flight may be stored.",
        "aioifx.client.execution.pipeline",
        "run_pipeline",
        "pipeline.note_stored(error)",
        "pass",
        0,
        "batch_in_a_transaction_that_ends",
    ),
    "timer of an interrupt left": Defect(
        "After conn.cancel() a timer kept the connection in memory for the rest of cancel_timeout.",
        "aioifx.client.session.interrupts",
        "Interrupter._stop_running",
        "self._running_timer.cancel()",
        "pass",
        0,
        "interrupt_that_comes_late",
    ),
    "timer of a lost connection left": Defect(
        "After a connection was lost, a timer kept it in memory for the rest of command_timeout.",
        "aioifx.client.session.dispatcher",
        "Dispatcher._set_deadline",
        "if self.channel.failure is None:",
        "if True:",
        0,
        "timer_after_a_lost_connection",
    ),
    "late urgent byte with pipelining": Defect(
        "With pipelining, an interrupt that came too late interrupted the next statement.",
        "aioifx.client.session.interrupts",
        "Interrupter.is_settled",
        "self.cancel_timer is None and not self.is_pending and not self.is_unconfirmed",
        "self.cancel_timer is None",
        0,
        "interrupt_that_comes_late",
    ),
    "future of an idle connection": Defect(
        "Who waited for a connection got a TypeError if its cleanup was done at once.",
        "aioifx.client.session.dispatcher",
        "Dispatcher._wait_for_outstanding",
        "await waiter.future",
        "await self._idle_waiter.future",
        0,
    ),
    "connection left by a cancelled race": Defect(
        "A call that was cancelled as one of several addresses of a name accepted left a connection open.",
        "aioifx.client.connect.transport",
        "_first",
        "channel.abort()",
        "pass",
        0,
        "cancelled_as_an_address_accepts",
    ),
    "session left by a cancelled race": Defect(
        "A call that was cancelled while attempts at other hosts were stopped left a session open.",
        "aioifx.client.connect.connect",
        "_Connector._try_each",
        "connection.terminate()",
        "pass",
        0,
        "cancelled_as_other_hosts_are_dropped",
    ),
    "begin during a rollback": Defect(
        "With pipelining, a transaction that began while one was rolled back was taken for none.",
        "aioifx.client.session.transactions",
        "Transactions.begin",
        "TransactionEvent.BEGINNING",
        "None",
        0,
        "transaction_after_an_abandoned_one",
    ),
    "hook without limit": Defect(
        "A pool's init hook had no time limit.",
        "aioifx.client.pool.lifecycle",
        "ConnectionLifecycle.open",
        "asyncio.timeout(seconds)",
        "asyncio.timeout(None)",
        0,
        "hook_that_never_ends",
    ),
    "statement of a stream left": Defect(
        "A stream whose next block failed kept its statement.",
        "aioifx.client.execution.block_reader",
        "BlockReader._fetch",
        "self._source.on_failure(statement, error)",
        "pass",
        0,
        "fetch_that_fails_midway",
    ),
    "interrupt lost by a close": Defect(
        "close() after a cancelled call overtook its interrupt, so the statement ran on.",
        "aioifx.client.session.conversation",
        "Conversation.exit",
        "dispatcher.interrupter.is_pending",
        "False",
        0,
    ),
    "former primary kept": Defect(
        "A pool that asks for a primary server kept connections to one that had become a secondary.",
        "aioifx.client.pool.lifecycle",
        "PooledSession.reset_failure",
        "if session.has_lost_primary:",
        "if False:",
        200,
    ),
    "idle connection not checked": Defect(
        "A pool assigned a connection that had broken long ago without a round trip that shows it.",
        "aioifx.client.pool.decisions",
        "PoolState._is_check_due",
        "now - pooled.idle_since > self.limits.check_after_idle",
        "False",
        0,
        "connection_that_breaks_while_idle",
    ),
    "unknown COMMIT repeated": Defect(
        "A retry repeated a transaction whose COMMIT may have taken effect.",
        "aioifx.client.api.retry",
        "_leaves_doubt",
        "error.outcome_unknown",
        "False",
        0,
        "retry_after_an_unknown_commit",
    ),
    "transaction left by a failed COMMIT": Defect(
        "A COMMIT that failed after its caller was cancelled left its transaction open.",
        "aioifx.client.session.transactions",
        "Transactions._on_commit_orphan",
        "self.rollback_later()",
        "pass",
        400,
    ),
    "connection that a reset hook tainted": Defect(
        "A pool kept a connection whose reset hook had left a temporary table or another database.",
        "aioifx.client.pool.manager",
        "PoolManager._on_reset_done",
        "self._return(pooled, pooled.session.reset_failure)",
        "self._return(pooled)",
        300,
    ),
    "connection whose reset failed": Defect(
        "A pool kept a connection whose reset hook had failed.",
        "aioifx.client.pool.lifecycle",
        "ConnectionLifecycle.finish_reset",
        "else:\n        return\n    session.terminate()",
        "else:\n        return",
        450,
    ),
    "statement of a closed database released": Defect(
        "After DATABASE, the end of an earlier stream released the statement that had its number now.",
        "aioifx.client.execution.statement",
        "Statement.release_later",
        "if self.generation == self.session.generation:",
        "if True:",
        350,
    ),
    "stream of a closed database": Defect(
        "A stream went on after DATABASE, with the rows of the statement that had its number now.",
        "aioifx.client.execution.statement",
        "Statement.check_usable",
        "if self.generation != self.session.generation:",
        "if False:",
        300,
    ),
    "statements of a closed database": Defect(
        "After DATABASE, the statements prepared before were used again.",
        "aioifx.client.execution.statement_cache",
        "StatementCache.lookup",
        "if self._generation != self.base_session.generation:",
        "if False:",
        0,
        "statement_of_a_closed_database",
    ),
    "empty reply not the end": Defect(
        "A query whose end was a reply without rows and without SQ_DONE fetched again.",
        "aioifx.client.execution.statement",
        "Statement.accept_block",
        "not (rows or reply.bad_value is not None)",
        "(reply.done is not None and not (rows or reply.bad_value is not None))",
        0,
        "end_without_rows",
    ),
    "rows lost at a DONE": Defect(
        "A query's rows ended at the first SQ_DONE with a row count, which some servers send with each block.",
        "aioifx.client.execution.cursor_requests",
        "CursorRequests.has_last_rows",
        "return has_done and behavior.done_ends_rows is True",
        "return has_done",
        400,
    ),
    "behavior of another server": Defect(
        "What one server had shown was taken for what all servers do.",
        "aioifx.client.session.server_behavior",
        "behavior_of",
        "key = host, port, version",
        'key = "", 0, ""',
        0,
        "other_server_with_each_done",
    ),
    "dropped values not read again": Defect(
        "A query failed whose BYTE values the server had dropped with the cursor.",
        "aioifx.client.execution.read_again",
        "fill",
        "not _may_read_again(statement, large)",
        "True",
        0,
        "values_dropped_with_their_cursor",
    ),
    "values read again without limit": Defect(
        "A query whose BYTE values the server had dropped waited for another connection beyond its own time limit.",
        "aioifx.client.execution.read_again",
        "fill",
        "timeout_at(statement.session.dispatcher.deadline)",
        "timeout_at(None)",
        0,
        "values_read_again_from_a_slow_host",
    ),
    "refused RET_TYPE": Defect(
        "A query without parameters failed at a server that refuses RET_TYPE in the group of OPEN.",
        "aioifx.client.execution.statement",
        "Statement.open",
        "elif self.is_repeatable and may_be_about_the_request(reply.error):",
        "elif False:",
        800,
    ),
    "refused insert cursor": Defect(
        "A load failed at a server that refuses SQ_PUT.",
        "aioifx.client.bulk.load",
        "_Load._batch_error",
        "is_refusal = batch.first == 0 and may_be_about_the_request(rejection)",
        "is_refusal = False",
        200,
    ),
    "silence after a failed row": Defect(
        "An executemany waited for ever for the replies to rows that a server had dropped after a failed one.",
        "aioifx.client.execution.pipeline",
        "_ExecutePipeline._on_reply",
        "self._expect_replies()",
        "pass",
        200,
    ),
    "silence after a failed write": Defect(
        "Replies to the write of a failed row were taken for a sign that later writes would be answered, too.",
        "aioifx.client.execution.pipeline",
        "_ExecutePipeline._on_all_answered",
        "if self._has_later:",
        "if True:",
        0,
        "batch_after_a_failed_write",
    ),
    "connection with a late interrupt kept": Defect(
        "A pool kept a connection on which a statement was interrupted that nobody had interrupted.",
        "aioifx.client.pool.lifecycle",
        "PooledSession.reset_failure",
        "if interrupter.has_unasked:",
        "if False:",
        0,
        "late_interrupt",
    ),
    "timer of a cancelled batch left": Defect(
        "A row that failed after its batch was cancelled left a timer that kept the connection in memory.",
        "aioifx.client.execution.pipeline",
        "_ExecutePipeline._on_reply",
        "if self.has_ended:",
        "if False:",
        200,
    ),
    "lock granted to two": Defect(
        "The embedded server granted a lock although another owner had it.",
        "aioifx.server.sqlite.lock_manager",
        "LockManager._take",
        "if _conflicting(holders, owner, mode):",
        "if False:",
        3000,
    ),
    "lock not taken": Defect(
        "The embedded server did not note the first lock on a row.",
        "aioifx.server.sqlite.lock_manager",
        "LockManager._take",
        "self._granted[resource] = {owner: mode}",
        "return True",
        3000,
    ),
    "lock released early": Defect(
        "An owner lost its other locks at the embedded server with the grant of one that it had waited for.",
        "aioifx.server.sqlite.lock_manager",
        "LockManager._grant",
        "self._note(request.owner, resource)",
        "for each in set(self._owned.get(request.owner, ())) - {resource}:\n"
        "            self._drop(request.owner, each)\n"
        "            del self._owned[request.owner][each]\n"
        "        self._note(request.owner, resource)",
        3000,
    ),
    "deadlock missed": Defect(
        "The embedded server let owners wait for each other.",
        "aioifx.server.sqlite.lock_manager",
        "LockManager._queued",
        "if circle:",
        "if False:",
        3000,
    ),
    "waiter forgotten": Defect(
        "The embedded server did not grant a lock that was released to its next owner.",
        "aioifx.server.sqlite.lock_manager",
        "LockManager._drop",
        "if resource in self._queues:",
        "if False:",
        3000,
    ),
}
"""By name."""


@contextlib.contextmanager
def planted(name: str) -> Iterator[None]:
    """Put a defect back.

    Raises:
        ValueError: the piece of source is not there.
    """
    defect = DEFECTS[name]
    module = import_module(defect.module)
    *outer, last = defect.function.split(".")
    owner: Any = module
    for part in outer:
        owner = getattr(owner, part)
    original = inspect.getattr_static(owner, last)
    function: Any = original.fget if isinstance(original, property) else original
    if inspect.isfunction(function):
        scope, source = vars(module), textwrap.dedent(inspect.getsource(function))
    else:
        scope, source = _compiled(owner, last)
    if source.count(defect.mended) != 1:
        raise ValueError(f"{name}: expected {defect.mended!r} once in {defect.function}")
    text = "from __future__ import annotations\n" + source.replace(defect.mended, defect.broken)
    defined: dict[str, Any] = {}
    exec(compile(text, f"<planted: {name}>", "exec"), scope, defined)
    replacement = defined[last]
    users = [each for each in list(sys.modules.values()) if getattr(each, last, None) is original]
    for user in users or [owner]:
        setattr(user, last, replacement)
    try:
        yield
    finally:
        for user in users or [owner]:
            setattr(user, last, original)


def _compiled(owner: type, name: str) -> tuple[dict[str, Any], str]:
    """The globals and the source of a method that *owner* inherits from a class compiled from Python."""
    base = next(each for each in owner.__mro__ if name in vars(each))
    module = sys.modules[base.__module__]
    text = Path(str(module.__file__)).with_name(f"{module.__name__.rpartition('.')[2]}.py").read_text("utf-8")
    classes = [
        each for each in ast.parse(text).body if isinstance(each, ast.ClassDef) and each.name == base.__name__
    ]
    method = next(each for each in classes[0].body if isinstance(each, ast.FunctionDef) and each.name == name)
    return vars(module), textwrap.dedent(ast.get_source_segment(text, method, padded=True) or "")
