"""Statements of the shell, their rows and errors."""

from __future__ import annotations

from pathlib import Path

import pytest

from aioifx.cli.shell.execution import report
from aioifx.cli.shell.state import LOST
from aioifx.errors import ConnectionLost, DatabaseError, InterfaceError, from_server
from tests.cli.shell.conftest import Type


async def test_rows_and_results(type_in: Type) -> None:
    out, err = await type_in(
        "SELECT id, name FROM item WHERE id = 1; UPDATE item SET price = 1 WHERE id > 1;"
    )
    assert out == "id | name\n---+-----\n 1 | pen\n(1 row)\n"
    assert err == "done, 2 rows\n"


async def test_no_rows_are_counted_only_where_there_could_be_some(type_in: Type) -> None:
    _, err = await type_in("DELETE FROM item WHERE id = 9; CREATE TABLE t (a INT); BEGIN; COMMIT;")
    assert err == "done, 0 rows\ndone\ndone\ndone\n"


async def test_large_objects_and_many_pages(type_in: Type) -> None:
    await type_in("CREATE TABLE n (a INT); CREATE TABLE doc (b BYTE, c CLOB);")
    for _ in range(6):
        await type_in("INSERT INTO n VALUES (1);")
    out, _ = await type_in("SELECT a.a FROM n a, n b, n c, n d;")
    assert out.endswith("\n(1,296 rows)\n") and out.count("\n") == 1299


async def test_each_row_as_a_list(type_in: Type) -> None:
    out, _ = await type_in("\\x\nSELECT id, name FROM item WHERE id = 1;")
    assert out.splitlines()[1:] == ["id   | 1", "name | pen", "(1 row)"]


async def test_a_statement_with_placeholders_is_refused(type_in: Type) -> None:
    with pytest.raises(InterfaceError, match="the statement has placeholders"):
        await type_in("SELECT * FROM item WHERE id = ?;")


async def test_rows_go_to_a_file(type_in: Type, tmp_path: Path) -> None:
    file = tmp_path / "out.txt"
    out, _ = await type_in(
        f"\\o {file}\nSELECT id FROM item WHERE id = 1;\n\\o\nSELECT 2 AS b FROM item WHERE id = 1;"
    )
    assert out == "b\n-\n2\n(1 row)\n"
    assert file.read_text("utf-8") == "id\n--\n 1\n(1 row)\n"


@pytest.mark.parametrize(
    ("error", "lines"),
    [
        (InterfaceError("wrong\x1b"), ["wrong\\x1b"]),
        (OSError(2, "No such file", "a"), ["No such file: a"]),
        (ConnectionLost("gone"), ["gone", LOST]),
        (DatabaseError("unknown"), ["unknown"]),
    ],
)
def test_errors_as_lines(error: DatabaseError, lines: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    report(error)
    assert capsys.readouterr().err.splitlines() == lines


def test_an_error_says_its_cause_and_remedy(capsys: pytest.CaptureFixture[str]) -> None:
    report(from_server(-206, -111, sql="SELECT * FROM a", offset=15, token="a"))
    found = capsys.readouterr().err
    assert "    SELECT * FROM a\n                  ^\ncause: The table does not exist" in found
    assert "\nremedy: Check the name" in found
