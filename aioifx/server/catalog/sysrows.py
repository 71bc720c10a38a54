"""The rows of a table or of a routine in SPL in the catalog's tables. Never: what the catalog is read from.

Source: the columns of sysprocedures, sysprocbody and sysproccolumns and their letters are documented (SQL Reference).
assumed: sizes and costs are 0, since nothing of a routine is stored but its text.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import lru_cache
from itertools import count
from typing import Any, Final, TypeAlias

from aioifx.server.sql.builtin_types import BYTE, TEXT
from aioifx.server.sql.complex_types import ComplexType, is_named, undistinguished
from aioifx.server.sql.model.plan import PutRoutine, RoutineChange, Step
from aioifx.server.sql.model.schema import (
    ROW_LIMIT,
    ColumnDef,
    Constraint,
    ConstraintKind,
    Default,
    DefaultKind,
    Index,
    IndexPart,
    SequenceDef,
    Table,
    TableKind,
    Trigger,
    UserType,
    width_of,
)
from aioifx.server.sql.model.spl import SplParameter, SplRoutine, SplTrigger
from aioifx.server.sql.model.type_rules import Family, family_of
from aioifx.server.sql.syntax.nodes import External, Fragment
from aioifx.sqltypes import NOT_NULL, SqlType

_BY_TABID: Final = tuple(
    "systables syscolumns sysindices sysindexes sysconstraints syscoldepend sysdefaults sysviews syssyntable"
    " systabauth syssequences sysblobs sysobjstate sysfragments systriggers sysexternal"
    " sysextdfiles".split()
)
_BY_CONSTRID: Final = ("sysreferences", "syschecks")

_PUBLIC_RIGHTS: Final = "su-idx---"
"""The privileges of PUBLIC on a new table (documented: privileges on a new table in a database that is not ANSI)."""


def insert(table: str, row: Sequence[str | int | float | None]) -> Step:
    """A step that inserts one row into a catalog table."""
    return Step(f'INSERT INTO main."{table}" VALUES ({", ".join("?" * len(row))})', tuple(row))


def without(tabid: int) -> Iterator[Step]:
    """Steps that delete all rows of a table."""
    for name in _BY_CONSTRID:
        yield Step(
            f'DELETE FROM main."{name}" WHERE constrid IN'
            ' (SELECT constrid FROM main."sysconstraints" WHERE tabid = ?)',
            (tabid,),
        )
    yield Step(
        'DELETE FROM main."systrigbody" WHERE trigid IN'
        ' (SELECT trigid FROM main."systriggers" WHERE tabid = ?)',
        (tabid,),
    )
    yield Step('DELETE FROM main."sysdepend" WHERE dtabid = ?', (tabid,))
    yield Step('DELETE FROM main."sysviolations" WHERE targettid = ?', (tabid,))
    for name in _BY_TABID:
        yield Step(f'DELETE FROM main."{name}" WHERE tabid = ?', (tabid,))


def rows_of(table: Table, codec: str = "latin-1", *, is_ansi: bool = False) -> Iterator[Step]:
    """Steps that insert all rows of a table, view, synonym or sequence.

    Args:
        codec: the Python name of the database's code set.
        is_ansi: whether PUBLIC has no privileges on what is new (documented: NODEFDAC).
    """
    yield systables_row(table)
    for number, column in enumerate(table.columns, start=1):
        yield insert("syscolumns", _syscolumns_row(table, number, column))
        if column.type in (BYTE, TEXT) and not table.is_system:
            yield insert("sysblobs", (column.space or _DBSPACE, _MAGNETIC, table.tabid, number))
        if column.default:
            yield insert("sysdefaults", _sysdefaults_row(table, number, column, column.default))
    for index in table.indexes:
        yield from _index_rows(table, index)
    if not table.is_system:
        yield from _fragment_rows(table)
    for constraint in table.constraints:
        yield from _constraint_rows(table, constraint, codec)
    for trigger in table.triggers:
        yield from _trigger_rows(table, trigger, codec)
    yield from chunks("sysviews", (table.tabid,), table.view, codec, 256)
    if table.view:
        for tabid in table.depends_on:
            yield insert("sysdepend", (tabid, "T", table.tabid, "V"))
    if table.sequence is not None:
        yield insert("syssequences", _syssequences_row(table.tabid, table.sequence))
    if table.synonym_of:
        yield insert("syssyntable", (table.tabid, None, None, None, None, table.synonym_of))
    if table.foreign_name:
        yield insert("syssyntable", (table.tabid, None, *table.foreign_name, None))
    if table.violations is not None:
        yield insert("sysviolations", (table.tabid, *table.violations))
    if table.external is not None:
        yield from _external_rows(table.tabid, table.external)
    if table.kind in (TableKind.TABLE, TableKind.EXTERNAL) and not (table.is_system or is_ansi):
        yield insert("systabauth", (table.owner, "public", table.tabid, _PUBLIC_RIGHTS))


def _external_rows(tabid: int, external: External) -> Iterator[Step]:
    """The rows of an external table in sysexternal and sysextdfiles (documented)."""
    ends = ("\n", external.delimiter, None, None)
    limits = (external.max_errors, external.reject_file or None, 0, len(external.files))
    yield insert("sysexternal", (tabid, "D", None, *ends, *limits))
    for path in external.files:
        yield insert("sysextdfiles", (tabid, f"DISK:{path}", None, None))


def systables_row(table: Table, site: str | None = None) -> Step:
    """A table's row of systables; CREATED is today."""
    columns = (
        "tabname owner partnum tabid rowsize ncols nindexes nrows version tabtype locklevel npused fextsize"
        " nextsize flags site type_xid am_id pagesize"
    ).split()
    stored = table.kind is TableKind.TABLE
    row = (
        table.name,
        table.owner,
        TABLES_PARTNUM + table.tabid if stored and not table.fragments else 0,
        table.tabid,
        min(sum(map(width_of, table.columns)), ROW_LIMIT),  # of a view it may be more than a SMALLINT
        len(table.columns),
        len(table.indexes),
        0.0,
        65536 + table.tabid,  # changes with the table in the real server; any number will do
        table.kind.value.strip(),
        table.lock_level if stored else "",
        0.0,
        table.first_extent if stored else 0,
        table.next_extent if stored else 0,
        _RAW if table.is_raw else 0,
        site,
        table.type_id,
        0,
        2048 if stored else 0,
    )
    names = ", ".join(columns)
    marks = ", ".join("?" * len(row))
    return Step(f'INSERT INTO main."systables" ({names}, created) VALUES ({marks}, ifx_today())', row)


