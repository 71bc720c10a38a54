"""Changes of tables with objects in FILTERING mode."""

from __future__ import annotations

import pytest

from aioifx.server.sql.model.plan import Change, Filtering
from tests.server.sql.workbench import Workbench


@pytest.fixture
def bench() -> Workbench:
    return Workbench(
        "CREATE TABLE p (k INT PRIMARY KEY)",
        "CREATE TABLE t (a INT NOT NULL CONSTRAINT n, r INT REFERENCES p CONSTRAINT f)",
    )


def filtering_of(bench: Workbench, text: str) -> Filtering | None:
    change = bench.plan(text).action
    assert isinstance(change, Change)
    return change.by_row.filtering if change.by_row else None


INSERT, UPDATE, DELETE = "INSERT INTO t VALUES (1, 1)", "UPDATE t SET a = 2", "DELETE FROM t"
PARENT = ("DELETE FROM p", "UPDATE p SET k = 2")


@pytest.mark.parametrize(
    ("mode", "filtered"),
    [
        ("n FILTERING", {INSERT, UPDATE}),
        ("f FILTERING WITH ERROR", {INSERT, UPDATE, *PARENT}),
        ("n, f ENABLED", set[str]()),
        ("n, f DISABLED", set[str]()),
    ],
)
def test_only_changes_that_may_violate_a_filtering_object_are_filtered(
    bench: Workbench, mode: str, filtered: set[str]
) -> None:
    bench.run("SET CONSTRAINTS n, f FILTERING")
    bench.run("SET CONSTRAINTS n, f ENABLED")
    bench.run(f"SET CONSTRAINTS {mode}")
    assert {text for text in (INSERT, UPDATE, DELETE, *PARENT) if filtering_of(bench, text)} == filtered


def test_the_new_row_is_written_into_the_violations_table_without_a_check(bench: Workbench) -> None:
    bench.run("SET CONSTRAINTS n FILTERING")
    without = filtering_of(bench, INSERT)
    assert without == Filtering(None, None, None)
    bench.run("START VIOLATIONS TABLE FOR t")
    for text in (INSERT, UPDATE, "INSERT INTO t SELECT k, k FROM p"):
        filed = filtering_of(bench, text)
        assert filed is not None and filed.violations is not None and filed.new is not None
        assert filed.violations.source in filed.new.text and "ifx_required" not in filed.new.text


def test_a_temporary_table_is_not_filtered(bench: Workbench) -> None:
    bench.run("CREATE TEMP TABLE x (a INT UNIQUE)")
    assert filtering_of(bench, "INSERT INTO x VALUES (1)") is None
