"""aioifx query: statements of every kind, and what is printed."""

from __future__ import annotations

import asyncio
import io
import json
import os
import re
import signal
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from aioifx.cli import output
from aioifx.cli.failures import USAGE
from aioifx.cli.main import main
from aioifx.server import Server, ServerOptions, serve
from tests.cli.conftest import Run, no_sessions
from tests.cli.test_output import use_terminal
from tests.injection import eventually

ROOT = Path(__file__).parents[2]

ENDLESS_SEED = "CREATE TABLE n (a INT);" + "INSERT INTO n VALUES (1);" * 10
ENDLESS = "SELECT t0.a FROM " + ", ".join(f"n t{number}" for number in range(12))
"""10 to the power of 12 rows."""

TABLE = """\
id | name |  price | day
---+------+--------+-----------
 1 | pen  |   1.50 | 2026-01-31
 2 |      | <null> | <null>
 3 | lamp |  35.00 | 1999-12-31
"""


async def test_rows_are_a_table(run: Run) -> None:
    found = await run("query", "SELECT * FROM item ORDER BY id")
    assert (found.code, found.err) == (0, "")
    assert re.sub(r"\d\.\d{3} s", "0 s", found.out) == TABLE + "(3 rows, 0 s)\n"


async def test_rows_as_csv_distinguish_null_from_an_empty_text(run: Run) -> None:
    found = await run("query", "SELECT * FROM item ORDER BY id;", "--format", "csv")
    assert found == (0, 'id,name,price,day\n1,pen,1.50,2026-01-31\n2,"",,\n3,lamp,35.00,1999-12-31\n', "")
    found = await run("query", "SELECT price FROM item WHERE id < 3 ORDER BY id", "--format", "csv")
    assert found.out == "price\n1.50\n\n"


async def test_rows_as_json_are_an_object_in_each_line(run: Run) -> None:
    found = await run("query", "SELECT id, name, price, day, id FROM item ORDER BY id", "--format", "json")
    assert (found.code, found.err) == (0, "")
    assert [json.loads(line) for line in found.out.splitlines()] == [
        {"id": 1, "name": "pen", "price": "1.50", "day": "2026-01-31", "id_2": 1},
        {"id": 2, "name": "", "price": None, "day": None, "id_2": 2},
        {"id": 3, "name": "lamp", "price": "35.00", "day": "1999-12-31", "id_2": 3},
    ]