_RAW: Final = 16
"""systables.flags of a RAW table (documented)."""
_DBSPACE: Final = "rootdbs"
_MAGNETIC: Final = "M"
"""sysblobs.type of a space that is not on optical media (documented)."""

TABLES_PARTNUM: Final = 0x100010
"""What is added to a tabid to make a part number, which starts with a dbspace's number; 1 is the root dbspace
(documented: systables.partnum). The first 16 are for tables of the server."""


def rows_of_type(known: UserType) -> Iterator[Step]:
    """Steps that insert all rows of a type.

    Source: columns and their meaning are documented (SQL Reference, sysxtdtypes, sysattrtypes, syscasts). observed:
    JDBC skips the first row of a type in sysattrtypes, which is the type itself, and never ends if it names its own
    number. assumed: the members of unnamed types follow them on the next level; the length of a DISTINCT type is
    encoded as in syscolumns.
    """
    type_ = known.type
    name = known.name or None
    yield insert(
        "sysxtdtypes",
        (
            known.extended_id,
            "",
            known.mode,
            known.owner,
            name,
            _code_of(type_),
            type_.source,
            0,
            _length_of(undistinguished(type_)) if known.mode == "D" else 0,
            "",
            "",
            1,
            0,
        ),
    )
    yield insert("sysxtdtypeauth", (known.owner, "public", known.extended_id, "n--"))
    if isinstance(type_, ComplexType):
        for number, (level, parent, field, member, code) in enumerate(_members(type_), start=1):
            length, extended_id = (_length_of(member), member.extended_id) if level else (0, 0)
            row = (known.extended_id, number, level, parent, *field, code, length, extended_id)
            yield insert("sysattrtypes", row)
    if known.supertype:
        yield insert("sysinherits", (known.extended_id, known.supertype, "t"))
    if known.mode == "D":
        source = undistinguished(type_)
        mine, theirs = (_code_of(type_), known.extended_id), (_code_of(source), type_.source)
        for one, other in ((mine, theirs), (theirs, mine)):
            yield insert("syscasts", (known.owner, *one, *other, None, None, "E"))


