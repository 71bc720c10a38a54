"""Indexes, views, synonyms, sequences, roles, databases made and dropped."""

from __future__ import annotations

import pytest

from aioifx.server.sql.complex_types import TypeName, row_of
from aioifx.server.sql.syntax import nodes
from aioifx.server.sql.syntax.parser import parse
from aioifx.sqltypes import SqlType, TypeCode
from tests.server.sql.shapes import error_of, statement_shape


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("alter sequence s restart with 10 increment by 2", "AlterSequence(s, SequenceOptions(10, has_restart, 2))"),
        ("create index i on t (a)", "CreateIndex(i, t, [IndexPart(a)])"),
        ("create unique cluster index o.i on o.t (a desc, b asc, c) using btree in d online",
         "CreateIndex(o.i, o.t, [IndexPart(a, is_descending), IndexPart(b), IndexPart(c)], is_unique, is_clustered, "
         "[[I, 0, d, d, ]])"),
        ("create distinct index if not exists i on t (a) fillfactor 90 extent size 8",
         "CreateIndex(i, t, [IndexPart(a)], is_unique, if_not_exists)"),
        ("create index i on t (o.f(a, b) desc, c)",
         "CreateIndex(i, t, [IndexPart(Call(o.f, [a, b]), is_descending), IndexPart(c)])"),
        ("create index i on t (a) using btree in dbs disabled",
         "CreateIndex(i, t, [IndexPart(a)], is_disabled, [[I, 0, dbs, dbs, ]])"),
        ("create cluster index i on t (a) enabled compressed", "CreateIndex(i, t, [IndexPart(a)], is_clustered)"),
        ("create view v as select a from t", "CreateView(v, (Select([a], [t])), create view v as select a from t)"),
        ("create view if not exists o.v (x, y) as select a, b from t where c = 1",
         "CreateView(o.v, [x, y], (Select([a, b], [t], where=Comparison(=, c, 1))), create view if not "
         "exists o.v (x, y) as select a, b from t where c = 1, "
         "if_not_exists)"),
        ("create view v as (select a from t)",
         "CreateView(v, (Select([a], [t])), create view v as (select a from t))"),
        ("create synonym s for t", "CreateSynonym(s, t)"),
        ("create public synonym if not exists s for db:o.t", "CreateSynonym(s, db:o.t, if_not_exists)"),
        ("create private synonym s for t", "CreateSynonym(s, t, is_private)"),
        ("create sequence s", "CreateSequence(s, SequenceOptions())"),
        ("create sequence s start with 5 increment by -2 maxvalue 100 minvalue -100 cycle cache 10 order",
         "CreateSequence(s, SequenceOptions(5, -2, 100, -100, cycles, 10, is_ordered))"),
        ("create sequence s nomaxvalue nominvalue nocycle nocache noorder",
         "CreateSequence(s, SequenceOptions(no_maximum, no_minimum, 0))"),
        ("create sequence s start 5 increment 2", "CreateSequence(s, SequenceOptions(5, 2))"),
        ("create role r", "CreateRole(r)"),
        ("create database d", "CreateDatabase(DatabaseName(d), none)"),
        ("create database d in dbs with buffered log", "CreateDatabase(DatabaseName(d), buffered)"),
        ("create database if not exists d with log", "CreateDatabase(DatabaseName(d), unbuffered, if_not_exists)"),
        ("create database d@srv", "CreateDatabase(DatabaseName(d, srv), none)"),
        ("create database '//srv/d' with log", "CreateDatabase(DatabaseName(d, srv), unbuffered)"),
        ("drop table t", "Drop(table, t)"),
        ("drop table if exists o.t cascade", "Drop(table, o.t, if_exists)"),
        ("drop view v restrict", "Drop(view, v, is_restricted)"),
        ("drop index i online", "Drop(index, i)"),
        ("drop index if exists o.i", "Drop(index, o.i, if_exists)"),
        ("drop synonym s", "Drop(synonym, s)"),
        ("drop sequence s", "Drop(sequence, s)"),
        ("drop role r", "Drop(role, r)"),
        ("drop database d", "DropDatabase(DatabaseName(d))"),
        ("drop database if exists d", "DropDatabase(DatabaseName(d), if_exists)"),
        ("create schema authorization 'bob' create sequence s create view v as select a from t grant dba to x",
         "CreateSchema(bob, [CreateSequence(s, SequenceOptions()), CreateView(v, (Select([a], [t])), "
         "create view v as select a from t), Grant([Privilege(dba)], [x])])"),
        ("start violations table for o.t", "StartViolations(o.t)"),
        ("start violations table for t using v, d max rows 9", "StartViolations(t, [v, d], 9)"),
        ("stop violations table for t", "StopViolations(t)"),
        ("rename table a to b", "RenameObject(table, a, b)"),
        ("rename table o.a to b", "RenameObject(table, o.a, b)"),
        ("rename column t.a to b", "RenameColumn(t, a, b)"),
        ("rename column o.t.a to b", "RenameColumn(o.t, a, b)"),
        ("rename column 'o'.t.a to b", "RenameColumn(o.t, a, b)"),
        ("rename index i to j", "RenameObject(index, i, j)"),
        ("rename sequence s to u", "RenameObject(sequence, s, u)"),
        ("rename database d to e", "RenameDatabase(DatabaseName(d), e)"),
        ("create distinct cluster index i on t (a)", "CreateIndex(i, t, [IndexPart(a)], is_unique, is_clustered)"),
    ],
)  # fmt: skip
def test_objects(text: str, expected: str) -> None:
    assert statement_shape(text) == expected