async def test_rows_as_an_arrow_stream(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    pa: Any = pytest.importorskip("pyarrow")
    from aioifx.cli.main import main

    for limit, ids in (("5", [1, 2, 3]), ("2", [1, 2])):
        stdout = SimpleNamespace(buffer=io.BytesIO(), closed=False, isatty=lambda: False, flush=lambda: None)
        monkeypatch.setattr(sys, "stdout", stdout)
        line = ["query", "SELECT id FROM item ORDER BY id", "--format", "arrow", "--limit", limit]
        assert await asyncio.to_thread(main, line) == 0
        monkeypatch.undo()
        assert pa.ipc.open_stream(stdout.buffer.getvalue()).read_all().to_pydict() == {"id": ids}
        monkeypatch.setenv("AIOIFX_DSN", server.dsn)


async def test_no_rows_have_a_header(run: Run) -> None:
    assert (await run("query", "SELECT id FROM item WHERE id = 9", "--format", "csv")).out == "id\n"
    assert (await run("query", "SELECT id FROM item WHERE id = 9", "--format", "json")).out == ""
    found = await run("query", "SELECT id FROM item WHERE id = 9")
    assert found.out.startswith("id\n--\n(0 rows, ")


@pytest.mark.parametrize("form", ["table", "csv", "json"])
async def test_large_objects_are_read(form: str, run: Run) -> None:
    await run("query", "CREATE TABLE doc (b BYTE, t TEXT, bl BLOB, cl CLOB)")
    params = [f"--param={text}" for text in ("00ff", "text", "abcd", "long" * 100)]
    assert (await run("query", "INSERT INTO doc VALUES (?, ?, ?, ?)", *params)).code == 0
    found = await run("query", "SELECT * FROM doc", "--format", form)
    assert (found.code, found.err) == (0, "")
    for text in ("00ff", "text", "abcd", "longlong"):
        assert text in found.out
    assert ("long" * 100 in found.out) is (form != "table")


async def test_rows_collections_and_json_are_nested_in_json_and_literals_elsewhere(run: Run) -> None:
    await run("query", "CREATE TABLE odd (s SET(INTEGER NOT NULL), j JSON, r ROW(a INTEGER, d DECIMAL(4,2)))")
    await run("query", "INSERT INTO odd VALUES (SET{1}, '{\"a\": [1, null]}'::JSON, ROW(1, 2.50))")
    found = await run("query", "SELECT * FROM odd", "--format", "json")
    assert json.loads(found.out) == {"s": [1], "j": {"a": [1, None]}, "r": {"a": 1, "d": "2.50"}}
    found = await run("query", "SELECT * FROM odd", "--format", "csv")
    assert found.out.splitlines()[1].startswith("SET{1},")


@pytest.mark.parametrize(
    ("sql", "params", "ids"),
    [
        ("id = ?", ["--param", "2"], [2]),
        ("price = ? AND day = ?", ["--param", "1.50", "--param", "2026-01-31"], [1]),
        ("id > ?", ["--param", "-5"], [1, 2, 3]),
        ("price < :p AND id < :p", ["--named", "p=40"], [1, 3]),
        ("name = :1", ["--named", "1=lamp"], [3]),
        ("id = ? OR id = ?", ["--param-null", "--param", "3"], [3]),
        ("id = :a OR id = :b", ["--named-null", "a", "--named", "b=1"], [1]),
    ],
)
async def test_parameters_are_read_by_their_types(
    sql: str, params: list[str], ids: list[int], run: Run
) -> None:
    found = await run("query", f"SELECT id FROM item WHERE {sql} ORDER BY id", *params, "--format", "csv")
    assert (found.out.split(), found.err) == (["id", *map(str, ids)], "")


async def test_null_and_text_are_stored(run: Run) -> None:
    sql = "INSERT INTO item (name, price, day) VALUES (?, ?, ?)"
    found = await run("query", sql, "--param", "", "--param-null", "--param", "2026-02-28")
    assert (found.code, found.out) == (0, "")
    assert re.fullmatch(r"done, 1 row, serial 4 in \d\.\d{3} s\n", found.err)
    found = await run("query", "SELECT * FROM item WHERE id = 4", "--format", "csv")
    assert found.out.splitlines()[1] == '4,"",,2026-02-28'


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE TABLE other (a INT)",
        "UPDATE item SET price = 1 WHERE id = 99",
        "DATABASE sysmaster",
        "BEGIN WORK",
    ],
)
async def test_statements_without_rows_say_that_they_are_done(sql: str, run: Run) -> None:
    found = await run("query", sql)
    assert (found.code, found.out) == (0, "")
    assert re.fullmatch(r"done, 0 rows in \d\.\d{3} s\n", found.err)


@pytest.mark.parametrize("form", ["table", "csv", "json"])
async def test_a_limit_ends_the_query(form: str, server: Server, run: Run) -> None:
    line = "SELECT a.id FROM item a, item b, item c, item d, item e, item f, item g, item h"
    turns = server.stats.turns
    found = await run("query", line, "--limit", "2", "--format", form)
    assert (found.code, found.err) == (0, "")
    assert len(found.out.splitlines()) == {"table": 5, "csv": 3, "json": 2}[form]
    assert form != "table" or "\n(2 rows, as limited, " in found.out
    assert server.stats.turns - turns < 8


