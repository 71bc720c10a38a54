"""``\\copy``, both ways."""

from __future__ import annotations

from pathlib import Path

import pytest

from aioifx.errors import DatabaseError, InterfaceError
from tests.cli.shell.conftest import Type


def text(name: str) -> str:
    return Path(name).read_text("utf-8")


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


async def test_a_table_out_and_in(type_in: Type) -> None:
    _, err = await type_in("\\copy item to item.csv")
    assert err.startswith("unloaded 3 rows in ")
    await type_in("CREATE TABLE copy (id INT, name VARCHAR(40), price DECIMAL(8,2), day DATE);")
    _, err = await type_in("\\copy copy from item.csv")
    assert err.startswith("loaded 3 rows in ")
    assert (await type_in("SELECT COUNT(*) AS n FROM copy;"))[0] == "n\n-\n3\n(1 row)\n"


async def test_columns_queries_and_options(type_in: Type, tmp_path: Path) -> None:
    await type_in("\\copy item (id, name) TO 'a b.csv' --null none --quiet")
    assert text("a b.csv") == "id,name\n1,pen\n2,\n3,lamp\n"
    await type_in("\\copy (SELECT id, (1) AS one FROM item WHERE id IN (1, 3)) to b.unl")
    assert text("b.unl") == "1|1|\n3|1|\n"
    (tmp_path / "c.unl").write_text("7|x|\n", "utf-8")
    await type_in("CREATE TABLE part (a VARCHAR(9), id INT);\n\\copy part (id, a) FROM c.unl --quiet")
    assert "x |  7" in (await type_in("SELECT * FROM part;"))[0]


async def test_a_table_with_a_blank_in_its_name(type_in: Type) -> None:
    with pytest.raises(DatabaseError, match="syntax error"):  # without DELIMIDENT
        await type_in('\\copy "my item" to item.csv')


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected TABLE"),
        ("item", "expected TABLE"),
        ("item to", "expected TABLE"),
        ("(SELECT 1", "expected TABLE"),
        ("(SELECT id FROM item) from a.csv", "expected TABLE"),
        ("item from -", "expected the name of a file"),
        ("item to a.csv --nothing", "unknown option --nothing"),
        ("item to 'a", "no closing quotation"),
        ("item to --help", "expected TABLE"),
        ("item from missing.csv", "No such file"),
    ],
)
async def test_what_is_wrong_is_said(text: str, message: str, type_in: Type) -> None:
    with pytest.raises((InterfaceError, OSError), match=message):
        await type_in(f"\\copy {text}")