_Member: TypeAlias = tuple[int, int, tuple[str | None, int], SqlType, int]
"""Level, number of the parent, name and number of the field, type, and its code."""


def _members(type_: ComplexType) -> list[_Member]:
    """The type itself and its members, each before its own members."""
    members: list[_Member] = [(0, 0, (None, 0), type_, _code_of(type_))]

    def add(parent: ComplexType, number: int, level: int) -> None:
        names = parent.names or (None,) * len(parent.parts)
        fields = zip(names, parent.parts, parent.required, strict=True)
        for index, (name, part, required) in enumerate(fields, start=1):
            members.append(
                (level, number, (name, index), part, _code_of(part) | (NOT_NULL if required else 0))
            )
            if isinstance(part, ComplexType) and not is_named(part):
                add(part, len(members), level + 1)

    add(type_, 1, 1)
    return members


def without_type(extended_id: int) -> Iterator[Step]:
    """Steps that delete all rows of a type."""
    for table, column in (
        ("sysxtdtypes", "extended_id"),
        ("sysattrtypes", "extended_id"),
        ("sysinherits", "child"),
        ("sysxtdtypeauth", "type"),
        ("syscasts", "argument_xid"),
        ("syscasts", "result_xid"),
    ):
        yield Step(f'DELETE FROM main."{table}" WHERE "{column}" = ?', (extended_id,))


def _code_of(type_: SqlType) -> int:
    return type_.code | type_.flags


def _length_of(type_: SqlType) -> int:
    return type_.length - 0x10000 if type_.length > 0x7FFF else type_.length


_NOT_NULL_BY_KEY: Final = 128
"""The bit PK_NOTNULL of syscolumns.colattr (documented)."""


def _syscolumns_row(table: Table, number: int, column: ColumnDef) -> tuple[str | int | None, ...]:
    code = _code_of(column.type) | (0 if column.is_nullable else NOT_NULL)
    length, key = _length_of(column.type), table.primary_key
    is_required = not column.is_nullable and not column.is_declared_not_null
    attributes = _NOT_NULL_BY_KEY if is_required and key and column.name in key.columns else 0
    return (
        column.name,
        table.tabid,
        number,
        code,
        length,
        None,
        None,
        column.type.extended_id,
        None,
        attributes,
    )


def _syssequences_row(tabid: int, sequence: SequenceDef) -> tuple[str | int | None, ...]:
    limits = (sequence.start, sequence.increment, sequence.maximum, sequence.minimum)
    cycle, order = str(int(sequence.cycles)), str(int(sequence.is_ordered))
    seqid = tabid  # assumed: any number
    return seqid, tabid, *limits, cycle, sequence.restart, sequence.cache, order


def _sysdefaults_row(
    table: Table, number: int, column: ColumnDef, default: Default
) -> tuple[str | int | None, ...]:
    text: str | None = None
    if default.kind is DefaultKind.LITERAL:
        # The encoded value precedes a literal, but not text and BOOLEAN (documented: sysdefaults; the characters are
        # assumed not to matter).
        plain = family_of(column.type) in (Family.TEXT, Family.BOOLEAN)
        text = default.text if plain else f"AAAAAA {default.text}"
    return (table.tabid, number, default.kind.value, text, "T")


