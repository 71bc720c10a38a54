from __future__ import annotations

import pytest

from aioifx.server.catalog import catalog
from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.plan import CallRoutine, DropRoutine, Nothing
from aioifx.server.sql.model.routines import Routine
from aioifx.server.sql.syntax.parser import parse
from aioifx.server.sql.translate.translate import translate
from aioifx.server.sqlite.routine_calls import register_calls
from aioifx.wire.opcodes import StatementType
from tests.server.sql.workbench import Workbench


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
    found = [(column.name, str(column.type)) for column in plan.columns]
    assert found == [("(expression)", "DECIMAL(8,2)"), ("(expression)", "DATE")]
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
