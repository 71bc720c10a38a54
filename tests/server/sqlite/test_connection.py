from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.settings import Settings
from aioifx.server.sqlite.connection import connect


def test_translated_sql_finds_its_functions_and_the_settings(tmp_path: Path) -> None:
    settings = Settings(user="anna")
    with closing(connect(tmp_path / "a.sqlite", settings, lambda error: None)) as connection:
        assert connection.execute("SELECT ifx_user()").fetchone() == ("anna",)
        settings.user = "bert"
        assert connection.execute("SELECT ifx_user()").fetchone() == ("bert",)
        assert connection.execute("SELECT '10' < '9' COLLATE ifx_decimal").fetchone() == (0,)


def test_the_exception_of_a_function_is_kept(tmp_path: Path) -> None:
    errors: list[SqlError] = []
    with closing(connect(tmp_path / "a.sqlite", Settings(), errors.append)) as connection:
        for text, sqlcode in (
            ("SELECT ifx_div(1, 0, 131076)", -1202),
            ("SELECT ifx_required(NULL, 'c', -391)", -391),
        ):
            with pytest.raises(sqlite3.OperationalError):
                connection.execute(text)
            assert errors.pop().sqlcode == sqlcode


def test_references_are_enforced(tmp_path: Path) -> None:
    with closing(connect(tmp_path / "a.sqlite", Settings(), lambda error: None)) as connection:
        assert connection.execute("PRAGMA foreign_keys").fetchone() == (1,)
        assert connection.execute("PRAGMA synchronous").fetchone() == (0,)


def test_what_is_sorted_beyond_its_memory_is_in_a_file(tmp_path: Path) -> None:
    with closing(connect(tmp_path / "a.sqlite", Settings(), lambda error: None, 1024 * 1024)) as connection:
        assert connection.execute("PRAGMA temp_store").fetchone() == (1,)
        assert connection.execute("PRAGMA cache_size").fetchone() == (-1024,)
        connection.execute("CREATE TEMP TABLE t (a, b)")
        rows = [(number * 7919 % 10007, "x" * 300) for number in range(10007)]
        connection.executemany("INSERT INTO t VALUES (?, ?)", rows)
        assert connection.execute("SELECT a, b FROM t ORDER BY b, a").fetchall() == sorted(rows)
