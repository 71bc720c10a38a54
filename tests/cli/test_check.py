"""aioifx check: what it says of each statement of a script, its last line, its exit codes."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from aioifx.cli.main import main

SCRIPT = """\
DBSCHEMA Schema Utility       INFORMIX-SQL Version 14.10.FC7

database shop; -- as dbaccess needs it;
export DBDELIMITER='|'
grant dba to "anna";

{ TABLE "anna".item row size = 48; it's }
create table "anna".item
  (
    id serial not null, name varchar(40) default 'a; b',
    primary key (id) constraint "anna".pk_item
  ) extent size 16 lock mode row;
/* a; b */
create function twice(n int) returning int;
  let n = 2 * n;
  return n;
end function;
create index item_name on item (name) using rtree;
select id,
  nam
from item;
insert into item values (1, 'pen');
insert into item values (1, 'cup');
select * from item where id = ?
"""

OUTPUT = """\
{0}:3: accepted: database shop
{0}:5: accepted: grant dba to "anna"
{0}:8: accepted: create table "anna".item ( id serial not null, name varchar(40) default 'a; b', primary key (id) c...
{0}:14: accepted: create function twice(n int) returning int; let n = 2 * n; return n; end function
{0}:18:45: refused: not implemented: USING RTREE (SQLCODE -999)
    create index item_name on item (name) using rtree;
                                                ^
{0}:20:3: error: column nam does not exist in any table of the query (SQLCODE -217)
      nam
      ^
{0}:22: accepted: insert into item values (1, 'pen')
{0}:23: error: unique constraint anna.pk_item is violated (SQLCODE -268, ISAM -100: duplicate key)
    insert into item values (1, 'cup')
{0}:24: accepted: select * from item where id = ?
6 accepted, 1 refused, 2 errors
"""


def checked(tmp_path: Path, script: str, *options: str) -> int:
    (tmp_path / "a.sql").write_text(script, "utf-8")
    return main(["check", str(tmp_path / "a.sql"), *options])


def test_each_statement_of_a_script_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert checked(tmp_path, SCRIPT) == 1
    assert capsys.readouterr() == (OUTPUT.format("a.sql"), "")


def test_quiet_shows_only_what_is_not_accepted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert checked(tmp_path, SCRIPT, "--quiet") == 1
    lines = OUTPUT.format("a.sql").splitlines(keepends=True)
    assert capsys.readouterr().out == "".join(line for line in lines if ": accepted: " not in line)


def test_a_script_that_is_accepted_has_exit_code_0(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = "begin work; create table t (a int); rollback work;"
    assert checked(tmp_path, script) == 0
    assert capsys.readouterr().out.endswith("\n3 accepted, 0 refused, 0 errors\n")
    assert checked(tmp_path, "-- nothing", "--quiet") == 0
    assert capsys.readouterr().out == "0 accepted, 0 refused, 0 errors\n"


def test_no_continue_ends_at_the_first_that_is_not_accepted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert checked(tmp_path, SCRIPT, "--no-continue", "--quiet") == 1
    assert capsys.readouterr().out.endswith("\n4 accepted, 1 refused, 0 errors\n")


def test_a_script_that_cannot_be_read_to_its_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert checked(tmp_path, "create table t (a int);\n  insert into t values ('1);\n") == 1
    assert capsys.readouterr().out == (
        "a.sql:1: accepted: create table t (a int)\n"
        "a.sql:2:25: error: quote is not closed (SQLCODE -282)\n"
        "      insert into t values ('1);\n"
        "                            ^\n"
        "1 accepted, 0 refused, 1 error\n"
    )


def test_an_error_of_the_client_is_one_of_the_statement(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = "create table t (a char(1)); insert into t\nvalues ('ł');"
    assert checked(tmp_path, script, "--quiet") == 1
    out = capsys.readouterr().out
    assert "a.sql:1: error: " in out and " not in 8859-1" in out
    assert checked(tmp_path, script, "--quiet", "--db-locale", "en_US.utf8") == 0


def test_databases_have_the_log_mode(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = "begin work; database other; begin work"
    assert checked(tmp_path, script, "--log-mode", "unlogged") == 1
    out = capsys.readouterr().out
    assert out.count("error: the database has no transactions (SQLCODE -256)") == 2
    assert out.endswith("\n1 accepted, 0 refused, 2 errors\n")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--log-mode", "some"], "expected unlogged, logged, ansi, got 'some'"),
        (["--db-locale", "en_US.none"], "aioifx: db_locale: unknown code set 'none'"),
    ],
)
def test_an_invalid_option(
    tmp_path: Path, options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        code = checked(tmp_path, "", *options)
    except SystemExit as ended:
        assert isinstance(ended.code, int)
        code = ended.code
    assert code == 2
    assert message in capsys.readouterr().err


def test_a_script_of_stdin_and_one_that_is_missing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"create table t (a int)")))
    assert main(["check", "-"]) == 0
    assert capsys.readouterr().out.startswith("stdin:1: accepted: create table t (a int)\n")
    assert main(["check", "missing.sql"]) == 1
    assert capsys.readouterr().err == "aioifx: No such file or directory: missing.sql\n"


class Terminal(io.TextIOWrapper):
    """A terminal that remembers what it gets."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("colour", [True, False])
def test_a_terminal_gets_lines_of_its_width(
    width: int, colour: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = io.BytesIO()
    for name in ("NO_COLOR", "FORCE_COLOR", "COLORTERM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", str(width))
    if not colour:
        monkeypatch.setenv("NO_COLOR", "1")
    columns = ", ".join(f"column_{number} integer" for number in range(20))
    script = f"create table t ({columns});\nselect {'column_0, ' * 20} none, {'column_0, ' * 20} 1 from t;"
    monkeypatch.setattr(sys, "stdout", Terminal(data, "utf-8", newline="\n"))
    assert checked(tmp_path, script) == 1
    out = data.getvalue().decode()
    assert ("\x1b[32m: accepted:" in out, "\x1b[31m: error:" in out) == (colour, colour)
    accepted, _, line, caret, _ = out.splitlines()
    assert len(accepted) == width + (len("\x1b[32m\x1b[0m") if colour else 0)
    assert width - 10 <= len(line) <= width or width == 120
    assert len(line) <= width and line[caret.index("^") :].startswith("none, ")
