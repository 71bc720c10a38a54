from __future__ import annotations

import math
from collections.abc import Iterator

import pytest

from aioifx.server.engine import planner
from aioifx.server.engine.engine import Engine
from aioifx.server.engine.planner import Statement
from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.plan import Plan
from aioifx.server.sql.model.schema import Schema
from aioifx.server.sql.model.settings import Settings
from aioifx.server.sql.syntax import nodes
from aioifx.server.sql.syntax.tokens import tokenize
from aioifx.server.sql.translate.translate import translate as original
from aioifx.server.sqlite.databases import LogMode
from aioifx.server.sqlite.interrupts import INTERRUPTED, Interrupts
from aioifx.wire.opcodes import StatementType
from tests.server.sql.kinds import error_of
from tests.server.talking import ServerCore, error_from, query, run, run_all, server_core


@pytest.fixture
def translations(monkeypatch: pytest.MonkeyPatch) -> list[nodes.Statement]:
    """Every statement that is translated, once for each time."""
    seen: list[nodes.Statement] = []
    translate = original

    def counted(statement: nodes.Statement, schema: Schema, settings: Settings) -> Plan:
        seen.append(statement)
        return translate(statement, schema, settings)

    monkeypatch.setattr(planner, "translate", counted)
    return seen


TEXT = "SELECT tabname FROM systables WHERE tabid = ?"


def test_the_same_text_is_translated_once(engine: Engine, translations: list[nodes.Statement]) -> None:
    for tabid in (1, 2, 3):
        assert len(query(engine, TEXT, tabid)) == 1
    assert len(translations) == 1


def test_a_change_of_the_schema_renews_plans(engine: Engine, translations: list[nodes.Statement]) -> None:
    statement = engine.prepare(TEXT)
    run(engine, "CREATE TABLE t (a INTEGER)")
    translations.clear()
    engine.close_cursor(engine.open(statement, (1,)))
    engine.close_cursor(engine.open(statement, (2,)))
    assert len(translations) == 1


def test_a_rolled_back_change_brings_the_old_plans_back(
    engine: Engine, translations: list[nodes.Statement]
) -> None:
    query(engine, TEXT, 1)
    run_all(engine, "BEGIN WORK", "CREATE TABLE t (a INTEGER)")
    query(engine, TEXT, 1)
    run(engine, "ROLLBACK WORK")
    translations.clear()
    query(engine, TEXT, 1)
    assert translations == []


def test_temporary_tables_of_one_session_mean_nothing_to_another(one: Engine, two: Engine) -> None:
    run(one, "CREATE TEMP TABLE t (a INTEGER)")
    run(two, "CREATE TEMP TABLE t (a CHAR(3))")
    types = [str(engine.prepare("SELECT a FROM t").plan.columns[0].type) for engine in (one, two)]
    assert types == ["INTEGER", "CHAR(3)"]


def test_delimident_decides_between_text_and_name(core: ServerCore) -> None:
    text = 'SELECT "tabid" FROM systables WHERE tabid = 1'
    assert query(core.engine(), text) == [("tabid",)]
    assert query(core.engine(delimident=True), text) == [(1,)]


def test_old_translations_are_forgotten(core: ServerCore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planner, "CACHED_PLANS", 3)
    engine = core.engine()
    for n in range(10):
        engine.prepare(f"SELECT tabid + {n} FROM systables")
    assert len(engine._state.planner._plans) == 3


def test_a_statement_prepared_in_another_database_is_looked_up_again(core: ServerCore) -> None:
    engine: Engine = core.engine()
    run(engine, "CREATE TABLE t (a INTEGER)")
    statement = engine.prepare("SELECT a FROM t")
    run(engine, "DATABASE sysmaster")
    assert error_of(engine.open, statement) == -206
    run(engine, "DATABASE demo")
    engine.open(statement)


