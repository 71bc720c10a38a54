"""Statements that activate triggers, as a session sees them."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

import pytest

from aioifx.errors import DatabaseError
from aioifx.server.engine.engine import Engine
from aioifx.server.sql.model.spl import Routine
from aioifx.sqltypes import Row
from tests.server.talking import ServerCore, codes, error_from, query, run, run_all, waiting


@pytest.fixture
def notes(core: ServerCore) -> list[object]:
    """What the procedure ``note`` was called with."""
    found: list[object] = []
    core.databases.routines.add(Routine("note", [("what", "VARCHAR(40)")], [], found.append))
    return found


@pytest.fixture
def stock(engine: Engine, notes: list[object]) -> Engine:
    """A session with two tables."""
    run(engine, "CREATE TABLE item (id SERIAL, qty INTEGER, total INTEGER, name VARCHAR(20))")
    run(engine, "CREATE TABLE log (id INTEGER, old INTEGER, new INTEGER, seen INTEGER)")
    for qty in (1, 2, 3):
        run(engine, "INSERT INTO item (qty) VALUES (?)", qty)
    return engine


def logged(engine: Engine) -> list[Row]:
    return query(engine, "SELECT * FROM log ORDER BY id, old, new")


def test_actions_run_before_for_each_row_and_after(stock: Engine, notes: list[object]) -> None:
    run(
        stock,
        "CREATE TRIGGER tr UPDATE OF qty ON item REFERENCING OLD AS o NEW AS n"
        " BEFORE (EXECUTE PROCEDURE note('before'))"
        " FOR EACH ROW (INSERT INTO log SELECT o.id, o.qty, n.qty, count(*) FROM item WHERE qty > 9,"
        " EXECUTE PROCEDURE note('row')) AFTER (EXECUTE PROCEDURE note('after'))",
    )
    assert run(stock, "UPDATE item SET qty = qty + 10 WHERE qty < 3").rows == 2
    assert logged(stock) == [(1, 1, 11, 1), (2, 2, 12, 2)]
    assert notes == ["before", "row", "row", "after"]
    run(stock, "UPDATE item SET name = 'x'")
    assert len(notes) == 4
    assert run(stock, "UPDATE item SET qty = 0 WHERE id = 99").rows == 0
    assert notes[4:] == ["before", "after"]


def test_each_branch_with_a_true_condition_runs(stock: Engine) -> None:
    run(
        stock,
        "CREATE TRIGGER tr UPDATE ON item REFERENCING OLD AS o NEW AS n FOR EACH ROW"
        " WHEN (n.qty > o.qty) (INSERT INTO log (id, seen) VALUES (n.id, 1)),"
        " WHEN (n.qty > 100) (INSERT INTO log (id, seen) VALUES (n.id, 2)),"
        " WHEN (n.total > 0) (INSERT INTO log (id, seen) VALUES (n.id, 3))",
    )
    run_all(stock, "UPDATE item SET qty = 101 WHERE id = 1", "UPDATE item SET qty = 0 WHERE id = 2")
    assert query(stock, "SELECT id, seen FROM log") == [(1, 1), (1, 2)]


def test_insert_has_new_values_and_delete_old_ones(stock: Engine) -> None:
    run_all(
        stock,
        "CREATE TRIGGER i INSERT ON item REFERENCING NEW n FOR EACH ROW (INSERT INTO log (id) VALUES (n.id))",
        "CREATE TRIGGER d DELETE ON item REFERENCING OLD o FOR EACH ROW (DELETE FROM log WHERE id = o.id)",
    )
    assert run(stock, "INSERT INTO item (qty) SELECT qty FROM item").rows == 3
    assert [row[0] for row in logged(stock)] == [4, 5, 6]
    assert run(stock, "DELETE FROM item WHERE id IN (1, 5)").rows == 2
    assert [row[0] for row in logged(stock)] == [4, 6]
    run(stock, "TRUNCATE TABLE item")
    assert [row[0] for row in logged(stock)] == [4, 6]


def test_values_keep_types_and_blanks(engine: Engine) -> None:
    columns = "a CHAR(5), b VARCHAR(9), c DECIMAL(8,2), d DATE, e DATETIME YEAR TO SECOND"
    columns += ", f INTERVAL DAY TO DAY, g BOOLEAN"
    run_all(
        engine,
        f"CREATE TABLE t ({columns})",
        f"CREATE TABLE copies ({columns})",
        "CREATE TRIGGER tr INSERT ON t REFERENCING NEW n FOR EACH ROW WHEN (n.b = 'x' AND n.c < 2 AND n.a[1,1] = 'p')"
        " (INSERT INTO copies VALUES (n.a, n.b, n.c, n.d, n.e, n.f, n.g))",
        "INSERT INTO t VALUES ('pq', 'x ', 1.25, MDY(2,3,2026), '2026-02-03 04:05:06', INTERVAL(7) DAY TO DAY, 't')",
    )
    assert query(engine, "SELECT * FROM copies") == query(engine, "SELECT * FROM t")
    assert len(query(engine, "SELECT * FROM copies")) == 1


def test_a_failing_action_undoes_the_statement(stock: Engine) -> None:
    run_all(stock, "CREATE TABLE once (id INTEGER UNIQUE)", "INSERT INTO once VALUES (2)")
    run(
        stock,
        "CREATE TRIGGER tr UPDATE ON item REFERENCING OLD o FOR EACH ROW (INSERT INTO once VALUES (o.id))",
    )
    for begin, end in (("", ""), ("BEGIN WORK", "COMMIT WORK")):
        if begin:
            run(stock, begin)
        run(stock, "INSERT INTO log (id) VALUES (1)")
        assert error_from(stock, "UPDATE item SET qty = 50").sqlcode == -268
        assert query(stock, "SELECT count(*) FROM item WHERE qty = 50") == [(0,)]
        assert query(stock, "SELECT count(*) FROM once") == [(1,)]
        if end:
            run(stock, end)
    assert query(stock, "SELECT count(*) FROM log") == [(2,)]


def test_an_error_of_a_routine_reaches_the_client(stock: Engine, core: ServerCore) -> None:
    def refuse() -> None:
        raise DatabaseError("no stock")

    core.databases.routines.add(Routine("refuse", [], [], refuse))
    run(stock, "CREATE TRIGGER tr DELETE ON item AFTER (EXECUTE PROCEDURE refuse)")
    assert codes(error_from(stock, "DELETE FROM item")) == (-746, 0, "no stock")
    assert query(stock, "SELECT count(*) FROM item") == [(3,)]


def _add(first: int | None, second: int | None) -> int:
    return (first or 0) + (second or 0)


@pytest.fixture
def total(core: ServerCore) -> Callable[..., object]:
    core.databases.routines.add(Routine("total", [("a", "INTEGER"), ("b", "INTEGER")], ["INTEGER"], _add))
    return _add


@pytest.mark.usefixtures("total")
def test_into_sets_columns_of_the_row(stock: Engine) -> None:
    run_all(
        stock,
        "CREATE TRIGGER u UPDATE OF qty ON item REFERENCING OLD AS o NEW AS n FOR EACH ROW"
        " (EXECUTE FUNCTION total(o.qty, n.qty) INTO total, INSERT INTO log VALUES (o.id, o.total, n.total, 0))",
        "CREATE TRIGGER i INSERT ON item REFERENCING NEW n FOR EACH ROW (EXECUTE PROCEDURE total(n.qty, 1) INTO qty)",
        "UPDATE item SET qty = 10 WHERE id = 2",
    )
    assert query(stock, "SELECT qty, total FROM item WHERE id = 2") == [(10, 12)]
    assert logged(stock) == [(2, None, 12, 0)]
    run(stock, "INSERT INTO item (qty) VALUES (7)")
    assert query(stock, "SELECT qty, total FROM item WHERE id = 4") == [(8, None)]


@pytest.mark.usefixtures("total")
def test_into_activates_triggers_on_columns_that_have_not_been_changed(stock: Engine) -> None:
    run_all(
        stock,
        "CREATE TRIGGER one UPDATE OF qty ON item REFERENCING OLD AS o NEW AS n FOR EACH ROW"
        " (EXECUTE FUNCTION total(o.qty, n.qty) INTO total)",
        "CREATE TRIGGER two UPDATE OF total ON item REFERENCING OLD AS o NEW AS n FOR EACH ROW"
        " (INSERT INTO log VALUES (n.id, o.total, n.total, 0), EXECUTE FUNCTION total(n.total, 1) INTO qty)",
        "UPDATE item SET qty = 10 WHERE id = 2",
    )
    assert logged(stock) == [(2, None, 12, 0)]
    assert query(stock, "SELECT qty, total FROM item WHERE id = 2") == [(13, 12)]
    run(stock, "UPDATE item SET qty = 10, total = 5 WHERE id = 3")
    assert query(stock, "SELECT qty, total FROM item WHERE id = 3") == [(14, 13)]


def test_several_triggers_merge_their_actions(stock: Engine, notes: list[object]) -> None:
    for name, columns in (("second", "total, name"), ("first", "name, qty")):
        run(
            stock,
            f"CREATE TRIGGER {name} UPDATE OF {columns} ON item BEFORE (EXECUTE PROCEDURE note('before {name}'))"
            f" FOR EACH ROW (EXECUTE PROCEDURE note('{name}')) AFTER (EXECUTE PROCEDURE note('after {name}'))",
        )
    run(stock, "UPDATE item SET name = 'x' WHERE id = 1")
    parts = ("before first", "before second", "first", "second", "after first", "after second")
    assert notes == list(parts)


def test_an_action_activates_triggers_itself(stock: Engine) -> None:
    run_all(
        stock,
        "CREATE TABLE audit (id INTEGER, seen INTEGER)",
        "CREATE TRIGGER a DELETE ON item REFERENCING OLD o FOR EACH ROW (INSERT INTO log (id) VALUES (o.id))",
        "CREATE TRIGGER b INSERT ON log REFERENCING NEW n FOR EACH ROW"
        " (INSERT INTO audit SELECT n.id, count(*) FROM item)",
        "DELETE FROM item",
    )
    assert query(stock, "SELECT * FROM audit") == [(1, 2), (2, 1), (3, 0)]


@pytest.mark.parametrize(
    ("event", "action", "statement"),
    [
        ("INSERT", "INSERT INTO item (qty) VALUES (1)", "INSERT INTO item (qty) VALUES (1)"),
        ("INSERT", "DELETE FROM item", "INSERT INTO item (qty) VALUES (1)"),
        ("INSERT", "UPDATE item SET qty = 1", "INSERT INTO item (qty) VALUES (1)"),
        ("UPDATE", "INSERT INTO item (qty) VALUES (1)", "UPDATE item SET qty = 1"),
        ("UPDATE", "DELETE FROM item", "UPDATE item SET qty = 1"),
        ("UPDATE OF qty", "UPDATE item SET total = 1", "UPDATE item SET qty = 1, total = 2"),
        ("DELETE", "DELETE FROM item", "DELETE FROM item"),
        ("DELETE", "UPDATE item SET qty = 1", "DELETE FROM item"),
    ],
)
def test_an_action_does_not_change_what_the_statement_changes(
    stock: Engine, event: str, action: str, statement: str
) -> None:
    run(stock, f"CREATE TRIGGER tr {event} ON item FOR EACH ROW ({action})")
    assert error_from(stock, statement).sqlcode == -747
    assert query(stock, "SELECT id, qty FROM item") == [(1, 1), (2, 2), (3, 3)]


def test_an_action_may_change_other_columns_of_the_table(stock: Engine) -> None:
    run_all(
        stock,
        "CREATE TRIGGER u UPDATE OF qty ON item REFERENCING NEW n FOR EACH ROW"
        " (UPDATE item SET total = n.qty WHERE id = n.id)",
        "CREATE TRIGGER i INSERT ON item REFERENCING NEW n FOR EACH ROW (UPDATE item SET name = 'new' WHERE id = n.id)",
        "UPDATE item SET qty = qty * 2",
    )
    assert query(stock, "SELECT total FROM item") == [(2,), (4,), (6,)]
    run(stock, "INSERT INTO item (qty) VALUES (9)")
    assert query(stock, "SELECT name FROM item WHERE id = 4") == [("new",)]


def test_a_cascading_trigger_does_not_change_the_columns_of_the_first_statement(stock: Engine) -> None:
    run(stock, "INSERT INTO log VALUES (1, 1, 1, 1)")
    run(stock, "CREATE TRIGGER one UPDATE OF qty ON item AFTER (UPDATE log SET new = 2)")
    run(stock, "CREATE TRIGGER two UPDATE OF new ON log AFTER (UPDATE item SET name = 'x')")
    assert error_from(stock, "UPDATE item SET qty = 5, name = 'y'").sqlcode == -747
    run(stock, "UPDATE item SET qty = 5")
    assert query(stock, "SELECT DISTINCT name FROM item") == [("x",)]


@pytest.mark.parametrize(("last", "sqlcode"), [(61, 0), (62, -748)])
def test_triggers_cascade_61_times(engine: Engine, last: int, sqlcode: int) -> None:
    for number in range(last + 1):
        run(engine, f"CREATE TABLE t{number} (a INTEGER)")
    for number in range(last):
        run(
            engine,
            f"CREATE TRIGGER tr{number} INSERT ON t{number} AFTER (INSERT INTO t{number + 1} VALUES (1))",
        )
    if sqlcode:
        assert error_from(engine, "INSERT INTO t0 VALUES (1)").sqlcode == sqlcode
    else:
        run(engine, "INSERT INTO t0 VALUES (1)")
    assert query(engine, f"SELECT count(*) FROM t{last}") == [(0 if sqlcode else 1,)]


def test_serial_numbers_and_row_counts_are_the_statement_s_own(stock: Engine) -> None:
    run(stock, "CREATE TABLE numbered (n SERIAL(100), id INTEGER)")
    run(
        stock,
        "CREATE TRIGGER i INSERT ON item REFERENCING NEW n FOR EACH ROW"
        " (INSERT INTO numbered VALUES (0, n.id), INSERT INTO numbered VALUES (0, n.id))",
    )
    result = run(stock, "INSERT INTO item (qty) VALUES (1)")
    assert (result.rows, result.serial) == (1, 4)
    assert query(
        stock, "SELECT dbinfo('sqlca.sqlerrd1'), dbinfo('sqlca.sqlerrd2') FROM systables WHERE tabid = 1"
    ) == [(4, 1)]
    assert query(stock, "SELECT n FROM numbered") == [(100,), (101,)]
    insert = stock.prepare("INSERT INTO item (qty) VALUES (?)")
    done = stock.insert_rows(insert, [(1,), (2,), (3,)])
    assert (done.rows, done.serial) == (3, 7)
    assert query(stock, "SELECT count(*) FROM numbered") == [(8,)]


def test_rows_of_an_insert_cursor_before_a_failure_are_kept(stock: Engine) -> None:
    run(stock, "CREATE TABLE once (qty INTEGER UNIQUE)")
    run(
        stock,
        "CREATE TRIGGER i INSERT ON item REFERENCING NEW n FOR EACH ROW (INSERT INTO once VALUES (n.qty))",
    )
    insert = stock.prepare("INSERT INTO item (qty) VALUES (?)")
    with pytest.raises(Exception, match="-268"):
        stock.insert_rows(insert, [(7,), (8,), (7,), (9,)])
    assert query(stock, "SELECT qty FROM item WHERE id > 3") == [(7,), (8,)]
    assert query(stock, "SELECT qty FROM once") == [(7,), (8,)]


def test_merge_activates_the_triggers_of_what_it_does(stock: Engine, notes: list[object]) -> None:
    for event in ("INSERT", "UPDATE", "DELETE"):
        run(
            stock,
            f"CREATE TRIGGER tr{event} {event} ON item BEFORE (EXECUTE PROCEDURE note('before {event}'))"
            f" FOR EACH ROW (EXECUTE PROCEDURE note('{event}'))",
        )
    run(stock, "CREATE TABLE source (id INTEGER, qty INTEGER)")
    for number in (2, 9):
        run(stock, "INSERT INTO source VALUES (?, 50)", number)
    merge = "MERGE INTO item i USING source s ON (i.id = s.id)"
    run(
        stock,
        f"{merge} WHEN MATCHED THEN UPDATE SET qty = s.qty WHEN NOT MATCHED THEN INSERT (id, qty) VALUES (s.id, s.qty)",
    )
    assert sorted(map(str, notes)) == ["INSERT", "UPDATE", "before INSERT", "before UPDATE"]
    assert query(stock, "SELECT id, qty FROM item ORDER BY id") == [(1, 1), (2, 50), (3, 3), (9, 50)]
    notes.clear()
    assert run(stock, f"{merge} WHEN MATCHED THEN DELETE").rows == 2
    assert notes == ["before DELETE", "DELETE", "DELETE"]
    assert query(stock, "SELECT id FROM item ORDER BY id") == [(1,), (3,)]


def test_update_and_delete_at_a_cursor_activate_triggers(stock: Engine) -> None:
    run(stock, "CREATE TRIGGER u UPDATE ON item REFERENCING OLD o NEW n FOR EACH ROW"
               " (INSERT INTO log (id, old, new) VALUES (o.id, o.qty, n.qty))")  # fmt: skip
    run(
        stock,
        "CREATE TRIGGER d DELETE ON item REFERENCING OLD o FOR EACH ROW (INSERT INTO log (id) VALUES (o.id))",
    )
    run(stock, "BEGIN WORK")
    cursor = stock.open(stock.prepare("SELECT id FROM item FOR UPDATE"), name="c")
    stock.fetch(cursor, 1)
    run(stock, "UPDATE item SET qty = ? WHERE CURRENT OF c", 70)
    stock.fetch(cursor, 1)
    run_all(stock, "DELETE FROM item WHERE CURRENT OF c", "COMMIT WORK")
    assert [row[:3] for row in logged(stock)] == [(1, 1, 70), (2, None, None)]


def test_unique_keys_are_checked_after_the_last_row(stock: Engine) -> None:
    run(stock, "CREATE UNIQUE INDEX ix ON item (qty)")
    run(
        stock,
        "CREATE TRIGGER u UPDATE ON item REFERENCING OLD o NEW n FOR EACH ROW"
        " (INSERT INTO log (id, old, new) VALUES (o.id, o.qty, n.qty))",
    )
    assert run(stock, "UPDATE item SET qty = qty + 1").rows == 3
    assert [row[1:3] for row in logged(stock)] == [(1, 2), (2, 3), (3, 4)]
    assert error_from(stock, "UPDATE item SET qty = 7").sqlcode == -346
    assert len(logged(stock)) == 3


def test_foreign_keys_are_checked_after_the_actions(engine: Engine) -> None:
    run(engine, "CREATE TABLE parent (a INTEGER PRIMARY KEY)")
    run(engine, "CREATE TABLE child (a INTEGER REFERENCES parent CONSTRAINT r1)")
    run(
        engine,
        "CREATE TRIGGER tr INSERT ON child REFERENCING NEW AS n FOR EACH ROW"
        " WHEN ((SELECT count(*) FROM parent WHERE a = n.a) = 0 AND n.a > 0) (INSERT INTO parent VALUES (n.a))",
    )
    run_all(engine, "INSERT INTO child VALUES (1)", "BEGIN WORK", "INSERT INTO child VALUES (2)")
    assert codes(error_from(engine, "INSERT INTO child VALUES (-1)")) == (-691, -111, "anna.r1")
    run(engine, "COMMIT WORK")
    assert query(engine, "SELECT a FROM parent") == query(engine, "SELECT a FROM child") == [(1,), (2,)]
    run(
        engine,
        "CREATE TRIGGER d DELETE ON parent REFERENCING OLD o FOR EACH ROW"
        " WHEN (o.a > 1) (DELETE FROM child WHERE a = o.a)",
    )
    assert codes(error_from(engine, "DELETE FROM parent")) == (-692, 0, "anna.r1")
    assert run(engine, "DELETE FROM parent WHERE a = 2").rows == 1
    assert query(engine, "SELECT a FROM parent") == query(engine, "SELECT a FROM child") == [(1,)]


def test_disabled_and_dropped_triggers_are_not_activated(stock: Engine, notes: list[object]) -> None:
    run(stock, "CREATE TRIGGER off UPDATE ON item BEFORE (EXECUTE PROCEDURE note('off')) DISABLED")
    run(stock, "CREATE TRIGGER on UPDATE ON item BEFORE (EXECUTE PROCEDURE note('on')) ENABLED")
    run(stock, "UPDATE item SET qty = 1")
    assert notes == ["on"]
    run_all(stock, "DROP TRIGGER on", "UPDATE item SET qty = 1")
    assert notes == ["on"]
    run_all(stock, "SET TRIGGERS off ENABLED", "UPDATE item SET qty = 1")
    assert notes == ["on", "off"]
    run_all(stock, "SET TRIGGERS FOR item DISABLED", "UPDATE item SET qty = 1")
    assert notes == ["on", "off"]
    states = query(stock, "SELECT name, state FROM sysobjstate WHERE objtype = 'T'")
    assert states == [("off", "D")]
    assert codes(error_from(stock, "SET TRIGGERS nothing ENABLED")) == (-894, 0, "nothing")


def test_a_trigger_follows_changes_of_the_schema(stock: Engine) -> None:
    run(
        stock,
        "CREATE TRIGGER u UPDATE ON item REFERENCING NEW n FOR EACH ROW (INSERT INTO log (id) VALUES (n.id))",
    )
    run_all(stock, "UPDATE item SET qty = 1 WHERE id = 1", "ALTER TABLE item ADD (code INTEGER BEFORE qty)")
    run_all(stock, "RENAME TABLE item TO thing", "UPDATE thing SET qty = 1 WHERE id = 2")
    assert [row[0] for row in logged(stock)] == [1, 2]
    run(stock, "DROP TABLE log")
    assert codes(error_from(stock, "UPDATE thing SET qty = 2")) == (-206, -111, "log")
    run(stock, "DROP TABLE thing")
    assert query(stock, "SELECT count(*) FROM systriggers") == [(0,)]


def test_another_session_activates_the_trigger(stock: Engine, core: ServerCore) -> None:
    other = core.engine()
    update = other.prepare("UPDATE item SET qty = 5 WHERE id = 1")
    run(
        stock,
        "CREATE TRIGGER u UPDATE ON item REFERENCING NEW n FOR EACH ROW (INSERT INTO log (id) VALUES (n.id))",
    )
    other.execute(update)
    assert [row[0] for row in logged(stock)] == [1]


def test_a_change_through_a_view_activates_the_triggers_of_its_table(stock: Engine) -> None:
    run(stock, "CREATE VIEW few AS SELECT id, qty AS amount FROM item WHERE id < 3")
    run(
        stock,
        "CREATE TRIGGER u UPDATE OF qty ON item REFERENCING NEW n FOR EACH ROW"
        " (INSERT INTO log (id, new) VALUES (n.id, n.qty))",
    )
    assert run(stock, "UPDATE few SET amount = 8").rows == 2
    assert [(row[0], row[2]) for row in logged(stock)] == [(1, 8), (2, 8)]


def test_a_trigger_as_dbschema_writes_it(stock: Engine) -> None:
    """The name of the table in SET and INTO, a built-in function, no blank after parentheses."""
    run(
        stock,
        'create trigger "informix".trig_i insert on "anna".item referencing new as new'
        + 90 * " "
        + "\n    for each row\n        (\n"
        + '        execute function "informix".upper(new.name ) into "anna".item.name,\n'
        + '        update "anna".log set "anna".log.seen = new.id  where (id = new.qty ) );',
    )
    run(
        stock,
        'create trigger "anna".trig_u update of qty,name on "anna".item referencing old as old new as new\n'
        "    for each row\n        when ((old.qty != new.qty ) )\n            (\n"
        '            update "anna".item set "anna".item.total = (new.qty + old.qty )  where (id = old.id ) )',
    )
    run_all(stock, "INSERT INTO log (id) VALUES (8)", "INSERT INTO item (qty, name) VALUES (8, 'hat')")
    assert query(stock, "SELECT name FROM item WHERE id = 4") == [("HAT",)]
    assert query(stock, "SELECT seen FROM log") == [(4,)]
    run(stock, "UPDATE item SET qty = 9 WHERE id = 4")
    assert query(stock, "SELECT total FROM item WHERE id = 4") == [(17,)]


@pytest.fixture
def joined(engine: Engine) -> Engine:
    """A view of two tables, with INSTEAD OF triggers."""
    run(engine, "CREATE TABLE dept (deptno INTEGER, name CHAR(20))")
    run(engine, "CREATE TABLE emp (empno INTEGER PRIMARY KEY, deptno INTEGER, pay DECIMAL(8,2))")
    run(engine, "CREATE VIEW staff (empno, pay, deptno, dept) AS"
                " SELECT e.empno, e.pay, d.deptno, d.name FROM emp e, dept d WHERE e.deptno = d.deptno")  # fmt: skip
    run(
        engine,
        "CREATE TRIGGER staff_i INSTEAD OF INSERT ON staff REFERENCING NEW AS n FOR EACH ROW"
        " (INSERT INTO emp VALUES (n.empno, n.deptno, n.pay), INSERT INTO dept VALUES (n.deptno, n.dept))",
    )
    run(
        engine,
        "CREATE TRIGGER staff_u INSTEAD OF UPDATE ON staff REFERENCING NEW AS n OLD AS o FOR EACH ROW"
        " (UPDATE emp SET pay = n.pay WHERE empno = o.empno, UPDATE dept SET name = n.dept WHERE deptno = o.deptno)",
    )
    run(
        engine,
        "CREATE TRIGGER staff_d INSTEAD OF DELETE ON staff REFERENCING OLD o FOR EACH ROW"
        " (DELETE FROM emp WHERE empno = o.empno)",
    )
    assert run(engine, "INSERT INTO staff VALUES (?, 10.5, 7, 'desk')", 1).rows == 1
    return engine


def test_actions_run_instead_of_a_change_of_a_view(joined: Engine) -> None:
    assert query(joined, "SELECT * FROM staff") == [(1, Decimal("10.50"), 7, "desk".ljust(20))]
    run(joined, "INSERT INTO emp SELECT empno + 1, deptno, pay + 1 FROM emp")
    assert run(joined, "UPDATE staff SET (pay, dept) = (pay * 2, 'x') WHERE pay > ?", 5).rows == 2
    assert query(joined, "SELECT empno, pay FROM emp") == [(1, Decimal("21.00")), (2, Decimal("23.00"))]
    assert query(joined, "SELECT trim(name) FROM dept") == [("x",)]
    assert run(joined, "UPDATE staff s SET pay = ? WHERE s.empno = 2", 4).rows == 1
    assert query(joined, "SELECT pay FROM emp WHERE empno = 2") == [(Decimal("4.00"),)]
    assert run(joined, "DELETE FROM staff WHERE dept = 'x' AND empno = 1").rows == 1
    assert run(joined, "INSERT INTO staff (empno, deptno) SELECT empno + 10, 9 FROM staff").rows == 1
    assert query(joined, "SELECT * FROM emp ORDER BY empno") == [(2, 7, Decimal("4.00")), (12, 9, None)]
    assert error_from(joined, "INSERT INTO staff (empno, deptno) VALUES (2, 1)").sqlcode == -268
    assert query(joined, "SELECT event FROM systriggers") == [("i",), ("u",), ("d",)]


def test_instead_of_triggers_can_be_disabled_and_are_dropped_with_their_view(joined: Engine) -> None:
    run(joined, "SET TRIGGERS FOR staff DISABLED")
    assert error_from(joined, "DELETE FROM staff").sqlcode == -384
    run(joined, "SET TRIGGERS staff_d ENABLED")
    assert run(joined, "DELETE FROM staff").rows == 1
    run(joined, "DROP VIEW staff")
    assert query(joined, "SELECT count(*) FROM systriggers") == [(0,)]


@pytest.mark.parametrize(
    ("statement", "sqlcode"),
    [
        ("INSERT INTO staff (empno) VALUES (1, 2)", -236),
        ("INSERT INTO staff (nothing) VALUES (1)", -217),
        ("UPDATE staff SET nothing = 1", -217),
        ("UPDATE staff SET (pay, dept) = (1)", -505),
        ("DELETE FROM staff WHERE CURRENT OF c", -999),
        ("CREATE TRIGGER x INSTEAD OF DELETE ON emp FOR EACH ROW (DELETE FROM dept)", -206),
        ("CREATE TRIGGER x DELETE ON staff FOR EACH ROW (DELETE FROM dept)", -206),
        ("CREATE TRIGGER x INSTEAD OF DELETE ON checked FOR EACH ROW (DELETE FROM dept)", -999),
    ],
)
def test_refused_changes_of_views(joined: Engine, statement: str, sqlcode: int) -> None:
    run(joined, "CREATE VIEW checked AS SELECT * FROM emp WHERE pay > 0 WITH CHECK OPTION")
    assert error_from(joined, statement).sqlcode == sqlcode


def test_an_instead_of_trigger_does_not_change_its_own_view(joined: Engine) -> None:
    run(joined, "CREATE TRIGGER again INSTEAD OF DELETE ON staff FOR EACH ROW (DELETE FROM staff)")
    assert error_from(joined, "DELETE FROM staff").sqlcode == -747


# -- routines in SPL ---------------------------------------------------------------------------------------------------


def test_actions_call_routines_in_spl(stock: Engine) -> None:
    run_all(
        stock,
        "CREATE PROCEDURE audit(id INTEGER, before_ INTEGER, after_ INTEGER DEFAULT 0)"
        " IF after_ > 100 THEN RAISE EXCEPTION -746, 0, 'too many'; END IF"
        " INSERT INTO log VALUES (id, before_, after_, 0); END PROCEDURE",
        "CREATE FUNCTION both(a INTEGER, b INTEGER) RETURNING INTEGER, VARCHAR(9); RETURN a + b, 'sum'; END FUNCTION",
        "CREATE TRIGGER u UPDATE OF qty ON item REFERENCING OLD AS o NEW AS n FOR EACH ROW"
        " (EXECUTE PROCEDURE audit(o.id, o.qty, n.qty), EXECUTE FUNCTION both(o.qty, n.qty) INTO total, name)",
        "CREATE TRIGGER d DELETE ON item REFERENCING OLD o FOR EACH ROW (EXECUTE PROCEDURE audit(o.id, o.qty))",
    )
    assert run(stock, "UPDATE item SET qty = 50 WHERE id < 3").rows == 2
    assert logged(stock) == [(1, 1, 50, 0), (2, 2, 50, 0)]
    assert query(stock, "SELECT id, total, name FROM item WHERE id = 2") == [(2, 52, "sum")]
    assert codes(error_from(stock, "UPDATE item SET qty = 101")) == (-746, 0, "too many")
    assert len(logged(stock)) == 2
    run(stock, "DELETE FROM item WHERE id = 3")
    assert logged(stock)[2:] == [(3, 3, 0, 0)]


def test_a_routine_of_an_action_does_not_change_what_the_statement_changes(stock: Engine) -> None:
    run(stock, "CREATE PROCEDURE more() INSERT INTO item (qty) VALUES (1); END PROCEDURE")
    run(stock, "CREATE PROCEDURE end_() COMMIT WORK; END PROCEDURE")
    run(stock, "CREATE TRIGGER i INSERT ON item AFTER (EXECUTE PROCEDURE more())")
    run(stock, "CREATE TRIGGER u UPDATE ON item AFTER (EXECUTE PROCEDURE end_())")
    assert error_from(stock, "INSERT INTO item (qty) VALUES (9)").sqlcode == -747
    run(stock, "BEGIN WORK")
    assert error_from(stock, "UPDATE item SET qty = 9").sqlcode == -744
    run(stock, "COMMIT WORK")
    assert query(stock, "SELECT qty FROM item") == [(1,), (2,), (3,)]


TRIGGER_PROCEDURE = """
CREATE PROCEDURE keep() REFERENCING OLD AS o NEW AS n FOR item;
    IF INSERTING THEN
        LET n.name = 'new ' || n.qty;
        INSERT INTO log (id, new) VALUES (n.id, n.qty);
    ELIF UPDATING THEN
        LET n.total = n.qty - o.qty;
        INSERT INTO log VALUES (n.id, o.qty, n.qty, 1);
    ELIF DELETING THEN
        INSERT INTO log (id, old) VALUES (o.id, o.qty);
    END IF
