from __future__ import annotations

import pytest

from aioifx.server.engine.firing import Firing
from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.plan import Change, Event, Verb
from aioifx.server.sql.model.schema import Table, Trigger, TriggerEvent
from tests.server.sql.trees import composed

ITEM = Table(100, "item", "anna")
LOG = Table(101, "log", "anna")


def test_without_a_frame_every_change_is_allowed() -> None:
    firing = Firing()
    firing.check(Change(Verb.DELETE, composed(""), ITEM))
    assert not firing.is_active
    assert firing.changed == {}


def test_a_frame_forbids_only_changes_of_its_table() -> None:
    firing = Firing()
    with firing.frame(ITEM, (Event(TriggerEvent.DELETE),)):
        firing.check(Change(Verb.DELETE, composed(""), LOG, events=(Event(TriggerEvent.DELETE),)))
        with pytest.raises(SqlError, match="-747"):
            firing.check(Change(Verb.DELETE, composed(""), ITEM, events=(Event(TriggerEvent.DELETE),)))
        assert (firing.changed, firing.written) == ({100: ITEM, 101: LOG}, {})
    assert not firing.is_active
    with firing.frame(LOG, ()):
        assert firing.changed == {101: LOG}


def test_a_frame_ends_with_an_error() -> None:
    firing = Firing()
    with pytest.raises(KeyError), firing.frame(ITEM, ()):
        raise KeyError
    assert not firing.is_active


@pytest.mark.parametrize(
    ("event", "columns", "expected"),
    [
        (Event(TriggerEvent.UPDATE, ("a",)), ("b",), True),
        (Event(TriggerEvent.UPDATE, ("a",)), ("a", "b"), False),
        (Event(TriggerEvent.UPDATE, ("a",)), (), False),
        (Event(TriggerEvent.INSERT, ("a",)), ("b",), False),
    ],
)
def test_a_trigger_is_untouched_while_its_columns_are(
    event: Event, columns: tuple[str, ...], expected: bool
) -> None:
    firing = Firing()
    trigger = Trigger(1, "tr", "anna", TriggerEvent.UPDATE, "", columns)
    assert firing.is_untouched(ITEM, trigger)
    with firing.frame(LOG, (event,)):
        assert firing.is_untouched(ITEM, trigger)
        with firing.frame(ITEM, (event,)):
            assert firing.is_untouched(ITEM, trigger) is expected