def _fragment_rows(table: Table) -> Iterator[Step]:
    """The fragments of a fragmented table, and of all indexes of a table.

    Source: documented: SQL Reference, sysfragments. assumed: an index without a clause has one row, in the table's
    dbspace, and partn is any number
    """
    rows = [("T", "", each) for each in table.fragments]
    attached = [each._replace(strategy="T") for each in table.fragments if each.position >= 0]
    for index in table.indexes:
        own = index.fragments or attached or (Fragment("I", 0, _DBSPACE, _DBSPACE),)
        rows += (("I", index.name, each) for each in own)
    for number, (kind, name, each) in enumerate(rows, start=1):
        partnum = TABLES_PARTNUM + 0x10000 * (number & 0xF) + table.tabid if each.position >= 0 else 0
        head = (kind, table.tabid, name, 0, partnum, each.strategy, "L", "", each.position)
        tail = (0, each.dbspace, 0, 0.0, 0.0, 0.0, each.partition, 0, 0.0, 0.0, 0.0)
        marks = ", ".join("?" * len(head)), ", ".join("?" * len(tail))
        yield Step(
            f'INSERT INTO main."sysfragments" VALUES ({marks[0]}, CAST(? AS BLOB), NULL, NULL, {marks[1]})',
            (*head, each.expression or None, *tail),
        )


def _state_row(kind: str, item: Constraint | Index | Trigger, table: Table) -> Step:
    """A row of sysobjstate.

    Source: documented: SQL Reference, sysobjstate
    """
    filtering = "" if isinstance(item, Trigger) else item.filtering
    state = "D" if item.is_disabled else filtering or "E"
    return insert("sysobjstate", (kind, item.owner, item.name, table.tabid, state))


def _index_rows(table: Table, index: Index) -> Iterator[Step]:
    yield _state_row("I", index, table)
    parts = [
        table.column_number(part.column) * (-1 if part.is_descending else 1) if part.column else 0
        for part in index.parts
    ]
    kind = "U" if index.is_unique else "D"
    clustered = "C" if index.is_clustered else ""
    head = (index.name, index.owner, table.tabid, kind, clustered)
    yield insert("sysindexes", (*head, *(parts + [0] * 16)[:16], 1, 1, 0, 0))
    # Observed by tools that read INDEXKEYARRAY as text: the column's number, negative when descending, and its
    # operator class in brackets.
    keys = ", ".join(
        f"{number or _function_key(table, part)} [{_BTREE}]"
        for number, part in zip(parts, index.parts, strict=True)
    )
    yield insert(
        "sysindices", (*head, 1, 1.0, 0.0, 0.0, 0.0, keys, _BTREE, None, None, 2048, None, None, None)
    )


def _function_key(table: Table, part: IndexPart) -> str:
    """The function's procid, 0 if it is written in Python, and the numbers of its columns.

    Source: documented: SQL Reference, sysindices.indexkeys
    """
    numbers = ", ".join(str(table.column_number(name)) for name in part.arguments)
    return f"{'-' if part.is_descending else ''}<{part.procid}>({numbers})"


_BTREE: Final = 1
"""sysams.am_id of btree (documented)."""


def _constraint_rows(table: Table, constraint: Constraint, codec: str) -> Iterator[Step]:
    yield _state_row("C", constraint, table)
    row = (constraint.constrid, constraint.name, constraint.owner, table.tabid, constraint.kind.value)
    yield insert("sysconstraints", (*row, constraint.index or None, None))
    if constraint.kind is ConstraintKind.REFERENCES:
        rule = "C" if constraint.cascades else "R"
        parent = (constraint.constrid, constraint.parent_constrid, constraint.parent)
        yield insert("sysreferences", (*parent, "R", rule, "N", "N"))
    if constraint.kind is ConstraintKind.CHECK:
        yield from chunks("syschecks", (constraint.constrid, "T"), constraint.check, codec, 32)
    if constraint.kind in (ConstraintKind.CHECK, ConstraintKind.NOT_NULL):
        for name in constraint.columns:
            yield insert("syscoldepend", (constraint.constrid, table.tabid, table.column_number(name)))


def _trigger_rows(table: Table, trigger: Trigger, codec: str) -> Iterator[Step]:
    event = trigger.event.value.lower() if trigger.is_instead else trigger.event.value
    row = (trigger.trigid, trigger.name, trigger.owner, table.tabid, event)
    yield insert("systriggers", (*row, trigger.old or None, trigger.new or None, "O", None))
    yield from chunks("systrigbody", (trigger.trigid, "D"), f"{trigger.header(table)} ", codec)
    yield from chunks("systrigbody", (trigger.trigid, "A"), trigger.action, codec)
    yield _state_row("T", trigger, table)


