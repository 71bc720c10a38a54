from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

import pytest

from aioifx.server.catalog import catalog
from aioifx.server.engine.engine import Engine
from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.plan import Definition, Step
from tests.server.talking import ServerCore, codes, error_from, query, run


def test_definitions_are_undone_with_their_transaction(engine: Engine) -> None:
    run(engine, "BEGIN WORK")
    run(engine, "CREATE TABLE t (a INTEGER)")
    run(engine, "INSERT INTO t VALUES (1)")
    assert query(engine, "SELECT a FROM t") == [(1,)]
    run(engine, "ROLLBACK WORK")
    assert error_from(engine, "SELECT a FROM t").sqlcode == -206
    run(engine, "CREATE TABLE t (b INTEGER)")
    assert query(engine, "SELECT b FROM t") == []


def test_a_new_table_is_seen_by_others_when_it_is_committed(core: ServerCore) -> None:
    one, two = core.engine(), core.engine()
    run(one, "BEGIN WORK")
    run(one, "CREATE TABLE t (a INTEGER)")
    assert error_from(two, "SELECT a FROM t").sqlcode == -206
    run(one, "COMMIT WORK")
    assert query(two, "SELECT a FROM t") == []


def test_a_prepared_statement_follows_the_schema_while_its_description_holds(core: ServerCore) -> None:
    one, two = core.engine(), core.engine()
    run(one, "CREATE TABLE t (a INTEGER)")
    insert = two.prepare("INSERT INTO t (a) VALUES (?)")
    select = two.prepare("SELECT * FROM t")
    run(one, "CREATE INDEX ix ON t (a)")
    assert two.execute(insert, (1,)).rows == 1
    run(one, "ALTER TABLE t ADD (b INTEGER)")
    assert two.execute(insert, (2,)).rows == 1
    with pytest.raises(SqlError) as raised:
        two.open(select)
    assert raised.value.sqlcode == -710


def test_rollback_to_a_savepoint_brings_the_old_schema_back(engine: Engine) -> None:
    run(engine, "BEGIN WORK")
    run(engine, "SAVEPOINT s")
    run(engine, "CREATE TABLE t (a INTEGER)")
    run(engine, "ROLLBACK TO SAVEPOINT s")
    assert error_from(engine, "SELECT a FROM t").sqlcode == -206
    run(engine, "COMMIT WORK")


def test_temporary_tables_belong_to_one_session_and_end_with_the_database(core: ServerCore) -> None:
    one, two = core.engine(), core.engine()
    run(one, "CREATE TEMP TABLE t (a INTEGER)")
    run(one, "INSERT INTO t VALUES (1)")
    assert query(one, "SELECT a FROM t") == [(1,)]
    assert error_from(two, "SELECT a FROM t").sqlcode == -206
    assert error_from(one, "CREATE TEMP TABLE t (a INTEGER)").sqlcode == -958
    assert query(one, "SELECT COUNT(*) FROM systables WHERE tabname = 't'") == [(Decimal(0),)]
    run(one, "DATABASE demo")
    assert error_from(one, "SELECT a FROM t").sqlcode == -206


def test_select_into_temp_counts_its_rows(engine: Engine) -> None:
    outcome = run(engine, "SELECT tabid, tabname FROM systables WHERE tabid < 5 INTO TEMP few")
    assert outcome.rows == 4
    assert query(engine, "SELECT COUNT(*) FROM few") == [(Decimal(4),)]


def test_a_table_whose_rows_fail_is_not_created(engine: Engine) -> None:
    assert (
        error_from(engine, "CREATE TABLE few AS SELECT 1 / (tabid - 3) AS q FROM systables").sqlcode == -1202
    )
    assert error_from(engine, "SELECT * FROM few").sqlcode == -206
    outcome = run(engine, "CREATE TABLE few AS SELECT tabid, tabname FROM systables WHERE tabid < 5")
    assert outcome.rows == 4
    assert query(engine, "SELECT COUNT(*) FROM few") == [(Decimal(4),)]


@pytest.mark.parametrize("before", ["", "BEGIN WORK"])
def test_a_definition_can_be_interrupted_between_its_steps(
    filled: Engine, before: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps_of, begun = catalog.steps_of, list[str]()

    def interrupted(definition: Definition) -> Iterator[Step]:
        for step in steps_of(definition):
            begun.append(step.sql)
            yield step
            filled.interrupt()

    if before:
        run(filled, before)
    with monkeypatch.context() as patched:
        patched.setattr(catalog, "steps_of", interrupted)
        error = error_from(filled, "ALTER TABLE t ADD (c INTEGER, d INTEGER)")
    assert codes(error) == (-213, -157, "")
    assert len(begun) == 2
    assert query(filled, "SELECT FIRST 1 * FROM t ORDER BY a") == [(1, 0)]
