"""Retired words and long sentences: what is left of them only becomes less, see `tests.vocabulary`."""

from __future__ import annotations

import re

import pytest

from tests import sentences, vocabulary

GLOSSARY = vocabulary.ROOT / "docs" / "development" / "glossary.md"


def phrases_in(text: str, *, with_short_strings: bool = True) -> list[tuple[str, int]]:
    prose, _ = vocabulary.prose_and_code(text, with_short_strings)
    return [(" ".join(match[0].split()), vocabulary.line_of(match)) for match in vocabulary.banned_in(prose)]


@pytest.mark.exhaustive
def test_what_is_left_is_what_is_recorded() -> None:
    found, recorded = vocabulary.counted(vocabulary.all_hits()), vocabulary.recorded()
    places = {(area, kind) for counts in (found, recorded) for area in counts for kind in vocabulary.KINDS}
    different = [
        f"{area}: {now} {kind}, {before} recorded"
        for area, kind in sorted(places)
        if (now := found.get(area, {}).get(kind, 0)) != (before := recorded.get(area, {}).get(kind, 0))
        and not (kind == "sentences" and now < before)  # docstrings become shorter in many commits
    ]
    advice = "`python -m tests.vocabulary AREA` lists them; `python -m tests.vocabulary` records lower counts"
    assert different == [], advice


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("# Nobody\n# waits in front\n# of it.\n", [("Nobody", 1), ("in front of", 2)]),
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


LONG = " ".join(["word"] * 26)
SHORT = " ".join(["word"] * 25)


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        (f"A {LONG}.", [1]),
        (f"{SHORT}. A {SHORT[5:]}.", []),
        (f"# {LONG}\n\n| {LONG} |\n\n```\n{LONG}\n```\n\n{LONG}", [9]),
        (f"One.\n\n- a\n- {LONG[:60]}\n  {LONG[60:]}\n- c", [4]),
        (f"See [{SHORT}](page.md#{'-'.join('x' * 30)}) and `{LONG}`.", [1]),
        ("`a`, `b`, `c` and `d` are " + SHORT[10:], []),
        (f"{SHORT}, e.g. {SHORT}", [1]),
    ],
)
def test_long_sentences_are_found_in_running_text_only(page: str, expected: list[int]) -> None:
    found = [
        line
        for line, text in sentences.paragraphs(page)
        for sentence in sentences.sentences(text)
        if sentences.length(sentence) > sentences.MOST_WORDS
    ]
    assert found == expected


def test_docstrings_are_read_by_section_without_their_drawings() -> None:
    source = f'''
class A:
    """Text.

        a drawing {LONG}

    Wire: 2 {LONG}

    Args:
        one: first.
        two: {SHORT}
    """
'''
    texts = [sentence for _, text in sentences.docstrings(source) for sentence in sentences.sentences(text)]
    assert texts == ["Text.", "one: first", f"two: {SHORT}"]


def test_docstrings_and_comments_of_cython_are_read_without_c_and_directives() -> None:
    source = f'''# cython: {LONG}
"""Text. Never: this.
"""
cdef extern from *:
    """
    /* {LONG} */
    """
# --- heading ---
cdef int value = 1  # of one
# Two lines
# are one.
SEPARATOR = "#"
'''
    found = [(line, text) for line, text in sentences.cython_texts(source)]
    assert found == [(2, "Text. this."), (9, "of one"), (10, "Two lines are one.")]


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
