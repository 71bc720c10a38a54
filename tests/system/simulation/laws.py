"""What must hold after a scenario, whatever went wrong in it. Never: how a scenario runs."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import aioifx
from tests.system.simulation.loop import SimulatedLoop
from tests.system.simulation.model.database import ACCOUNTS, BALANCE, Database
from tests.system.simulation.model.differences import Difference
from tests.system.simulation.model.server import ModelServer
from tests.system.simulation.network import Network
from tests.system.simulation.operations import KINDS
from tests.system.simulation.world import INTERRUPTED, Entry, World, Wrong

OVERTAKEN: Final = 3
"""Times that a task in the queue of a pool may be overtaken by one that asked later.

A connection that turns out to be dead is replaced, and its task is first in the queue again; others, to which
connections were assigned meanwhile, may be served then. Each time takes a dead connection.
"""

SILENCE: Final = {"stall", "stall client", "half-close", "crash silently", "slow down", "forget connection"}
"""Faults after which a call without a limit may wait for TCP."""

GOING_ON: Final = 8.0
"""Seconds for a query at a slow server, after a call that was cancelled."""

SLACK: Final = 0.5
"""Seconds for round trips, where a limit of an option is checked."""

PROMPT: Final = 0.01
"""Seconds after its limit in which a call ends: nothing is awaited then."""


_EXPECTED: Final = {0, -213, -240, -244, -268, -271, -346, -458, -691, -710, -951}
"""Codes of errors that scenarios give a reason for: limits, locks, secondary servers, ALTER TABLE, and so on."""


class Violation(NamedTuple):
    """A law that did not hold."""

    law: str
    text: str


class Outcome(NamedTuple):
    """What is left after a scenario."""

    loop: SimulatedLoop
    network: Network
    database: Database
    servers: Sequence[ModelServer]
    world: World
    faults: Sequence[str]
    """The kinds of faults that took effect."""
    tasks: Sequence[asyncio.Task[Any]]
    """Tasks that still run, apart from the model's."""
    timers: Sequence[str]
    """Callbacks of timers that were set a second after all pools had closed."""


def violations(outcome: Outcome) -> list[Violation]:
    """All violations."""
    return [each for law in _LAWS for each in law(outcome)]


def _balance(outcome: Outcome) -> Iterator[Violation]:
    """No money is made or lost."""
    balances = outcome.database.accounts
    if sum(balances.values()) != ACCOUNTS * BALANCE:
        yield Violation("balance", f"all accounts have {sum(balances.values())} together: {balances}")


def _outcomes(outcome: Outcome) -> Iterator[Violation]:
    """What was committed stays, what failed is not there, and an unknown outcome is called unknown."""
    found: dict[int, int] = {}
    for tag, _ in outcome.database.notes.values():
        found[tag] = found.get(tag, 0) + 1
    for entry in outcome.world.entries:
        number, there = entry.operation.number, found.pop(entry.operation.number, 0)
        allowed = allowed_notes(entry)
        if _may_be_stored_in_part(entry, outcome):
            allowed |= set(range(max(entry.operation.size, entry.notes) + 1))
        if there not in allowed:
            yield Violation(
                "outcome",
                f"operation {number}, {entry.operation.kind}: {entry.outcome} {entry.error or ''}: "
                f"{there} rows are there, expected {' or '.join(map(str, sorted(allowed)))}",
            )
        error = entry.error
        if not isinstance(error, aioifx.DatabaseError) or not error.outcome_unknown:
            continue
        if not (entry.may_take_effect or entry.is_body_done or _may_be_stored_in_part(entry, outcome)):
            yield Violation(
                "outcome", f"operation {number} is called unknown, but nothing could take effect: {error}"
            )
        elif not (
            isinstance(error, (aioifx.ConnectionLost, aioifx.QueryTimeout))
            or _may_be_stored_in_part(entry, outcome)
        ):
            yield Violation("outcome", f"operation {number} is called unknown, but was answered: {error!r}")
    if found:
        yield Violation("outcome", f"rows that no operation has inserted: {found}")


