from __future__ import annotations

import pytest

from aioifx.server.sql.model.plan import Change, Verb
from aioifx.server.sql.model.schema import Trigger
from aioifx.server.sql.sqlite.render import render
from aioifx.server.sql.translate.triggers import trigger_plan
from aioifx.wire.opcodes import StatementType
from tests.server.sql.workbench import Workbench

TABLES = (
    "CREATE TABLE t (a INTEGER, b VARCHAR(9), s SERIAL)",
    "CREATE TABLE log (x INTEGER, y VARCHAR(9))",
    "CREATE TABLE child (a INTEGER, s INTEGER)",
    "CREATE TEMP TABLE tmp (a INTEGER)",
    "CREATE VIEW v AS SELECT a FROM t",
)


@pytest.fixture
def bench() -> Workbench:
    return Workbench(*TABLES)


def trigger_of(bench: Workbench, name: str) -> Trigger:
    found = bench.schema.trigger(name)
    assert found is not None
    return found[1]


def test_a_trigger_belongs_to_its_table(bench: Workbench) -> None:
    bench.run(
        "CREATE TRIGGER 'bob'.tr UPDATE OF b, a ON t REFERENCING OLD AS o"
        " FOR EACH ROW (INSERT INTO log (x) VALUES (o.a)) DISABLED"
    )
    trigger = trigger_of(bench, "tr")
    assert (trigger.owner, trigger.columns, trigger.old, trigger.new) == ("bob", ("b", "a"), "o", "")
    assert trigger.is_disabled
    assert trigger.action == "FOR EACH ROW (INSERT INTO log (x) VALUES (o.a))"
    bench.run("CREATE TRIGGER IF NOT EXISTS tr INSERT ON log BEFORE (DELETE FROM t)")
    assert bench.error("CREATE TRIGGER tr INSERT ON log BEFORE (DELETE FROM t)") == (-743, "tr", 16)
    bench.run("DROP TRIGGER tr")
    bench.run("DROP TRIGGER IF EXISTS tr")
    assert bench.error("DROP TRIGGER tr") == (-634, "", 14)


def test_old_values_are_bound_before_new_ones(bench: Workbench) -> None:
    bench.run(
        "CREATE TRIGGER tr UPDATE ON t REFERENCING OLD AS o NEW AS n FOR EACH ROW WHEN (o.a < n.a)"
        " (INSERT INTO log VALUES (n.s, n.b),"
        " UPDATE log SET x = o.a WHERE y = (SELECT max(b) FROM t WHERE a = n.a))"
    )
    trigger, table = trigger_of(bench, "tr"), bench.schema.table("t")
    assert table is not None
    (branch,) = trigger_plan(trigger, table, bench.schema, bench.settings).each_row
    assert branch.condition is not None
    assert render(branch.condition.tree) == "SELECT (?1 < ?4)"
    insert, update = (action.action for action in branch.actions)
    assert isinstance(insert, Change)
    assert render(insert.sql.tree) == 'INSERT INTO main."t101" ("x", "y") VALUES (?6, ?5)'
    assert isinstance(update, Change)
    assert "?1" in render(update.sql.tree)
    assert "= ?4" in render(update.sql.tree)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("CREATE TRIGGER x INSERT ON nowhere BEFORE (DELETE FROM log)", (-206, "nowhere", 28)),
        ("CREATE TRIGGER x INSERT ON tmp BEFORE (DELETE FROM log)", (-548, "", 28)),
        ("CREATE TRIGGER x INSERT ON systables BEFORE (DELETE FROM log)", (-511, "systables", 28)),
        ("CREATE TRIGGER x INSERT ON v BEFORE (DELETE FROM log)", (-206, "v", 28)),
        ("CREATE TRIGGER x UPDATE OF z ON t BEFORE (DELETE FROM log)", (-217, "z", 28)),
        ("CREATE TRIGGER x UPDATE OF a, a ON t BEFORE (DELETE FROM log)", (-542, "", 28)),
        ("CREATE TRIGGER x INSERT ON t REFERENCING NEW AS n BEFORE (DELETE FROM log)", (-730, "", 49)),
        ("CREATE TRIGGER x INSERT ON t REFERENCING NEW AS t FOR EACH ROW (DELETE FROM log)", (-734, "", 49)),
        ("CREATE TRIGGER x UPDATE ON t REFERENCING NEW n OLD n FOR EACH ROW (DELETE FROM log)", (-734, "", 46)),
        ("CREATE TRIGGER x INSERT ON t BEFORE (DELETE FROM nowhere)", (-206, "nowhere", 50)),
        ("CREATE TRIGGER x INSERT ON t BEFORE (EXECUTE PROCEDURE nothing)", (-674, "nothing", 56)),
        ("CREATE TRIGGER x INSERT ON t REFERENCING NEW n FOR EACH ROW (DELETE FROM t WHERE a = n.z)", (-217, "z", 86)),
        (
            "CREATE TRIGGER x INSERT ON t REFERENCING NEW n FOR EACH ROW (DELETE FROM log)"
            " AFTER (DELETE FROM log WHERE x = n.a)",
            (-522, "n", 112),
        ),
        ("CREATE TRIGGER x INSERT ON t BEFORE (DELETE FROM log WHERE x = ?)", (-201, "", 64)),
    ],
)  # fmt: skip
def test_refusals(bench: Workbench, text: str, expected: tuple[int, str, int]) -> None:
    assert bench.error(text) == expected


