from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

import pytest

import aioifx
from aioifx.server import running
from aioifx.server.catalog import catalog
from aioifx.server.engine.engine import Engine
from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.plan import Definition, Step
from aioifx.server.sqlite.databases import LogMode
from tests.server.talking import ServerCore, codes, error_from, query, run, run_all


def test_definitions_are_undone_with_their_transaction(engine: Engine) -> None:
    run_all(engine, "BEGIN WORK", "CREATE TABLE t (a INTEGER)", "INSERT INTO t VALUES (1)")
    assert query(engine, "SELECT a FROM t") == [(1,)]
    run(engine, "ROLLBACK WORK")
    assert error_from(engine, "SELECT a FROM t").sqlcode == -206
    run(engine, "CREATE TABLE t (b INTEGER)")
    assert query(engine, "SELECT b FROM t") == []


def test_a_new_table_is_seen_by_others_when_it_is_committed(one: Engine, two: Engine) -> None:
    run_all(one, "BEGIN WORK", "CREATE TABLE t (a INTEGER)")
    assert error_from(two, "SELECT a FROM t").sqlcode == -206
    run(one, "COMMIT WORK")
    assert query(two, "SELECT a FROM t") == []


def test_the_schema_can_change_after_another_session_has_dropped_a_changed_table(
    one: Engine, two: Engine
) -> None:
    run_all(one, "CREATE TABLE t (a INTEGER)", "CREATE TABLE u (a INTEGER, b INTEGER)")
    run(one, "INSERT INTO t VALUES (1)")
    run(two, "DROP TABLE t")
    run_all(one, "ALTER TABLE u DROP b", "CREATE TABLE t (a INTEGER)", "INSERT INTO t VALUES (2)")
    run(two, "DROP TABLE t")
    run_all(one, "BEGIN WORK", "RENAME COLUMN u.a TO c", "ROLLBACK WORK", "RENAME COLUMN u.a TO d")
    assert query(one, "SELECT d FROM u") == []


@pytest.mark.parametrize("forbidden", ['NEW."qty"', '"qty"', 'it\'s NEW."qty"', "qty"])
def test_a_check_of_a_renamed_column_still_refuses_a_text_that_contains_the_old_name(
    engine: Engine, forbidden: str
) -> None:
    literal = "'" + forbidden.replace("'", "''") + "'"
    run(engine, f"CREATE TABLE t (qty VARCHAR(20), CHECK (qty <> {literal}) CONSTRAINT c)")
    run_all(engine, "RENAME COLUMN t.qty TO amount", "SET CONSTRAINTS c DISABLED")
    run(engine, "SET CONSTRAINTS c ENABLED")
    assert error_from(engine, f"INSERT INTO t VALUES ({literal})").sqlcode == -530
    run(engine, "INSERT INTO t VALUES ('other')")
    assert query(engine, "SELECT amount FROM t") == [("other",)]


@pytest.mark.parametrize(
    "definition",
    [
        "SET CONSTRAINTS fk ENABLED",
        "SET CONSTRAINTS FOR child ENABLED",
        "ALTER TABLE other ADD CONSTRAINT FOREIGN KEY (a) REFERENCES parent",
    ],
)
@pytest.mark.parametrize("change", ["INSERT INTO parent VALUES (2)", "DELETE FROM parent WHERE a = 1"])
def test_foreign_keys_are_not_checked_against_uncommitted_parents(
    one: Engine, two: Engine, definition: str, change: str
) -> None:
    run_all(one, "CREATE TABLE parent (a INTEGER PRIMARY KEY)", "INSERT INTO parent VALUES (1)")
    run(one, "CREATE TABLE child (a INTEGER REFERENCES parent CONSTRAINT fk)")
    run_all(one, "CREATE TABLE other (a INTEGER)", "SET CONSTRAINTS fk DISABLED")
    for table in ("child", "other"):
        run(one, f"INSERT INTO {table} VALUES ({2 if change.startswith('INSERT') else 1})")
    run(two, "BEGIN WORK")
    run(two, change)
    assert codes(error_from(one, definition))[:2] == (-211, -113)
    run(two, "COMMIT WORK")
    if change.startswith("INSERT"):
        run(one, definition)
    else:
        assert error_from(one, definition).sqlcode == -525


