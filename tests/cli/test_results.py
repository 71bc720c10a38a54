"""Results of one statement: what comes before them, what a statement without rows has done."""

from __future__ import annotations

import pytest

import aioifx
from aioifx.cli.results import print_results, say_result
from aioifx.cli.statement import Parameters
from aioifx.client.execution.result import ExecuteResult
from aioifx.server import Server


async def test_something_may_be_done_before_rows_are_printed(
    server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    async with aioifx.connect(server.dsn) as conn:
        await print_results(
            conn,
            Parameters("select id from item", ()),
            "csv",
            limit=2,
            before=lambda: print("rows:", flush=True),
        )
    assert capsys.readouterr().out == "rows:\nid\n1\n2\n"


async def test_a_statement_without_rows_tells_what_it_has_done(
    server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    results: list[ExecuteResult] = []
    async with aioifx.connect(server.dsn) as conn:
        for sql in ("insert into item (name) values ('x')", "begin work"):
            await print_results(
                conn, Parameters(sql, ()), "table", say_result=lambda *given: results.append(given[0])
            )
    assert [(result.rowcount, result.serial) for result in results] == [(1, 4), (0, None)]
    say_result(results[0], 0.0)
    assert capsys.readouterr().err.startswith("done, 1 row, serial 4 in ")
