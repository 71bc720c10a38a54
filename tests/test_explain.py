"""Explanations: there is advice for every code of `errors`, without contradictions."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aioifx import explain as explaining
from aioifx.errors import ISAM_CODES, SQLCODES, LockTimeout, UndefinedTable, from_server
from aioifx.explain import explain, pairs

ROOT = Path(__file__).parents[1]
CODES = [*SQLCODES, *ISAM_CODES]


def entries() -> list[tuple[list[int], str]]:
    """The book as it is written: the codes of each entry, and its text."""
    found = [entry.partition("\n") for entry in explaining._BOOK.strip().split("\n\n")]
    return [([int(code) for code in codes.split()], text) for codes, _, text in found]


def test_the_book_contains_every_known_code_once_and_no_other() -> None:
    written = [code for codes, _ in entries() for code in codes]
    assert sorted(written) == sorted(CODES)


def test_every_entry_has_a_cause_and_a_remedy_in_sentences() -> None:
    for codes, text in entries():
        lines = text.splitlines()
        assert sum(line.startswith("> ") for line in lines) == 1, codes
        assert all(line == line.rstrip() and len(line) <= 118 for line in lines), codes
        for advice in explain_any(codes[0]).advice:
            assert len(advice) > 10 and advice.isascii() and advice[-1] in ".)", codes
            assert advice[0].isupper() and "  " not in advice, codes


def test_no_two_entries_say_the_same() -> None:
    texts = [text for _, text in entries()]
    assert len(set(texts)) == len(texts)


def test_codes_observed_from_servers_have_an_explanation() -> None:
    assert set(CODES) >= explaining._SEEN


def explain_any(code: int) -> explaining.Explanation:
    found = explain(code) if code in SQLCODES else explain(0, code)
    assert found is not None
    return found


# Law: an explanation says what the exception for the same codes says.
@given(st.sampled_from(sorted(SQLCODES)), st.sampled_from([0, *sorted(ISAM_CODES)]))
def test_an_explanation_is_that_of_the_exception(sqlcode: int, isamcode: int) -> None:
    found, error = explain(sqlcode, isamcode), from_server(sqlcode, isamcode)
    assert found is not None
    assert found.error is type(error)
    assert (found.sqlstate, found.retryable) == (error.sqlstate, error.retryable)
    assert found.connection_usable == error.connection_usable
    assert str(error).startswith(found.meaning)
    assert str(error).endswith(f"{found.reason})")


def test_the_advice_is_that_of_the_code_that_decides() -> None:
    pair, alone, firm = explain(-244, -154), explain(0, -154), explain(-206, -111)
    assert pair and alone and firm
    assert pair.error is alone.error is LockTimeout
    assert pair.advice == alone.advice != explain_any(-244).advice
    assert firm.error is UndefinedTable and firm.advice == explain_any(-206).advice


def test_a_reason_that_decides_nothing_leaves_the_advice_to_the_sqlcode() -> None:
    found = explain(-244, -111)
    assert found and found.reason == "no such record"
    assert found.advice == explain_any(-244).advice


def test_an_isam_code_by_itself_leaves_the_class_open_where_it_decides_nothing() -> None:
    found = explain(0, -111)
    assert found and (found.error, found.sqlstate, found.meaning) == (None, "", "")
    assert found.connection_usable and not found.retryable


@pytest.mark.parametrize(
    ("sqlcode", "isamcode"), [(0, 0), (-31337, 0), (-244, -31337), (-31337, -154), (0, -244), (-154, 0)]
)
def test_unknown_codes_are_not_explained(sqlcode: int, isamcode: int) -> None:
    assert explain(sqlcode, isamcode) is None


def test_evidence_counts_only_when_all_of_a_pair_was_seen() -> None:
    seen, half = explain(-244, -154), explain(-244, -107)
    assert seen and seen.seen
    assert half and not half.seen


@pytest.mark.parametrize(
    ("codes", "expected"),
    [
        ([], []),
        ([-244, -154], [(-244, -154)]),
        ([-154, -244], [(0, -154), (-244, 0)]),
        ([-244, -206, -111, -100], [(-244, 0), (-206, -111), (0, -100)]),
        ([-31337, -100], [(-31337, 0), (0, -100)]),
        ([-244, 0], [(-244, 0), (0, 0)]),
    ],
)
def test_an_isam_code_after_an_sqlcode_is_its_reason(
    codes: list[int], expected: list[tuple[int, int]]
) -> None:
    assert list(pairs(codes)) == expected


# Law: pairing loses no code and invents none.
@given(st.lists(st.sampled_from(CODES) | st.integers(-40_000, -1), max_size=12))
def test_pairing_keeps_every_code_in_order(codes: list[int]) -> None:
    assert [code for pair in pairs(codes) for code in pair if code] == codes


def test_importing_the_package_does_not_load_the_book() -> None:
    program = "import sys, aioifx; sys.exit('aioifx.explain' in sys.modules)"
    subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True, timeout=30)