def test_delete_triggers_and_cascading_keys_exclude_each_other(bench: Workbench) -> None:
    bench.run("CREATE TABLE p (a INTEGER PRIMARY KEY)")
    bench.run("CREATE TABLE c (a INTEGER REFERENCES p ON DELETE CASCADE)")
    assert bench.error("CREATE TRIGGER x DELETE ON c BEFORE (DELETE FROM log)")[0] == -742
    bench.run("CREATE TRIGGER x UPDATE ON c BEFORE (DELETE FROM log)")
    bench.run("CREATE TRIGGER y DELETE ON child BEFORE (DELETE FROM log)")
    result = bench.error("ALTER TABLE child ADD CONSTRAINT FOREIGN KEY (a) REFERENCES p ON DELETE CASCADE")[0]
    assert result == -742
    bench.run("ALTER TABLE child ADD CONSTRAINT FOREIGN KEY (a) REFERENCES p")


def test_the_text_of_a_trigger_in_the_catalog_creates_it_again(bench: Workbench) -> None:
    bench.run(
        "CREATE TRIGGER tr UPDATE OF a, b ON t REFERENCING OLD o NEW AS n\n"
        " FOR EACH ROW (DELETE FROM t WHERE a = o.a)"
    )
    rows = bench.rows("SELECT data FROM systrigbody WHERE datakey IN ('D', 'A') ORDER BY datakey DESC, seqno")
    text = "".join(str(data) for (data,) in rows)
    assert (
        text.split()
        == (
            'create trigger "ann".tr update of a,b on "ann".t referencing old as o new as n'
            " FOR EACH ROW (DELETE FROM t WHERE a = o.a)"
        ).split()
    )
    before = trigger_of(bench, "tr")
    bench.run("DROP TRIGGER tr")
    bench.run(text)
    assert trigger_of(bench, "tr") == before
    assert bench.rows("SELECT tabid, event, old, new FROM systriggers") == [(100, "U", "o", "n")]
    assert bench.rows("SELECT objtype, state FROM sysobjstate WHERE name = 'tr'") == [("T", "E")]


def test_a_trigger_is_read_with_delimident_after_a_rename_to_a_name_in_quotes(bench: Workbench) -> None:
    bench.run(
        "CREATE TRIGGER tr INSERT ON t REFERENCING NEW AS n FOR EACH ROW"
        " (INSERT INTO log (x) SELECT n.a FROM t WHERE \"a\" <> 'it')"
    )
    bench.delimident = True
    bench.run('RENAME COLUMN t.a TO "A b"')
    trigger, table = trigger_of(bench, "tr"), bench.table("t")
    assert trigger.action == ("FOR EACH ROW (INSERT INTO log (x) SELECT n.\"A b\" FROM t WHERE 'a' <> 'it')")
    assert trigger_plan(trigger, table, bench.schema, bench.settings).each_row


def test_a_trigger_is_read_as_it_was_created(bench: Workbench) -> None:
    bench.delimident = True
    bench.run(
        'CREATE TRIGGER tr INSERT ON t REFERENCING NEW AS n FOR EACH ROW (INSERT INTO log ("x") VALUES (n."a"))'
    )
    bench.delimident = False
    trigger, table = trigger_of(bench, "tr"), bench.schema.table("t")
    assert table is not None
    (branch,) = trigger_plan(trigger, table, bench.schema, bench.settings).each_row
    (insert,) = (action.action for action in branch.actions)
    assert isinstance(insert, Change)
    assert render(insert.sql.tree) == 'INSERT INTO main."t101" ("x") VALUES (?4)'


def test_a_change_of_a_view_reads_the_values_of_its_rows() -> None:
    bench = Workbench(
        "CREATE TABLE t (a INTEGER, b INTEGER)",
        "CREATE VIEW v AS SELECT a, b FROM t",
        "CREATE TRIGGER i INSTEAD OF INSERT ON v FOR EACH ROW (DELETE FROM t)",
        "CREATE TRIGGER u INSTEAD OF UPDATE ON v FOR EACH ROW (DELETE FROM t)",
        "INSERT INTO t VALUES (1, 2)",
    )
    insert = bench.plan("INSERT INTO v (b) VALUES (?)")
    assert isinstance(insert.action, Change)
    assert insert.action.by_row is not None
    assert insert.action.by_row.search is not None
    assert render(insert.action.by_row.search.tree) == "SELECT NULL, NULL, NULL, ?1"
    assert [column.name for column in insert.columns] == ["b"]
    update = bench.plan("UPDATE v SET b = a + 5")
    assert update.type is StatementType.UPDATE_ALL
    assert isinstance(update.action, Change)
    assert update.action.by_row is not None
    assert update.action.by_row.search is not None
    assert bench.connection.execute(update.action.by_row.search.text).fetchall() == [(1, 2, 1, 6)]
    delete = bench.plan("DELETE FROM v").action  # without a trigger: of the table
    assert isinstance(delete, Change)
    assert (delete.verb, delete.table.name, delete.by_row) == (Verb.DELETE, "t", None)
