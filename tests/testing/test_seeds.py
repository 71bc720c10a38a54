from __future__ import annotations

from pathlib import Path

import pytest

import aioifx
from aioifx.errors import DatabaseError, InterfaceError
from aioifx.testing.seeds import Seed, run_seed, seed_of


def test_a_seed_is_sql_or_a_script(tmp_path: Path) -> None:
    (tmp_path / "a.sql").write_text("\ufeffSELECT 'ż'", "utf-8")
    elsewhere = Path(__file__).with_name("no.sql")
    assert seed_of("SELECT 1", tmp_path, "x") == Seed("SELECT 1", "x")
    assert seed_of("a.sql", tmp_path, "x") == Seed("SELECT 'ż'", "a.sql")
    assert seed_of(tmp_path / "a.sql", tmp_path, "x") == Seed("SELECT 'ż'", "a.sql")
    for value, message in (
        (3, "x: expected SQL or the path of a script, got int"),
        ("b.sql", "x: b.sql cannot be read: No such file or directory"),
        (elsewhere, f"x: {elsewhere.as_posix()} cannot be read: No such file or directory"),
    ):
        with pytest.raises(InterfaceError) as raised:
            seed_of(value, tmp_path, "x")
        assert str(raised.value) == message


async def test_a_client_runs_a_seed_and_names_the_statement_that_fails(dsn: str) -> None:
    async with aioifx.connect(dsn) as conn:
        await run_seed(conn, Seed("CREATE TABLE t (a INT); -- ;\nINSERT INTO t VALUES (1);", "a.sql"))
        assert await conn.fetchval("SELECT a FROM t") == 1
        for script, place in (
            ("DELETE FROM t;\n\nSELECT b\nFROM t", "statement 2 of the seed, line 3 of a.sql: "),
            ("DELETE FROM t;\n'", "statement 2 of the seed, line 2 of a.sql: "),
        ):
            with pytest.raises(DatabaseError) as raised:
                await run_seed(conn, Seed(script, "a.sql"))
            assert str(raised.value).startswith(place)
            assert len(raised.value.__notes__) == 1