CHANGES = [
    ("SELECT a FROM t", "ALTER TABLE t MODIFY (a CHAR(3))", -710),
    ("SELECT * FROM t", "ALTER TABLE t ADD (b INTEGER)", -710),
    ("SELECT * FROM t", "RENAME COLUMN t.a TO z", -710),
    ("SELECT a FROM t", "RENAME COLUMN t.a TO z", -217),
    ("INSERT INTO t VALUES (1)", "ALTER TABLE t MODIFY (a CHAR(3))", -710),
    ("INSERT INTO t VALUES (1)", "ALTER TABLE t ADD (b INTEGER)", -236),
    ("UPDATE t SET a = 1", "ALTER TABLE t MODIFY (a CHAR(3))", -710),
    ("SELECT a FROM t", "DROP TABLE t", -206),
    ("UPDATE t SET a = 1", "DROP TABLE t", -206),
    ("SELECT a FROM t", "CREATE INDEX ix ON t (a)", 0),
    ("DELETE FROM t", "ALTER TABLE t ADD (b INTEGER)", 0),
]


def outcome_of(engine: Engine, statement: Statement) -> int:
    """The SQLCODE of running it, 0 for none."""
    try:
        if statement.plan.returns_rows:
            engine.close_cursor(engine.open(statement))
        else:
            engine.execute(statement)
    except SqlError as error:
        return error.sqlcode
    return 0


@pytest.mark.parametrize("by_other", [False, True])
@pytest.mark.parametrize(("text", "change", "sqlcode"), CHANGES)
def test_a_statement_whose_description_changed_must_be_prepared_again(
    core: ServerCore, text: str, change: str, sqlcode: int, by_other: bool
) -> None:
    engine, other = core.engine(), core.engine()
    run(engine, "CREATE TABLE t (a INTEGER)")
    statement = engine.prepare(text)
    run(other if by_other else engine, change)
    assert [outcome_of(engine, statement) for _ in range(2)] == [sqlcode, sqlcode]
    if sqlcode == -710:
        assert outcome_of(engine, engine.prepare(text)) == 0
        assert outcome_of(engine, statement) == -710  # the old one stays what it is


@pytest.mark.parametrize(
    ("column", "sqlcode"), [("INTEGER", 0), ("VARCHAR(5)", -710), ("INTEGER NOT NULL", -710)]
)
def test_a_recreated_table_is_the_same_only_if_it_looks_the_same(
    engine: Engine, column: str, sqlcode: int
) -> None:
    run(engine, "CREATE TABLE t (a INTEGER)")
    statement = engine.prepare("SELECT a FROM t")
    run_all(engine, "DROP TABLE t", f"CREATE TABLE t (a {column})")
    assert outcome_of(engine, statement) == sqlcode


def test_a_change_that_is_rolled_back_leaves_statements_as_they_were(engine: Engine) -> None:
    run(engine, "CREATE TABLE t (a INTEGER)")
    statement = engine.prepare("SELECT a FROM t")
    run_all(engine, "BEGIN WORK", "ALTER TABLE t MODIFY (a CHAR(3))")
    assert outcome_of(engine, statement) == -710
    run(engine, "ROLLBACK WORK")
    assert outcome_of(engine, statement) == 0


# -- several statements of one text ------------------------------------------------------------------------------------


def test_statements_of_one_text_share_the_values_in_order(engine: Engine) -> None:
    run(engine, "CREATE TABLE t (a INTEGER, b VARCHAR(9)); CREATE TABLE u (c INTEGER)")
    text = "INSERT INTO t VALUES (?, 'x;y'); INSERT INTO u VALUES (?); UPDATE t SET a = a + ? WHERE b = ?;"
    statement = engine.prepare(text)
    assert (statement.plan.type, len(statement.plan.parameters)) == (StatementType.INSERT, 4)
    for _ in range(2):
        assert (
            engine.execute(statement, (1, 7, 10, "x;y")).rows == query(engine, "SELECT COUNT(*) FROM t")[0][0]
        )
    assert query(engine, "SELECT a, b FROM t ORDER BY a") == [(11, "x;y"), (21, "x;y")]
    assert query(engine, "SELECT c FROM u") == [(7,), (7,)]


def test_the_statements_after_an_error_do_not_run(engine: Engine) -> None:
    run(engine, "CREATE TABLE t (a INTEGER NOT NULL)")
    error = error_from(
        engine, "INSERT INTO t VALUES (1); INSERT INTO t VALUES (NULL); INSERT INTO t VALUES (3)"
    )
    assert error.sqlcode == -391
    assert query(engine, "SELECT a FROM t") == [(1,)]


