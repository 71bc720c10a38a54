"""Rows that a load rejects: the file of them, and errors that show values."""

from __future__ import annotations

from pathlib import Path

import pytest

from aioifx.cli.rejected import RejectFile
from aioifx.client.bulk.arguments import Reject
from aioifx.errors import DatabaseError, DataError
from aioifx.sqltypes import Column, SqlType, TypeCode

COLUMNS = (Column("id", SqlType(TypeCode.INTEGER)), Column("name", SqlType(TypeCode.VARCHAR, 4)))


def unreadable(value: str) -> Reject:
    return Reject(DataError("record 2, line 2: column 'id': no INTEGER", column="id"), COLUMNS, [value, "a"])


def test_without_a_file_the_error_shows_the_value() -> None:
    with pytest.raises(DataError) as caught:
        RejectFile(None, 0)(unreadable("x\x1b[2J"))
    assert str(caught.value) == r"record 2, line 2: column 'id': no INTEGER, got 'x\x1b[2J'"
    with pytest.raises(DataError) as caught:
        RejectFile(None, 0)(unreadable("x" * 100))
    assert str(caught.value).endswith(f", got '{'x' * 56}...")


def test_an_error_of_the_server_shows_the_row() -> None:
    error = DatabaseError("record 2, line 2: no", sqlcode=-391)
    with pytest.raises(DatabaseError) as caught:
        RejectFile(None, 0)(Reject(error, COLUMNS, ["1", None]))
    assert caught.value is error and error.__notes__ == ["the row: id '1', name None"]


def test_the_file_has_places_reasons_and_fields(tmp_path: Path) -> None:
    path = tmp_path / "bad.csv"
    path.write_text("old")
    rejects = RejectFile(path, 5)
    assert not path.exists()
    rejects(unreadable('x"'))
    rejects(Reject(DataError("row 3, column 'name': too long", column="name"), COLUMNS, (7, "abcde")))
    rejects(Reject(DataError("without a place"), COLUMNS, (None, b"z")))
    rejects.close()
    assert rejects.count == 3
    assert path.read_text("utf-8") == (
        "record,reason,id,name\n"
        '"record 2, line 2","column \'id\': no INTEGER, got \'x""\'","x""",a\n'
        "row 3,\"column 'name': too long, got 'abcde'\",7,abcde\n"
        "\"\",without a place,,b'z'\n"
    )


def test_more_than_the_limit_is_an_error(tmp_path: Path) -> None:
    rejects = RejectFile(tmp_path / "bad.csv", 1)
    rejects(unreadable("x"))
    with pytest.raises(
        DataError, match=r"^more rows are rejected than --max-errors, 1: see .*bad.csv; the last: record 2"
    ):
        rejects(unreadable("y"))
