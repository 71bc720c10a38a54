"""aioifx run: rows, errors with their places, transactions, variables, echo, progress, exit codes."""

from __future__ import annotations

import asyncio
import io
import os
import re
import signal
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import aioifx
from aioifx.cli import run as verb
from aioifx.server import ServerOptions, serve
from tests.cli.conftest import Run, no_sessions


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Write a script, and return its name."""
    monkeypatch.chdir(tmp_path)

    def write(text: str, name: str = "a.sql") -> str:
        (tmp_path / name).write_text(text, "utf-8")
        return name

    return write


def summary(err: str) -> str:
    """The last line of stderr, without the time."""
    return re.sub(r" in [\d.]+ s", "", err.splitlines()[-1])


SCRIPT = """\
DBSCHEMA Schema Utility       INFORMIX-SQL Version 14.10.FC7

create table part (id int, note varchar(20)); -- one; two
create function twice(n int) returning int;
  let n = 2 * n;
  return n;
end function;
insert into part values (twice(2), 'a;b');
select * from part;
"""


async def test_statements_run_and_rows_are_printed(run: Run, script) -> None:
    outcome = await run("run", script(SCRIPT))
    lines = outcome.out.splitlines()
    assert (outcome.code, lines[:3], summary(outcome.err)) == (
        0, ["id | note", "---+-----", " 4 | a;b"], "4 statements done",
    )  # fmt: skip
    again = await run(
        "run", script("select id from part; select note from part"), "--format", "csv", "--quiet"
    )
    assert (again.code, again.out, again.err) == (0, "id\n4\nnote\na;b\n", "")


async def test_the_end_is_at_the_first_error(run: Run, script) -> None:
    name = script("insert into item (name) values ('x');\nselect id,\n  nam from item;\ndelete from item")
    outcome = await run("run", name)
    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err.splitlines()[:-1] == [
        "a.sql:3:3: error: column nam does not exist in any table of the query (SQLCODE -217)",
        "      nam from item;",
        "      ^",
    ]
    assert summary(outcome.err) == "1 of 3 statements done, 1 failed"
    assert "4\n" in (await run("query", "select count(*) from item", "--format", "csv")).out


async def test_on_error_continue_runs_the_others(run: Run, script) -> None:
    name = script("insert into item (nam) values ('x');\nselect 1 from itme;delete from item where id = 1")
    outcome = await run("run", name, "--on-error", "continue", "--quiet")
    assert outcome.code == 1
    assert [line for line in outcome.err.splitlines() if ": error: " in line] == [
        "a.sql:1:19: error: column nam does not exist in any table of the query (SQLCODE -217)",
        "a.sql:2:15: error: table itme does not exist (SQLCODE -206, ISAM -111: no such record)",
    ]
    assert summary(outcome.err) == "1 of 3 statements done, 2 failed"


@pytest.mark.parametrize("fails", [True, False])
async def test_a_single_transaction_is_all_or_nothing(run: Run, script, fails: bool) -> None:
    first = script("database demo; delete from item where id = 1; savepoint a; rollback to savepoint a;")
    second = script("delete from item where id = 2;" + ("delete from itme" if fails else ""), "b.sql")
    outcome = await run("run", first, second, "--single-transaction")
    assert outcome.code == fails
    expected = "5 of 6 statements done, 1 failed; all is rolled back" if fails else "5 statements done"
    assert summary(outcome.err) == expected
    left = (await run("query", "select count(*) from item", "--format", "csv")).out.split()[1]
    assert left == ("3" if fails else "1")


async def test_a_commit_that_fails_is_in_the_summary(run: Run, script) -> None:
    name = script(
        "create table p (id int primary key); create table c (id int references p);"
        "set constraints all deferred; insert into c values (5);"
    )
    outcome = await run("run", name, "--single-transaction")
    assert outcome.code == 1
    assert (
        re.sub(r" in [\d.]+ s", "", outcome.err.splitlines()[0])
        == "4 statements done; the COMMIT was not confirmed"
    )
    assert "SQLCODE -691" in outcome.err


@pytest.mark.parametrize(
    "statement", ["begin work", "COMMIT", "rollback work", "database demo", "close database"]
)
async def test_a_single_transaction_cannot_be_ended_by_the_script(run: Run, script, statement: str) -> None:
    outcome = await run("run", script(f"delete from item;\n {statement};"), "--single-transaction")
    word = statement.split()[0].upper()
    assert outcome.code == 1
    assert outcome.err == f"a.sql:2: error: {word}: not with --single-transaction\n    {statement}\n"


@pytest.mark.parametrize("end", ["", "; select nam from item"])
async def test_a_transaction_that_the_script_leaves_open_is_rolled_back(run: Run, script, end: str) -> None:
    outcome = await run("run", script(f"begin work; delete from item{end}"))
    assert outcome.code == 1 and outcome.err.endswith(" is rolled back\n")
    assert "3\n" in (await run("query", "select count(*) from item", "--format", "csv")).out


async def test_variables_and_the_places_of_errors_in_statements_with_them(run: Run, script) -> None:
    name = script(
        "insert into :table (name) values (:'who');\nselect :'who' from item,\n :table x where :table.nam = 1"
    )
    outcome = await run("run", name, "--var", "table=item", "--var", "who=O'Neil", "--echo")
    assert outcome.out.startswith(
        "insert into item (name) values ('O''Neil');\nselect 'O''Neil' from item,\n item x "
    )
    assert outcome.err.splitlines()[1].startswith("a.sql:3:")
    assert "      :table x where :table.nam = 1" not in outcome.err
    assert " :table x where :table.nam = 1" in outcome.err
    missing = await run("run", script("select 1 from item;\nselect :whom from item"), "--var", "who=x")
    assert (missing.code, missing.out) == (1, "")
    assert missing.err.splitlines() == [
        "a.sql:2:8: error: no --var gives whom a value; did you mean 'who'?",
        "    select :whom from item",
        "           ^",
    ]


async def test_echo_prints_statements_and_what_they_have_done(run: Run, script) -> None:
    outcome = await run("run", script("update item\n set name = 'x'; drop table item;"), "--echo")
    assert outcome.out == "update item\n set name = 'x';\ndrop table item;\n"
    assert [re.sub(r" in .*", "", line) for line in outcome.err.splitlines()] == [
        "warning: UPDATE or DELETE without WHERE", "done, 3 rows", "done, 0 rows", "2 statements done",
    ]  # fmt: skip
    outcome = await run("run", script("-- x\ndelete from names", "b.sql"), "--on-error", "continue")
    assert summary(outcome.err) == "0 of 1 statement done, 1 failed"


async def test_passwords_in_statements_are_not_shown(run: Run, script) -> None:
    name = script("set encryption password 'tiny';\nselect encrypt_aes('a', 'secret') frm item, x;")
    outcome = await run("run", name, "--echo", "--on-error", "continue")
    assert outcome.code == 1
    assert outcome.out.startswith(
        "set encryption password '****';\nselect encrypt_aes('*', '******') frm item, x;\n"
    )
    assert "secret" not in outcome.err and "tiny" not in outcome.err


async def test_warnings_have_their_places(run: Run, script) -> None:
    outcome = await run("run", script("-- x\ndelete from item"))
    assert outcome.err.splitlines()[0] == "a.sql:2: warning: UPDATE or DELETE without WHERE"


async def test_what_cannot_be_read_runs_nothing(run: Run, script, monkeypatch: pytest.MonkeyPatch) -> None:
    outcome = await run("run", script("delete from item"), script("delete from item;\nselect 'a", "b.sql"))
    assert (outcome.code, outcome.err.splitlines()[0]) == (
        1,
        "b.sql:2:8: error: quote is not closed (SQLCODE -282)",
    )
    assert (await run("run", "missing.sql")).err == "aioifx: No such file or directory: missing.sql\n"
    missing = await run("run")
    assert (missing.code, missing.err) == (2, "aioifx: SCRIPT: missing\n")
    both = await run("run", "a.sql", "--single-transaction", "--on-error", "continue")
    assert both.code == 2 and "not with --on-error continue" in both.err
    assert "3\n" in (await run("query", "select count(*) from item", "--format", "csv")).out


async def test_the_address_may_come_before_the_scripts(run: Run, script, server) -> None:
    name = script("delete from item where id = 1;")
    address = server.dsn.replace("informix:in4mix@", "informix@").replace(":any@", "@")
    outcome = await run("run", address, name, name)
    assert (outcome.code, summary(outcome.err)) == (0, "2 statements done")


@pytest.mark.exhaustive  # it starts a process
@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
async def test_an_interrupt_ends_the_script_and_its_transaction(tmp_path: Path) -> None:
    script = tmp_path / "a.sql"
    endless = ", ".join(f"n t{number}" for number in range(12))
    script.write_text(f"insert into t values (1); select count(*) from {endless};", "utf-8")
    rows = "".join(f"insert into n values ({number});" for number in range(10))
    async with serve(ServerOptions(seed=f"create table n (a int); create table t (a int);{rows}")) as server:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "aioifx", "run", server.dsn, str(script), "--single-transaction",
            "--echo", cwd=Path(__file__).parents[2], env={**os.environ, "AIOIFX_PASSWORD": "any"},
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        assert process.stdout is not None
        assert b"insert" in await process.stdout.readline() and b"count" in await process.stdout.readline()
        process.send_signal(signal.SIGINT)
        out, err = await process.communicate()
        assert (process.returncode, out, summary(err.decode())) == (
            130, b"", "1 of 2 statements done; all is rolled back",
        )  # fmt: skip
        await no_sessions(server)
        async with aioifx.connect(server.dsn) as conn:
            assert await conn.fetchval("select count(*) from t") == 0


async def test_a_script_may_be_empty_and_come_from_stdin(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"-- nothing\n;")))
    outcome = await run("run", "-", "--single-transaction")
    assert (outcome.code, summary(outcome.err)) == (0, "0 statements done")


async def test_a_terminal_has_a_line_about_progress(
    run: Run, script, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    monkeypatch.setattr(verb, "_LONG", -1.0)
    monkeypatch.setattr(verb, "_INTERVAL", -1.0)
    monkeypatch.setattr(sys, "stderr", terminal)
    outcome = await run("run", script("select id from item where id = 1;\nselect nam from item"))
    assert outcome.code == 1
    shown = terminal.getvalue()
    assert "\ra.sql:2  1 of 2 statements, 50 %" in shown
    assert re.search(r"50 %\r +\ra\.sql:2:8: error:", shown)
