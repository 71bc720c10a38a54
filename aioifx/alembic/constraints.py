"""Constraints that a statement drops by the way, read before it and added again after it. Never: which statement.

MODIFY drops the constraints on the column alone, and foreign keys of any table that reference it (documented: MODIFY
clause; Altering the Structure of Tables).
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# Alembic's factory of constraints is annotated in part.

from __future__ import annotations

import re
from typing import Any, TypeAlias

from alembic.operations.schemaobj import SchemaObjects
from sqlalchemy import Constraint, Table
from sqlalchemy.engine.reflection import Inspector

Constraints: TypeAlias = dict[str, Constraint]
"""By name, in an order in which they can be added: keys before what references them."""


def constraints_of(inspector: Inspector, table: str, column: str, schema: str | None) -> Constraints:
    """The constraints on one column alone, and the foreign keys that reference it.

    A CHECK belongs to them if it names the column: the catalog does not tell which columns it has.
    """
    make = SchemaObjects()
    found: Constraints = {}
    key = inspector.get_pk_constraint(table, schema)
    keys = [key["constrained_columns"]]
    if key["name"] and keys[0] == [column]:
        found[key["name"]] = make.primary_key_constraint(key["name"], table, [column], schema)
    for unique in inspector.get_unique_constraints(table, schema):
        keys.append(unique["column_names"])
        if (name := unique["name"]) and keys[-1] == [column]:
            found[name] = make.unique_constraint(name, table, [column], schema)
    for check in inspector.get_check_constraints(table, schema):
        if (name := check["name"]) and re.search(
            rf"(?<!\w){re.escape(column)}(?!\w)", check["sqltext"], re.IGNORECASE
        ):
            found[name] = make.check_constraint(name, table, check["sqltext"], schema)
    for reference in inspector.get_foreign_keys(table, schema):
        if reference["constrained_columns"] == [column]:
            _add_reference(found, make, reference, table, schema)
    if any(column in columns for columns in keys):
        _add_references_to(found, make, inspector, table, column, schema)
    return found


def references_to(inspector: Inspector, table: Table) -> list[Constraint]:
    """The foreign keys of other tables that reference a table."""
    found: Constraints = {}
    for column in table.columns:
        _add_references_to(found, SchemaObjects(), inspector, table.name, column.name, table.schema)
    inner = {each.name for each in table.foreign_key_constraints}
    return [constraint for name, constraint in found.items() if name not in inner]


def _add_references_to(
    found: Constraints, make: SchemaObjects, inspector: Inspector, table: str, column: str, schema: str | None
) -> None:
    """Those of tables of every owner: without a schema, an ANSI database has the user's tables alone."""
    for owner in (None, *inspector.get_schema_names()):
        parent = (table, schema or (owner and inspector.default_schema_name))
        for (child_schema, child), references in inspector.get_multi_foreign_keys(owner).items():
            for reference in references:
                is_to_table = (reference["referred_table"], reference["referred_schema"]) == parent
                if is_to_table and column in reference["referred_columns"]:
                    _add_reference(found, make, reference, child, child_schema)


def _add_reference(
    found: Constraints, make: SchemaObjects, reference: Any, child: str, child_schema: str | None
) -> None:
    if name := reference["name"]:
        found[name] = make.foreign_key_constraint(
            name,
            child,
            reference["referred_table"],
            reference["constrained_columns"],
            reference["referred_columns"],
            source_schema=child_schema,
            referent_schema=reference["referred_schema"],
            **reference.get("options", {}),
        )