def test_a_prepared_statement_follows_the_schema_while_its_description_holds(
    one: Engine, two: Engine
) -> None:
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
    run_all(engine, "BEGIN WORK", "SAVEPOINT s", "CREATE TABLE t (a INTEGER)", "ROLLBACK TO SAVEPOINT s")
    assert error_from(engine, "SELECT a FROM t").sqlcode == -206
    run(engine, "COMMIT WORK")


def test_temporary_tables_belong_to_one_session_and_end_with_the_database(one: Engine, two: Engine) -> None:
    run_all(one, "CREATE TEMP TABLE t (a INTEGER)", "INSERT INTO t VALUES (1)")
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

    def interrupted(definition: Definition, codec: str, *, is_ansi: bool) -> Iterator[Step]:
        for step in steps_of(definition, codec, is_ansi=is_ansi):
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


def test_a_function_in_spl_may_be_the_key_of_an_index(engine: Engine) -> None:
    body = "RETURN LOWER(TRIM(name)); END FUNCTION"
    run(engine, "CREATE TABLE person (name VARCHAR(20), born DATE)")
    run(engine, f"CREATE FUNCTION folded(name VARCHAR(20)) RETURNING VARCHAR(20) WITH (NOT VARIANT); {body}")
    run(engine, f"CREATE FUNCTION changing(name VARCHAR(20)) RETURNING VARCHAR(20); {body}")
    run(engine, "CREATE PROCEDURE nothing(name VARCHAR(20)) END PROCEDURE")
    for key, error in {
        "changing(name)": (-9848, 0, "changing"),
        "folded(name, born)": (-9843, 0, ""),
        "nothing(name)": (-9844, 0, "nothing"),
        "folded(born)": (-999, 0, "FUNCTIONAL INDEX"),
    }.items():
        assert codes(error_from(engine, f"CREATE INDEX i ON person ({key})")) == error
    run(engine, "CREATE UNIQUE INDEX i ON person (folded(name))")
    run(engine, "INSERT INTO person (name) VALUES ('Ann')")
    assert codes(error_from(engine, "INSERT INTO person (name) VALUES ('ANN ')")) == (-239, -100, "i")
    assert query(engine, "SELECT name FROM person WHERE folded(name) = 'ann'") == [("Ann",)]
    ((procid,),) = query(engine, "SELECT procid FROM sysprocedures WHERE procname = 'folded'")
    assert query(engine, "SELECT indexkeys FROM sysindices WHERE idxname = 'i'") == [(f"<{procid}>(1) [1]",)]
    run(engine, "DROP FUNCTION folded")
    assert error_from(engine, "INSERT INTO person (name) VALUES ('Bob')").sqlcode == -674
    run_all(engine, "DROP INDEX i", "INSERT INTO person (name) VALUES ('Bob')")


async def test_sysfragments_shows_the_fragments_of_tables_and_indexes() -> None:
    async with running() as dsn, aioifx.connect(dsn) as conn:
        await conn.execute(
            "CREATE TABLE by_value (a INTEGER PRIMARY KEY, b INTEGER) "
            "FRAGMENT BY EXPRESSION PARTITION low (a < 5) IN dbs1, REMAINDER IN dbs2"
        )
        await conn.execute("CREATE INDEX own ON by_value (b) IN dbs3")
        await conn.execute("CREATE TABLE whole (a INTEGER UNIQUE) IN dbs4")
        found = await conn.fetch(
            "SELECT t.tabname, f.fragtype, f.strategy, f.evalpos, f.dbspace, f.partition, f.exprtext "
            "FROM sysfragments f, systables t WHERE t.tabid = f.tabid ORDER BY t.tabid, f.fragtype DESC, f.dbspace"
        )
        assert found == [
            ("by_value", "T", "E", 0, "dbs1", "low", "(a < 5)"),
            ("by_value", "T", "E", 1, "dbs2", "dbs2", "REMAINDER"),
            ("by_value", "I", "T", 0, "dbs1", "low", "(a < 5)"),
            ("by_value", "I", "T", 1, "dbs2", "dbs2", "REMAINDER"),
            ("by_value", "I", "I", 0, "dbs3", "dbs3", None),
            ("whole", "I", "I", 0, "rootdbs", "rootdbs", None),
        ]
        parts = await conn.fetch("SELECT tabname FROM systables WHERE tabid > 99 AND partnum = 0")
        assert parts == [("by_value",)]


