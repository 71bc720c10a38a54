from __future__ import annotations

import pytest

from aioifx.server.engine import planner
from aioifx.server.engine.engine import Engine
from aioifx.server.engine.planner import Statement
from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.plan import Plan
from aioifx.server.sql.model.schema import Schema
from aioifx.server.sql.model.settings import Settings
from aioifx.server.sql.syntax import nodes
from aioifx.server.sql.translate.translate import translate as original
from tests.server.talking import ServerCore, query, run


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


def test_the_same_text_is_translated_once(core: ServerCore, translations: list[nodes.Statement]) -> None:
    engine = core.engine()
    for tabid in (1, 2, 3):
        assert len(query(engine, TEXT, tabid)) == 1
    assert len(translations) == 1


def test_a_change_of_the_schema_renews_plans(core: ServerCore, translations: list[nodes.Statement]) -> None:
    engine = core.engine()
    statement = engine.prepare(TEXT)
    run(engine, "CREATE TABLE t (a INTEGER)")
    translations.clear()
    engine.close_cursor(engine.open(statement, (1,)))
    engine.close_cursor(engine.open(statement, (2,)))
    assert len(translations) == 1


def test_a_rolled_back_change_brings_the_old_plans_back(
    core: ServerCore, translations: list[nodes.Statement]
) -> None:
    engine = core.engine()
    query(engine, TEXT, 1)
    run(engine, "BEGIN WORK")
    run(engine, "CREATE TABLE t (a INTEGER)")
    query(engine, TEXT, 1)
    run(engine, "ROLLBACK WORK")
    translations.clear()
    query(engine, TEXT, 1)
    assert translations == []


def test_temporary_tables_of_one_session_mean_nothing_to_another(core: ServerCore) -> None:
    one, two = core.engine(), core.engine()
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
    with pytest.raises(SqlError) as raised:
        engine.open(statement)
    assert raised.value.sqlcode == -206
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
    core: ServerCore, column: str, sqlcode: int
) -> None:
    engine = core.engine()
    run(engine, "CREATE TABLE t (a INTEGER)")
    statement = engine.prepare("SELECT a FROM t")
    run(engine, "DROP TABLE t")
    run(engine, f"CREATE TABLE t (a {column})")
    assert outcome_of(engine, statement) == sqlcode


def test_a_change_that_is_rolled_back_leaves_statements_as_they_were(core: ServerCore) -> None:
    engine = core.engine()
    run(engine, "CREATE TABLE t (a INTEGER)")
    statement = engine.prepare("SELECT a FROM t")
    run(engine, "BEGIN WORK")
    run(engine, "ALTER TABLE t MODIFY (a CHAR(3))")
    assert outcome_of(engine, statement) == -710
    run(engine, "ROLLBACK WORK")
    assert outcome_of(engine, statement) == 0
