"""Sequences: CREATE, ALTER, DROP and RENAME SEQUENCE -> Plans; NEXTVAL and CURRVAL -> expressions. Never: the numbers.

Invariants:
1. A sequence is a `Table` of kind SEQUENCE: its name is one of the tables, views and synonyms (documented).
2. The engine must register two functions. ``ifx_nextval(tabid, mark)`` returns the same number for all references in
   a row. Each reference has its own mark, and a mark that occurs again starts the next row. ``ifx_currval(tabid)``
   returns the number that the session got last.

Source: names, defaults and restrictions are documented (SQL Syntax, CREATE SEQUENCE, NEXTVAL and CURRVAL operators);
codes -8300 to -8315 too; that a reference in the wrong place is -201, and INT8 as the type, are assumed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model import plan
from aioifx.server.sql.model.plan import Definition, Plan, PutTable, RemoveTable
from aioifx.server.sql.model.schema import SequenceDef, Table, TableKind
from aioifx.server.sql.model.type_rules import INT8
from aioifx.server.sql.sqlite.tree import call
from aioifx.server.sql.syntax import nodes
from aioifx.server.sql.translate.scopes import Context
from aioifx.server.sql.translate.typed import Typed
from aioifx.wire.opcodes import StatementType

_HIGHEST: Final = 2**63 - 1
_CACHE: Final = 20
_NO_SUCH: Final = -8300
_EXISTS: Final = -8301
_INVALID: Final = -8302
_LIMITS_CROSSED: Final = -8304
_NO_INCREMENT: Final = -8305


def create_sequence(node: nodes.CreateSequence, context: Context, owner: str) -> Plan:
    """CREATE SEQUENCE.

    Raises:
        SqlError: -8302, -8304, -8305: the options are inconsistent.
    """
    options = node.options
    increment = 1 if options.increment is None else options.increment
    low, high = (1, _HIGHEST) if increment > 0 else (-_HIGHEST, -1)
    low = low if options.minimum is None else options.minimum
    high = high if options.maximum is None else options.maximum
    sequence = SequenceDef(
        start=(low if increment > 0 else high) if options.start is None else options.start,
        increment=increment,
        minimum=low,
        maximum=high,
        cycles=bool(options.cycles),
        cache=_CACHE if options.cache is None else options.cache,
        is_ordered=options.is_ordered is not False,
    )
    _check(sequence, options)
    table = Table(
        context.schema.next_tabid, node.sequence.name, owner, kind=TableKind.SEQUENCE, sequence=sequence
    )
    return Plan(StatementType.CREATE_SEQUENCE, Definition((), (PutTable(table),)))


def _check(sequence: SequenceDef, options: nodes.SequenceOptions) -> None:
    if not sequence.increment:
        raise SqlError(_NO_INCREMENT, offset=options.offset)
    if sequence.maximum < sequence.minimum:
        raise SqlError(_LIMITS_CROSSED, offset=options.offset)
    size = (sequence.maximum - sequence.minimum) // abs(sequence.increment) + 1
    is_wrong = (
        -_HIGHEST > sequence.minimum
        or sequence.maximum > _HIGHEST
        or not sequence.minimum <= sequence.start <= sequence.maximum
        or not sequence.minimum <= sequence.first <= sequence.maximum
        or size < 2
        or options.cache == 1
        or (sequence.cycles and options.cache is not None and options.cache >= size)
    )
    if is_wrong:
        raise SqlError(_INVALID, offset=options.offset)


def alter_sequence(node: nodes.AlterSequence, context: Context) -> Plan:
    """ALTER SEQUENCE: options that are not given stay unchanged.

    Raises:
        SqlError: as CREATE SEQUENCE.
    """
    table, sequence = _found(node.sequence, context)
    options = node.options
    high, low = options.maximum, options.minimum
    if options.no_maximum:
        high = _HIGHEST if (options.increment or sequence.increment) > 0 else -1
    if options.no_minimum:
        low = 1 if (options.increment or sequence.increment) > 0 else -_HIGHEST
    changed = replace(
        sequence,
        increment=sequence.increment if options.increment is None else options.increment,
        maximum=sequence.maximum if high is None else high,
        minimum=sequence.minimum if low is None else low,
        cycles=sequence.cycles if options.cycles is None else options.cycles,
        cache=sequence.cache if options.cache is None else options.cache,
        is_ordered=sequence.is_ordered if options.is_ordered is None else options.is_ordered,
    )
    if options.has_restart:
        changed = replace(changed, restart=options.start, epoch=sequence.epoch + 1)
    _check(changed, options)
    return Plan(StatementType.ALTER_SEQUENCE, Definition((), (PutTable(replace(table, sequence=changed)),)))


def drop_sequence(node: nodes.Drop, context: Context) -> Plan:
    """DROP SEQUENCE, including its synonyms."""
    try:
        table, _ = _found(node.name, context)
    except SqlError as error:
        if error.sqlcode == _NO_SUCH and node.if_exists:
            return Plan(StatementType.DROP_SEQUENCE, plan.Nothing())
        raise
    gone = [RemoveTable(each) for each in context.schema.dependents(table.tabid)]
    return Plan(StatementType.DROP_SEQUENCE, Definition((), (*gone, RemoveTable(table))))


def rename_sequence(node: nodes.RenameObject, context: Context) -> Plan:
    """RENAME SEQUENCE; the caller has checked that the new name is free."""
    table, _ = _found(node.name, context)
    renamed = replace(table, name=node.new_name.text)
    return Plan(StatementType.RENAME_SEQUENCE, Definition((), (PutTable(renamed),)))


def exists_already(name: nodes.QualifiedName) -> SqlError:
    """The error for a second sequence of the same name."""
    return SqlError(_EXISTS, token=name.name, offset=name.offset)


def _found(name: nodes.QualifiedName, context: Context) -> tuple[Table, SequenceDef]:
    table = context.sequence(name)
    if table is None or table.sequence is None:
        raise SqlError(_NO_SUCH, token=name.name, offset=name.offset)
    return table, table.sequence


def sequence_value(node: nodes.SequenceValue, context: Context) -> Typed:
    """NEXTVAL and CURRVAL; CURRVAL in a statement with NEXTVAL is the same number.

    Raises:
        SqlError: -8300, no such sequence; -999, it is one of another database.
    """
    if node.sequence.database not in ("", context.schema.database):
        raise SqlError(-999, token=node.kind.upper(), offset=node.offset)
    table, _ = _found(node.sequence, context)
    if node.kind == "nextval" or table.tabid in _advanced(context):
        return Typed(call("ifx_nextval", table.tabid, context.mark()), INT8, is_nullable=False)
    return Typed(call("ifx_currval", table.tabid), INT8, is_nullable=False)


def _advanced(context: Context) -> set[int]:
    """The sequences that the statement takes a number from, by tabid."""
    if context.statement is None:
        return set()
    found = (
        context.sequence(node.sequence)
        for node in nodes.walk(context.statement)
        if isinstance(node, nodes.SequenceValue) and node.kind == "nextval"
    )
    return {table.tabid for table in found if table is not None}
