"""Names that were replaced do not come back, and the glossary is in order."""

from __future__ import annotations

import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
GLOSSARY = ROOT / "docs" / "development" / "glossary.md"
SUBAREAS = {"client", "codecs", "server", "wire", "_speedups"}

# Names that have been replaced, by the package that used them; the package's tests are checked, too. "" is everywhere.
RETIRED_NAMES = {
    "": """
        Acquiring Attempt Chore Connecting Desk Dialect Executions Expected Journey Keeper Lending Line Making
        Manners Portions Receiver Retried Roster Scrolling SqlFault Staggered Taken Ticket Upkeep Wish
        DISLIKED KEPT MAX_UNASKED PATIENCE RECEIVED_AT_ONCE comes_but_once in_runs lent make_taker native_taker
        take_nothing TakeReply Taker told
    """,
    "wire": "DEFAULT_LIMIT _take_alike _take_end _take_tuples _take_usual _united agreed by_field executions",
    "codecs": "Form Forms Op Packer Step disliked usual _Template _Templates",
    "_speedups": "disliked",
    "client": """
        Blocks Feed Lend Tally Order Refuse Slot Statements Take Use _Group _Journey _Opening _Pipeline _Sink
        ABOUT_DATABASES ABOUT_ROWS _CHANGING _HOPELESS _addressed _again _agree _ahead _around_all _around_each
        _arrived_in_part _as_a_part _asks_to_free _begun _came _clock _commits_itself _doomed _each_stays _explain
        _filled _forgotten _frees_itself _give_up _granted _in_its_own _interrupt _is_guarded _is_part _judge _kept
        _leaving _let_go _lingers _look_ahead _look_later _loose _lose_patience_later _made _made_ready _not_before
        _open_now _out_of_patience _pass_on _place_in_queue _pump _queued _refused _rested _rests _ring _ring_at
        _send_chores _set_manners _settled _sought _stored _taken _tell _tell_change _typed_once _unanswered _untold
        _weigh _write_off abort_to_savepoint abort_transaction admits_all arrived as_it_is autocommit_later
        bare_turn belongs_into_transaction borrow check_reading check_reading_type clear_up executed_text feed_of
        give_back give_turn give_up_transaction hand_out has_lent has_moved hopeless in_doubt is_altered is_as_new
        is_at_rest is_worth_another_try keep_as_new leave_as_new leave_savepoint leave_transaction leaves_work lend
        may_be_kept next_look note_end_of one_size put_cursor_down put_down recall renewed restart_clock send_blocks
        submit take_back take_turn turn_now wait_first wait_outside was_abandoned when_ended work_lost
        _is_busy due_settings goes_on is_free is_in_use is_over isolation_words lock_mode_words make_room mended
        observe_error settle wanted_type was_interrupted
    """,
    "server": """
        Act ACTS LARGEST_PORTION Member Outcome Rules Slot Slots _ANYBODY _BEHIND_A_TYPE _BEHIND_A_VALUE _Level
        _NOBODY _THE_LOST _Terms _Work _admit _ansi _bound _called _executed _for_good _kept _opened _renewed _saved
        _stops_for _talk for_good putting schema_changed take_serial taken_serials tell_version
    """,
}

# Retired names that are right in some folders, because a library's own term is meant.
FOREIGN_NAMES = {
    "Dialect": (
        "aioifx/sqlalchemy",
        "aioifx/alembic",
        "tests/sqlalchemy",
        "tests/alembic",
        "tests/compliance",
    )
}

# Modules, likewise: file names, and words of imports.
RETIRED_MODULES = {
    "": "errorbook",
    "wire": "dialect executions",
    "codecs": "arrays binds forms generated kernel packing",
    "_speedups": "columns params replies rows tuples",
    "client": """
        admission attempt blocks delimited feed fetch_buffer formats keeper lending line literals manners moments
        named reach route scrolling sqltext statements upkeep
    """,
    "server": """
        alterations binders binding calendars callouts changes connections controls conversions cursor_acts
        definitions desk executions extras fault insertions listener loads locks merges moments monitor names
        operands portions registered roster seeds session_acts sessions slots statement_acts statements texts
        urgent violations writes
    """,
}


def area_of(path: str) -> str:
    """The package of a module, or of its tests."""
    area = path.split("/")[1]
    return area if area in SUBAREAS else ""


def retired_in(path: str, source: str) -> Iterator[tuple[int, str]]:
    """Lines and retired names in the code of a module, and of the modules that it imports."""
    area = area_of(path)
    names = {*f"{RETIRED_NAMES['']} {RETIRED_NAMES.get(area, '')}".split()}
    names -= {name for name, folders in FOREIGN_NAMES.items() if path.startswith(folders)}
    modules = {*f"{RETIRED_MODULES['']} {RETIRED_MODULES.get(area, '')}".split()}
    if (stem := Path(path).stem.removeprefix("test_")) in modules:
        yield 1, stem
    lines = iter(source.splitlines(keepends=True))
    for token in tokenize.generate_tokens(lambda: next(lines, "")):
        if token.type == tokenize.NAME:
            is_import = re.match(r" *(from (aioifx|\.)|import aioifx)", token.line) is not None
            if token.string in names or (is_import and token.string in modules):
                yield token.start[0], token.string


@pytest.mark.exhaustive
def test_no_retired_name_is_used() -> None:
    found = [
        f"{name}:{line}: {word}"
        for tree in ("aioifx", "tests")
        for path in sorted((ROOT / tree).rglob("*.py"))
        if (name := path.relative_to(ROOT).as_posix()) != "tests/test_vocabulary.py"
        for line, word in retired_in(name, path.read_text("utf-8"))
    ]
    assert found == []


@pytest.mark.parametrize(
    ("path", "source", "expected"),
    [
        ("aioifx/client/x.py", "class Slot: ...\n", ["Slot"]),
        ("aioifx/wire/x.py", "class Slot: ...\n", []),
        ("tests/client/test_x.py", "x = 'Slot'  # Slot\nlend(Lend)\n", ["lend", "Lend"]),
        ("aioifx/client/moments.py", "", ["moments"]),
        ("aioifx/client/x.py", "from aioifx.client.feed import y\nfeed = 1\n", ["feed"]),
        ("aioifx/sqlalchemy/x.py", "Dialect = 1\n", []),
        ("aioifx/dbapi/x.py", "Dialect = 1\n", ["Dialect"]),
    ],
)
def test_retired_names_are_found_in_code_only(path: str, source: str, expected: list[str]) -> None:
    assert [word for _, word in retired_in(path, source)] == expected


def test_the_glossary_is_sorted_and_names_modules_that_exist() -> None:
    entries = re.findall(
        r"^\| (?!term |---)(.+?) \| .+ \| (.+) \|$", GLOSSARY.read_text("utf-8"), re.MULTILINE
    )
    terms = [term.replace("`", "").lower() for term, _ in entries]
    assert terms == sorted(set(terms))
    modules = {name for _, names in entries for name in re.findall(r"`([^`]+)`", names)}
    package = ROOT / "aioifx"
    missing = {name for name in modules if not list(package.glob(name + "*"))}
    assert missing == set()
