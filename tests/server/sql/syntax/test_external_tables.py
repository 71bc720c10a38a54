"""CREATE EXTERNAL TABLE."""

from __future__ import annotations

import pytest

from aioifx.server.sql.syntax import nodes
from aioifx.server.sql.syntax.parser import parse
from tests.server.sql.shapes import error_of

FILE = "datafiles ('DISK:f')"


def parsed(text: str) -> nodes.CreateExternalTable:
    statement = parse(text)
    assert isinstance(statement, nodes.CreateExternalTable)
    return statement


def test_an_external_table_has_columns_and_files() -> None:
    made = parsed(
        "create external table if not exists bob.x (a int not null, b char(9) default 'z') using (format 'delimited',"
        " delimiter '\\006', datafiles ('DISK:one.unl', \"disk: two \"), rejectfile 'r', maxerrors 7, deluxe,"
        " escape on, recordend '\\012', numrows 9)"
    )
    assert (made.table.name, made.table.owner, made.if_not_exists, made.same_as) == ("x", "bob", True, None)
    assert [column.name.text for column in made.columns] == ["a", "b"]
    assert made.external == nodes.External(("one.unl", "two"), "\x06", 7, "r")


def test_an_external_table_may_have_the_columns_of_another() -> None:
    made = parsed(f"create external table x sameas t using ({FILE}, express)")
    assert made.same_as is not None
    assert (made.same_as.name, made.columns, made.external.delimiter) == ("t", (), "|")


@pytest.mark.parametrize(
    ("marked", "error"),
    [
        ("create external table x (a int) using (delimiter '|')^", (-201, "")),
        ("create external table x (a int) using (^format 'fixed', datafiles ('DISK:f'))", (-999, "FORMAT FIXED")),
        ("create external table x (a int) using (^format 'informix')", (-999, "FORMAT INFORMIX")),
        ("create external table x (a int) using (^format 'csv')", (-201, "")),
        ("create external table x (a int) using (datafiles (^'PIPE:p'))", (-999, "PIPE")),
        ("create external table x (a int) using (datafiles (^'f'))", (-201, "")),
        ("create external table x (a int) using (datafiles (^'DISK:f.%r(1..3)'))", (-999, "%r in a path")),
        ("create external table x (a int) using (datafiles (^'DISK:f;BLOBDIR:b'))", (-999, "BLOBDIR and CLOBDIR")),
        ("create external table x (a int) using (delimiter ^'ab')", (-201, "")),
        ("create external table x (a int) using (delimiter ^'a')", (-201, "")),
        ("create external table x (a int) using (^recordend ';')", (-999, "RECORDEND")),
        ("create external table x (a int) using (^escape off)", (-999, "ESCAPE OFF")),
        ("create external table x (a int) using (^dbdate 'DMY4/')", (-999, "DBDATE")),
        ("create external table x (a int ^external char(9)) using (datafiles ('DISK:f'))", (-999, "FORMAT FIXED")),
        ("create external table x (a int primary key^) using (datafiles ('DISK:f'))",
         (-999, "CONSTRAINT of an external table")),
        ("create external table x ^using (datafiles ('DISK:f'))", (-201, "")),
        ("create ^external x", (-201, "")),
    ],
)  # fmt: skip
def test_what_is_not_supported_is_refused_by_name(marked: str, error: tuple[int, str]) -> None:
    assert error_of(marked) == error
