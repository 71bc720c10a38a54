"""What is suggested at a place in the input; ``|`` is the cursor."""

from __future__ import annotations

from pathlib import Path

import pytest

from aioifx.cli.shell.completion import suggestions
from aioifx.cli.shell.names import Names

NAMES = Names(
    {"item": ["id", "name", "price"], "sale": ["item", "number"], "Odd": ["a"], "systables": ["tabname"]},
    ["twice", "today_is"],
    ["shop", "other"],
    ["item", "sale"],
)


def suggested(text: str) -> list[str]:
    before, _, after = text.partition("|")
    return [each.text for each in suggestions(before, after, NAMES)[1]]


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("SEL|", ["SELECT"]),
        ("sel|", ["select"]),
        ("SELECT 1; SEL|", ["SELECT"]),
        ("SELECT * FROM it|", ["item"]),
        ("SELECT * FROM item, sa|", ["sale"]),
        ("SELECT * FROM item JOIN sa|", ["sale"]),
        ("INSERT INTO it|", ["item"]),
        ("UPDATE it|", ["item"]),
        ("DROP TABLE sa|", ["sale"]),
        ("INFO COLUMNS FOR it|", ["item"]),
        ("SELECT pri| FROM item", ["price", "primary", "privileges"]),
        ("SELECT pri|", ["price", "primary", "privileges"]),
        ("SELECT num| FROM item", ["numeric"]),
        ("SELECT tabn|", []),
        ("SELECT tabn| FROM systables", ["tabname"]),
        ("SELECT * FROM item WHERE na|", ["name"]),
        ("SELECT s.| FROM sale s", ["item", "number"]),
        ("SELECT s.n| FROM sale AS s, item i", ["number"]),
        ("UPDATE item SET pri|", ["price", "primary", "privileges"]),
        ("EXECUTE FUNCTION tw|", ["twice"]),
        ("SELECT tw| FROM item", ["twice"]),
        ("DATABASE sh|", ["shop"]),
        ("SELECT * FROM o|", ['"Odd"', "on", "order"]),
        ("tw|", []),
        ("\\ti|", ["\\timing"]),
        ("\\d sa|", ["sale"]),
        ("\\df tw|", ["twice"]),
        ("\\c ot|", ["other"]),
        ("\\x o|", ["off", "on"]),
        ("\\timing o|", ["off", "on"]),
        ("\\copy it|", ["item"]),
        ("\\copy item fr|", ["from"]),
        ("\\q |", []),
    ],
)  # fmt: skip
def test_suggestions(text: str, first: list[str]) -> None:
    found = suggested(text)
    assert found == first if text.startswith("\\") else found[: len(first)] == first


def test_files_are_suggested(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "scripts").mkdir()
    (tmp_path / "scripts" / "a.sql").touch()
    monkeypatch.chdir(tmp_path)
    assert suggested("\\i sc|") == ["scripts/"]
    assert suggested("\\i scripts/|") == ["scripts/a.sql"]
    assert suggested("\\copy item from scr|") == ["scripts/"]
    assert suggested("\\i missing/|") == []
    assert suggested("\\i ~nobody-like-this/|") == []


def test_a_word_is_suggested_once() -> None:
    found = suggested("SELECT | FROM item")
    assert len(found) == len(set(found))
