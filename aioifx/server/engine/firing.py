"""The statements of a session that have activated triggers and still run, and their rules. Never: running an action.

Source: documented (Guide to SQL: Syntax, CREATE TRIGGER, "Re-Entrancy of Triggers", "Cascading Triggers"; finderr, -747
and -748).
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.plan import Change, Event, TriggerPlan
from aioifx.server.sql.model.schema import Table, Trigger, TriggerEvent
from aioifx.server.sql.model.storage import Stored

_MOST: Final = 61
"""Triggers in a series: the first and 60 more (documented)."""


@dataclass(slots=True)
class ReferencedRow:
    """The row that a trigger routine reads and sets, by the names of its columns."""

    event: str
    """inserting, updating, deleting or selecting."""
    old: dict[str, Stored]
    new: dict[str, Stored]


@dataclass(slots=True)
class Frame:
    """A statement whose triggers run."""

    table: Table
    events: Sequence[Event]

    def forbids(self, change: Change) -> bool:
        """Whether an action must not make *change*.

        Source: documented: an action does not insert into, or delete from, the triggering table, nor update the columns
        that the triggering statement gave values to. The same holds for DELETE (finderr, -747). An action of
        SELECT does not change the triggering table.
        """
        if change.table.tabid != self.table.tabid or change.table.is_temp:
            return False
        given = {name for event in self.events for name in event.columns}
        kinds = {event.kind for event in change.events}
        forbids_all = any(event.kind in (TriggerEvent.DELETE, TriggerEvent.SELECT) for event in self.events)
        return forbids_all or kinds != {TriggerEvent.UPDATE} or not given.isdisjoint(change.update_columns)


@dataclass(slots=True)
class Firing:
    """The triggers of one session."""

    frames: list[Frame] = field(default_factory=list[Frame])
    changed: dict[int, Table] = field(default_factory=dict[int, Table])
    """The tables that the first statement and all actions have changed, by tabid."""
    written: dict[int, Table] = field(default_factory=dict[int, Table])
    """Those of them with new or updated rows."""
    plans: dict[int, TriggerPlan] = field(default_factory=dict[int, TriggerPlan])
    """By trigid; valid for `stamp`."""
    stamp: object = None

    @property
    def is_active(self) -> bool:
        """Whether an action of a trigger runs."""
        return bool(self.frames)

    def check(self, change: Change) -> None:
        """Raise SqlError -747 if *change* is an action, and a statement that activated it forbids it."""
        if not self.frames:
            return
        if any(frame.forbids(change) for frame in self.frames):
            raise SqlError(-747)
        self._note(change.table, change.events)

    def _note(self, table: Table, events: Sequence[Event]) -> None:
        if not table.is_temp and {event.kind for event in events} != {TriggerEvent.SELECT}:
            self.changed[table.tabid] = table
            if any(event.kind is not TriggerEvent.DELETE for event in events):
                self.written[table.tabid] = table

    @contextmanager
    def frame(self, table: Table, events: Sequence[Event]) -> Generator[None, None, None]:
        """Context of the triggers of a statement.

        Raises:
            SqlError: -748, too many triggers have activated each other.
        """
        if len(self.frames) >= _MOST:
            raise SqlError(-748)
        if not self.frames:
            self.changed.clear()
            self.written.clear()
        self._note(table, events)
        self.frames.append(Frame(table, events))
        try:
            yield
        finally:
            self.frames.pop()

    def is_untouched(self, table: Table, trigger: Trigger) -> bool:
        """Whether no statement so far gave a value to a column of an UPDATE trigger.

        Source: documented: only such triggers are activated by INTO; assumed: none of a table into which a row is
        inserted.
        """
        for frame in self.frames:
            if frame.table.tabid != table.tabid:
                continue
            for event in frame.events:
                is_insert = event.kind is TriggerEvent.INSERT
                if is_insert or not trigger.columns or not set(trigger.columns).isdisjoint(event.columns):
                    return False
        return True