def _may_be_stored_in_part(entry: Entry, outcome: Outcome) -> bool:
    """Whether rows of a batch may be stored alone: they were in flight as the server ended their transaction.

    A load whose SQ_PUT is refused is such a batch.
    """
    has_batch = KINDS[entry.operation.kind].has_batch or (
        entry.operation.kind in ("load", "load slowly")
        and any(Difference.PUT_REFUSED in server.differs for server in outcome.servers)
    )
    if "long transaction" not in outcome.faults or not has_batch or entry.outcome == "done":
        return False
    error = entry.error
    if not isinstance(error, aioifx.DatabaseError) or error.outcome_unknown:
        return True
    return isinstance(error, (aioifx.ConnectionLost, aioifx.QueryTimeout))  # the reply that says so was lost


def allowed_notes(entry: Entry) -> set[int]:
    """How many rows with the operation's number there may be."""
    if not KINDS[entry.operation.kind].is_write:
        return {0}
    if entry.outcome == "done":
        return {entry.notes}
    if entry.outcome in ("cancelled", "timed out"):
        is_unknown = entry.is_body_done or entry.may_take_effect
    else:
        is_unknown = isinstance(entry.error, aioifx.DatabaseError) and entry.error.outcome_unknown
        is_unknown = is_unknown or (entry.is_cut and not isinstance(entry.error, Wrong))
    if is_unknown and entry.collects:
        return set(range(entry.notes + 1))
    return {0, entry.notes} if is_unknown else {0}


def _serializable(outcome: Outcome) -> Iterator[Violation]:
    """Each transfer has read what the transactions committed before it had left."""
    balances = dict.fromkeys(range(1, ACCOUNTS + 1), BALANCE)
    entries = {entry.operation.number: entry for entry in outcome.world.entries}
    for commit in outcome.database.commits:
        numbers = [tag for tag in commit.tags if tag in entries and entries[tag].reads]
        for number in numbers:
            read = entries[number].reads
            before = {account: balances[account] for account in read}
            if read != before:
                yield Violation("serializable", f"operation {number} has read {read}, and there was {before}")
        for account, delta in commit.deltas.items():
            balances[account] += delta
        if any(balances[account] != balance for account, balance in commit.balances.items()):
            yield Violation(
                "serializable", f"session {commit.session} committed {commit.balances}, expected {balances}"
            )


def _captured(outcome: Outcome) -> Iterator[Violation]:
    """Captures have what was committed, in the order of commits, each once and with its rows."""
    log = outcome.database.log
    for entry in outcome.world.entries:
        captured = entry.captured
        if captured is None:
            continue
        who, found = f"operation {entry.operation.number}", list(captured.transactions.items())
        expected = list(captured.expected(log).items())
        if found != expected[: len(found)]:
            at = next(index for index, each in enumerate(found) if [each] != expected[index : index + 1])
            yield Violation(
                "captured",
                f"{who} has as transaction {at} {found[at]}, expected {expected[at : at + 1]}",
            )
        early = [each.begin for each in log.committed if each.commit in captured.transactions]
        if early and min(early) < captured.before:
            yield Violation("captured", f"{who} has a transaction that began before its capture")


def _is_ended_by_a_probe(entry: Entry) -> bool:
    """Whether the server has ended the transaction with the client's own statement after an interrupt.

    No call has that error, and the next one says that the transaction is gone.
    """
    is_interrupted = entry.operation.kind in ("interrupt", "interrupt anything")
    return is_interrupted and "an error has ended and undone the transaction" in str(entry.error)


def _cancels_itself(entry: Entry) -> bool:
    """Whether the operation cancels its own call and raises the error that follows."""
    kind, is_unknown = entry.operation.kind, getattr(entry.error, "outcome_unknown", False)
    # The other raises it only if the server has ended the transaction as well.
    return kind == "interrupt" or (kind == "interrupt anything" and is_unknown)


def _errors(outcome: Outcome) -> Iterator[Violation]:
    """Callers see no exceptions but ours."""
    for entry in outcome.world.entries:
        error = entry.error
        if error is None or isinstance(error, aioifx.Error) or entry.outcome in ("cancelled", "timed out"):
            if (isinstance(error, aioifx.InterfaceError) and not _is_ended_by_a_probe(entry)) or (
                isinstance(error, aioifx.ProtocolError) and "simulated" not in str(error)
            ):
                yield Violation(
                    "errors", f"operation {entry.operation.number}, {entry.operation.kind}: {error!r}"
                )
            continue
        yield Violation("errors", f"operation {entry.operation.number}, {entry.operation.kind}: {error!r}")
    may_come_late = any(Difference.LATE_INTERRUPTS in server.differs for server in outcome.servers)
    for entry in outcome.world.entries:
        is_interrupted = getattr(entry.error, "sqlcode", 0) == INTERRUPTED
        if is_interrupted and not _cancels_itself(entry) and not may_come_late:
            yield Violation(
                "errors",
                f"operation {entry.operation.number} was interrupted without a reason: {entry.error!r}",
            )
        if getattr(entry.error, "sqlcode", 0) not in _EXPECTED:
            yield Violation(
                "errors",
                f"operation {entry.operation.number} has failed at the server without a reason: {entry.error!r}",
            )
    for text in outcome.loop.errors:
        yield Violation("errors", f"reported to the event loop: {text}")
    for server in outcome.servers:
        for text in server.complaints:
            yield Violation("errors", f"sent to server {server.ip}: {text}")


