"""A statement and its parameters from a command line; test_query runs them."""

from __future__ import annotations

import datetime as dt
import io
import sys
from argparse import Namespace
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace

import pytest

from aioifx.cli.parsing import Parser
from aioifx.cli.statement import Parameters, add_statement, statement_of
from aioifx.client.sql.placeholders import ByName
from aioifx.errors import InterfaceError
from aioifx.sqltypes import EXTENDED_BLOB, EXTENDED_CLOB, SqlType, TypeCode


def parse(*line: str) -> Namespace:
    parser = Parser()
    add_statement(parser)
    return parser.parse_args(line)


def found_in(*line: str) -> Parameters:
    return statement_of(parse(*line), line[0])


def test_parameters_by_position_in_their_order() -> None:
    assert found_in("a ? ? ?", "--param", "x", "--param-null", "--param=-y") == ("a ? ? ?", ["x", None, "-y"])


def test_parameters_by_name() -> None:
    found = found_in("a :b :c :b", "--named", "b=x=y", "--named-null", "c")
    assert (found.sql, found.texts) == ("a ? ? ?", ("x=y", None, "x=y"))
    values = found.values([None] * 3)
    assert isinstance(values, ByName) and values.names == ("b", "c", "b")


@pytest.mark.parametrize("line", ["s --named b", "s --named =x"])
def test_a_name_has_a_value(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse(*line.split())
    assert "expected NAME=TEXT" in capsys.readouterr().err


def test_a_final_semicolon_is_left_out() -> None:
    assert found_in("select ';' ;\n").sql == "select ';' "


def test_text_that_is_not_utf_8(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").write_bytes(b"select \xff")
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"\xff")))
    with pytest.raises(InterfaceError, match=r"^SQL: .* is not UTF-8 at byte 7$"):
        found_in(f"@{tmp_path / 'a'}")
    with pytest.raises(InterfaceError, match=r"^SQL: stdin is not UTF-8 at byte 0$"):
        found_in("-")


@pytest.mark.parametrize(
    ("code", "text", "value"),
    [
        (TypeCode.INTEGER, "5", 5),
        (TypeCode.DECIMAL, "1.50", Decimal("1.50")),
        (TypeCode.DATE, "2026-01-31", dt.date(2026, 1, 31)),
        (TypeCode.DATE, "31.1.2026", "31.1.2026"),
        (TypeCode.BOOLEAN, "t", True),
        (TypeCode.BYTE, "00ff", b"\0\xff"),
        (TypeCode.VARCHAR, "", ""),
        (999, "x", "x"),
    ],
)
def test_text_is_read_by_type_if_it_can_be(code: int, text: str, value: object) -> None:
    assert Parameters("", [text]).values([SqlType(code)]) == (value,)


def test_large_objects_and_unknown_types() -> None:
    blob, clob = SqlType(TypeCode.UDTFIXED, 72, EXTENDED_BLOB), SqlType(TypeCode.UDTFIXED, 72, EXTENDED_CLOB)
    texts = ["00ff", "00ff", "00ff", None, "no hex"]
    assert Parameters("", texts).values([blob, clob, None, blob, blob]) == (
        b"\0\xff",
        "00ff",
        "00ff",
        None,
        "no hex",
    )


def test_a_wrong_number_of_values_is_left_to_the_call() -> None:
    assert Parameters("", ["1"]).values([]) == ("1",)