def test_each_statement_is_checked_before_any_of_them_runs(engine: Engine) -> None:
    # Documented: they cannot depend on actions of others in the text.
    with pytest.raises(SqlError) as caught:
        engine.prepare("CREATE TABLE t (a INTEGER); INSERT INTO t VALUES (1)")
    assert (caught.value.sqlcode, caught.value.token) == (-206, "t")
    with pytest.raises(SqlError) as caught:
        engine.prepare("UPDATE STATISTICS; DELETE FROM 1")
    assert (caught.value.sqlcode, caught.value.offset) == (-201, 32)


def test_a_change_of_the_schema_renews_each_of_them(engine: Engine) -> None:
    run(engine, "CREATE TABLE t (a INTEGER)")
    statement = engine.prepare("INSERT INTO t VALUES (1); DELETE FROM t WHERE a = 0")
    run(engine, "ALTER TABLE t ADD b INTEGER DEFAULT 5 BEFORE a")
    with pytest.raises(SqlError) as caught:
        engine.execute(statement)
    assert caught.value.sqlcode in (-236, -710)
    assert query(engine, "SELECT * FROM t") == []


@pytest.mark.parametrize(
    ("text", "sqlcode"),
    [
        ("SELECT tabid FROM systables; UPDATE STATISTICS", -555),
        ("UPDATE STATISTICS; SELECT tabid FROM systables", -555),
        ("UPDATE STATISTICS; DATABASE demo", -555),
        ("UPDATE STATISTICS; CLOSE DATABASE", -555),
        ("CREATE DATABASE d; UPDATE STATISTICS", -555),
        ("DROP DATABASE d; UPDATE STATISTICS", -555),
        ("BEGIN WORK; COMMIT WORK", -999),
        ("UPDATE STATISTICS; ROLLBACK WORK", -999),
        ("UPDATE STATISTICS;;", -201),
    ],
)
def test_some_statements_must_be_alone_in_their_text(core: ServerCore, text: str, sqlcode: int) -> None:
    # Documented: Restricted Statements in Multistatement Prepared Objects.
    assert error_of(core.engine().prepare, text) == sqlcode


def test_values_of_byte_and_text_are_for_single_statements(engine: Engine) -> None:
    run(engine, "CREATE TABLE t (a TEXT)")
    assert error_of(engine.prepare, "DELETE FROM t; INSERT INTO t VALUES (?)") == -555


def test_a_temporary_table_may_be_filled_by_one_of_them(engine: Engine) -> None:
    run(engine, "SELECT tabid FROM systables WHERE tabid < 3 INTO TEMP x; UPDATE STATISTICS")
    assert query(engine, "SELECT COUNT(*) FROM x") == [(2,)]


