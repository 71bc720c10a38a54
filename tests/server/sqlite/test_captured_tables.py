from __future__ import annotations

from pathlib import Path

from aioifx.server.sqlite.captured_tables import CapturedTables


def test_tables_are_kept_for_the_next_server(tmp_path: Path) -> None:
    path = tmp_path / "changes" / "tables.json"
    tables = CapturedTables(path)
    assert tables.of("stores") == frozenset()
    tables.set("stores", frozenset({101, 100}))
    tables.set("other", frozenset({100}))
    tables.set("other", frozenset())
    assert [file.name for file in path.parent.iterdir()] == ["tables.json"]
    again = CapturedTables(path)
    assert again.of("stores") == tables.of("stores") == {100, 101}
    assert again.of("other") == tables.of("other") == frozenset()