@pytest.mark.parametrize(
    ("marked", "error"),
    [
        ("alter sequence s^", (-201, "")),
        ("alter sequence s ^start with 5", (-201, "")),
        ("alter ^index i to cluster", (-999, "ALTER INDEX")),
        ("alter ^fragment on table t init in d", (-999, "ALTER FRAGMENT")),
        ("alter ^procedure p", (-999, "ALTER PROCEDURE")),
        ("create schema authorization bob^", (-201, "")),
        ("create schema ^bob create table t (a int)", (-201, "")),
        ("create schema authorization bob ^create temp table t (a int)", (-201, "")),
        ("create schema authorization bob create table t (a int) ^drop table t", (-201, "")),
        ("create index i on t (bson_get(a, ^'b'))", (-999, "FUNCTIONAL INDEX")),
        ("create index i on t (f(^))", (-999, "FUNCTIONAL INDEX")),
        ("create index i on t (a ^b)", (-999, "OPCLASS")),
        ("create index i on t (^1)", (-201, "")),
        ("create index i on t (a) filtering ^with no error", (-201, "")),
        ("create index i on t (a) using ^bts in d", (-999, "USING BTS")),
        ("create index i on t (a) ^hash on (a) with 5 buckets", (-999, "HASH ON")),
        ("create index i on t^", (-201, "")),
        ("create view v as ^select first 5 a from t", (-944, "")),
        ("create view v as select a from t with ^read only", (-201, "")),
        ("create ^or replace view v as select a from t", (-201, "")),
        ("create sequence s start with 1 ^start with 2", (-201, "")),
        ("create sequence s ^restart with 1", (-201, "")),
        ("create sequence s nomaxvalue ^maxvalue 3", (-201, "")),
        ("create sequence s ^foo", (-201, "")),
        ("create role if not exists ^7", (-201, "")),
        ("create database d with log ^mode ansi", (-999, "MODE ANSI")),
        ("create ^foo", (-201, "")),
        ("create view v ^of type r as select a from t", (-999, "CREATE VIEW OF TYPE")),
        ("create index i on t (a ^int_ops)", (-999, "OPCLASS")),
        ("create database d with log nlscase ^insensitive", (-999, "NLSCASE INSENSITIVE")),
        ("create database d with log nlscase ^foo", (-201, "")),
        ("create^", (-201, "")),
        ("create ^user x", (-999, "CREATE USER")),
        ("drop ^foo", (-201, "")),
        ("drop table^", (-201, "")),
        ("drop table t cascade ^restrict", (-201, "")),
        ("rename column a ^to b", (-201, "")),
        ("start violations table for t using v^", (-201, "")),
        ("start violations table for t ^max 9", (-201, "")),
        ("start ^database d", (-201, "")),
        ("stop violations table ^t", (-201, "")),
        ("rename ^foo a to b", (-201, "")),
        ("rename table a to o^.b", (-201, "")),
    ],
)
def test_what_is_not_an_object_is_refused(marked: str, error: tuple[int, str]) -> None:
    assert error_of(marked) == error


