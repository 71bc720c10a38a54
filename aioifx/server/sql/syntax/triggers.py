"""CREATE TRIGGER. Never: whether the names in it exist.

Source: the grammar is documented (Guide to SQL: Syntax, CREATE TRIGGER statement, "Trigger on a Table", "Triggered
Action on a Table", "INSTEAD OF Triggers on Views").
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.syntax import nodes
from aioifx.server.sql.syntax.control import parse_execute
from aioifx.server.sql.syntax.dml import parse_delete, parse_insert, parse_update, qualified_by
from aioifx.server.sql.syntax.tables import parse_if_not_exists
from aioifx.server.sql.syntax.token_stream import SYNTAX_ERROR, TokenStream, parse_qualified_name

NO_ACTION: Final = -729
_ILLEGAL_STATEMENT: Final = -744
_ILLEGAL: Final = ("begin", "commit", "rollback", "set")
"""The first words of statements that -744 names (documented: its explanation)."""


def parse_create_trigger(s: TokenStream, offset: int) -> nodes.CreateTrigger:
    """Read CREATE TRIGGER from the name on.

    Raises:
        SqlError: -729, it has no action; -744, a statement that is not allowed in one.
    """
    if_not_exists = parse_if_not_exists(s)
    trigger = parse_qualified_name(s)
    instead = s.accept("instead", "of") is not None
    event = _event(s, is_instead=instead)
    has_columns = event in ("update", "select") and not instead
    columns = s.listed(TokenStream.name) if has_columns and s.accept("of") else ()
    s.expect("on")
    table = parse_qualified_name(s)
    names = _correlations(s, event)
    start = s.token.offset
    action = partial(_action, table=nodes.TableRef(table.offset, table))
    before = _section(s, action, "before") if not instead else ()
    each_row = _section(s, action, "for", "each", "row")
    after = _section(s, action, "after") if not instead else ()
    if not (before or each_row or after):
        raise SqlError(NO_ACTION, offset=s.token.offset)
    conditional = [branch for branch in each_row if branch.condition is not None]
    if instead and conditional:
        raise SqlError(SYNTAX_ERROR, offset=conditional[0].offset)
    text = s.written(start, s.last_end)
    mode = s.accept_any("enabled", "disabled")
    return nodes.CreateTrigger(
        offset,
        trigger,
        event,
        columns,
        table,
        names.get("old"),
        names.get("new"),
        before,
        each_row,
        after,
        text,
        if_not_exists,
        instead,
        mode is not None and mode.text == "disabled",
    )


def _event(s: TokenStream, *, is_instead: bool) -> nodes.TriggerEvent:
    if not is_instead and s.accept("select"):
        return "select"
    match s.expect_any("insert", "update", "delete").text:
        case "insert":
            return "insert"
        case "update":
            return "update"
        case _:
            return "delete"


_REFERENCED: Final[dict[nodes.TriggerEvent, tuple[str, ...]]] = {
    "insert": ("new",),
    "update": ("old", "new"),
    "delete": ("old",),
    "select": ("old",),
}


def _correlations(s: TokenStream, event: nodes.TriggerEvent) -> dict[str, nodes.Name]:
    """The names of REFERENCING."""
    names: dict[str, nodes.Name] = {}
    if s.accept("referencing"):
        allowed = _REFERENCED[event]
        while s.at_any(*(word for word in allowed if word not in names)):
            word = s.advance().text
            s.accept("as")
            names[word] = s.name()
        if not names:
            raise s.refusal()
    return names


def _section(
    s: TokenStream, action: Callable[[TokenStream], nodes.TriggeredStatement], *words: str
) -> tuple[nodes.TriggerBranch, ...]:
    """Read the branches after BEFORE, FOR EACH ROW or AFTER, if it comes next."""
    return s.listed(partial(_branch, action=action)) if s.accept(*words) else ()


def _branch(s: TokenStream, action: Callable[[TokenStream], nodes.TriggeredStatement]) -> nodes.TriggerBranch:
    offset = s.token.offset
    condition = None
    if s.accept("when"):
        s.expect("(")
        condition = s.grammar.condition(s)
        s.expect(")")
    return nodes.TriggerBranch(offset, condition, s.enclosed(action))


def _action(s: TokenStream, table: nodes.TableRef) -> nodes.TriggeredStatement:
    if s.at("insert"):
        return parse_insert(s)
    if s.at("update"):
        return parse_update(s)
    if s.at("delete"):
        return parse_delete(s)
    if s.at_any(*_ILLEGAL):
        raise SqlError(_ILLEGAL_STATEMENT, offset=s.token.offset)
    call = parse_execute(s, in_trigger=True)
    targets = _targets(s, table) if s.accept("into") else ()
    references = s.accept("with", "trigger", "references") is not None
    return nodes.TriggeredCall(call.offset, call, targets, references)


def _targets(s: TokenStream, table: nodes.TableRef) -> tuple[nodes.Name, ...]:
    """Read the columns of INTO; after a comma there may be the next statement instead."""
    read = qualified_by(table, TokenStream.name)
    targets = [read(s)]
    while s.at(",") and s.at_any(",", ")", "with", ".", ahead=2):
        s.expect(",")
        targets.append(read(s))
    return tuple(targets)
