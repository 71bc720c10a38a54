"""CREATE TABLE and ALTER TABLE."""

from __future__ import annotations

import pytest

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.syntax import nodes
from aioifx.server.sql.syntax.parser import parse
from tests.server.sql.shapes import error_of, statement_shape


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "create table t (a int)",
            "CreateTable(t, [ColumnDef(a, INTEGER)])",
        ),
        (
            "create table if not exists o.t (a int, b char(3) default 'x' not null)",
            "CreateTable(o.t, [ColumnDef(a, INTEGER), ColumnDef(b, CHAR(3), Default('x', 'x'), "
            "NotNull())], if_not_exists)",
        ),
        (
            "create table t (k serial(10) primary key constraint pk, u int unique constraint o.uq, r int "
            "references p (k) on delete cascade constraint fk, c int check (c > 0) constraint ck, n int "
            "not null constraint nn)",
            "CreateTable(t, [ColumnDef(k, SERIAL, [PrimaryKey([k], pk)], 10), ColumnDef(u, INTEGER, "
            "[Unique([u], o.uq)]), ColumnDef(r, INTEGER, [ForeignKey([r], p, [k], cascades, fk)]), "
            "ColumnDef(c, INTEGER, [Check(Comparison(>, c, 0), c > 0, ck)]), ColumnDef(n, INTEGER, "
            "NotNull(nn))])",
        ),
        (
            "create table t (a int, b int, primary key (a, b) constraint pk, unique (b), distinct (a, b), "
            "check (a < b), foreign key (b) references p)",
            "CreateTable(t, [ColumnDef(a, INTEGER), ColumnDef(b, INTEGER)], [PrimaryKey([a, b], pk), "
            "Unique([b]), Unique([a, b]), Check(Comparison(<, a, b), a < b), ForeignKey([b], p)])",
        ),
        (
            "create table t (a int default 1 not null unique check (a > 0) references p)",
            "CreateTable(t, [ColumnDef(a, INTEGER, Default(1, 1), NotNull(), [Unique([a]), "
            "Check(Comparison(>, a, 0), a > 0), ForeignKey([a], p)])])",
        ),
        (
            "create table t (a int not null default -1.5)",
            "CreateTable(t, [ColumnDef(a, INTEGER, Default(Unary(-, 1.5), -1.5), NotNull())])",
        ),
        (
            "create table t (a date default today, b char(8) default user, c datetime year to second "
            "default current year to second, d int default null, e datetime year to fraction(5) default "
            "sysdate, f char(18) default sitename, g interval day to day default interval(3) day to day, "
            "h datetime hour to minute default datetime(12:00) hour to minute)",
            "CreateTable(t, [ColumnDef(a, DATE, Default(SessionConstant(today), today)), ColumnDef(b, "
            "CHAR(8), Default(SessionConstant(user), user)), ColumnDef(c, DATETIME YEAR TO SECOND, "
            "Default(Current(YEAR TO SECOND), current year to second)), ColumnDef(d, INTEGER, "
            "Default(NULL, null)), ColumnDef(e, DATETIME YEAR TO FRACTION(5), Default(Current(YEAR TO "
            "FRACTION(5)), sysdate)), ColumnDef(f, CHAR(18), "
            "Default(SessionConstant(sitename), sitename)), ColumnDef(g, INTERVAL DAY(2) TO DAY, "
            "Default(IntervalLiteral(3, DAY TO DAY), interval(3) day to day)), ColumnDef(h, DATETIME HOUR "
            "TO MINUTE, Default(DatetimeLiteral(12:00, HOUR TO MINUTE), datetime(12:00) hour to "
            "minute))])",
        ),
        (
            "create table t (a int null)",
            "CreateTable(t, [ColumnDef(a, INTEGER)])",
        ),
        (
            "create table t (constraint int, check char(1), primary int, unique int, foreign int)",
            "CreateTable(t, [ColumnDef(constraint, INTEGER), ColumnDef(check, CHAR(1)), "
            "ColumnDef(primary, INTEGER), ColumnDef(unique, INTEGER), ColumnDef(foreign, INTEGER)])",
        ),
        (
            "create table t (a int not null constraint x enabled)",
            "CreateTable(t, [ColumnDef(a, INTEGER, NotNull(x))])",
        ),
        (
            "create table t (a int not null constraint x disabled primary key disabled, unique (b) disabled)",
            "CreateTable(t, [ColumnDef(a, INTEGER, NotNull(x, is_disabled), [PrimaryKey([a], is_disabled)])], "
            "[Unique([b], is_disabled)])",
        ),
        (
            "create table t (a int check (a > 0) disabled references p constraint f enabled novalidate)",
            "CreateTable(t, [ColumnDef(a, INTEGER, [Check(Comparison(>, a, 0), a > 0, is_disabled), "
            "ForeignKey([a], p, f, is_not_validated)])])",
        ),
        (
            "alter table t add constraint (foreign key (a) references p constraint f disabled index disabled)",
            "AlterTable(t, [AddConstraint(ForeignKey([a], p, f, is_disabled, has_disabled_index))])",
        ),
        (
            "create temp table t (a int) with no log",
            "CreateTable(t, [ColumnDef(a, INTEGER)], is_temp, no_log)",
        ),
        (
            "create temp table t (a int) in tmpdbs with no log",
            "CreateTable(t, [ColumnDef(a, INTEGER)], is_temp, no_log)",
        ),
        (
            "create table t (a serial(0), b bigserial(5), c serial8)",
            "CreateTable(t, [ColumnDef(a, SERIAL, 0), ColumnDef(b, BIGSERIAL, 5), ColumnDef(c, SERIAL8)])",
        ),
        (
            "alter table t add c int",
            "AlterTable(t, [AddColumn(ColumnDef(c, INTEGER))])",
        ),
        (
            "alter table o.t add (c int before d, e char(3) default 'x' not null)",
            "AlterTable(o.t, [AddColumn(ColumnDef(c, INTEGER), before=d), AddColumn(ColumnDef(e, CHAR(3), "
            "Default('x', 'x'), NotNull()))])",
        ),
        (
            "alter table t add type char(5)",
            "AlterTable(t, [AddColumn(ColumnDef(type, CHAR(5)))])",
        ),
        (
            "alter table t add constraint primary key (a) constraint pk",
            "AlterTable(t, [AddConstraint(PrimaryKey([a], pk))])",
        ),
        (
            "alter table t add constraint (unique (a) constraint u, check (a > 0), foreign key (b) "
            "references p (k) on delete cascade)",
            "AlterTable(t, [AddConstraint(Unique([a], u)), AddConstraint(Check(Comparison(>, a, 0), a > "
            "0)), AddConstraint(ForeignKey([b], p, [k], cascades))])",
        ),
        (
            "alter table t add constraint int",
            "AlterTable(t, [AddColumn(ColumnDef(constraint, INTEGER))])",
        ),
        (
            'alter table "i".t add constraint (foreign key (a) references "i".p on delete cascade constraint "i".fk)',
            "AlterTable(i.t, [AddConstraint(ForeignKey([a], i.p, cascades, i.fk))])",
        ),
        (
            "alter table t drop c",
            "AlterTable(t, [DropColumn(c)])",
        ),
        (
            "alter table t drop (a, b), drop constraint 'i'.n, drop constraint (m, p.o)",
            "AlterTable(t, [DropColumn(a), DropColumn(b), DropConstraint(i.n), "
            "DropConstraint(m), DropConstraint(p.o)])",
        ),
        (
            "alter table t drop constraint",
            "AlterTable(t, [DropColumn(constraint)])",
        ),
        (
            "alter table t modify c varchar(30,5) not null",
            "AlterTable(t, [ModifyColumn(ColumnDef(c, VARCHAR(30), NotNull()))])",
        ),
        (
            "alter table t modify (a bigint, b char(5) default 'x'), lock mode (row)",
            "AlterTable(t, [ModifyColumn(ColumnDef(a, BIGINT)), ModifyColumn(ColumnDef(b, CHAR(5), "
            "Default('x', 'x')))], row)",
        ),
        (
            "alter table t modify next size 32",
            "AlterTable(t)",
        ),
        (
            "alter table t add rowids",
            "AlterTable(t)",
        ),
        (
            "alter table t drop crcols",
            "AlterTable(t)",
        ),
        ("create table t as select a from u", "CreateTableAs(t, (Select([a], [u])))"),
        (
            "create raw table if not exists t (a, b::int) in d lock mode row as select a, b from u where a = ?",
            "CreateTableAs(t, (Select([a AS a, Cast(b, INTEGER) AS b], [DerivedTable((Select([a, b], [u],"
            " where=Comparison(=, a, ?0))), result)])), if_not_exists, row)",
        ),
        (
            "alter table t type (raw)",
            "AlterTable(t, [SetTableType(is_raw)])",
        ),
    ],
)
def test_tables(text: str, expected: str) -> None:
    assert statement_shape(text) == expected


