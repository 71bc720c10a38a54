"""What SQLAlchemy's suite may expect of Informix, and of the embedded server: what is closed has its reason."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from sqlalchemy.testing import exclusions
from sqlalchemy.testing.requirements import SuiteRequirements

OPEN = """
autocommit boolean_col_expressions check_constraint_reflection create_table_as ctes ctes_with_values date_historic
datetime_historic datetime_interval datetime_literals dbapi_lastrowid delete_from except_ fetch_first
fetch_no_order_by float_or_double_precision_behaves_generically foreign_key_constraint_name_reflection
foreign_key_constraint_option_reflection_ondelete has_temp_table index_ddl_if_exists indexes_check_column_order
inline_check_constraint_reflection intersect isolation_level non_updating_cascade nullsordering nvarchar_types
order_by_label_with_expression percent_schema_names precision_numerics_enotation_small
precision_numerics_retains_significant_digits reflect_indexes_with_ascdesc reflect_table_options reflects_pk_names
regexp_match regexp_replace
savepoints server_defaults skip_autocommit_rollback supports_bitwise_and supports_bitwise_not supports_bitwise_or
supports_bitwise_shift supports_bitwise_xor table_ddl_if_exists table_value_constructor temporary_tables tuple_in
tuple_in_w_empty unicode_ddl update_from views window_functions window_range
""".split()
"""Requirements that SQLAlchemy closes unless a dialect opens them."""

LACKING = {
    # Data types (Informix Guide to SQL: Reference)
    "no type has a time zone": "datetime_timezone datetime_timezone_historic time_timezone",
    "DATETIME has at most five digits of a second":
        "datetime_microseconds time_microseconds timestamp_microseconds timestamp_microseconds_implicit_bound",
    "DECIMAL has at most 32 digits":
        "precision_numerics_many_significant_digits cast_precision_numerics_many_significant_digits",
    "no type for UUID; SQLAlchemy's Uuid is CHAR(32)": "uuid_data_type",
    "SET, MULTISET and LIST are not ARRAY; the dialect has types of their own": "array_type",
    "a JSON column stores objects, and the suite stores scalars and arrays (-9652)":
        "json_type json_array_indexes json_index_supplementary_unicode_element json_deserializer_binary "
        "legacy_unconditional_json_extract",
    "FLOAT has no infinity": "infinity_floats",
    "TEXT cannot be compared (-615)": "expressions_against_unbounded_text",
    # Tables and schemas (Guide to SQL: Syntax)
    "the default schema is the user": "default_schema_name_switch",
    "schemas are owners, and exist with their tables": "schema_create_delete",
    "a foreign key has ON DELETE CASCADE or nothing":
        "on_update_cascade foreign_key_constraint_option_reflection_onupdate "
        "fk_constraint_option_reflection_ondelete_noaction fk_constraint_option_reflection_ondelete_restrict "
        "fk_constraint_option_reflection_onupdate_restrict",
    "constraints are deferred by SET CONSTRAINTS alone": "deferrable_fks",
    "no COMMENT ON": "comment_reflection comment_reflection_full_unicode constraint_comment_reflection "
        "temp_table_comment_reflection",
    "no computed columns": "computed_columns computed_columns_default_persisted computed_columns_reflect_persisted "
        "computed_columns_stored computed_columns_virtual",
    "SERIAL has a start and nothing else of IDENTITY": "identity_columns identity_columns_standard",
    "a default is a literal, NULL, CURRENT, TODAY, USER, SITENAME or DBSERVERNAME": "expression_server_defaults",
    "an index has columns and user-defined functions, no other expression and no INCLUDE":
        "indexes_with_expressions reflect_indexes_with_expressions reflect_indexes_with_ascdesc_as_expression "
        "index_reflects_included_columns",
    "a column has the collation of its database": "column_collation_reflection",
    "a table has at least one column": "reflect_tables_no_columns",
    "no temporary, replaceable or materialized views":
        "temporary_views create_or_replace_view materialized_views materialized_views_reflect_pk",
    "constraints of a temporary table have no names (-576), and the suite names one":
        "temp_table_names temp_table_reflection temp_table_reflect_indexes",
    "a column occurs once in a foreign key": "repeated_column_foreign_keys repeated_remote_col_foreign_keys",
    "a temporary table of a query is SELECT ... INTO TEMP": "create_temp_table_as",
    # Queries
    "FIRST and SKIP take a number or a parameter": "sql_expression_limit_offset fetch_expression",
    "FIRST has neither PERCENT nor WITH TIES": "fetch_percent fetch_ties fetch_offset_with_options",
    "no DISTINCT ON": "supports_distinct_on",
    "no ORDER BY in an aggregate": "aggregate_order_by",
    "WITH comes before SELECT": "ctes_on_dml ctes_with_update_delete",
    "the remainder is MOD(a, b)": "mod_operator_as_percent_sign",
    "a window's RANGE has the type of its one ORDER BY column": "window_range_non_numeric",
}  # fmt: skip
"""What Informix lacks, with the requirements that ask for it."""

OTHERS = {
    "the offsets of RANGE in the embedded server are whole numbers": "window_range_numeric",
    "aioifx has no XA": "two_phase_transactions",
    "aioifx refuses a datetime with a time of day for DATE, which would lose it": "date_coerces_from_datetime",
    "a key generated by the server is PEP 249's lastrowid": "emulated_lastrowid emulated_lastrowid_even_with_sequences",
    "reflection leaves out an index that a constraint has":
        "foreign_keys_reflect_as_index unique_constraints_reflect_as_index unique_index_reflect_as_unique_constraints",
    "of SQLAlchemy's own tests": "async_dialect",
}  # fmt: skip
"""What is closed for other reasons."""

OF_SCHEMAS = "schemas cross_schema_fk_reflection implicit_default_schema schema_reflection".split()
"""Requirements that an ANSI database opens."""

_NO_SCHEMAS = (
    "an owner is not a namespace: in a database that is not MODE ANSI, names are unique for all owners"
)

_FOR_UPDATE = "FOR UPDATE needs a table that can be changed"
_TUPLES = "no row values in text(), and the text of tuple_().in_() is AND and OR"
_TEXT = "TEXT takes parameters, not literals (-617)"

SKIPPED = {
    "ComponentReflectionTest::test_get_unique_constraints[[]*":
        "-577: two unique constraints on the same columns, in another order (ALTER TABLE, ADD CONSTRAINT)",
    "ComponentReflectionTestExtra::test_server_defaults[[]Boolean*": "the default of a BOOLEAN is 't'",
    "ComponentReflectionTestExtra::test_server_defaults[[]DateTime*": "func.now() is CURRENT YEAR TO FRACTION(5)",
    "ExpandingBoundInTest::test_bound_in_heterogeneous_two_tuple_text_bindparam*": _TUPLES,
    "ExpandingBoundInTest::test_bound_in_heterogeneous_two_tuple_typed_bindparam_non_tuple": _TUPLES,
    "LikeFunctionsTest::test_not_regexp_match": "regex_match takes NULL for an empty text (documented)",
    "PostCompileParamsTest::test_execute_tuple_expanding_plus_literal_*": _TUPLES,
    "ServerSideCursorsTest::test_ss_cursor_status[[]for_update*": _FOR_UPDATE,
    "TextTest::test_literal*": _TEXT,
    "UnicodeTextTest::test_literal*": _TEXT,
}  # fmt: skip
"""Cases that no requirement turns off, by patterns of `fnmatch`."""


class Requirements(SuiteRequirements):
    """The requirements of SQLAlchemy, opened and closed by the tables above."""

    is_ansi = False
    """Whether the database is an ANSI database; see `conftest`."""

    def get_isolation_levels(self, config: Any) -> dict[str, Any]:
        levels = config.db.dialect.get_isolation_level_values(None)
        return {"default": "REPEATABLE READ" if self.is_ansi else "COMMITTED READ", "supported": levels}


def _schemas() -> Any:
    return exclusions.skip_if(exclusions.BooleanPredicate(not Requirements.is_ansi, _NO_SCHEMAS))


def _rules_of(item: Any) -> Iterator[Any]:
    """What a case requires: by its class, by its function and by its parameters."""
    for name in getattr(item.cls, "__requires__", ()):
        yield getattr(Requirements(), name)
    yield getattr(item.function, "_sa_exclusion_extend", None)
    for value in item.callspec.params.values() if hasattr(item, "callspec") else ():
        yield from value if isinstance(value, list) else ()


def depends_on_schemas(item: Any) -> bool:
    """Whether a case requires schemas."""
    predicates = (each for rule in _rules_of(item) for each in getattr(rule, "skips", ()))
    return any(getattr(each, "description", "") == _NO_SCHEMAS for each in predicates)


def _set(name: str, rule: Callable[[], Any]) -> None:
    if hasattr(SuiteRequirements, name):  # each version of SQLAlchemy has some of its own
        # A new rule each time, because SQLAlchemy extends the rule of one decorator by those of others.
        setattr(Requirements, name, property(lambda self: rule()))


def _unexplained() -> list[str]:
    """Names of requirements that SQLAlchemy closes and that are in no table."""
    requirements: Any = Requirements()
    found: list[str] = []
    for name, member in vars(SuiteRequirements).items():
        if isinstance(member, property) and name not in vars(Requirements):
            rule = getattr(requirements, name)
            skips = rule.skips if isinstance(rule, exclusions.compound) else ()
            if any(getattr(skip, "value", None) is True for skip in skips):
                found.append(name)
    return found


for name in OPEN:
    _set(name, exclusions.open)
for name in OF_SCHEMAS:
    _set(name, _schemas)
for reason, names in {**LACKING, **OTHERS}.items():
    for name in names.split():
        _set(name, partial(exclusions.closed, reason))
assert not _unexplained(), f"closed without a reason: {_unexplained()}"