def test_disabled_constraints_lock_no_keys(one: Engine, two: Engine) -> None:
    run(one, "CREATE TABLE p (k INT PRIMARY KEY CONSTRAINT pk_p)")
    run(one, "CREATE TABLE c (u INT UNIQUE CONSTRAINT u_c, r INT REFERENCES p CONSTRAINT f_c)")
    run(one, "INSERT INTO p VALUES (1)")
    for mode, sqlcode in (("ENABLED", -271), ("DISABLED", 0), ("ENABLED", -271)):
        run_all(one, "DELETE FROM c", f"SET CONSTRAINTS u_c, f_c {mode}", "BEGIN WORK")
        run(one, "INSERT INTO c VALUES (1, 1)")
        if sqlcode:
            assert error_from(two, "INSERT INTO c VALUES (1, 1)").sqlcode == sqlcode
            assert error_from(two, "DELETE FROM p WHERE k = 1").isamcode == -107
        else:
            run_all(two, "INSERT INTO c VALUES (1, 1)", "DELETE FROM p WHERE k = 1")
            run(two, "INSERT INTO p VALUES (1)")
        run(one, "COMMIT WORK")


def test_a_synonym_of_a_table_of_another_database_is_read(engine: Engine, core: ServerCore) -> None:
    core.databases.create("other", LogMode.LOGGED, "informix")
    other = core.engine("other")
    run_all(other, "CREATE TABLE t (a INTEGER)", "INSERT INTO t VALUES (7)")
    run_all(engine, "CREATE SYNONYM far FOR other:anna.t", "CREATE SYNONYM one FOR sysmaster:sysdual")
    for each in (engine, core.engine()):
        assert query(each, "SELECT far.a FROM far, one") == [(7,)]
        assert error_from(each, "INSERT INTO far VALUES (8)").sqlcode == -999
    columns = "dbname, owner, tabname, btabid"
    (row, _) = query(engine, f"SELECT {columns} FROM syssyntable")
    assert row == ("other", "anna".ljust(32), "t", None)
    run(other, "DROP TABLE t")
    assert error_from(engine, "SELECT * FROM far").sqlcode == -206
    run(engine, "DROP SYNONYM far")
    assert error_from(engine, "CREATE SYNONYM far FOR other:t").sqlcode == -206


def test_a_table_can_be_altered_after_a_temporary_one_was_rolled_back(engine: Engine) -> None:
    run_all(engine, "CREATE TABLE t (a INTEGER, b INTEGER, c INTEGER)", "INSERT INTO t VALUES (1, 2, 3)")
    run_all(engine, "BEGIN WORK", "CREATE TEMP TABLE w (a INTEGER)", "ROLLBACK WORK")
    run_all(engine, "ALTER TABLE t DROP (c), ADD (n INTEGER DEFAULT 5 BEFORE a)", "UPDATE t SET b = 4")
    assert query(engine, "SELECT * FROM t") == [(5, 1, 4)]