def _wrong(outcome: Outcome) -> Iterator[Violation]:
    """No row of another query, no session held by two tasks, none with another task's transaction."""
    for text in outcome.world.wrong:
        yield Violation("wrong", text)


def _left(outcome: Outcome) -> Iterator[Violation]:
    """Nothing is left: tasks, timers, connections, sessions, locks."""
    for operation in outcome.world.reported.running:
        yield Violation("left", f"{operation} was reported as started, and not as ended")
    for text in outcome.world.left:
        yield Violation("left", text)
    for task in outcome.tasks:
        yield Violation("left", f"task {task.get_coro()}")
    for timer in outcome.timers:
        yield Violation("left", f"timer {timer}")
    for connection in outcome.network.open_connections:
        yield Violation("left", f"{connection} is open")
    for server in outcome.servers:
        if server.sessions:
            yield Violation("left", f"sessions {sorted(server.sessions)} at server {server.ip}")
    if outcome.database.locks:
        yield Violation("left", f"{outcome.database.locks} locks")


def _waits(outcome: Outcome) -> Iterator[Violation]:
    """Every call ends within its limits."""
    for entry in outcome.world.entries:
        options = outcome.world.options[entry.pool]
        ending = entry.operation.ending
        # Of "woken", the moment is known only before the wait that ends with it.
        if ending is not None and ending.how == "woken":
            continue
        if entry.cancelled_at is not None and entry.outcome in ("cancelled", "timed out"):
            # The end of a transaction waits for a reply that is still outstanding, at most for cancel_timeout.
            limit = options["cancel_timeout"] + entry.closing + SLACK + outcome.network.weather.latency * 40
            took = (
                entry.ended - entry.cancelled_at - outcome.loop.jumped_since(entry.cancelled_at, entry.ended)
            )
            if took > limit:
                yield Violation(
                    "waits",
                    f"operation {entry.operation.number} ended {took:.2f} s after it was cancelled, limit {limit:.2f}",
                )
    for entry in outcome.world.entries:
        options = outcome.world.options[entry.pool]
        if entry.went_on_at is not None and not SILENCE & set(outcome.faults):
            took = entry.ended - entry.went_on_at - outcome.loop.jumped_since(entry.went_on_at, entry.ended)
            if took > options["cancel_timeout"] + GOING_ON:
                yield Violation(
                    "waits", f"operation {entry.operation.number} went on {took:.2f} s after a timeout"
                )
    for text in outcome.world.late:
        yield Violation("waits", text)


def _limits(outcome: Outcome) -> Iterator[Violation]:
    """Each call ends at its own limit, whatever is silent."""
    for call in outcome.world.calls:
        took = call.ended - call.began - outcome.loop.jumped_since(call.began, call.ended)
        if took > call.limit + PROMPT + 2 * outcome.loop.tick:
            yield Violation("limits", f"{call.who} took {took:.3f} s, limit {call.limit:g} s")


def _fair(outcome: Outcome) -> Iterator[Violation]:
    """A task does not wait in a pool's queue while many later ones get a connection."""
    for wait in outcome.world.waits:
        if wait.overtaken_by > OVERTAKEN:
            yield Violation(
                "fair", f"a wait since {wait.asked - 1000:.3f} s was overtaken {wait.overtaken_by} times"
            )


def _locks(outcome: Outcome) -> Iterator[Violation]:
    """No wait for a lock closes a circle, and none goes on while the lock is free."""
    for text in outcome.database.wrong:
        yield Violation("locks", text)


_LAWS: Final = (
    _balance, _outcomes, _serializable, _captured, _errors, _wrong, _left, _waits, _limits, _fair, _locks,
)  # fmt: skip
