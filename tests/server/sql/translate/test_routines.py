from __future__ import annotations

import pytest

from aioifx.server.catalog import catalog
from aioifx.server.engine.engine import Engine
from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.plan import CallRoutine, DropRoutine, Nothing
from aioifx.server.sql.model.spl import Routine
from aioifx.server.sql.syntax.parser import parse
from aioifx.server.sql.translate.translate import translate
from aioifx.server.sqlite.routine_calls import register_calls
from aioifx.wire.opcodes import StatementType
from tests.server.sql.workbench import Workbench
from tests.server.talking import error_from, query, run

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
    run(engine, "CREATE OR REPLACE PROCEDURE p() END PROCEDURE")
    run(engine, "EXECUTE PROCEDURE p()")
    run(engine, "DROP ROUTINE p()")
    run(engine, "DROP PROCEDURE IF EXISTS p")
    assert error_from(engine, "DROP PROCEDURE p").sqlcode == -674


@pytest.mark.parametrize("kind", ["PROCEDURE", "FUNCTION"])
def test_drop_procedure_takes_a_routine_with_results_too(engine: Engine, kind: str) -> None:
    run(engine, f"CREATE {kind} p() RETURNING INT; RETURN 1; END {kind}")
    run(engine, "DROP PROCEDURE p")
    assert query(engine, NAMES) == []
    run(engine, "CREATE PROCEDURE p() END PROCEDURE")
    assert error_from(engine, "DROP FUNCTION p").sqlcode == -674


def test_a_rollback_undoes_both(engine: Engine) -> None:
    run(engine, "CREATE PROCEDURE p() END PROCEDURE")
    run(engine, "BEGIN WORK")
    run(engine, "DROP PROCEDURE p")
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
        ("CREATE PROCEDURE p(OUT a INT DEFAULT 1) END PROCEDURE", -201, "OUT"),
        ("CREATE PROCEDURE p() LET x = 1; END PROCEDURE", -667, "x"),
        ("CREATE PROCEDURE p() DEFINE x INT; LET x = y; END PROCEDURE", -667, "y"),
        ("CREATE PROCEDURE p() DEFINE x INT; DEFINE x DATE; END PROCEDURE", -669, "x DATE"),
        ("CREATE FUNCTION f() RETURNING INT, INT; RETURN 1; END FUNCTION", -655, "RETURN 1"),
        ("CREATE PROCEDURE p() DEFINE x LIKE t.k; END PROCEDURE", -206, "t.k"),
        (
            "CREATE PROCEDURE p() DEFINE i INT; FOR i = 1 TO 2 LET i = 3; END FOR; END PROCEDURE",
            -660,
            "i = 3",
        ),
        ("CREATE PROCEDURE p() DEFINE x DATE; FOR x = 1 TO 2 END FOR; END PROCEDURE", -666, "x = 1"),
        ("CREATE PROCEDURE p() DEFINE x SERIAL; END PROCEDURE", -670, "SERIAL"),
        ("CREATE PROCEDURE p(x BIGSERIAL) END PROCEDURE", -670, "BIGSERIAL"),
        ("CREATE PROCEDURE p() DEFINE GLOBAL x DATE; END PROCEDURE", -658, "x DATE"),
        ("CREATE PROCEDURE p() EXIT FOR; END PROCEDURE", -201, "EXIT"),
    ],
)
def test_a_body_is_checked_when_it_is_created(engine: Engine, text: str, sqlcode: int, place: str) -> None:
    error = error_from(engine, text)
    assert (error.sqlcode, error.offset) == (sqlcode, text.index(place) + 1)


@pytest.fixture
def bench() -> Workbench:
    """Two routines: ``price(item, n)`` gives two values, ``note(text)`` none; and ``half(n)`` for expressions."""
    bench = Workbench("CREATE TABLE t (k INTEGER)", "INSERT INTO t VALUES (7)", "INSERT INTO t VALUES (8)")
    for routine in (
        Routine("price", [("item", "VARCHAR(20)"), ("n", "INT")], ["DECIMAL(8,2)", "DATE"], print),
        Routine("note", [("text", "LVARCHAR")], [], print),
        Routine("half", [("n", "DECIMAL(8,2)")], ["DECIMAL(8,2)"], lambda n: None if n is None else n / 2),
    ):
        bench.settings.routines.add(routine)
    register_calls(bench.connection, bench.settings, bench._errors.append)
    return bench