async def test_sql_comes_from_a_file_or_stdin(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "query.sql"
    file.write_bytes(b"\xef\xbb\xbf-- a comment\r\nSELECT id FROM item WHERE id = ?;\n")
    found = await run("query", f"@{file}", "--param", "3", "--format", "json")
    assert found == (0, '{"id": 3}\n', "")
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(file.read_bytes())))
    assert await run("query", "-", "--param", "3", "--format", "json") == found


async def test_several_statements_are_refused(run: Run) -> None:
    outcome = await run("query", "delete from item; -- all;\nselect 1 from item;")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == "aioifx: SQL: expected one statement, got 2; `aioifx run` runs scripts\n"
    routine = "create function f() returning int; return 1; end function; -- one"
    assert (await run("query", routine)).code == 0
    assert (await run("query", "select 'a;b' from item;", "--limit", "1")).code == 0


async def test_an_error_is_text_with_the_place_in_the_sql(run: Run) -> None:
    found = await run("query", "SELECT colour FROM item")
    assert found.code == 1
    assert found.err == (
        "aioifx: column colour does not exist in any table of the query (SQLCODE -217)\n"
        "SQL, column 8:\n"
        "    SELECT colour FROM item\n"
        "           ^\n"
        "`aioifx explain -217` tells more\n"
    )


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (["SELECT 1 FROM item WHERE id = ?"], "expected 1 parameter, got 0"),
        (["SELECT id FROM item", "--param", "1"], "expected 0 parameters, got 1"),
        (["SELECT id FROM item WHERE id = :a", "--named", "b=1"], "no value for parameter :a"),
        (["SELECT id FROM item WHERE id = :a", "--named", "a=1", "--named", "a=2"], "a name is given twice"),
        (["SELECT id FROM item WHERE id = :a", "--named", "a=1", "--param", "2"], "cannot be combined"),
    ],
)
async def test_a_wrong_command_ends_with_exit_code_2(line: list[str], message: str, run: Run) -> None:
    found = await run("query", *line)
    assert (found.code, found.out) == (2, "")
    assert found.err.startswith("aioifx: ") and message in found.err


async def test_a_missing_file_ends_with_exit_code_1(run: Run) -> None:
    assert await run("query", "@missing.sql") == (1, "", "aioifx: No such file or directory: missing.sql\n")


async def test_a_server_that_is_not_there_ends_with_exit_code_3(run: Run) -> None:
    found = await run("query", "informix://app@127.0.0.1:1/demo?server=x", "SELECT 1 FROM item")
    assert (found.code, found.out) == (3, "")
    assert found.err.startswith("aioifx: could not connect to 127.0.0.1:1: ")


async def test_a_value_that_does_not_fit_its_type_is_rejected_by_the_server(run: Run) -> None:
    found = await run("query", "SELECT id FROM item WHERE day = ?", "--param", "tomorrow")
    assert found.code == 1 and "SQLCODE -12" in found.err


