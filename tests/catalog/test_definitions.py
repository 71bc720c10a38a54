"""Definitions as JSON."""

from __future__ import annotations

from aioifx.catalog.definitions import ColumnDefinition, Relation, Schema, SequenceDefinition, plain


def test_what_is_empty_is_left_out_but_zero_and_whether_a_column_is_nullable() -> None:
    column = ColumnDefinition(name="a", type="integer", nullable=False)
    numbers = SequenceDefinition(
        start=0, increment=1, minimum=0, maximum=9, cycles=False, cache=0, ordered=True
    )
    relation = Relation(kind="sequence", name="s", owner="ann", columns=(column,), sequence=numbers)
    assert plain(Schema(relations=(relation,))) == {
        "relations": [
            {
                "kind": "sequence",
                "name": "s",
                "owner": "ann",
                "columns": [{"name": "a", "type": "integer", "nullable": False}],
                "sequence": {
                    "start": 0, "increment": 1, "minimum": 0, "maximum": 9, "cache": 0, "ordered": True,
                },
            }
        ]
    }  # fmt: skip
