"""Changes of collection variables in a session."""

from __future__ import annotations

import pytest

from aioifx.server.engine.engine import Engine
from tests.server.talking import error_from, query, run

NUMBERS = "DEFINE s LIST(INT NOT NULL); DEFINE n INT; LET s = LIST{1, 2, 3, 2};"
LOOP = "FOREACH c FOR SELECT * INTO n FROM TABLE(s)"


def created(engine: Engine, body: str) -> None:
    run(engine, f"CREATE FUNCTION f() RETURNING LVARCHAR; {body} RETURN s; END FUNCTION")


@pytest.mark.parametrize(
    ("body", "result"),
    [
        (
            "DEFINE s SET(INT NOT NULL); INSERT INTO TABLE(s) VALUES (1 + 1); INSERT INTO TABLE(s) VALUES (2);",
            "SET{2}",
        ),
        (f"{NUMBERS} INSERT AT 2 INTO TABLE(s) VALUES (9);", "LIST{1,9,2,3,2}"),
        (f"{NUMBERS} UPDATE TABLE(s)(x) SET x = 7;", "LIST{7,7,7,7}"),
        (f"{NUMBERS} DELETE FROM TABLE(s);", "LIST{}"),
        (
            f"{NUMBERS} {LOOP} IF n = 2 THEN DELETE FROM TABLE(s) WHERE CURRENT OF c;"
            " ELSE UPDATE TABLE(s)(x) SET x = n * 10 WHERE CURRENT OF c; END IF; END FOREACH;",
            "LIST{10,30}",
        ),
        (
            "DEFINE s SET(INT NOT NULL); DEFINE n INT; LET s = SET{1, 8, 4, 5};"
            f" {LOOP} IF n = 4 THEN DELETE FROM TABLE(s) WHERE CURRENT OF c; EXIT FOREACH; END IF; END FOREACH;",
            "SET{1,8,5}",
        ),
        (
            f"{NUMBERS} {LOOP} INSERT AT 1 INTO TABLE(s) VALUES (n); IF n <> 3 THEN"
            " UPDATE TABLE(s)(x) SET x = n * 10 WHERE CURRENT OF c; END IF; END FOREACH;",
            "LIST{2,3,2,1,10,20,3,20}",
        ),
        (
            f"DEFINE m INT; {NUMBERS} {LOOP} IF n = 1 THEN FOREACH d FOR SELECT * INTO m FROM TABLE(s)"
            " IF m = 2 THEN DELETE FROM TABLE(s) WHERE CURRENT OF d; END IF; END FOREACH; END IF;"
            " IF n <> 2 THEN UPDATE TABLE(s)(x) SET x = n * 10 WHERE CURRENT OF c; END IF; END FOREACH;",
            "LIST{10,30}",
        ),
    ],
)
def test_elements_are_changed(engine: Engine, body: str, result: str) -> None:
    created(engine, body)
    assert query(engine, "EXECUTE FUNCTION f()") == [(result,)]


@pytest.mark.parametrize(
    ("body", "sqlcode", "token"),
    [
        ("DEFINE s INT; DELETE FROM TABLE(s);", -999, "TABLE(VARIABLE)"),
        ("DEFINE s ROW(a INT); DELETE FROM TABLE(s);", -999, "TABLE(VARIABLE)"),
        ("DEFINE s INT; DELETE FROM TABLE(t);", -667, "t"),
        (f"{NUMBERS} DELETE FROM TABLE(s) WHERE CURRENT OF c;", -507, "c"),
        (
            f"{NUMBERS} {LOOP} BEGIN DEFINE s LIST(INT NOT NULL); DELETE FROM TABLE(s) WHERE CURRENT OF c; END"
            " END FOREACH;",
            -507,
            "c",
        ),
        (f"{NUMBERS} {LOOP} END FOREACH; DELETE FROM TABLE(s) WHERE CURRENT OF c;", -507, "c"),
        (
            f"{NUMBERS} {LOOP} WHERE n > 1 DELETE FROM TABLE(s) WHERE CURRENT OF c; END FOREACH;",
            -999,
            "TABLE(VARIABLE)",
        ),
        (
            f"{NUMBERS} FOREACH c FOR SELECT MAX(x) INTO n FROM TABLE(s) AS t(x)"
            " DELETE FROM TABLE(s) WHERE CURRENT OF c; END FOREACH;",
            -999,
            "TABLE(VARIABLE)",
        ),
    ],
)
def test_what_cannot_be_changed_is_refused_at_the_creation(
    engine: Engine, body: str, sqlcode: int, token: str
) -> None:
    error = error_from(engine, f"CREATE PROCEDURE p() {body} END PROCEDURE")
    assert (error.sqlcode, error.token) == (sqlcode, token)


@pytest.mark.parametrize(
    ("body", "sqlcode"),
    [
        ("DEFINE s SET(INT NOT NULL); DELETE FROM TABLE(s);", -696),
        (f"{NUMBERS} INSERT INTO TABLE(s) VALUES (NULL);", -9978),
        (f"{NUMBERS} {LOOP} {'DELETE FROM TABLE(s) WHERE CURRENT OF c;' * 2} END FOREACH;", -266),
    ],
)
def test_errors_of_elements(engine: Engine, body: str, sqlcode: int) -> None:
    created(engine, body)
    assert error_from(engine, "EXECUTE FUNCTION f()").sqlcode == sqlcode