async def test_arrow_is_not_written_to_a_terminal(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("aioifx.cli.query.is_terminal", lambda file: True)
    found = await run("query", "SELECT id FROM item", "--format", "arrow")
    assert found.code == 2 and "--format: arrow is binary" in found.err


@pytest.mark.parametrize("with_rich", [True, False])
async def test_a_table_fits_the_terminal(with_rich: bool, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    if with_rich:
        pytest.importorskip("rich")
    else:
        monkeypatch.setattr(output, "rich_module", lambda name: None)
    monkeypatch.setattr(output, "is_terminal", lambda file: True)
    monkeypatch.setenv("COLUMNS", "30")
    monkeypatch.setenv("TERM", "dumb")
    sql = "SELECT id, name, 'a text of more than its column' AS note FROM item ORDER BY id"
    found = await run("query", sql)
    assert found.out.splitlines()[:3] == [
        "id | name | note",
        "---+------+-------------------",
        " 1 | pen  | a text of more th…",
    ]


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
async def test_an_interrupt_ends_the_statement_at_the_server_and_closes_the_connection() -> None:
    async with serve(ServerOptions(seed=ENDLESS_SEED)) as server:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "aioifx", "query", server.dsn, ENDLESS, "--format", "csv",
            cwd=ROOT, env={**os.environ, "AIOIFX_PASSWORD": "any"},
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        assert process.stdout is not None
        assert await process.stdout.readline() == b"a\n"
        process.send_signal(signal.SIGINT)
        _, err = await process.communicate()
        assert (process.returncode, err) == (130, b"")
        await no_sessions(server)


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
async def test_an_interrupt_ends_a_statement_that_has_no_rows_yet() -> None:
    async with serve(ServerOptions(seed=ENDLESS_SEED)) as server:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "aioifx", "query", server.dsn, ENDLESS.replace("t0.a", "COUNT(*)"),
            cwd=ROOT, env={**os.environ, "AIOIFX_PASSWORD": "any"},
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        await eventually(
            lambda: any(session.running and session.statements for session in server.stats.sessions)
        )
        process.send_signal(signal.SIGINT)
        assert await process.communicate() == (b"", b"")
        assert process.returncode == 130
        assert server.stats.interrupts == 1
        await no_sessions(server)


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
async def test_a_reader_that_has_enough_ends_the_query() -> None:
    async with serve(ServerOptions(seed=ENDLESS_SEED)) as server:
        reader, writer = os.pipe()
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "aioifx", "query", server.dsn, ENDLESS, "--format", "json",
            cwd=ROOT, env={**os.environ, "AIOIFX_PASSWORD": "any"},
            stdout=writer, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        os.close(writer)
        assert await asyncio.to_thread(os.read, reader, 9) == b'{"a": 1}\n'
        os.close(reader)
        _, err = await process.communicate()
        assert (process.returncode, err) == (141, b"")
        await no_sessions(server)


async def test_a_trace_is_recorded_if_that_is_wanted(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    sql = "SELECT name FROM item WHERE name = 'lamp'"
    assert (await run("query", sql, "--format", "csv", "--trace", path)).out == "name\nlamp\n"
    assert "SQ_PREPARE" in path.read_text() and "lamp" not in path.read_text()


HOSTILE = "SELECT '\x1b]0;pwned\x07' || '\x9b31m' AS v, '=1+1' AS f, -1 AS n FROM systables WHERE tabid = 1"


@pytest.mark.parametrize("verb", ["csv", "json", "table", "unload"])
async def test_no_value_controls_a_terminal(
    verb: str, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = ["query", HOSTILE, "--format", verb]
    if verb == "unload":
        line = ["unload", HOSTILE, "-", "--format", "csv", "--quiet"]

    def on_terminal() -> bytes:
        data = use_terminal(monkeypatch)
        assert main(line) == 0
        return data.getvalue()

    shown = await asyncio.to_thread(on_terminal)
    monkeypatch.undo()
    monkeypatch.setenv("AIOIFX_DSN", server.dsn)
    assert b"pwned" in shown
    if verb == "table":
        shown = re.sub(rb"\x1b\[[0-9]*m", b"", shown)  # styles of rich
    assert not any(char in shown.decode() for char in "\x1b\x07\x9b")


async def test_formulas_are_escaped_if_that_is_wanted(run: Run, tmp_path: Path) -> None:
    sql = "SELECT '=1+1' AS f, -1 AS n, name FROM item WHERE id = 1"
    assert (await run("query", sql, "--format", "csv")).out == "f,n,name\n=1+1,-1,pen\n"
    escaped = "f,n,name\n'=1+1,-1,pen\n"
    assert (await run("query", sql, "--format", "csv", "--escape-formulas")).out == escaped
    path = tmp_path / "out.csv"
    assert (await run("unload", sql, path, "--escape-formulas")).code == 0
    assert path.read_text() == escaped
    for line in (["query", sql], ["query", sql, "--format", "json"], ["unload", sql, tmp_path / "out.unl"]):
        outcome = await run(*line, "--escape-formulas")
        assert outcome.code == USAGE
        assert "--escape-formulas: not for the format " in outcome.err