@pytest.mark.parametrize(
    "text",
    [
        f"SELECT a FROM t WHERE a IN ({', '.join(map(str, range(50)))})",
        f"SELECT a FROM t WHERE {' OR '.join(f'a = {number}' for number in range(50))}",
        f"INSERT INTO t VALUES ({' + '.join(map(str, range(50)))})",
    ],
    ids=["IN", "OR", "INSERT"],
)
def test_the_translation_of_a_long_text_can_be_interrupted_at_each_value(
    core: ServerCore, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    engine = core.engine()
    run(engine, "CREATE TABLE t (a INTEGER)")
    done, limit = 0, math.inf

    def check(interrupts: Interrupts) -> None:
        nonlocal done
        done += 1
        if done > limit:
            raise SqlError(*INTERRUPTED)

    monkeypatch.setattr(Interrupts, "check", check)
    engine.prepare(text)
    assert done == 0
    long = text + " " * 10_000
    engine.prepare(f"{long} -- 1")
    tokens, values, translated = len(tokenize(text)), 50, 50
    assert done >= tokens + values + translated
    for few in (0, tokens - 1, tokens + values - 1, tokens + values + translated - 1):
        done, limit = 0, few
        assert error_from(engine, f"{long} -- 2").sqlcode == -213
    limit = math.inf
    engine.prepare(f"{long} -- 3")


# -- owners ------------------------------------------------------------------------------------------------------------

OWN_OBJECTS = (
    "CREATE TABLE w (a INT)",
    "CREATE TABLE t (a INT PRIMARY KEY CONSTRAINT k, b INT CHECK (b > 0) CONSTRAINT positive)",
    "CREATE INDEX i ON t (b)",
    "CREATE VIEW v AS SELECT * FROM t WHERE a IN (SELECT a FROM t)",
    "CREATE SEQUENCE s",
    "CREATE SYNONYM y FOR t",
    "CREATE TRIGGER r INSERT ON t AFTER (DELETE FROM w)",
)


@pytest.fixture
def users() -> Iterator[tuple[Engine, Engine]]:
    """Engines of two users of an ANSI database, of which each has created the same names."""
    with server_core(LogMode.ANSI) as core:
        ann, joe = core.engine(user="ann"), core.engine(user="joe", delimident=True)
        for number, engine in enumerate((ann, joe), start=1):
            run_all(
                engine, *OWN_OBJECTS, "INSERT INTO t VALUES (1, ?)".replace("?", str(number)), "COMMIT WORK"
            )
        yield ann, joe


def test_a_name_without_owner_is_that_of_the_user_in_an_ansi_database(users: tuple[Engine, Engine]) -> None:
    ann, joe = users
    for name in ("t", "y", "v"):
        rows = [query(engine, f"SELECT b FROM {prefix}{name}") for engine in users for prefix in ("", "joe.")]
        assert rows == [[(1,)], [(2,)], [(2,)], [(2,)]], name
    run_all(ann, "DROP INDEX i", "RENAME CONSTRAINT positive TO more", "DROP TRIGGER r", "DROP SEQUENCE s")
    run_all(ann, "RENAME TABLE t TO u", "CREATE TABLE t (a INT)", "COMMIT WORK")
    assert [query(ann, f"SELECT count(*) FROM {name}") for name in ("t", "u", "v")] == [
        [(0,)],
        [(1,)],
        [(1,)],
    ]
    run_all(joe, "DROP INDEX i", "DROP TRIGGER r", "ALTER TABLE t DROP CONSTRAINT positive")
    assert error_from(joe, "SELECT * FROM u").sqlcode == -206
    assert query(joe, "SELECT b FROM ann.u") == [(1,)]


@pytest.mark.parametrize(
    ("text", "sqlcode"),
    [
        ("CREATE TABLE joe.t (a INT)", -310),
        ("CREATE TABLE t (a INT)", -310),
        ("CREATE VIEW joe.t AS SELECT a FROM t", -310),
        ("CREATE INDEX joe.i ON joe.t (a, b)", -316),
        ("CREATE TABLE u (a INT PRIMARY KEY CONSTRAINT k)", -743),
        ("RENAME CONSTRAINT positive TO k", -743),
        ("SELECT * FROM systables", -206),
    ],
)
def test_owner_and_name_are_unique_in_an_ansi_database(
    users: tuple[Engine, Engine], text: str, sqlcode: int
) -> None:
    assert error_from(users[0], text).sqlcode == sqlcode


def test_the_objects_of_a_schema_refer_to_its_owner_in_an_ansi_database(users: tuple[Engine, Engine]) -> None:
    ann, _ = users
    run(
        ann,
        "CREATE SCHEMA AUTHORIZATION bob CREATE TABLE t (c INT PRIMARY KEY) CREATE VIEW v AS SELECT c FROM t",
    )
    assert query(ann, "SELECT * FROM bob.v") == []


def test_a_foreign_key_without_owner_refers_to_the_table_of_the_user(users: tuple[Engine, Engine]) -> None:
    ann, _ = users
    run(ann, "CREATE TABLE bob.t (c INT REFERENCES t)")
    parent = (
        "SELECT p.owner FROM informix.sysreferences r, informix.sysconstraints c, informix.systables p"
        " WHERE r.constrid = c.constrid AND r.ptabid = p.tabid AND c.owner = 'bob'"
    )
    assert query(ann, parent) == [("ann".ljust(32),)]


def test_a_temporary_table_does_not_free_the_name_of_a_permanent_one(engine: Engine) -> None:
    run_all(engine, "CREATE TABLE t (a INT)", "CREATE TEMP TABLE t (b INT)")
    assert error_from(engine, "CREATE TABLE t (a INT)").sqlcode == -310
    run(engine, "CREATE TABLE IF NOT EXISTS t (a INT)")
    assert error_from(engine, "CREATE VIEW t AS SELECT tabid FROM systables").sqlcode == -310