def test_temporary_tables_of_a_transaction_do_not_keep_others_from_writing(one: Engine, two: Engine) -> None:
    run_all(one, "CREATE TABLE t (a INTEGER)", "INSERT INTO t VALUES (1)")
    run_all(one, "CREATE TEMP TABLE before (a INTEGER)", "INSERT INTO before VALUES (7)", "BEGIN WORK")
    run_all(one, "SELECT a FROM t INTO TEMP made", "CREATE INDEX i ON made (a)", "UPDATE made SET a = 2")
    run_all(one, "SAVEPOINT s", "DROP TABLE made", "DROP TABLE before")
    assert error_from(one, "SELECT * FROM before").sqlcode == -206
    run(one, "CREATE TEMP TABLE before (b CHAR(1))")
    run(two, "INSERT INTO t VALUES (2)")
    run(one, "ROLLBACK TO SAVEPOINT s")
    assert query(one, "SELECT a FROM made") == [(2,)]
    run_all(one, "DROP TABLE before", "ROLLBACK WORK")
    assert query(one, "SELECT a FROM before") == [(7,)]
    assert error_from(one, "SELECT * FROM made").sqlcode == -206
    run_all(one, "BEGIN WORK", "DROP TABLE before", "COMMIT WORK")
    assert error_from(one, "SELECT * FROM before").sqlcode == -206
    run(one, "CREATE TEMP TABLE before (b CHAR(1))")


SCHEMA_OF_SARAH = """
    CREATE SCHEMA AUTHORIZATION sarah
        CREATE TABLE p (k SERIAL PRIMARY KEY, tags SET(INT NOT NULL))
        GRANT SELECT, UPDATE ON p TO rick
        CREATE TABLE c (r INT REFERENCES p, n INT DEFAULT 7)
        CREATE VIEW both AS SELECT p.k, c.n FROM p, c WHERE c.r = p.k
        CREATE INDEX i_n ON c (n)
        CREATE SYNONYM children FOR c
        CREATE SEQUENCE s
        CREATE TRIGGER t_c INSERT ON c FOR EACH ROW (INSERT INTO "bob".seen VALUES (1))
        CREATE ROW TYPE pair (a INT, b INT)
        CREATE TABLE pairs OF TYPE pair
"""


def test_the_objects_of_a_schema_belong_to_its_user(engine: Engine) -> None:
    run_all(engine, 'CREATE TABLE "bob".seen (a INT)', SCHEMA_OF_SARAH)
    owned = query(engine, "SELECT tabname, owner, tabtype FROM systables WHERE tabid > 100 ORDER BY tabid")
    assert [(name, owner.strip(), kind) for name, owner, kind in owned] == [
        (name, "sarah", kind)
        for name, kind in (
            ("p", "T"), ("c", "T"), ("both", "V"), ("children", "S"), ("s", "Q"), ("pairs", "T")
        )
    ]  # fmt: skip
    run_all(engine, "INSERT INTO p (tags) VALUES (SET{1})", "INSERT INTO children (r) VALUES (1)")
    assert query(engine, "SELECT * FROM both") == [(1, 7)]
    assert query(engine, "SELECT * FROM seen") == [(1,)]
    assert error_from(engine, "INSERT INTO c (r) VALUES (2)").sqlcode == -691
    assert query(engine, "SELECT idxname FROM sysindexes WHERE idxname = 'i_n'") == [("i_n",)]
    run_all(engine, "INSERT INTO pairs VALUES (1, 2)", "CREATE TABLE after (a INT UNIQUE)")


def test_a_schema_is_created_whole_or_not(engine: Engine) -> None:
    wrong = "CREATE SCHEMA AUTHORIZATION bob CREATE TABLE t (a INT) CREATE VIEW v AS SELECT b FROM t"
    assert error_from(engine, wrong).sqlcode == -217
    run_all(engine, "CREATE TABLE u (a INT)", "INSERT INTO u VALUES (1)", "INSERT INTO u VALUES (1)")
    late = "CREATE SCHEMA AUTHORIZATION bob CREATE TABLE t (a INT) CREATE UNIQUE INDEX i ON u (a)"
    assert error_from(engine, late).sqlcode == -371
    assert error_from(engine, "SELECT * FROM t").sqlcode == -206
    made = "CREATE SCHEMA AUTHORIZATION bob CREATE TABLE t AS SELECT a FROM u"
    assert codes(error_from(engine, made)) == (-999, 0, "CREATE TABLE .. AS in CREATE SCHEMA")


