from __future__ import annotations

import pytest

from aioifx.server.sql.errors import SqlError
from tests.server.sql.translate.test_spl_compiler import program


def test_only_a_routine_with_dynamic_sql_keeps_its_cursors() -> None:
    assert "_dynamic" not in program("EXECUTE IMMEDIATE 'DELETE FROM t'; RETURN 1;").source
    source = program("PREPARE s FROM 'SELECT a FROM t'; RETURN 1;").source
    assert "_dynamic.prepare('s', " in source and "_dynamic.end()" in source


@pytest.mark.parametrize(
    ("body", "sqlcode", "token"),
    [
        ("DEFINE s INT; PREPARE s FROM 'SELECT a FROM t';", -26057, "s"),
        ("DEFINE c INT; DECLARE c CURSOR FOR s;", -26057, "c"),
        ("OPEN c USING n;", -667, "n"),
        ("FETCH c INTO n;", -667, "n"),
        ("DEFINE i INT; FOR i = 1 TO 2 FETCH c INTO i; END FOR;", -660, "i"),
    ],
)
def test_names_are_checked_when_the_routine_is_created(body: str, sqlcode: int, token: str) -> None:
    with pytest.raises(SqlError) as caught:
        program(f"{body} RETURN 1;")
    assert (caught.value.sqlcode, caught.value.token) == (sqlcode, token)
