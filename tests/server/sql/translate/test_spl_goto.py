from __future__ import annotations

import pytest

from aioifx.server.engine.engine import Engine
from aioifx.server.sql.errors import SqlError
from aioifx.sqltypes import Row
from tests.server.sql.translate.test_spl_compiler import program
from tests.server.talking import error_from, query, run

ZERO = "DEFINE i, j, n INT; LET i, j, n = 0, 0, 0;"


@pytest.mark.parametrize(
    ("body", "rows"),
    [
        ("<<back>> LET i = i + 1; IF i < 5 THEN GOTO back; END IF; RETURN i;", [(5,)]),
        ("GOTO fin; LET i = 5; <<fin>> RETURN i;", [(0,)]),
        ("<<again>> LET j = j + 1; FOR i = 1 TO 5 LET n = n + 1; IF i = 3 AND j < 3 THEN GOTO again; END IF;"
         " END FOR; RETURN n;", [(11,)]),
        ("FOR i = 1 TO 5 IF i = 3 THEN GOTO skip; END IF; LET n = n + i; <<skip>> LET n = n * 10; END FOR;"
         " RETURN n;", [(120450,)]),
        ("FOR i = 1 TO 5 IF i = 3 THEN GOTO skip; END IF; IF i = 4 THEN EXIT FOR; END IF; LET n = n + i;"
         " CONTINUE FOR; <<skip>> LET n = n * 10; END FOR; RETURN n;", [(30,)]),
        ("FOR i = 1 TO 5 IF i = 3 THEN GOTO skip; END IF; EXIT WHEN i = 4; LET n = n + i; <<skip>> CONTINUE;"
         " END FOR; RETURN n;", [(3,)]),
        ("FOREACH SELECT tabid INTO i FROM systables WHERE tabid < 6 IF i = 3 THEN GOTO done; END IF; LET n = n + i;"
         " END FOREACH; <<done>> RETURN n;", [(3,)]),
        ("<<r>> FOR i = 1 TO 2 LET n = n + 1; END FOR; IF n < 7 THEN GOTO r; END IF; RETURN n;", [(8,)]),
        ("BEGIN ON EXCEPTION LET n = n + 10; END EXCEPTION WITH RESUME; <<r>> LET n = n + 1; LET n = 1 / 0;"
         " IF n < 30 THEN GOTO r; END IF; END RETURN n;", [(33,)]),
        ("<<r>> LET n = n + 1; BEGIN ON EXCEPTION LET n = n + 10; END EXCEPTION; IF n < 30 THEN LET n = n / 0; END IF;"
         " IF n < 34 THEN GOTO r; END IF; END IF n < 40 THEN GOTO r; END IF; RETURN n;", [(40,)]),
        ("<<top>> LET i = i + 1; RETURN i WITH RESUME; IF i < 3 THEN GOTO top; END IF;", [(1,), (2,), (3,)]),
        ("<<a>> LET n = n + 1; <<b>> LET n = n + 10; IF n < 12 THEN GOTO a; ELIF n < 40 THEN GOTO b; END IF;"
         " RETURN n;", [(42,)]),
        ("<<a>> LET i = i + 1; LET j = 0; BEGIN <<b>> LET j = j + 1; LET n = n + 1; IF j < 3 THEN GOTO b; END IF;"
         " IF i < 2 THEN GOTO a; END IF; END RETURN n;", [(6,)]),
    ],
)  # fmt: skip
def test_jumps(engine: Engine, body: str, rows: list[Row]) -> None:
    run(engine, f"CREATE FUNCTION f() RETURNING INT; {ZERO} {body} END FUNCTION")
    assert query(engine, "EXECUTE FUNCTION f()") == rows


def test_what_a_jump_has_left_out_has_no_value(engine: Engine) -> None:
    run(
        engine,
        "CREATE FUNCTION f() RETURNING INT; DEFINE i INT; GOTO x; LET i = 1; <<x>> RETURN i; END FUNCTION",
    )
    assert error_from(engine, "EXECUTE FUNCTION f()").sqlcode == -696


@pytest.mark.parametrize(
    ("body", "sqlcode", "token", "place"),
    [
        ("GOTO nowhere;", -26027, "nowhere", "GOTO"),
        ("<<a>> LET i = 1; <<a>> LET i = 2;", -26028, "a", "<<a>> LET i = 2"),
        ("<<a>> FOR i = 1 TO 2 <<a>> LET i = 2; END FOR;", -26028, "a", "<<a>> LET"),
        ("ON EXCEPTION GOTO a; END EXCEPTION; <<a>> LET i = 1;", -26029, "", "GOTO"),
        ("ON EXCEPTION <<a>> LET i = 1; END EXCEPTION;", -26029, "", "<<a>>"),
        ("GOTO a; BEGIN <<a>> LET i = 1; END", -999, "GOTO INTO A BLOCK", "<<a>>"),
        ("IF i = 1 THEN GOTO a; ELSE <<a>> LET i = 1; END IF;", -999, "GOTO INTO A BLOCK", "<<a>>"),
    ],
)
def test_what_is_refused(body: str, sqlcode: int, token: str, place: str) -> None:
    text = f"DEFINE i INT; {body} RETURN 1;"
    with pytest.raises(SqlError) as caught:
        program(text)
    start = len("CREATE FUNCTION f() RETURNING INT; ")
    assert (caught.value.sqlcode, caught.value.token) == (sqlcode, token)
    assert caught.value.offset == start + text.index(place) + 1


def test_labels_without_a_jump_cost_nothing() -> None:
    assert "while" not in program("<<a>> RETURN 1;").source