# -- Views, routines and triggers whose tables are renamed -------------------------------------------------------------


def test_views_do_not_follow_renames_in_another_database(engine: Engine) -> None:
    run_all(
        engine,
        "CREATE DATABASE shop WITH LOG",
        "CREATE TABLE t (a INT, b INT)",
        "INSERT INTO t VALUES (1, 2)",
    )
    run_all(engine, "DATABASE demo", "CREATE TABLE own (a INT)", "INSERT INTO own VALUES (1)")
    run_all(engine, "CREATE SYNONYM s FOR shop:t", "CREATE VIEW v AS SELECT * FROM shop:t")
    run_all(engine, "CREATE VIEW w AS SELECT b FROM s", "CREATE VIEW n AS SELECT own.a, b FROM w, own")
    run_all(
        engine,
        "DATABASE shop",
        "ALTER TABLE t MODIFY (b DECIMAL(8,2)), ADD (c INT BEFORE a)",
        "DATABASE demo",
    )
    assert query(engine, "SELECT * FROM v") == [(1, 2)]
    assert query(engine, "SELECT * FROM n") == [(1, 2)]
    run_all(engine, "DATABASE shop", "RENAME COLUMN t.b TO x", "DATABASE demo")
    for view in "vwn":
        assert codes(error_from(engine, f"SELECT * FROM {view}"))[0] == -217
    run_all(engine, "DATABASE shop", "RENAME COLUMN t.x TO b", "RENAME TABLE t TO z", "DATABASE demo")
    for view in "vwn":
        assert codes(error_from(engine, f"SELECT * FROM {view}"))[0] == -206
    run_all(engine, "RENAME COLUMN own.a TO b", "RENAME TABLE own TO mine")
    run_all(engine, "DATABASE shop", "RENAME TABLE z TO t", "DATABASE demo")
    assert query(engine, "SELECT * FROM n") == [(1, 2)]
    texts = [str(row[0]).rstrip() for row in query(engine, "SELECT viewtext FROM sysviews ORDER BY tabid")]
    assert texts[-1] == "CREATE VIEW n AS SELECT own.b AS a, w.b FROM w, mine AS own"


def test_routines_and_actions_of_triggers_do_not_follow_renames(engine: Engine) -> None:
    """Documented for triggers (RENAME COLUMN, "How Triggers Are Affected"), assumed for routines."""
    run_all(engine, "CREATE TABLE t (a INT, b INT)", "INSERT INTO t VALUES (1, 2)")
    run(engine, "CREATE VIEW v AS SELECT a, b FROM t")
    for event, action in (("INSERT", "INSERT INTO t VALUES (n.a, n.b)"), ("UPDATE", "UPDATE t SET b = n.a")):
        run(
            engine,
            f"CREATE TRIGGER {event} INSTEAD OF {event} ON v REFERENCING NEW AS n FOR EACH ROW ({action})",
        )
    run(engine, "CREATE PROCEDURE p() UPDATE t SET b = 5; END PROCEDURE")
    run_all(engine, "RENAME COLUMN t.b TO z", "INSERT INTO v VALUES (3, 4)")
    assert query(engine, "SELECT a, b FROM v") == [(1, 2), (3, 4)]
    for text in ("UPDATE v SET a = 9", "EXECUTE PROCEDURE p()"):
        assert codes(error_from(engine, text))[0] == -217
    run_all(engine, "RENAME COLUMN t.z TO b", "UPDATE v SET a = 9")
    assert query(engine, "SELECT a, b FROM v") == [(1, 9), (3, 9)]
    run(engine, "RENAME TABLE t TO z")
    for text in ("INSERT INTO v VALUES (3, 4)", "EXECUTE PROCEDURE p()"):
        assert codes(error_from(engine, text))[0] == -206
    run_all(engine, "RENAME TABLE z TO t", "EXECUTE PROCEDURE p()")
    assert query(engine, "SELECT a, b FROM v") == [(1, 5), (3, 5)]
