"""What SQLAlchemy's suite may expect: each requirement that is closed has its reason."""

from __future__ import annotations

from typing import Any

from sqlalchemy.testing import exclusions
from sqlalchemy.testing.requirements import SuiteRequirements

# Closed in SQLAlchemy's suite unless a dialect opens it.
OPEN = """
autocommit boolean_col_expressions check_constraint_reflection ctes date_historic datetime_historic datetime_interval
datetime_literals dbapi_lastrowid except_ foreign_key_constraint_name_reflection
foreign_key_constraint_option_reflection_ondelete get_isolation_level_values has_temp_table
indexes_check_column_order inline_check_constraint_reflection intersect isolation_level
nvarchar_types order_by_label_with_expression reflects_pk_names reflect_indexes_with_ascdesc
reflect_table_options savepoints server_defaults skip_autocommit_rollback temporary_tables
unicode_ddl views window_functions
""".split()

CLOSED = {
    "sql_expression_limit_offset": "SKIP and FIRST take a number or a parameter (Syntax, Projection Clause)",
    "on_update_cascade": "Informix has no ON UPDATE action",
    "date_coerces_from_datetime": "aioifx refuses a datetime with a time of day for a DATE: it would be lost",
    "expressions_against_unbounded_text": "TEXT is not compared (-615)",
    "datetime_microseconds": "DATETIME has five digits of a second",
    "time_microseconds": "DATETIME has five digits of a second",
    "schemas": "in a database that is not MODE ANSI, two owners cannot have tables of one name",
    "temp_table_reflection": "the catalog has no rows of temporary tables (documented: Creation of a Temporary Table)",
}

# Cases that no requirement turns off.
SKIPPED = {
    "ComponentReflectionTest::test_get_unique_constraints[False-_exclusions_01]": (
        "two unique constraints on the same columns, in another order: -577 (documented: ALTER TABLE, ADD CONSTRAINT)"
    ),
    "ComponentReflectionTestExtra::test_server_defaults[Boolean-default2-1|true-_exclusions_02]": (
        "the default of a BOOLEAN is 't'"
    ),
    "ComponentReflectionTestExtra::test_server_defaults[DateTime-default5-current_timestamp|now|getdate-_exclusions_05]": (  # noqa: E501
        "CURRENT YEAR TO FRACTION(5) is the name of func.now()"
    ),
    "ServerSideCursorsTest::test_ss_cursor_status[for_update_expr]": "FOR UPDATE needs a table that can be changed",
    "ServerSideCursorsTest::test_ss_cursor_status[for_update_string]": "FOR UPDATE needs a table that can be changed",
}


def _closed(reason: str) -> Any:
    return exclusions.skip_if(lambda: True, reason)


class Requirements(SuiteRequirements):
    """The requirements of SuiteRequirements, opened and closed by the tables above."""

    def get_isolation_levels(self, config: Any) -> dict[str, Any]:
        levels = config.db.dialect.get_isolation_level_values(None)
        return {"default": "COMMITTED READ", "supported": levels}


def _make(rule: Any) -> property:
    return property(lambda self: rule)


for name in OPEN:
    assert hasattr(SuiteRequirements, name), name
    if name != "get_isolation_level_values":
        setattr(Requirements, name, _make(exclusions.open()))
for name, reason in CLOSED.items():
    assert hasattr(SuiteRequirements, name), name
    setattr(Requirements, name, _make(_closed(reason)))
