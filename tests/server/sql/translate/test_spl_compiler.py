from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, reject

from aioifx.server.catalog import catalog
from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.settings import Settings
from aioifx.server.sql.model.spl import SplRoutine
from aioifx.server.sql.model.type_rules import INTEGER
from aioifx.server.sql.translate.spl_compiler import compiled
from aioifx.server.sql.translate.spl_program import Program
from tests.server.sql.translate.spl_model import Body, Run, TooLong, bodies, program_of


def program(body: str) -> Program:
    text = f"CREATE FUNCTION f() RETURNING INT; {body} END FUNCTION"
    routine = SplRoutine(500, "f", "ann", False, (), (("", INTEGER),), text)
    return compiled(routine, catalog.empty_schema(), Settings())


def test_plain_statements_need_no_sql() -> None:
    made = program("DEFINE i, n INT; LET n = 0; FOR i = 1 TO 5 LET n = n + i; END FOR; RETURN n;")
    assert made.embedded == [] and not made.is_iterator


def test_names_and_texts_of_a_user_are_never_source() -> None:
    made = program("DEFINE evil INT; DEFINE s CHAR(20); LET s = ''')+evil('; LET evil = 1; RETURN evil;")
    assert "evil" not in made.source.replace(repr("')+evil("), "")


def test_what_reads_tables_is_left_to_sqlite() -> None:
    made = program(
        "DEFINE i INT; LET i = (SELECT 1 FROM t); IF EXISTS (SELECT 1 FROM t) THEN RETURN i; END IF;"
    )
    assert len(made.embedded) == 2


def test_a_routine_with_resume_generates_rows() -> None:
    assert program("RETURN 1 WITH RESUME; RETURN 2;").is_iterator


def run(made: Program) -> tuple[list[tuple[int]], int]:
    """The rows of a program without SQL, and the SQLCODE that it ends with."""
    host: Any = SimpleNamespace(check=lambda: None, sqlcode=0)
    rows: list[tuple[int]] = []
    try:
        result = made.function(host)
        if made.is_iterator:
            rows.extend(result)
        elif result is not None:
            rows.append(result)
    except SqlError as error:
        return rows, error.sqlcode
    return rows, 0


@given(bodies())
def test_programs_do_what_the_manual_says(body: Body) -> None:
    try:
        expected = Run(body)
    except TooLong:
        reject()
    made = program(f"DEFINE a, b INT; LET a, b = 0, 0; {program_of(body)}")
    assert run(made) == (expected.rows, expected.code), made.source


HANDLER = "ON EXCEPTION LET n = n + 100; END EXCEPTION WITH RESUME;"
FAIL = "LET n = n / 0;"


