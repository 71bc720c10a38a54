"""Lists and descriptions."""

from __future__ import annotations

from pathlib import Path

import pytest

from aioifx.cli.shell.listing import LISTS
from aioifx.errors import UndefinedTable
from tests.cli.shell.conftest import Type


@pytest.mark.parametrize(
    ("command", "names"),
    [
        ("\\d", ["cheap", "goods", "item"]),
        ("\\d G*", ["goods"]),
        ("\\dt", ["item"]),
        ("\\dv", ["cheap"]),
        ("\\df", ["p"]),
        ("\\di", ["item_name"]),
        ("\\di x*", []),
        ("INFO TABLES;", ["cheap", "goods", "item"]),
    ],
)
async def test_lists(command: str, names: list[str], type_in: Type) -> None:
    await type_in("CREATE VIEW cheap AS SELECT id FROM item; CREATE SYNONYM goods FOR item;")
    await type_in(
        "CREATE PROCEDURE p() DEFINE a INT; LET a = 1; END PROCEDURE; CREATE INDEX item_name ON item (name);"
    )
    out, _ = await type_in(command)
    assert [line.split(" | ")[1].strip() for line in out.splitlines()[2:-1]] == names


async def test_databases(type_in: Type) -> None:
    out, _ = await type_in("\\l d*")
    assert out.splitlines()[2].split(" | ")[::2] == ["demo", "logged  "]


async def test_each_list_has_one_placeholder() -> None:
    assert all(sql.count("?") == 1 for sql in LISTS.values())


async def test_descriptions(type_in: Type, tmp_path: Path) -> None:
    out, _ = await type_in("\\d item")
    assert out.startswith('table "informix".item\n') and "decimal(8,2)" in out
    out, _ = await type_in("INFO COLUMNS FOR item; INFO INDEXES FOR item;")
    assert out.startswith("column | type") and out.endswith("\n(none)\n")
    with pytest.raises(UndefinedTable, match="did you mean 'item'"):
        await type_in("\\d itm")
    await type_in(f"\\o {tmp_path / 'a'}\n\\d item\n\\o")
    assert (tmp_path / "a").read_text("utf-8").startswith('table "informix".item\n')
