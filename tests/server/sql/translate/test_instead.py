from __future__ import annotations

from aioifx.server.sql.model.plan import Change, Verb
from aioifx.server.sql.sqlite.render import render
from aioifx.wire.opcodes import StatementType
from tests.server.sql.workbench import Workbench


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