def test_a_view_keeps_its_text_without_the_semicolon() -> None:
    statement = parse("CREATE VIEW v (x) AS  SELECT a -- why\n FROM t ;")
    assert isinstance(statement, nodes.CreateView)
    assert statement.text == "CREATE VIEW v (x) AS  SELECT a -- why\n FROM t"
    assert not statement.has_check_option


def test_a_view_may_check_what_is_written_through_it() -> None:
    statement = parse("create view v as select a from t with check option")
    assert isinstance(statement, nodes.CreateView)
    assert statement.has_check_option
    assert statement.text == "create view v as select a from t with check option"


def test_a_sequence_tells_no_from_nothing_said() -> None:
    silent, loud = parse("CREATE SEQUENCE s"), parse("CREATE SEQUENCE s NOCYCLE NOCACHE NOORDER")
    assert isinstance(silent, nodes.CreateSequence)
    assert isinstance(loud, nodes.CreateSequence)
    assert (silent.options.cycles, silent.options.cache, silent.options.is_ordered) == (None, None, None)
    assert (loud.options.cycles, loud.options.cache, loud.options.is_ordered) == (False, 0, False)


# --- Types -------------------------------------------------------------------


INTEGER = SqlType(TypeCode.INTEGER, 4)


def test_a_row_type_with_fields_and_a_supertype() -> None:
    statement = parse("CREATE ROW TYPE IF NOT EXISTS ann.emp_t (a INT NOT NULL, b person_t) UNDER person_t")
    assert isinstance(statement, nodes.CreateRowType)
    assert (statement.name.owner, statement.name.name, statement.if_not_exists) == ("ann", "emp_t", True)
    name = TypeName(TypeCode.NULL, extended_name="person_t", offset=60)
    assert statement.row == row_of(("a", "b"), (INTEGER, name), (True, False))
    assert statement.supertype is not None and statement.supertype.extended_name == "person_t"


def test_a_row_type_may_have_only_the_fields_of_its_supertype() -> None:
    statement = parse("create row type b under a")
    assert isinstance(statement, nodes.CreateRowType) and statement.row is None


def test_a_distinct_type() -> None:
    statement = parse("create distinct type dollar as decimal(10,2)")
    assert isinstance(statement, nodes.CreateDistinctType)
    assert statement.base == SqlType(TypeCode.DECIMAL, 10 * 256 + 2)


@pytest.mark.parametrize(
    ("text", "is_row"), [("drop row type a restrict", True), ("drop type a restrict", False)]
)
def test_drops(text: str, is_row: bool) -> None:
    assert parse(text) == nodes.DropType(1, nodes.QualifiedName(text.index(" a") + 2, "a"), is_row)


@pytest.mark.parametrize(
    ("marked", "error"),
    [
        ("create row type a^", (-201, "")),
        ("create row type a (^)", (-201, "")),
        ("^create row type a (x int, x date)", (-328, "x")),
        ("create distinct type a ^int", (-201, "")),
        ("drop row type a^", (-201, "")),
        ("drop type a ^cascade", (-201, "")),
    ],
)
def test_what_is_not_a_type_is_refused(marked: str, error: tuple[int, str]) -> None:
    assert error_of(marked) == error