END PROCEDURE
"""


def test_a_trigger_routine_reads_and_sets_columns_of_the_row(stock: Engine) -> None:
    run(stock, TRIGGER_PROCEDURE)
    for event, names in (("INSERT", "NEW AS x"), ("UPDATE", "OLD AS x NEW AS y"), ("DELETE", "OLD AS y")):
        run(
            stock,
            f"CREATE TRIGGER {event}_ {event} ON item REFERENCING {names} FOR EACH ROW"
            " (EXECUTE PROCEDURE keep() WITH TRIGGER REFERENCES)",
        )
    run(stock, "INSERT INTO item (qty) VALUES (40)")
    assert query(stock, "SELECT name FROM item WHERE id = 4") == [("new 40",)]
    run(stock, "UPDATE item SET qty = qty + 5 WHERE id > 2")
    assert query(stock, "SELECT id, total FROM item WHERE id > 2") == [(3, 5), (4, 5)]
    run(stock, "DELETE FROM item WHERE id = 1")
    assert logged(stock) == [(1, 1, None, None), (3, 3, 8, 1), (4, None, 40, None), (4, 40, 45, 1)]


@pytest.mark.parametrize(
    ("action", "sqlcode"),
    [
        ("FOR EACH ROW (EXECUTE PROCEDURE keep())", -674),
        ("FOR EACH ROW (EXECUTE PROCEDURE plain() WITH TRIGGER REFERENCES)", -674),
        ("FOR EACH ROW (EXECUTE PROCEDURE of_log() WITH TRIGGER REFERENCES)", -674),
        ("AFTER (EXECUTE PROCEDURE keep() WITH TRIGGER REFERENCES)", -732),
    ],
)
def test_refused_calls_of_trigger_routines(stock: Engine, action: str, sqlcode: int) -> None:
    run(stock, TRIGGER_PROCEDURE)
    run(stock, "CREATE PROCEDURE plain() END PROCEDURE")
    run(stock, "CREATE PROCEDURE of_log() REFERENCING NEW AS n FOR log; LET n.id = 1; END PROCEDURE")
    assert error_from(stock, f"CREATE TRIGGER tr INSERT ON item {action}").sqlcode == sqlcode
    assert error_from(stock, "EXECUTE PROCEDURE keep()").sqlcode == -674


def test_a_value_that_a_trigger_routine_sets_is_checked(stock: Engine) -> None:
    run_all(stock, "UPDATE item SET total = 0", "ALTER TABLE item MODIFY (total INTEGER DEFAULT 0 NOT NULL)")
    for name, value in (("a", "n.total = NULL"), ("b", "n.id = 7")):
        run(stock, f"CREATE PROCEDURE {name}() REFERENCING NEW AS n FOR item; LET {value}; END PROCEDURE")
    trigger = "CREATE TRIGGER tr INSERT ON item FOR EACH ROW (EXECUTE PROCEDURE {}() WITH TRIGGER REFERENCES)"
    run(stock, trigger.format("a"))
    assert codes(error_from(stock, "INSERT INTO item (qty) VALUES (1)")) == (-391, 0, "item.total")
    run(stock, "DROP TRIGGER tr")
    run(stock, trigger.format("b"))
    assert codes(error_from(stock, "INSERT INTO item (qty) VALUES (1)")) == (-232, 0, "id")


def test_a_procedure_with_a_cursor_and_a_handler_runs_in_a_trigger(stock: Engine) -> None:
    run(stock, "CREATE TABLE once (id INTEGER UNIQUE)")
    run(
        stock,
        "CREATE PROCEDURE walk() DEFINE found INTEGER;"
        " FOREACH SELECT id INTO found FROM item WHERE qty > 1"
        " BEGIN ON EXCEPTION IN (-268) INSERT INTO log (id) VALUES (found); END EXCEPTION"
        " INSERT INTO once VALUES (found); END"
        " END FOREACH END PROCEDURE",
    )
    run(stock, "INSERT INTO once VALUES (3)")
    run(stock, "CREATE TRIGGER tr UPDATE ON item AFTER (EXECUTE PROCEDURE walk())")
    run(stock, "UPDATE item SET name = 'x'")
    assert query(stock, "SELECT id FROM once ORDER BY id") == [(2,), (3,)]
    assert [row[0] for row in logged(stock)] == [3]


# -- transactions and other sessions -----------------------------------------------------------------------------------


@pytest.fixture
def busy(stock: Engine) -> Engine:
    """A session with triggers that activate one another, across three tables."""
    run_all(
        stock,
        "CREATE TABLE sums (id INTEGER UNIQUE, amount INTEGER)",
        "INSERT INTO sums VALUES (1, 6)",
        "CREATE TRIGGER up UPDATE OF qty ON item REFERENCING OLD AS o NEW AS n FOR EACH ROW"
        " (UPDATE sums SET amount = amount + n.qty - o.qty)",
        "CREATE TRIGGER sum UPDATE ON sums REFERENCING OLD AS o NEW AS n FOR EACH ROW"
        " (INSERT INTO log (old, new) VALUES (o.amount, n.amount))",
        "CREATE VIEW shown (id, qty) AS SELECT id, qty FROM item WHERE qty < 10",
        "CREATE TRIGGER view INSTEAD OF UPDATE ON shown REFERENCING NEW AS n FOR EACH ROW"
        " (UPDATE item SET qty = n.qty WHERE id = n.id)",
    )
    return stock


def state_of(engine: Engine) -> tuple[list[Row], ...]:
    tables = ("item", "sums", "log")
    return tuple(query(engine, f"SELECT * FROM {table} ORDER BY id") for table in tables)


@pytest.mark.parametrize("table", ["item", "shown"])
def test_a_rollback_undoes_what_triggers_of_triggers_changed(busy: Engine, table: str) -> None:
    before = state_of(busy)
    run(busy, "BEGIN WORK")
    assert run(busy, f"UPDATE {table} SET qty = qty + 1").rows == 3
    assert query(busy, "SELECT amount FROM sums") == [(9,)]
    run(busy, "ROLLBACK WORK")
    assert state_of(busy) == before
    run_all(busy, "BEGIN WORK", f"UPDATE {table} SET qty = qty + 1", "SAVEPOINT here")
    run_all(busy, f"UPDATE {table} SET qty = qty + 1", "ROLLBACK TO SAVEPOINT here", "COMMIT WORK")
    assert query(busy, "SELECT amount FROM sums") == [(9,)]


def test_an_action_that_meets_a_lock_undoes_the_statement(core: ServerCore, busy: Engine) -> None:
    other = core.engine()
    run_all(busy, "BEGIN WORK", "UPDATE item SET qty = 11 WHERE id = 1")
    run(other, "BEGIN WORK")
    assert codes(error_from(other, "UPDATE item SET qty = 12 WHERE id = 2"))[:2] == (-244, -107)
    run(busy, "ROLLBACK WORK")
    assert run(other, "UPDATE item SET qty = 12 WHERE id = 2").rows == 1
    run(other, "COMMIT WORK")
    assert query(other, "SELECT amount FROM sums") == [(16,)]
    assert [row[1:3] for row in logged(other)] == [(6, 16)]


def test_a_statement_waits_for_a_lock_that_an_action_meets(core: ServerCore, busy: Engine) -> None:
    run_all(busy, "BEGIN WORK", "UPDATE sums SET amount = 0")
    with waiting(core, lambda other: run(other, "UPDATE item SET qty = qty + 1").rows) as (_, updated):
        run(busy, "ROLLBACK WORK")
    assert updated.result() == 3
    assert [row[1:3] for row in logged(busy)] == [(6, 7), (7, 8), (8, 9)]


def test_a_routine_of_a_trigger_creates_and_drops_temporary_tables(stock: Engine) -> None:
    run(
        stock,
        "CREATE PROCEDURE keep() CREATE TEMP TABLE work (id INTEGER); INSERT INTO work VALUES (1);"
        " INSERT INTO log (id) SELECT id FROM work; DROP TABLE work; END PROCEDURE",
    )
    run(stock, "CREATE TRIGGER tr INSERT ON item FOR EACH ROW (EXECUTE PROCEDURE keep())")
    run_all(stock, "INSERT INTO item (qty) VALUES (4)", "BEGIN WORK")
    run(stock, "INSERT INTO item (qty) SELECT qty FROM item")
    assert query(stock, "SELECT count(*) FROM log") == [(5,)]
    run(stock, "ROLLBACK WORK")
    assert query(stock, "SELECT count(*) FROM log") == [(1,)]
    assert query(stock, "SELECT count(*) FROM item") == [(4,)]


def test_temporary_tables_of_a_trigger_in_a_failed_statement_leave_no_traces(stock: Engine) -> None:
    run_all(
        stock,
        "CREATE PROCEDURE keep(id INTEGER) CREATE TEMP TABLE work (id INTEGER); DROP TABLE work;"
        " IF id = 6 THEN RAISE EXCEPTION -746, 0, 'no'; END IF; END PROCEDURE",
        "CREATE TRIGGER tr INSERT ON item REFERENCING NEW AS n FOR EACH ROW (EXECUTE PROCEDURE keep(n.id))",
        "BEGIN WORK",
    )
    assert error_from(stock, "INSERT INTO item (qty) SELECT qty FROM item").sqlcode == -746
    run_all(stock, "INSERT INTO item (id, qty) VALUES (4, 4)", "CREATE TEMP TABLE work (id INTEGER)")
    assert error_from(stock, "INSERT INTO item (id, qty) VALUES (6, 4)").sqlcode == -958
    run(stock, "DROP TABLE work")
    assert error_from(stock, "INSERT INTO item (id, qty) VALUES (6, 4)").sqlcode == -746
    run(stock, "COMMIT WORK")
    assert query(stock, "SELECT count(*) FROM item") == [(4,)]


def test_a_routine_of_a_trigger_locks_a_table(core: ServerCore, stock: Engine) -> None:
    other = core.engine()
    run(stock, "CREATE PROCEDURE hold() LOCK TABLE log IN EXCLUSIVE MODE; END PROCEDURE")
    run(stock, "CREATE TRIGGER tr INSERT ON item BEFORE (EXECUTE PROCEDURE hold())")
    run_all(other, "BEGIN WORK", "LOCK TABLE log IN SHARE MODE")
    run(stock, "BEGIN WORK")
    assert codes(error_from(stock, "INSERT INTO item (qty) VALUES (4)"))[:2] == (-271, -113)
    run(other, "COMMIT WORK")
    run(stock, "INSERT INTO item (qty) VALUES (4)")
    assert codes(error_from(other, "INSERT INTO log VALUES (1, 1, 1, 1)"))[:2] == (-271, -113)


# -- changes of the table ----------------------------------------------------------------------------------------------


def test_a_renamed_column_is_renamed_in_its_triggers(stock: Engine) -> None:
    run(
        stock,
        "CREATE TRIGGER tr UPDATE OF qty, name ON item REFERENCING OLD AS o NEW AS n FOR EACH ROW"
        " WHEN (o.qty < 3) (INSERT INTO log (id, old) VALUES (n.id, n. qty), UPDATE item SET total = n.qty)",
    )
    run_all(stock, "RENAME COLUMN item.qty TO number", "RENAME TABLE item TO thing")
    body = "".join(
        str(row[0]).rstrip() for row in query(stock, "SELECT data FROM systrigbody ORDER BY datakey")
    )
    assert 'update of number,name on "anna".thing' in body
    assert "WHEN (o.number < 3)" in body and "n. number" in body


def test_a_dropped_column_is_dropped_from_the_triggering_columns(stock: Engine) -> None:
    for name, columns in (("a", "qty, name"), ("b", "name"), ("c", "total")):
        run(
            stock,
            f"CREATE TRIGGER {name} UPDATE OF {columns} ON item AFTER (INSERT INTO log (id) VALUES (1))",
        )
    run(stock, "ALTER TABLE item DROP (name)")
    assert query(stock, "SELECT trigname FROM systriggers ORDER BY trigname") == [("a",), ("c",)]
    run(stock, "UPDATE item SET qty = 1, total = 1")
    assert query(stock, "SELECT count(*) FROM log") == [(2,)]


@pytest.mark.parametrize("has_trigger", [False, True])
def test_a_row_that_a_delete_cascades_to_is_still_referenced(engine: Engine, has_trigger: bool) -> None:
    run_all(engine, "CREATE TABLE top (k INT PRIMARY KEY)", "CREATE TABLE log (k INT)")
    run(engine, "CREATE TABLE mid (k INT PRIMARY KEY, t INT REFERENCES top ON DELETE CASCADE)")
    run(engine, "CREATE TABLE low (m INT REFERENCES mid CONSTRAINT r_low)")
    run_all(
        engine,
        *(f"INSERT INTO {values}" for values in ("top VALUES (1)", "mid VALUES (2, 1)", "low VALUES (2)")),
    )
    if has_trigger:
        action = "FOR EACH ROW (INSERT INTO log VALUES (o.k))"
        run(engine, f"CREATE TRIGGER g DELETE ON top REFERENCING OLD AS o {action}")
    assert codes(error_from(engine, "DELETE FROM top")) == (-692, 0, "anna.r_low")
    assert query(engine, "SELECT m FROM low, mid, top WHERE m = mid.k AND t = top.k") == [(2,)]
    assert query(engine, "SELECT * FROM log") == []


def test_an_insert_into_a_view_has_no_serial_number_of_another_statement(stock: Engine) -> None:
    run_all(stock, "CREATE TABLE plain (q INT)", "CREATE VIEW seen (q) AS SELECT qty FROM item")
    run(
        stock,
        "CREATE TRIGGER i INSTEAD OF INSERT ON seen REFERENCING NEW AS n FOR EACH ROW"
        " (INSERT INTO plain VALUES (n.q), INSERT INTO item (qty) VALUES (n.q))",
    )
    assert run(stock, "INSERT INTO item (qty) VALUES (4)").serial
    assert run(stock, "INSERT INTO seen VALUES (5)").serial == 0


def test_a_statement_that_runs_again_has_the_same_serial_values(stock: Engine) -> None:
    run(stock, "CREATE TABLE parent (id INTEGER PRIMARY KEY)")
    run(stock, "CREATE TABLE child (id SERIAL, parent INTEGER REFERENCES parent)")
    run(
        stock,
        "CREATE TRIGGER tr INSERT ON child REFERENCING NEW AS n FOR EACH ROW"
        " (INSERT INTO parent VALUES (n.parent), INSERT INTO item (qty) VALUES (0))",
    )
    run(stock, "INSERT INTO child (parent) VALUES (7)")
    assert run(stock, "INSERT INTO child (parent) SELECT id + 7 FROM item").serial == 5
    assert query(stock, "SELECT max(id) FROM item") == [(8,)]
    assert query(stock, "SELECT max(id) FROM child") == [(5,)]


def test_a_routine_of_a_trigger_creates_a_table_once(stock: Engine) -> None:
    run(stock, "CREATE PROCEDURE keep() CREATE TABLE IF NOT EXISTS kept (id INTEGER); END PROCEDURE")
    run_all(stock, "CREATE TRIGGER tr INSERT ON item BEFORE (EXECUTE PROCEDURE keep())", "BEGIN WORK")
    assert run(stock, "INSERT INTO item (qty) VALUES (4)").serial == 4
    assert query(stock, "SELECT count(*) FROM kept") == [(0,)]
    run(stock, "ROLLBACK WORK")
    assert error_from(stock, "SELECT * FROM kept").sqlcode == -206
    assert query(stock, "SELECT count(*) FROM item") == [(3,)]


# -- SELECT ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def watched(engine: Engine) -> Engine:
    run(engine, "CREATE TABLE w (k INT, v VARCHAR(9))")
    run(engine, "CREATE TABLE seen (what VARCHAR(20), k INT)")
    for key, word in ((1, "a"), (2, "b"), (3, "c")):
        run(engine, "INSERT INTO w VALUES (?, ?)", key, word)
    run(
        engine,
        "CREATE TRIGGER s SELECT OF v ON w REFERENCING OLD AS o BEFORE (INSERT INTO seen VALUES ('before', 0))"
        " FOR EACH ROW WHEN (o.k > 1) (INSERT INTO seen VALUES (o.v, o.k))"
        " AFTER (INSERT INTO seen VALUES ('after', 0))",
    )
    return engine


SEEN = "SELECT what, k FROM seen"


@pytest.mark.parametrize(
    ("sql", "values", "rows", "keys"),
    [
        ("SELECT * FROM w", (), [(1, "a"), (2, "b"), (3, "c")], [2, 3]),
        ("SELECT v FROM w WHERE k = ?", (2,), [("b",)], [2]),
        ("SELECT FIRST 2 UPPER(v) FROM w ORDER BY k DESC", (), [("C",), ("B",)], [3, 2]),
        ("SELECT v FROM w WHERE k > 5", (), [], []),
    ],
)
def test_a_select_runs_the_actions_once_for_each_row(
    watched: Engine, sql: str, values: tuple[int, ...], rows: list[object], keys: list[int]
) -> None:
    assert query(watched, sql, *values) == rows
    found = query(watched, SEEN)
    assert [found[0], found[-1]] == [("before", 0), ("after", 0)]
    assert [key for _, key in found[1:-1]] == keys


@pytest.mark.parametrize(
    ("sql", "keys"),
    [
        ("SELECT w.v, x.n FROM w, x WHERE w.k = x.k", [2, 3, 3]),
        ("SELECT x.n, w.v FROM x LEFT JOIN w ON w.k = x.k", [2, 3, 3]),
        ("SELECT a.v, b.v FROM w AS a, w AS b WHERE a.k = b.k + 1", [2, 3, 2]),
        ("SELECT k FROM big WHERE k = 3", [3]),
        ("SELECT FIRST 1 d.c FROM (SELECT v FROM w) AS d(c) ORDER BY c DESC", [3]),
        ("SELECT (SELECT v FROM w WHERE w.k = x.k), n FROM x", [2, 3, 3]),
    ],
)
def test_a_select_of_several_tables_runs_the_actions_for_each_row(
    watched: Engine, sql: str, keys: list[int]
) -> None:
    run(watched, "CREATE TABLE x (k INT, n INT)")
    for key, number in ((2, 20), (3, 30), (3, 31), (4, 40)):
        run(watched, "INSERT INTO x VALUES (?, ?)", key, number)
    run(watched, "CREATE VIEW big AS SELECT k, v FROM w WHERE k > 1")
    query(watched, sql)
    found = query(watched, SEEN)
    assert [found[0], found[-1]] == [("before", 0), ("after", 0)]
    assert [key for _, key in found[1:-1]] == keys


def test_a_select_runs_the_actions_of_each_table_or_none(watched: Engine) -> None:
    run(watched, "CREATE TABLE x (k INT)")
    run(watched, "INSERT INTO x VALUES (3)")
    run(
        watched,
        "CREATE TRIGGER t SELECT ON x REFERENCING OLD AS o FOR EACH ROW (INSERT INTO seen VALUES ('x', o.k))",
    )
    sql = "SELECT w.v, x.k FROM w, x WHERE w.k = x.k"
    run(watched, "BEGIN WORK")
    query(watched, sql)
    assert query(watched, SEEN) == [("before", 0), ("c", 3), ("after", 0), ("x", 3)]
    run(watched, "ROLLBACK WORK")
    run(watched, "CREATE TRIGGER u SELECT ON x BEFORE (DELETE FROM x)")
    run(watched, "BEGIN WORK")
    assert error_from(watched, sql).sqlcode == -747
    assert query(watched, SEEN) == []
    run(watched, "ROLLBACK WORK")


@pytest.mark.parametrize(
    "sql", ["SELECT k FROM w WHERE v = 'b' ORDER BY v", "SELECT COUNT(v) FROM w", "SELECT DISTINCT v FROM w"]
)
def test_other_selects_run_no_action(watched: Engine, sql: str) -> None:
    query(watched, sql)
    assert query(watched, SEEN) == []


def test_a_scroll_cursor_runs_no_action(watched: Engine) -> None:
    watched.close_cursor(watched.open(watched.prepare("SELECT v FROM w"), scroll=True))
    assert query(watched, SEEN) == []


def test_actions_of_a_select_are_undone_with_its_transaction(watched: Engine) -> None:
    run(watched, "BEGIN WORK")
    assert query(watched, "SELECT v FROM w WHERE k = 2") == [("b",)]
    assert len(query(watched, SEEN)) == 3
    run(watched, "ROLLBACK WORK")
    assert query(watched, SEEN) == []


def test_a_disabled_trigger_is_not_activated_by_a_select(watched: Engine) -> None:
    run(watched, "SET TRIGGERS s DISABLED")
    assert query(watched, "SELECT v FROM w WHERE k = 2") == [("b",)]
    assert query(watched, SEEN) == []


def test_an_action_of_a_select_does_not_change_its_table(watched: Engine) -> None:
    run(watched, "CREATE TRIGGER bad SELECT OF k ON w AFTER (UPDATE w SET v = 'x')")
    assert error_from(watched, "SELECT k FROM w").sqlcode == -747
    assert error_from(watched, "SELECT k, v FROM w").sqlcode == -747
    assert query(watched, SEEN) == []


def test_the_actions_of_a_select_read_and_call_routines(watched: Engine) -> None:
    run(watched, "CREATE PROCEDURE note(n INT) DEFINE x VARCHAR(9); SELECT v INTO x FROM w WHERE k = n;"
        " INSERT INTO seen VALUES (x || '!', n); END PROCEDURE")  # fmt: skip
    run(watched, "DROP TRIGGER s")
    run(watched, "CREATE TRIGGER c SELECT ON w REFERENCING OLD o FOR EACH ROW (EXECUTE PROCEDURE note(o.k))")
    assert query(watched, "SELECT v FROM w WHERE k = 2") == [("b",)]
    assert query(watched, SEEN) == [("b!", 2)]  # the SELECT of the routine activates none


def test_a_routine_activates_select_triggers_unless_a_query_calls_it(watched: Engine) -> None:
    body = "DEFINE x VARCHAR(9); SELECT v INTO x FROM w WHERE k = 3; RETURN x;"
    run(watched, f"CREATE FUNCTION third() RETURNING VARCHAR(9); {body} END FUNCTION")
    assert query(watched, "EXECUTE FUNCTION third()") == [("c",)]
    assert query(watched, SEEN) == [("before", 0), ("c", 3), ("after", 0)]
    raised = error_from(watched, "SELECT third() FROM seen WHERE k = 3")
    assert (raised.sqlcode, raised.token) == (-999, "SELECT TRIGGER")


def test_a_cursor_for_update_keeps_its_rows_after_the_actions(watched: Engine) -> None:
    run(watched, "BEGIN WORK")
    cursor = watched.open(watched.prepare("SELECT k, v FROM w FOR UPDATE"), name="c")
    assert len(query(watched, SEEN)) == 4
    watched.fetch(cursor, 1)
    run(watched, "UPDATE w SET v = 'z' WHERE CURRENT OF c")
    run(watched, "COMMIT WORK")
    assert query(watched, "SELECT k FROM w WHERE v = 'z'") == [(1,)]


def test_the_catalog_has_a_select_trigger(watched: Engine) -> None:
    assert query(watched, "SELECT trigname, event, old FROM systriggers") == [("s", "S", "o")]
    (header,) = query(watched, "SELECT data FROM systrigbody WHERE datakey = 'D'")
    assert "select of v on" in str(header[0])
