"""Scripts as the client cuts them: as the embedded server does, and what is not closed."""

from __future__ import annotations

from pathlib import Path

import pytest

from aioifx.client.sql.script import statements_of
from aioifx.errors import SQLSyntaxError
from aioifx.server.sql.syntax.parser import split_script

SCRIPTS = sorted(Path(__file__).parents[3].glob("tests/**/*.sql"))


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_client_and_embedded_server_cut_a_script_alike(path: Path) -> None:
    text = path.read_text("utf-8")
    found = statements_of(text)
    assert found == [*split_script(text)] and len(found) > 1
    assert all(text.startswith(sql, start) for sql, start in found)


def test_semicolons_in_strings_comments_and_routines_end_nothing() -> None:
    script = """DBDELIMITER='|'
        select 'a;''b' -- c;
        from t {d;};; /* e; */ CREATE OR REPLACE FUNCTION f() RETURNING INT; RETURN 1; END FUNCTION document 'x';
        create trigger g insert on t (delete from u)"""
    assert [sql.split()[0] for sql, _ in statements_of(script)] == ["select", "CREATE", "create"]


@pytest.mark.parametrize(
    ("script", "sqlcode", "offset"),
    [
        ("select 1; select 'a", -282, 18),
        ('select "', -282, 8),
        ("a; {b", -283, 4),
        ("a; /* b */ /*/", -943, 12),
    ],
)
def test_what_is_not_closed_is_refused(script: str, sqlcode: int, offset: int) -> None:
    with pytest.raises(SQLSyntaxError) as caught:
        statements_of(script)
    assert (caught.value.sqlcode, caught.value.offset) == (sqlcode, offset)
