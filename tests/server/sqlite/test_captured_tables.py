from __future__ import annotations

from pathlib import Path

from aioifx.server.sqlite.captured_tables import CapturedTables


def test_tables_are_kept_for_the_next_server(tmp_path: Path) -> None:
    path = tmp_path / "changes" / "tables.json"
    tables = CapturedTables(path)
    assert tables.of("stores") == frozenset()
    for tabid in (100, 101):
        tables.set("stores", tabid, "a INTEGER", 7, is_on=True)
    tables.set("other", 100, "a INTEGER", 7, is_on=True)
    tables.set("other", 100, "a INTEGER", 8, is_on=False)
    tables.set("third", 100, "a INTEGER", 8, is_on=True)
    tables.forget("third")
    assert [file.name for file in path.parent.iterdir()] == ["tables.json"]
    again = CapturedTables(path)
    assert again.of("stores") == tables.of("stores") == {100, 101}
    assert again.of("other") == tables.of("other") == again.of("third") == frozenset()


def test_rows_of_another_form_are_before_the_first_position(tmp_path: Path) -> None:
    tables = CapturedTables(tmp_path / "tables.json")
    found = list[int]()
    for end, form in enumerate(("a INTEGER", "a INTEGER", "b INTEGER", "a INTEGER")):
        tables.set("stores", 100, form, end, is_on=True)
        found.append(tables.first("stores", 100))
        tables.set("stores", 100, form, end, is_on=False)
    assert found == [0, 0, 2, 3]