def chunks(
    table: str, key: tuple[str | int, ...], text: str, codec: str, size: int = 256, first: int = 0
) -> Iterator[Step]:
    """A long text, split into rows of at most *size* bytes, numbered from *first*."""
    for number in count(first):
        if not text:
            return
        piece = text[:size].encode(codec, "replace")[:size].decode(codec, "ignore")
        yield insert(table, (*key, number, text[: len(piece)]))
        text = text[len(piece) :]


ROUTINES_TABLE: Final = (
    'CREATE TABLE {catalog}."ifx_routines" (procid INTEGER PRIMARY KEY, noun TEXT NOT NULL)'
)
FIRST_PROCID: Final = 500
"""Lower numbers are those of the server's own routines, which are not listed here."""

_SPL: Final = 2
"""sysroutinelangs.langid of SPL (documented)."""
PARAMETER_ATTRIBUTES: Final = {"in": 1, "inout": 2, "out": 4}
"""sysproccolumns.paramattr of a parameter (documented)."""
_RESULT: Final = 5
_RESULT_OF_ROWS: Final = 3


def steps_of_routine(change: RoutineChange, codec: str, *, is_ansi: bool) -> Iterator[Step]:
    """Steps that store or remove a routine; *codec* and *is_ansi* are as in `rows_of`."""
    routine = change.routine
    yield Step('DELETE FROM main."ifx_routines" WHERE procid = ?', (routine.procid,))
    for table in ("sysprocedures", "sysprocbody", "sysproccolumns", "sysprocauth"):
        yield Step(f'DELETE FROM main."{table}" WHERE procid = ?', (routine.procid,))
    if not isinstance(change, PutRoutine):
        return
    yield insert("ifx_routines", (routine.procid, json.dumps(asdict(routine), separators=(",", ":"))))
    yield insert("sysprocedures", _sysprocedures_row(routine))
    yield from chunks("sysprocbody", (routine.procid, "T"), routine.text, codec, first=1)
    yield from chunks("sysprocbody", (routine.procid, "D"), routine.document, codec, first=1)
    for number, row in enumerate(_columns_of(routine), start=1):
        yield insert("sysproccolumns", (routine.procid, number, *row))
    if not (routine.is_dba or is_ansi):
        yield insert("sysprocauth", (routine.owner, "public", routine.procid, "e"))


def _sysprocedures_row(routine: SplRoutine) -> tuple[str | int | float | None, ...]:
    is_iterator = "f"
    types = ",".join(str(type_).lower() for type_ in routine.types)
    mode = "T" if routine.trigger else "D" if routine.is_dba else "O"
    is_procedure = "t" if routine.is_procedure else "f"
    variant = "f" if routine.is_not_variant else "t"
    return (
        *(
            routine.name,
            routine.owner,
            routine.procid,
            mode,
            0,
            0,
            0,
            0,
            len(routine.parameters),
            is_procedure,
        ),
        *(routine.specific or None, None, "I", _SPL),
        *(types, variant, "f", "f", is_iterator, 0, None, None, None, 0.0, "f", None, None, "f", None, 0, 0),
        "en_US.819",
    )


def _columns_of(routine: SplRoutine) -> Iterator[tuple[str | int | None, ...]]:
    for parameter in routine.parameters:
        yield (parameter.name, *_type_of(parameter.type), PARAMETER_ATTRIBUTES[parameter.mode])
    for name, type_ in routine.results:
        attribute = _RESULT if len(routine.results) == 1 else _RESULT_OF_ROWS
        yield (name or None, *_type_of(type_), attribute)


def _type_of(type_: SqlType) -> tuple[int, int, int]:
    return int(type_.kind), type_.length, type_.extended_id


@lru_cache(maxsize=1024)
def routine_from_json(text: str, type_from: Callable[[Mapping[str, Any]], SqlType]) -> SplRoutine:
    """The routine that `steps_of_routine` stored."""
    fields: dict[str, Any] = json.loads(text)
    fields["parameters"] = tuple(
        SplParameter(each["name"], type_from(each["type"]), each["has_default"], each["mode"])
        for each in fields["parameters"]
    )
    fields["results"] = tuple((name, type_from(type_)) for name, type_ in fields["results"])
    if fields["trigger"]:
        fields["trigger"] = SplTrigger(**fields["trigger"])
    return SplRoutine(**fields)
