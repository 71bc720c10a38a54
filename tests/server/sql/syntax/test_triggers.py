from __future__ import annotations

import pytest

from aioifx.server.sql.syntax import nodes
from aioifx.server.sql.syntax.parser import parse
from tests.server.sql.shapes import error_of


def made(text: str) -> nodes.CreateTrigger:
    node = parse(text)
    assert isinstance(node, nodes.CreateTrigger)
    return node


def test_all_parts() -> None:
    node = made(
        "create trigger if not exists 'ann'.tr update of a, b on 'bob'.t referencing new as n old o"
        " before (execute procedure p) for each row when (n.a > o.a) (insert into log values (n.a),"
        " execute function f(o.a) into a, b, update log set x = 1), when (n.b = 1) (delete from log where x = o.b)"
        " after (execute procedure q() with trigger references) disabled"
    )
    found = (node.trigger.owner, node.trigger.name, node.table.owner, node.table.name)
    assert found == ("ann", "tr", "bob", "t")
    assert (node.event, [name.text for name in node.columns]) == ("update", ["a", "b"])
    assert (node.old and node.old.text, node.new and node.new.text) == ("o", "n")
    assert (node.if_not_exists, node.is_disabled, node.is_instead) == (True, True, False)
    result = [type(action).__name__ for branch in node.each_row for action in branch.actions]
    assert result == ["Insert", "TriggeredCall", "Update", "Delete"]
    call = node.each_row[0].actions[1]
    assert isinstance(call, nodes.TriggeredCall)
    assert [name.text for name in call.targets] == ["a", "b"]
    (last,) = node.after[0].actions
    assert isinstance(last, nodes.TriggeredCall)
    assert last.has_references
    assert node.action.startswith("before (execute")
    assert node.action.endswith("references)")


@pytest.mark.parametrize(
    ("text", "event", "instead"),
    [
        ("create trigger t insert on v before (delete from x)", "insert", False),
        ("create trigger t delete on v referencing old as o for each row (delete from x)", "delete", False),
        ("create trigger t update on v after (delete from x) enabled", "update", False),
        ("create trigger t instead of insert on v for each row (delete from x)", "insert", True),
    ],
)
def test_events(text: str, event: str, instead: bool) -> None:
    node = made(text)
    assert (node.event, node.is_instead, node.is_disabled) == (event, instead, False)


def test_columns_of_into_may_have_the_name_of_the_table() -> None:
    node = made(
        "create trigger t insert on v for each row (execute function f() into v.a, 'ann'.v.b,"
        " insert into 'ann'.v values (1), execute function f() into c, update v set 'ann'.v.a = 1, v.b = 2)"
    )
    first, insert, second, update = node.each_row[0].actions
    assert isinstance(first, nodes.TriggeredCall)
    assert isinstance(second, nodes.TriggeredCall)
    assert [[name.text for name in call.targets] for call in (first, second)] == [["a", "b"], ["c"]]
    assert isinstance(insert, nodes.Insert)
    assert isinstance(update, nodes.Update)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("create trigger t select on v referencing ^new as n for each row (delete from x)", (-201, "")),
        ("create trigger t instead of ^select on v for each row (delete from x)", (-201, "")),
        ("create trigger t insert on v^", (-729, "")),
        ("create trigger t insert on v before (^commit work)", (-744, "")),
        ("create trigger t insert on v before (^set constraints all deferred)", (-744, "")),
        ("create trigger t insert on v before (^select a from b)", (-201, "")),
        ("create trigger t insert on v before (^)", (-201, "")),
        ("create trigger t insert on v referencing ^old as o for each row (delete from x)", (-201, "")),
        ("create trigger t delete on v referencing ^new as o for each row (delete from x)", (-201, "")),
        ("create trigger t update on v after (delete from x) ^before (delete from x)", (-201, "")),
        ("create trigger t ^after insert on v (delete from x)", (-201, "")),
        ("create trigger t insert on v for each row ^begin delete from x; end", (-201, "")),
        ("create trigger t instead of insert on v for each row ^when (1 = 1) (delete from x)", (-201, "")),
        ("create trigger t instead of insert on v ^before (delete from x)", (-729, "")),
        ("create trigger t insert on v before (execute procedure^)", (-201, "")),
        ("create trigger t insert on v for each row (execute function f() into w^.a)", (-201, "")),
        ("create trigger t insert on v for each row (update w set v^.a = 1)", (-201, "")),
    ],
)
def test_refusals(text: str, expected: tuple[int, str]) -> None:
    assert error_of(text) == expected
