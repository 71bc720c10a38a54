"""Storage clauses."""

from __future__ import annotations

import pytest

from tests.server.sql.shapes import error_of, statement_shape


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("create table t (a int) in (d1, d2) statchange 5 statlevel auto", "CreateTable(t, [ColumnDef(a, INTEGER)])"),
        ("create table t (a int) fragment by range (a) interval (5) partition p values < 0 in d",
         "CreateTable(t, [ColumnDef(a, INTEGER)], [[N, -3, , , a], [N, -2, , , 5], [N, 0, d, p, values < 0]])"),
        ("create raw table t (a int) in dbs extent size 16 next size 32 lock mode row",
         "CreateTable(t, [ColumnDef(a, INTEGER)], row, 16, 32, is_raw)"),
        ("create standard table t (a int) with crcols with rowids lock mode page",
         "CreateTable(t, [ColumnDef(a, INTEGER)], page)"),
        ("create table t (a int) fragment by expression a < 5 in d1, a >= 5 in d2, remainder in d3",
         "CreateTable(t, [ColumnDef(a, INTEGER)], "
         "[[E, 0, d1, d1, a < 5], [E, 1, d2, d2, a >= 5], [E, 2, d3, d3, remainder]])"),
        ("create table t (a int) partition by expression partition p1 (a < 5) in d1, partition p2 "
         "remainder in d2 extent size 16",
         "CreateTable(t, [ColumnDef(a, INTEGER)], 16, [[E, 0, d1, p1, (a < 5)], [E, 1, d2, p2, remainder]])"),
        ("create table t (a int) fragment by round robin in d1, d2 lock mode table",
         "CreateTable(t, [ColumnDef(a, INTEGER)], table, [[R, 0, d1, d1, ], [R, 1, d2, d2, ]])"),
        ("create table t (a int) fragment by round robin partition p1 in d1, partition p2 in d2",
         "CreateTable(t, [ColumnDef(a, INTEGER)], [[R, 0, d1, p1, ], [R, 1, d2, p2, ]])"),
        ("create table t (a int) fragment by range (a) interval (10) store in (d1, d2) partition p1 "
         "values < 0 in d1",
         "CreateTable(t, [ColumnDef(a, INTEGER)], "
         "[[N, -3, , , a], [N, -2, , , 10], [N, -1, , , d1, d2], [N, 0, d1, p1, values < 0]])"),
        ("create table t (a int) fragment by list (a) partition p1 values (1, 2) in d1, partition p2 "
         "values is null in d2, partition p3 remainder in d3",
         "CreateTable(t, [ColumnDef(a, INTEGER)], [[L, -3, , , a], [L, 0, d1, p1, values (1, 2)], "
         "[L, 1, d2, p2, values is null], [L, 2, d3, p3, remainder]])"),
        ("create table t (a int) put a in (s1, s2) (extent size 20, log, high integ, keep access time),"
         " b in (s3) (no log, moderate integ, no keep access time) lock mode row",
         "CreateTable(t, [ColumnDef(a, INTEGER)], row)"),
        ("alter table t put a in (s1), b in (s2), add c int", "AlterTable(t, [AddColumn(ColumnDef(c, INTEGER))])"),
    ],
)  # fmt: skip
def test_storage_clauses_leave_the_lock_mode_extents_and_fragments(text: str, expected: str) -> None:
    assert statement_shape(text) == expected


@pytest.mark.parametrize(
    ("marked", "error"),
    [
        ("create table t (a int) lock mode ^rows", (-201, "")),
        ("create table t (a int) extent size^", (-201, "")),
        ("create table t (a int) ^with no log", (-201, "")),
        ("create table t (a int) statlevel ^fast", (-201, "")),
        ("create table t (a int) fragment by ^luck", (-201, "")),
        ("create table t (a int) fragment by range (a)^", (-201, "")),
        ("create table t (a int) put b ^(sb)", (-201, "")),
        ("create table t (a int) put b in (sb) (keep^)", (-201, "")),
        ("create table t (a int) put b in (sb) (high ^log)", (-201, "")),
    ],
)
def test_a_misspelt_storage_clause_is_refused(marked: str, error: tuple[int, str]) -> None:
    assert error_of(marked) == error