@pytest.mark.parametrize(
    ("handlers", "body", "result"),
    [
        # One handler: it goes on after the statement that failed, in loops and IF, too.
        (HANDLER, f"{FAIL} LET n = n + 1;", 101),
        (HANDLER, f"FOR i = 1 TO 3 LET n = n + 1; {FAIL} LET n = n + 10; END FOR; LET n = n + 1000;", 1333),
        (HANDLER, f"WHILE i < 3 LET i = i + 1; {FAIL} LET n = n + 10; END WHILE; LET n = n + 1000;", 1330),
        (HANDLER, f"LOOP LET i = i + 1; {FAIL} EXIT WHEN i = 2; LET n = n + 1; END LOOP; LET n = n + 1000;", 1201),
        (HANDLER, f"FOR i = 1 TO 2 FOR j = 1 TO 2 {FAIL} LET n = n + 1; END FOR; LET n = n + 10; END FOR;", 424),
        (HANDLER, f"IF 1 = 1 THEN {FAIL} LET n = n + 1; END IF; LET n = n + 1000;", 1101),
        (HANDLER, f"IF 1 = 2 THEN LET n = 5; ELSE {FAIL} LET n = n + 1; END IF; LET n = n + 1000;", 1101),
        (HANDLER, f"CASE 1 WHEN 1 THEN {FAIL} LET n = n + 1; END CASE; LET n = n + 1000;", 1101),
        # What fails is the condition or the bounds: the whole statement is left.
        (HANDLER, "IF 1 / n = 1 THEN LET n = n + 1; ELSE LET n = n + 2; END IF; LET n = n + 1000;", 1100),
        (HANDLER, "CASE 5 WHEN 1 THEN LET n = 1; END CASE; LET n = n + 1000;", 1100),
        (HANDLER, "FOR i = 1 / n TO 3 LET n = n + 1; END FOR; LET n = n + 1000;", 1100),
        (HANDLER, "WHILE 6 / (3 - i) < 100 LET i = i + 1; LET n = n + 1; END WHILE; LET n = n + 1000;", 1103),
        # BEGIN .. END is one statement of the block around it.
        (HANDLER, f"BEGIN {FAIL} LET n = n + 1; END LET n = n + 1000;", 1100),
        (HANDLER, f"BEGIN BEGIN {FAIL} LET n = n + 1; END LET n = n + 2; END LET n = n + 1000;", 1100),
        (HANDLER, f"BEGIN FOR i = 1 TO 3 {FAIL} END FOR; LET n = n + 2; END LET n = n + 1000;", 1100),
        (HANDLER, f"FOR i = 1 TO 3 BEGIN {FAIL} LET n = n + 1; END LET n = n + 10; END FOR;", 330),
        (HANDLER, f"BEGIN ON EXCEPTION IN (-5) END EXCEPTION; {FAIL} LET n = n + 1; END LET n = n + 1000;", 1100),
        # The inner block has a handler for the error.
        (HANDLER, f"BEGIN ON EXCEPTION LET n = n + 7; END EXCEPTION; {FAIL} LET n = n + 1; END LET n = n + 1000;",
         1007),
        (HANDLER, f"BEGIN ON EXCEPTION LET n = n + 7; END EXCEPTION WITH RESUME; {FAIL} LET n = n + 1; END"
         " LET n = n + 1000;", 1008),
        (HANDLER, f"FOR i = 1 TO 3 BEGIN ON EXCEPTION IN (-746) LET n = n + 5; END EXCEPTION; IF i = 2 THEN"
         f" RAISE EXCEPTION -746; END IF; {FAIL} LET n = n + 1; END LET n = n + 10; END FOR;", 235),
        # Without RESUME, in a loop: the next iteration (documented).
        ("", f"FOR i = 1 TO 3 ON EXCEPTION LET n = n + 7; END EXCEPTION; LET n = n + 1; {FAIL} LET n = n + 50;"
         " END FOR;", 24),
        # The handler fails: the handlers of the blocks around it, which go on after its block.
        (HANDLER, f"BEGIN ON EXCEPTION LET n = n + 7; {FAIL} LET n = n + 5; END EXCEPTION WITH RESUME; {FAIL}"
         " LET n = n + 1; END LET n = n + 1000;", 1107),
        (HANDLER, f"BEGIN ON EXCEPTION LET n = n + 7; RAISE EXCEPTION -746; LET n = n + 5; END EXCEPTION; {FAIL} END"
         " LET n = n + 1000;", 1107),
        ("ON EXCEPTION IN (-746) LET n = n + 3; END EXCEPTION WITH RESUME;",
         f"BEGIN ON EXCEPTION IN (-1202) RAISE EXCEPTION -746; END EXCEPTION WITH RESUME; {FAIL} LET n = n + 1; END"
         " LET n = n + 1000;", 1003),
        # A handler in a handler.
        (f"ON EXCEPTION LET n = n + 100; BEGIN {HANDLER} {FAIL} LET n = n + 3; END END EXCEPTION WITH RESUME;",
         f"{FAIL} LET n = n + 1;", 204),
        (f"ON EXCEPTION LET n = n + 100; BEGIN ON EXCEPTION LET n = n + 50; END EXCEPTION; {FAIL} LET n = n + 3; END"
         " LET n = n + 4; END EXCEPTION WITH RESUME;", f"{FAIL} LET n = n + 1;", 155),
        # The way out of nested loops (documented: RAISE EXCEPTION to exit nested code).
        ("ON EXCEPTION IN (1) END EXCEPTION WITH RESUME;",
         "BEGIN FOR i IN (1 TO 9) FOR j = 1 TO 9 IF j = 5 THEN RAISE EXCEPTION 1; END IF; END FOR; END FOR; RETURN 1;"
         " END LET n = -10;", -10),
    ],
)  # fmt: skip
def test_where_a_handler_continues(handlers: str, body: str, result: int) -> None:
    made = program(f"DEFINE n, i, j INT; {handlers} LET n, i, j = 0, 0, 0; {body} RETURN n;")
    assert run(made) == ([(result,)], 0), made.source


def test_a_handler_does_not_take_its_own_errors() -> None:
    handler = "ON EXCEPTION RAISE EXCEPTION -746; END EXCEPTION WITH RESUME;"
    assert run(program(f"DEFINE n INT; {handler} LET n = 1 / 0; RETURN n;")) == ([], -746)
