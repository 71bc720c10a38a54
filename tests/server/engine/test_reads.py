"""Two sessions at each isolation level; the rules are in docs/explanation/isolation.md."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from aioifx.server.engine.engine import Engine
from aioifx.server.sql.errors import SqlError
from aioifx.server.sqlite.databases import LogMode
from tests.server.talking import ServerCore, codes, error_from, query, run, run_all, server_core, waiting

ROWS = [(1, "a"), (2, "b"), (3, "c"), (4, "d")]
DIRTY = [(1, "a"), (2, "new"), (4, "d"), (5, "new"), (13, "c")]
"""The rows while `writer` is in its transaction."""


def filled(core: ServerCore) -> Engine:
    engine = core.engine()
    run(engine, "CREATE TABLE t (k INTEGER PRIMARY KEY, v VARCHAR(10))")
    run(engine, "CREATE TABLE u (k INTEGER, v VARCHAR(10))")
    for key, value in ROWS:
        run(engine, "INSERT INTO t VALUES (?, ?)", key, value)
    return engine


def write(engine: Engine) -> None:
    run_all(engine, "UPDATE t SET v = 'new' WHERE k = 2", "UPDATE t SET k = 13 WHERE k = 3")
    run_all(engine, "INSERT INTO t VALUES (5, 'x')", "UPDATE t SET v = 'new' WHERE k = 5")


@pytest.fixture
def writer(core: ServerCore) -> Engine:
    """A transaction with rows that are updated (also in their keys), inserted and deleted."""
    engine = filled(core)
    run(engine, "BEGIN WORK")
    write(engine)
    return engine


@pytest.fixture
def reader(core: ServerCore, writer: Engine) -> Engine:
    return core.engine()


ALL = "SELECT k, v FROM t ORDER BY k"


def test_dirty_read(reader: Engine, writer: Engine) -> None:
    run(reader, "SET ISOLATION TO DIRTY READ")
    assert query(reader, ALL) == DIRTY
    run(writer, "ROLLBACK WORK")
    assert query(reader, ALL) == ROWS


@pytest.mark.parametrize(
    ("text", "sqlcode"),
    [
        (ALL, -244),
        ("SELECT v FROM t WHERE k = 2", -243),
        ("SELECT v FROM t WHERE k = 3", -243),
        ("SELECT v FROM t WHERE k = 13", -243),
        ("SELECT v FROM t WHERE k = 5", -243),
        ("SELECT v FROM t WHERE k > 4", -246),
        ("SELECT COUNT(*) FROM t WHERE v = 'a'", -244),
        ("SELECT v FROM t WHERE k = 1 UNION SELECT v FROM t WHERE k = 3", -243),
        ("UPDATE t SET v = 'mine' WHERE k = 3", -243),
        ("DELETE FROM t WHERE k = 2", -243),
        ("DELETE FROM t WHERE v = 'b'", -244),
        ("INSERT INTO u SELECT k, v FROM t", -244),
        ("SELECT k FROM t WHERE k > 1 INTO TEMP w", -246),
    ],
)
@pytest.mark.parametrize("level", ["COMMITTED READ", "CURSOR STABILITY"])
def test_committed_read(reader: Engine, writer: Engine, level: str, text: str, sqlcode: int) -> None:
    run(reader, f"SET ISOLATION TO {level}")
    assert codes(error_from(reader, text))[:2] == (sqlcode, -107)
    run(reader, "SET LOCK MODE TO WAIT 1")
    run(writer, "COMMIT WORK")
    if text.startswith("SELECT") and "INTO" not in text:
        query(reader, text)
    else:
        run(reader, text)


def test_committed_read_of_other_rows(reader: Engine) -> None:
    assert query(reader, "SELECT v FROM t WHERE k = 1") == [("a",)]
    assert query(reader, "SELECT v FROM t WHERE k IN (1, 4)") == [("a",), ("d",)]
    assert query(reader, "SELECT v FROM t WHERE k = 77") == []
    assert run(reader, "UPDATE t SET v = 'mine' WHERE k = 1").rows == 1
    assert run(reader, "DELETE FROM t WHERE k = 4").rows == 1


@pytest.mark.parametrize(
    "setting",
    [
        "SET ISOLATION TO COMMITTED READ LAST COMMITTED",
        "SET ENVIRONMENT USELASTCOMMITTED 'COMMITTED READ'",
        "SET ENVIRONMENT USELASTCOMMITTED 'ALL'",
    ],
)
def test_last_committed(reader: Engine, writer: Engine, setting: str) -> None:
    run(reader, setting)
    assert query(reader, ALL) == ROWS
    assert query(reader, "SELECT v FROM t WHERE k = 3") == [("c",)]
    assert run(reader, "INSERT INTO u SELECT k, v FROM t").rows == 4
    assert codes(error_from(reader, "UPDATE t SET v = 'mine' WHERE k = 2"))[:2] == (-243, -107)
    run(writer, "COMMIT WORK")
    assert query(reader, ALL) == DIRTY


def test_dirty_read_can_mean_last_committed(reader: Engine) -> None:
    run_all(reader, "SET ISOLATION TO DIRTY READ", "SET ENVIRONMENT USELASTCOMMITTED 'DIRTY READ'")
    assert query(reader, ALL) == ROWS
    run(reader, "SET ENVIRONMENT USELASTCOMMITTED 'NONE'")
    assert query(reader, ALL) == DIRTY


def test_own_changes_are_read_at_every_level(writer: Engine) -> None:
    for level in ("DIRTY READ", "COMMITTED READ", "COMMITTED READ LAST COMMITTED", "CURSOR STABILITY"):
        run(writer, f"SET ISOLATION TO {level}")
        assert query(writer, ALL) == DIRTY


@pytest.mark.parametrize("end", ["COMMIT WORK", "ROLLBACK WORK"])
@pytest.mark.parametrize("level", ["COMMITTED READ", "CURSOR STABILITY", "REPEATABLE READ"])
def test_a_query_waits_for_the_end_of_the_transaction(core: ServerCore, level: str, end: str) -> None:
    one = filled(core)
    run(one, "BEGIN WORK")
    write(one)
    with waiting(core, lambda two: query(two, ALL), f"SET ISOLATION TO {level}") as (_, seen):
        run(one, end)
    assert seen.result() == (DIRTY if end == "COMMIT WORK" else ROWS)


def test_a_wait_ends_after_its_time(reader: Engine) -> None:
    run(reader, "SET LOCK MODE TO WAIT 1")
    assert codes(error_from(reader, ALL)) == (-244, -154, "t")


def test_a_waiting_query_can_be_interrupted(core: ServerCore, writer: Engine) -> None:
    with waiting(core, lambda two: codes(error_from(two, ALL))[:2]) as (two, seen):
        two.interrupt()
    assert seen.result() == (-213, -157)


def test_a_query_that_closes_a_circle_is_a_deadlock(core: ServerCore) -> None:
    one = filled(core)
    run_all(one, "SET LOCK MODE TO WAIT", "BEGIN WORK", "UPDATE t SET v = 'one' WHERE k = 1")
    steps = ("BEGIN WORK", "UPDATE t SET v = 'two' WHERE k = 2")
    with waiting(core, lambda two: query(two, "SELECT v FROM t WHERE k = 1"), *steps) as (_, seen):
        assert codes(error_from(one, "SELECT v FROM t WHERE k = 2"))[:2] == (-243, -143)
        run(one, "ROLLBACK WORK")
    assert seen.result() == [("a",)]


# -- REPEATABLE READ ---------------------------------------------------------------------------------------------------


@pytest.fixture
def pair(core: ServerCore) -> Iterator[tuple[Engine, Engine]]:
    """A session in a transaction under REPEATABLE READ, and another one."""
    one, two = filled(core), core.engine()
    run_all(one, "SET ISOLATION TO REPEATABLE READ", "BEGIN WORK")
    yield one, two


def test_a_row_that_was_read_stays_as_it_is(pair: tuple[Engine, Engine]) -> None:
    one, two = pair
    assert query(one, "SELECT v FROM t WHERE k = 2") == [("b",)]
    assert error_from(two, "UPDATE t SET v = 'x' WHERE k = 2").isamcode == -107
    assert error_from(two, "DELETE FROM t WHERE k = 2").isamcode == -107
    assert run(two, "UPDATE t SET v = 'x' WHERE k = 1").rows == 1
    assert query(two, "SELECT v FROM t WHERE k = 2") == [("b",)]
    run(one, "COMMIT WORK")
    assert run(two, "UPDATE t SET v = 'x' WHERE k = 2").rows == 1


@pytest.mark.parametrize(
    "text",
    [ALL, "SELECT * FROM t WHERE k > 2", "SELECT * FROM t WHERE k = 9", "SELECT * FROM t WHERE v = 'a'"],
)
def test_no_row_appears_that_was_not_there(pair: tuple[Engine, Engine], text: str) -> None:
    one, two = pair
    before = query(one, text)
    assert error_from(two, "INSERT INTO t VALUES (9, 'a')").isamcode == -113
    assert query(one, text) == before
    run(one, "ROLLBACK WORK")
    run(two, "INSERT INTO t VALUES (9, 'a')")


def test_two_sessions_may_read_the_same(pair: tuple[Engine, Engine]) -> None:
    one, two = pair
    run_all(two, "BEGIN WORK", "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE")
    assert query(one, ALL) == query(two, ALL) == ROWS
    assert error_from(one, "UPDATE t SET v = 'x' WHERE k = 1").isamcode == -113
    run(two, "COMMIT WORK")
    assert run(one, "UPDATE t SET v = 'x' WHERE k = 1").rows == 1


def test_changed_rows_are_met(pair: tuple[Engine, Engine]) -> None:
    one, two = pair
    run_all(two, "BEGIN WORK", "UPDATE t SET v = 'x' WHERE k = 2")
    assert codes(error_from(one, ALL))[:2] == (-244, -113)
    assert codes(error_from(one, "SELECT v FROM t WHERE k = 2"))[:2] == (-243, -107)
    assert query(one, "SELECT v FROM t WHERE k = 1") == [("a",)]


def test_an_ansi_database_reads_repeatably() -> None:
    with server_core(LogMode.ANSI) as core:
        one = filled(core)
        run(one, "COMMIT WORK")
        two = core.engine()
        assert query(two, "SELECT v FROM anna.t WHERE k = 2") == [("b",)]
        assert error_from(one, "UPDATE t SET v = 'x' WHERE k = 2").isamcode == -107
        run(two, "COMMIT WORK")
        run(one, "UPDATE t SET v = 'x' WHERE k = 2")


# -- cursors -----------------------------------------------------------------------------------------------------------


def test_rows_of_a_cursor_for_update_are_locked_one_by_one(core: ServerCore) -> None:
    one, two = filled(core), core.engine()
    run(one, "BEGIN WORK")
    cursor = one.open(one.prepare("SELECT k, v FROM t FOR UPDATE"), name="c")
    assert one.fetch(cursor, 1)[0] == [(1, "a")]
    assert codes(error_from(two, "UPDATE t SET v = 'x' WHERE k = 1"))[:2] == (-243, -107)
    assert query(two, "SELECT v FROM t WHERE k = 1") == [("a",)]
    assert run(two, "UPDATE t SET v = 'two' WHERE k = 3").rows == 1
    run(one, "UPDATE t SET v = 'one' WHERE CURRENT OF c")
    assert one.fetch(cursor, 1)[0] == [(2, "b")]
    assert one.fetch(cursor, 1)[0] == [(3, "two")]  # as it is when it is fetched
    assert run(two, "UPDATE t SET v = 'x' WHERE k = 2").rows == 1
    assert codes(error_from(two, "SELECT v FROM t WHERE k = 1"))[:2] == (-243, -107)
    run(one, "COMMIT WORK")
    assert query(two, ALL) == [(1, "one"), (2, "x"), (3, "two"), (4, "d")]


def test_two_cursors_for_update_meet(core: ServerCore) -> None:
    one, two = filled(core), core.engine()
    for engine in (one, two):
        run(engine, "BEGIN WORK")
    mine = one.open(one.prepare("SELECT v FROM t WHERE k = 1 FOR UPDATE"))
    one.fetch(mine, 1)
    other = two.open(two.prepare("SELECT v FROM t WHERE k = 1 FOR UPDATE"))
    with pytest.raises(SqlError) as caught:
        two.fetch(other, 1)
    assert codes(caught.value)[:2] == (-243, -107)
    one.close_cursor(mine)
    assert two.fetch(other, 1)[0] == [("a",)]


def test_a_hold_cursor_for_update_goes_on_after_a_commit(core: ServerCore) -> None:
    one, two = filled(core), core.engine()
    run(one, "BEGIN WORK")
    cursor = one.open(one.prepare("SELECT k FROM t FOR UPDATE"), name="c", hold=True)
    assert one.fetch(cursor, 1)[0] == [(1,)]
    run(one, "COMMIT WORK")
    run(two, "UPDATE t SET v = 'two' WHERE k = 1")
    run(one, "BEGIN WORK")
    assert one.fetch(cursor, 1)[0] == [(2,)]
    assert error_from(two, "UPDATE t SET v = 'two' WHERE k = 2").isamcode == -107


def test_the_current_row_under_cursor_stability_stays_as_it_is(core: ServerCore) -> None:
    one, two = filled(core), core.engine()
    run(one, "SET ISOLATION TO CURSOR STABILITY")
    cursor = one.open(one.prepare("SELECT k, v FROM t"))
    assert one.fetch(cursor, 1)[0] == [(1, "a")]
    assert error_from(two, "UPDATE t SET v = 'two' WHERE k = 1").isamcode == -107
    run(two, "UPDATE t SET v = 'two' WHERE k = 2")
    assert one.fetch(cursor, 1)[0] == [(2, "two")]
    run(two, "UPDATE t SET v = 'two' WHERE k = 1")


def test_a_table_locked_exclusively_is_read_under_dirty_read_only(core: ServerCore) -> None:
    one, two = filled(core), core.engine()
    run_all(one, "BEGIN WORK", "LOCK TABLE t IN EXCLUSIVE MODE")
    assert codes(error_from(two, ALL))[:2] == (-244, -113)
    run(two, "SET ISOLATION TO COMMITTED READ LAST COMMITTED")
    assert codes(error_from(two, ALL))[:2] == (-244, -113)
    run(two, "SET ISOLATION TO DIRTY READ")
    assert query(two, ALL) == ROWS


# -- what a query can read ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM seen ORDER BY 1",
        "SELECT n FROM (SELECT COUNT(*) AS n FROM t)",
        "SELECT t.v, w.v FROM t, t w WHERE t.k = w.k ORDER BY 1",
        "SELECT t.v FROM t FULL OUTER JOIN u ON t.k = u.k ORDER BY 1",
        "SELECT v FROM u UNION ALL SELECT v FROM t ORDER BY 1",
        "SELECT tabname FROM systables WHERE tabname = 't' AND EXISTS (SELECT 1 FROM t WHERE v = 'c' AND k = 3)",
        "WITH w AS (SELECT v FROM t WHERE k = 3) SELECT v FROM w",
        "SELECT demo:t.v FROM demo:t ORDER BY 1",
    ],
)
def test_rows_are_met_wherever_a_query_reads_them(core: ServerCore, text: str) -> None:
    one, two = filled(core), core.engine()
    run(one, "CREATE VIEW seen (v) AS SELECT v FROM t")
    expected = query(two, text)
    run(one, "BEGIN WORK")
    write(one)
    assert error_from(two, text).isamcode == -107
    run(two, "SET ISOLATION TO COMMITTED READ LAST COMMITTED")
    assert query(two, text) == expected


def test_rows_of_another_database_are_met(core: ServerCore) -> None:
    one = filled(core)
    run(one, "BEGIN WORK")
    write(one)
    core.databases.create("far", LogMode.LOGGED, "anna")
    two = core.engine("far")
    assert codes(error_from(two, "SELECT v FROM demo:t WHERE k = 2"))[:2] == (-243, -107)
    assert query(two, "SELECT v FROM demo:t WHERE k = 1") == [("a",)]
    run(two, "SET ISOLATION TO COMMITTED READ LAST COMMITTED")
    assert query(two, "SELECT k, v FROM demo:t ORDER BY k") == ROWS


def test_a_change_that_finds_no_row_keeps_its_key_out(pair: tuple[Engine, Engine]) -> None:
    one, two = pair
    assert run(one, "UPDATE t SET v = 'x' WHERE k = 9").rows == 0
    assert error_from(two, "INSERT INTO t VALUES (9, 'a')").isamcode == -113
    assert run(one, "UPDATE t SET v = 'x' WHERE k = 9").rows == 0


def test_a_sequence_gives_each_row_one_number_beside_changed_rows(core: ServerCore) -> None:
    one, two = filled(core), core.engine()
    run_all(one, "CREATE SEQUENCE s", "CREATE INDEX t_v ON t (v)", "BEGIN WORK", "DELETE FROM t WHERE k = 3")
    run(two, "SET ISOLATION TO COMMITTED READ LAST COMMITTED")
    assert query(two, "SELECT s.NEXTVAL FROM t WHERE k = 1") == [(1,)]
    run(two, "SET ISOLATION TO COMMITTED READ")
    # A second run, to compare it with the last committed rows, would use more numbers.
    assert codes(error_from(two, "SELECT s.NEXTVAL FROM t WHERE k = 1"))[1] == -107
    run(one, "COMMIT WORK")
    assert query(two, "SELECT s.NEXTVAL FROM t WHERE k = 1") == [(3,)]


def test_arguments_of_routines_meet_locks(core: ServerCore) -> None:
    one, two = filled(core), core.engine()
    run(one, "CREATE FUNCTION same(v VARCHAR(10)) RETURNING VARCHAR(10); RETURN v; END FUNCTION")
    run(one, "BEGIN WORK")
    write(one)
    call = "EXECUTE FUNCTION same((SELECT v FROM t WHERE k = 2))"
    assert codes(error_from(two, call))[:2] == (-243, -107)
    run(two, "SET ISOLATION TO COMMITTED READ LAST COMMITTED")
    assert query(two, call) == [("b",)]


# -- built-in functions ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("statement", "rows"),
    [
        ("SELECT k FROM w WHERE REGEX_MATCH(v, '^(one|two)$')", [(1,), (2,)]),
        ("SELECT k FROM w WHERE NOT REGEX_MATCH(v, 'O', 3)", [(3,), (4,)]),
        ("SELECT REGEX_REPLACE(v, '(.)e', '\\1E', 1) FROM w WHERE k = 3", [("thrEe",)]),
        ("EXECUTE FUNCTION REGEX_MATCH('abc', 'B', 3)", [(True,)]),
        ("EXECUTE FUNCTION regex_split('a, b,, c', ', *')", [("a",), ("b",), ("",), ("c",)]),
        ("EXECUTE PROCEDURE informix.regex_extract('one two', '[a-z]+', 1)", [("one",)]),
        ("EXECUTE FUNCTION UPPER((SELECT v FROM w WHERE k = 1))", [("ONE",)]),
    ],
)
def test_built_in_functions_are_executed(engine: Engine, statement: str, rows: list[object]) -> None:
    run(engine, "CREATE TABLE w (k INT, v VARCHAR(20))")
    for key, word in enumerate(("one", "two", "three", None), start=1):
        run(engine, "INSERT INTO w VALUES (?, ?)", key, word)
    assert query(engine, statement) == rows


@pytest.mark.parametrize(
    ("statement", "sqlcode", "token"),
    [
        ("EXECUTE FUNCTION regex_match('a', '(')", -937, ""),
        ("EXECUTE FUNCTION regex_match(str = 'a', re = 'a')", -201, ""),
        ("EXECUTE FUNCTION regex_split('a')", -674, "regex_split"),
        ("EXECUTE FUNCTION regex_split('a', 'b', 1, 1, 1)", -674, "regex_split"),
        ("EXECUTE FUNCTION ann.upper('a')", -674, "upper"),
        ("SELECT regex_split('a', 'b') FROM systables", -999, "REGEX_SPLIT"),
    ],
)
def test_built_in_functions_fail_by_their_own_codes(
    engine: Engine, statement: str, sqlcode: int, token: str
) -> None:
    raised = error_from(engine, statement)
    assert (raised.sqlcode, raised.token) == (sqlcode, token)


def test_a_routine_in_spl_reads_the_rows_of_a_built_in_function(engine: Engine) -> None:
    run(
        engine,
        "CREATE FUNCTION words(t VARCHAR(99)) RETURNING VARCHAR(99); DEFINE w VARCHAR(99);"
        " FOREACH EXECUTE FUNCTION regex_split(t, ' +') INTO w RETURN w || '.' WITH RESUME; END FOREACH;"
        " END FUNCTION",
    )
    assert query(engine, "EXECUTE FUNCTION words('a  b')") == [("a.",), ("b.",)]


def test_the_password_of_a_session_encrypts_and_decrypts(engine: Engine) -> None:
    run(engine, "CREATE TABLE c (k INT, v VARCHAR(200))")
    run(engine, "SET ENCRYPTION PASSWORD 'open sesame' WITH HINT 'a door'")
    run(engine, "INSERT INTO c VALUES (1, ENCRYPT_AES('1234'))")
    run(engine, "INSERT INTO c VALUES (2, ENCRYPT_TDES(?, 'another', ''))", "5678")
    assert query(engine, "SELECT DECRYPT_CHAR(v), GETHINT(v) FROM c WHERE k = 1") == [("1234", "a door")]
    assert error_from(engine, "SELECT DECRYPT_CHAR(v) FROM c WHERE k = 2").sqlcode == -26008
    assert query(engine, "SELECT DECRYPT_BINARY(v, 'another'), GETHINT(v) FROM c WHERE k = 2") == [
        ("5678", None)
    ]
    assert query(engine, "EXECUTE FUNCTION DECRYPT_CHAR((SELECT v FROM c WHERE k = 1))") == [("1234",)]
    assert error_from(engine, "SET ENCRYPTION PASSWORD 'short'").sqlcode == -26007
    assert error_from(engine, "SELECT GETHINT('abc') FROM c").sqlcode == -26005