@pytest.mark.parametrize(
    ("marked", "error"),
    [
        ("create table t (a int default ^b)", (-201, "")),
        ("create table t (a int default 1 ^+ 1)", (-201, "")),
        ("create table t (a int default 1 ^default 2)", (-201, "")),
        ("create table t (a int null ^not null)", (-201, "")),
        ("create table t (a int ^constraint pk primary key)", (-201, "")),
        ("create table t (a int, ^constraint pk primary key (a))", (-201, "")),
        ("create table t (a int primary key constraint c filtering ^enabled)", (-201, "")),
        ("create table t (a int primary key constraint c ^novalidate)", (-201, "")),
        ("create table t (a int references p disabled ^enabled)", (-201, "")),
        ("create table t (a int) ^as select 1 from u", (-201, "")),
        ("create table t (a, b ^int) as select 1 from u", (-201, "")),
        ("create temp table t ^as select 1 from u", (-201, "")),
        ("create table t (^)", (-201, "")),
        ("create table t (unique (a))^", (-201, "")),
        ("create table t (a)^", (-201, "")),
        ("create table t (a int,^)", (-201, "")),
        ("create table t ^of x", (-201, "")),
        ("create table t of type r (^a int)", (-201, "")),
        ("alter table t lock mode (page), ^next size 3", (-201, "")),
        ("alter table t^", (-201, "")),
        ("alter table t put b in ^s", (-201, "")),
        ("alter table t ^rename a to b", (-201, "")),
        ("alter table t add column c ^int", (-201, "")),
    ],
)
def test_what_is_not_a_table_is_refused(marked: str, error: tuple[int, str]) -> None:
    assert error_of(marked) == error


