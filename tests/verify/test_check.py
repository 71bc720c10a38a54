"""Checks as data: what refutes them, what keeps them from being tried, and what messages say."""

from __future__ import annotations

from decimal import Decimal

import pytest

import aioifx
from aioifx.server import running
from aioifx.verify import check
from aioifx.verify.lab import CannotTry, Lab, Refuted


async def try_steps(*steps: check.Step, setup: tuple[str, ...] = (), ansi: bool | None = None) -> None:
    async with running() as dsn:
        lab = Lab(lambda **options: aioifx.connect(dsn, **options), "aioifx_test_")
        async with await lab.open():
            await check.sql_check("name", "fact", "mark", *steps, setup=setup, ansi=ansi).run(lab)
            await lab.clean()
            assert lab.left_behind == []


async def test_expected_results_hold() -> None:
    await try_steps(
        check.gives("'a' || 'b'", "ab"),
        check.refused("nosuch", -217),
        check.fails("SELECT * FROM nosuch", check.ANY_ERROR),
        check.fails("SELECT nosuch FROM informix.systables", -217, offset=8, token="such"),
        check.does("INSERT INTO vfy_t VALUES (?)", 1),
        check.rows("SELECT a FROM vfy_t WHERE a = ?", (1,), params=(1,)),
        check.Step("SELECT a FROM vfy_t", (), [(1,)], types=("INTEGER",), names=("a",)),
        setup=("CREATE TEMP TABLE vfy_t (a INT)",),
    )


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (check.gives("5", 6), "expected 6, got 5"),
        (check.gives("5", True), "expected True, got 5"),
        (check.gives("5", 5, type="BIGINT"), "expected BIGINT, got INTEGER"),
        (check.Step("SELECT tabid AS a FROM informix.systables WHERE tabid = 1", names=("b",)), "expected b, got a"),
        (check.rows("SELECT tabid FROM informix.systables WHERE tabid < 3"), "expected 0 rows, got 2 rows; 1; 2"),
        (check.refused("5", -201), "expected SQLCODE -201, got 5"),
        (check.refused("5", check.ANY_ERROR), "expected an error, got 5"),
        (check.refused("nosuch", -201), "expected SQLCODE -201, got SQLCODE -217"),
        (check.fails("SELECT nosuch FROM informix.systables", -217, offset=3), "expected offset 3, got 8"),
        (check.fails("SELECT nosuch FROM informix.systables", -217, token="other"), "the name in the error is another"),
        (check.does("DELETE FROM nosuch"), "expected success, got SQLCODE -206"),
    ],
)  # fmt: skip
async def test_another_result_refutes(step: check.Step, message: str) -> None:
    with pytest.raises(Refuted) as refuted:
        await try_steps(step)
    assert message in str(refuted.value)


async def test_a_long_statement_is_shortened_in_messages() -> None:
    with pytest.raises(Refuted) as refuted:
        await try_steps(check.gives(f"'{'x' * 1000}'", 5))
    assert str(refuted.value).startswith(f"SELECT '{'x' * 200}")
    assert "...: expected 5, got" in str(refuted.value)
    assert len(str(refuted.value)) < 700


async def test_a_failed_preparation_keeps_a_check_from_being_tried() -> None:
    with pytest.raises(CannotTry, match="the preparation failed: SQLCODE -206"):
        await try_steps(check.gives("5", 5), setup=("DELETE FROM nosuch",))


async def test_a_check_may_need_a_kind_of_database() -> None:
    with pytest.raises(CannotTry, match="it needs an ANSI database"):
        await try_steps(check.gives("5", 5), ansi=True)


def test_values_of_other_types_differ() -> None:
    assert check.are_same([(1, None, Decimal("1.50"))], [(1, None, Decimal("1.5"))])
    assert not check.are_same([(1,)], [(True,)])
    assert not check.are_same([(1,)], [(Decimal(1),)])
    assert not check.are_same([(1,)], [(1, 2)])
    assert not check.are_same([(1,)], [])


def test_rows_are_described() -> None:
    assert check.describe_rows([(1, "a")]) == "1, 'a'"
    assert check.describe_rows([]) == "0 rows"
    assert check.describe_rows([(1,), (2,)]) == "2 rows; 1; 2"
