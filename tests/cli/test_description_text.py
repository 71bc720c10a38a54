"""Descriptions as lines: every kind of relation, and nothing that controls a terminal."""

from __future__ import annotations

from aioifx.catalog.definitions import (
    ColumnDefinition,
    ConstraintDefinition,
    ExternalFiles,
    Grant,
    IndexDefinition,
    Relation,
    SequenceDefinition,
    Storage,
    TriggerDefinition,
)
from aioifx.catalog.description import Description
from aioifx.catalog.objects import ChildEntry
from aioifx.cli.description_text import description_lines


def text_of(description: Description) -> list[str]:
    return ["".join(text for text, _ in line).rstrip() for line in description_lines(description, None)]


def test_a_table_has_all_sections() -> None:
    relation = Relation(
        kind="table",
        name="item\x1b",
        owner="ann",
        raw=True,
        row_type="thing",
        columns=(ColumnDefinition(name="id", type="serial", nullable=False, default="'\x1b'"),),
        constraints=(
            ConstraintDefinition(kind="unique", columns=("id",), name="u", owner="ann", state="disabled"),
        ),
        indexes=(
            IndexDefinition(
                name="i", owner="ann", keys=("id desc",), unique=True, clustered=True, state="disabled"
            ),
            IndexDefinition(name="j", owner="ann", keys=("id bts_ops",), method="bts"),
        ),
        triggers=(TriggerDefinition(name="t", owner="ann", sql="create trigger t\n(x)", state="disabled"),),
        storage=Storage(lock_mode="row", extent_size=16, next_size=32, dbspace="rootdbs"),
    )
    grants = (Grant(privileges=("select", "insert"), grantee="bob", grantable=True),)
    assert text_of(Description(relation, [ChildEntry("bob", "part", "r1")], grants)) == [
        'raw table "ann"."item\\x1b"',
        "of type thing, in rootdbs, extents of 16 and 32 KB, locks of a row",
        "",
        "column | type   | nullable | default",
        "-------+--------+----------+--------",
        "id     | serial | no       | '\\x1b'",
        "",
        "constraints:",
        '    unique (id) constraint "ann".u disabled',
        "",
        "indexes:",
        '    unique "ann".i (id desc), clustered, disabled',
        '    "ann".j (id bts_ops) using bts',
        "",
        "referenced by:",
        '    "bob".part, constraint r1',
        "",
        "triggers:",
        "    create trigger t",
        "    (x)",
        "    disabled",
        "",
        "privileges:",
        "    bob: select, insert, may grant them",
    ]


def test_other_relations_have_their_facts() -> None:
    numbers = SequenceDefinition(
        start=5, increment=-1, minimum=0, maximum=9, cycles=True, cache=10, ordered=False
    )
    files = ExternalFiles(files=("DISK:a.unl",), format="DELIMITED")
    lines = [
        text_of(Description(relation, [], []))
        for relation in (
            Relation(kind="sequence", name="s", owner="ann", sequence=numbers),
            Relation(kind="synonym", name="s", owner="ann", target="stock:part"),
            Relation(kind="view", name="v", owner="ann", sql="create view v as\nselect 1"),
            Relation(kind="external table", name="e", owner="ann", external=files),
        )
    ]
    assert lines == [
        ['sequence "ann".s', "from 5 by -1, at least 0, at most 9, cycles, cache 10"],
        ['synonym "ann".s for stock:part'],
        ['view "ann".v', "", "definition:", "    create view v as", "    select 1"],
        ['external table "ann".e', "format DELIMITED, DISK:a.unl"],
    ]