def test_a_default_and_a_check_keep_their_text() -> None:
    statement = parse("CREATE TABLE t (a CHAR(9) DEFAULT 'It''s', CHECK ( A  > 'x' ) )")
    assert isinstance(statement, nodes.CreateTable)
    default, (check,) = statement.columns[0].default, statement.constraints
    assert default is not None
    assert default.text == "'It''s'"
    assert isinstance(check, nodes.Check)
    assert check.text == "A  > 'x'"


def test_a_columns_constraint_names_the_column() -> None:
    statement = parse("CREATE TABLE t (a INT PRIMARY KEY CONSTRAINT pk_t)")
    assert isinstance(statement, nodes.CreateTable)
    (constraint,) = statement.columns[0].constraints
    assert constraint == nodes.PrimaryKey(23, (nodes.Name(17, "a"),), nodes.QualifiedName(46, "pk_t"))


def test_a_serial_starts_where_it_says() -> None:
    statement = parse("CREATE TABLE t (a SERIAL, b BIGSERIAL(7))")
    assert isinstance(statement, nodes.CreateTable)
    assert [column.serial_start for column in statement.columns] == [None, 7]


@pytest.mark.parametrize(
    "default", ["b", "1 + 1", "f(1)", "?", "(SELECT 1 FROM t)", "s.nextval", "CASE WHEN a THEN 1 END"]
)
def test_an_expression_is_not_a_default(default: str) -> None:
    with pytest.raises(SqlError) as caught:
        parse(f"CREATE TABLE t (a INT DEFAULT {default})")
    assert caught.value.sqlcode == -201
