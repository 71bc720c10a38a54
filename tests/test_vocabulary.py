"""Words that were retired stay so: what is left of them only becomes less, see `tests.vocabulary`."""

from __future__ import annotations

import re

import pytest

from tests import vocabulary

GLOSSARY = vocabulary.ROOT / "docs" / "development" / "glossary.md"


def phrases_in(text: str, *, with_short_strings: bool = True) -> list[tuple[str, int]]:
    prose, _ = vocabulary.prose_and_code(text, with_short_strings)
    return [(" ".join(match[0].split()), vocabulary.line_of(match)) for match in vocabulary.banned_in(prose)]


def test_the_words_that_are_left_are_those_that_are_recorded() -> None:
    found, recorded = vocabulary.counted(vocabulary.all_hits()), vocabulary.recorded()
    places = {(area, kind) for counts in (found, recorded) for area in counts for kind in vocabulary.KINDS}
    different = [
        f"{area}: {now} {kind}, {before} recorded"
        for area, kind in sorted(places)
        if (now := found.get(area, {}).get(kind, 0)) != (before := recorded.get(area, {}).get(kind, 0))
    ]
    advice = "`python -m tests.vocabulary AREA` lists them; `python -m tests.vocabulary` records lower counts"
    assert different == [], advice


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("# Nobody\n# stands in front\n# of it.\n", [("Nobody", 1), ("in front of", 2)]),
        ('x = "no option is "\ny = "called so"\n', []),
        ('x = (\n    "no option is "\n    "called so"\n)\n', [("is called so", 2)]),
        ('x = f"{behind} is no {house}"\n', [("is no", 1)]),
        ('def f():\n    """Waits\n    behind it."""\n', [("behind", 3)]),
        ("def test_whoever_comes_waits() -> None: ...\n", [("whoever", 1)]),
        ("behind = nobody  # there is no floor division\n", []),
        ("# behind a proxy; is no longer; FLOOR(x); any-room; the head\n", []),
    ],
)
def test_phrases_are_found_in_prose_only(source: str, expected: list[tuple[str, int]]) -> None:
    assert phrases_in(source) == expected


def test_in_tests_short_strings_are_data() -> None:
    assert phrases_in("x = 'behind'  # behind\n", with_short_strings=False) == [("behind", 1)]


def test_identifiers_are_found_in_code_only() -> None:
    _, code = vocabulary.prose_and_code("x = Line('Line')  # Line\n", with_short_strings=True)
    assert [word for word in code.replace("(", " ").split() if word == "Line"] == ["Line"]


def test_the_glossary_is_sorted_and_names_modules_that_exist() -> None:
    entries = re.findall(
        r"^\| (?!term |---)(.+?) \| .+ \| (.+) \|$", GLOSSARY.read_text("utf-8"), re.MULTILINE
    )
    terms = [term.replace("`", "").lower() for term, _ in entries]
    assert terms == sorted(set(terms))
    modules = {name for _, names in entries for name in re.findall(r"`([^`]+)`", names)}
    package = vocabulary.ROOT / "aioifx"
    missing = {name for name in modules if not list(package.glob(name + "*"))}
    assert missing == set()