def test_results_are_described_without_names_and_parameters_by_those_of_the_routine(bench: Workbench) -> None:
    plan = bench.plan("EXECUTE FUNCTION price(?, ?)")
    assert plan.type is StatementType.EXECUTE_ROUTINE
    assert plan.type.value == 56
    assert plan.returns_rows
    assert [(column.name, str(column.type)) for column in plan.columns] == [
        ("(expression)", "DECIMAL(8,2)"),
        ("(expression)", "DATE"),
    ]
    assert [str(parameter.type) for parameter in plan.parameters] == ["VARCHAR(20)", "INTEGER"]


def test_a_procedure_has_no_rows(bench: Workbench) -> None:
    plan = bench.plan("EXECUTE PROCEDURE note('x')")
    assert (plan.returns_rows, plan.columns) == (False, ())


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("EXECUTE PROCEDURE price('pen', 2)", ("pen", 2)),
        ("EXECUTE PROCEDURE ann.price(n = '2', item = 5)", ("5", 2)),
        ("EXECUTE FUNCTION price((SELECT MAX(k) FROM t), NULL)", ("8", None)),
        ("EXECUTE FUNCTION stores:price('a' || 'b', 2 + 1)", ("ab", 3)),
    ],
)
def test_arguments_are_expressions_converted_to_the_parameters_types(
    bench: Workbench, text: str, arguments: tuple[object, ...]
) -> None:
    action = bench.plan(text).action
    assert isinstance(action, CallRoutine)
    assert action.arguments is not None
    assert bench.connection.execute(action.arguments.text).fetchone() == arguments


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("EXECUTE PROCEDURE nope('x')", (-674, "nope", 19)),
        ("EXECUTE PROCEDURE price('pen')", (-674, "price", 19)),
        ("EXECUTE PROCEDURE price('pen', 1, 2)", (-674, "price", 19)),
        ("EXECUTE PROCEDURE price(item = 'pen', m = 1)", (-674, "price", 19)),
        ("EXECUTE PROCEDURE price(item = 'pen', item = 'cup')", (-674, "price", 19)),
        ("EXECUTE PROCEDURE price(item = 'pen', 1)", (-201, "", 39)),
        ("EXECUTE FUNCTION note('x')", (-674, "note", 18)),
        ("EXECUTE FUNCTION nowhere:half(1)", (-329, "nowhere", 18)),
        ("CALL note('x')", (-201, "", 1)),
        ("DROP PROCEDURE nope", (-674, "nope", 16)),
        ("SELECT half() FROM t", (-674, "half", 8)),
        ("SELECT note('x') FROM t", (-674, "note", 8)),
        ("SELECT price('x', 1) FROM t", (-999, "price", 8)),
    ],
)
def test_arguments_that_do_not_fit_a_routine_are_an_error(
    bench: Workbench, text: str, error: tuple[int, str, int]
) -> None:
    assert bench.error(text) == error


def test_a_function_with_one_result_is_an_expression_of_its_type(bench: Workbench) -> None:
    assert bench.described("SELECT half(k) FROM t") == [("(expression)", "DECIMAL(8,2)")]
    rows = bench.rows("SELECT half(k) h, half(NULL) n FROM t WHERE half(k) < ? ORDER BY half(k) DESC", 4)
    assert [[str(value) for value in row] for row in rows] == [["3.50", "None"]]


def test_no_routine_is_found_without_a_database(bench: Workbench) -> None:
    with pytest.raises(SqlError) as caught:
        translate(parse("EXECUTE PROCEDURE note('x')"), catalog.empty_schema(), bench.settings)
    assert caught.value.sqlcode == -349


def test_dropping_forgets_a_routine_or_does_nothing_if_exists(bench: Workbench) -> None:
    for kind in ("PROCEDURE", "FUNCTION", "ROUTINE"):
        assert bench.plan(f"DROP {kind} note").action == DropRoutine("note")
    assert bench.plan("DROP PROCEDURE IF EXISTS nope").action == Nothing()
