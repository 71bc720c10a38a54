from __future__ import annotations

from types import SimpleNamespace
from typing import Any

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
