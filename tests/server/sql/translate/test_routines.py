from __future__ import annotations

import pytest

from aioifx.server.engine.engine import Engine
from tests.server.talking import error_from, query, run, run_all

NAMES = "SELECT procname, numargs FROM sysprocedures ORDER BY procid"


def test_routines_of_one_name_differ_by_their_parameters(engine: Engine) -> None:
    run(engine, "CREATE FUNCTION f(a INT) RETURNING INT; RETURN 1; END FUNCTION")
    run(engine, "CREATE FUNCTION f(a CHAR(3)) RETURNING INT; RETURN 2; END FUNCTION")
    run(engine, "CREATE FUNCTION f(a INT, b INT) RETURNING INT; RETURN 3; END FUNCTION")
    assert query(engine, "SELECT f(1), f('x'), f(1, 2) FROM systables WHERE tabid = 1") == [(1, 2, 3)]
    assert error_from(engine, "DROP FUNCTION f").sqlcode == -9700
    run(engine, "DROP FUNCTION f(INT)")
    assert query(engine, NAMES) == [("f", 1), ("f", 2)]


def test_an_existing_routine_is_kept_replaced_or_refused(engine: Engine) -> None:
    text = "PROCEDURE p() RAISE EXCEPTION -746, 0, 'one'; END PROCEDURE"
    run(engine, f"CREATE {text}")
    error = error_from(engine, f"CREATE {text}")
    assert (error.sqlcode, error.token, error.offset) == (-673, "p", 18)
    run(engine, "CREATE PROCEDURE IF NOT EXISTS p() END PROCEDURE")
    assert error_from(engine, "EXECUTE PROCEDURE p()").token == "one"
    run_all(engine, "CREATE OR REPLACE PROCEDURE p() END PROCEDURE", "EXECUTE PROCEDURE p()")
    run_all(engine, "DROP ROUTINE p()", "DROP PROCEDURE IF EXISTS p")
    assert error_from(engine, "DROP PROCEDURE p").sqlcode == -674


def test_a_rollback_undoes_both(engine: Engine) -> None:
    run_all(engine, "CREATE PROCEDURE p() END PROCEDURE", "BEGIN WORK", "DROP PROCEDURE p")
    run(engine, "CREATE PROCEDURE q() END PROCEDURE")
    assert query(engine, NAMES) == [("q", 0)]
    run(engine, "ROLLBACK WORK")
    assert query(engine, NAMES) == [("p", 0)]
    run(engine, "EXECUTE PROCEDURE p()")


def test_a_specific_name_names_one_routine(engine: Engine) -> None:
    run(engine, "CREATE PROCEDURE p(a INT) SPECIFIC p_int END PROCEDURE")
    run(engine, "CREATE PROCEDURE p(a DATE) SPECIFIC p_date END PROCEDURE")
    run(engine, "DROP SPECIFIC PROCEDURE p_int")
    assert query(engine, "SELECT specificname FROM sysprocedures") == [("p_date",)]


@pytest.mark.parametrize(
    ("text", "sqlcode", "place"),
    [
        ("CREATE PROCEDURE p(a INT, a INT) END PROCEDURE", -669, "a INT) "),
        ("CREATE PROCEDURE p(OUT a INT) END PROCEDURE", -999, "OUT"),
        ("CREATE PROCEDURE p() LET x = 1; END PROCEDURE", -667, "x"),
        ("CREATE PROCEDURE p() DEFINE x INT; LET x = y; END PROCEDURE", -667, "y"),
        ("CREATE PROCEDURE p() DEFINE x INT; DEFINE x DATE; END PROCEDURE", -669, "x DATE"),
        ("CREATE FUNCTION f() RETURNING INT, INT; RETURN 1; END FUNCTION", -655, "RETURN 1"),
        ("CREATE PROCEDURE p() DEFINE x LIKE t.k; END PROCEDURE", -206, "t.k"),
        ("CREATE PROCEDURE p() DEFINE i INT; FOR i = 1 TO 2 LET i = 3; END FOR; END PROCEDURE", -660, "i = 3"),
        ("CREATE PROCEDURE p() DEFINE x DATE; FOR x = 1 TO 2 END FOR; END PROCEDURE", -666, "x = 1"),
        ("CREATE PROCEDURE p() DEFINE x SERIAL; END PROCEDURE", -670, "SERIAL"),
        ("CREATE PROCEDURE p(x BIGSERIAL) END PROCEDURE", -670, "BIGSERIAL"),
        ("CREATE PROCEDURE p() DEFINE GLOBAL x DATE; END PROCEDURE", -658, "x DATE"),
        ("CREATE PROCEDURE p() EXIT FOR; END PROCEDURE", -201, "EXIT"),
        ("CREATE PROCEDURE p() DEFINE r ROW(a INT); LET r.a = 1; END PROCEDURE", -999, "r.a"),
    ],
)  # fmt: skip
def test_a_body_is_checked_when_it_is_created(engine: Engine, text: str, sqlcode: int, place: str) -> None:
    error = error_from(engine, text)
    assert (error.sqlcode, error.offset) == (sqlcode, text.index(place) + 1)
