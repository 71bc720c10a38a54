"""Words that are no longer used here, and sentences that are too long, with the places where some are left.

    python -m tests.vocabulary                  lower the counts in vocabulary.json to what is left, and print them
    python -m tests.vocabulary aioifx/client    list what is left there, as path:line: words
    python -m tests.vocabulary --new-rules      write the counts even where they rise, after a rule was added

Prose is documentation, comments, docstrings, names of tests, and outside tests every string literal. Identifiers are
names in code, and names of modules. `tests.sentences` finds the sentences of pages and of docstrings of aioifx.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple

from tests.sentences import long_sentences

ROOT = Path(__file__).parents[1]
RECORD = Path(__file__).with_name("vocabulary.json")

# What is read; the rest of the repository is data.
TREES = ("aioifx", "tests", "examples", "docs", ".build", ".ci", ".github")
FILES = ("README.md", "pyproject.toml", "compose.yaml", ".mkdocs.yml", ".pre-commit-config.yaml")
CODE = {".py", ".pyi", ".pyx", ".pxd"}
TEXT = {".md", ".toml", ".yml", ".yaml", ".sh", ""}
SKIPPED = {"docs/development/modules.md", "tests/vocabulary.py", "tests/test_vocabulary.py"}
KINDS = ("phrases", "identifiers", "sentences")
SUBAREAS = {"client", "codecs", "server", "wire", "_speedups"}

# Each is a regular expression; a space stands for any white space, a line break included.
PHRASES = (
    r"behind",
    r"in front of",
    r"(?:nobody|somebody|whoever|whomever)(?:'s)?",
    r"he|his|him|himself",
    r"is called so",
    r"(?<!there\s)is no(?!\s(?:longer|larger|smaller|faster|more|less|later|earlier|different)\b)(?=\s[a-z\0])",
    r"of no use",
    r"(?:has|have|had|having|takes?|gives?) the turn",
    r"house(?: rules?|'s)|the house",
    r"floors?(?! division)|upstairs|downstairs|roofs?",
    r"rooms|(?:a|each|every|one|the|which) room|room's",
    r"chores?|tickets?|manners|errands?|patience",
    r"lends?|lent|lending|lenders?|borrow(?:s|ed|ing|ers?)?",
    r"knows? better|dislike[sd]?",
    r"good-?byes?",
    r"told|anew|by turns|debris|spoilt|mended|ever after",
    r"(?<!there\s)is (?-i:none)",
    r"stands? (?:twice|in|where)",
    r"\w+, often(?=\.)",
    r"belongs? into",
    r"is there already",
    r"another number of",
)

# Uses of these words that are right.
ALLOWED = (
    r"behind (?:a|the|one|its) (?:firewall|load balancer|proxy|NAT|VPN)",
    r"(?:leaves?|left|leaving)(?: \w+)? behind",
    r"\d+ bytes? (?:behind|in front of)",
    r"[Bb]orrowed references?",  # of CPython's API
    r"FLOOR|\0floor\0|\| roof",  # a function of SQL, and a place
)

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
    ),
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
        operands portions registered roster seeds session_acts sessions slots statement_acts statements texts tree
        urgent violations writes
    """,
}

# A comment, or a string of Python 3.11 without its prefix; between them stands code.
_LITERAL = re.compile(
    r"""(?s)(?=["'\#])(?:
        (?P<long>\#[^\n]*|\"{3}[^"\\]*(?:(?:\\.|"(?!""))[^"\\]*)*\"{3})
        |"[^"\\\n]*(?:\\.[^"\\\n]*)*"
        |'[^'\\\n]*(?:\\.[^'\\\n]*)*'
    )""",
    re.VERBOSE,
)
_FIELD = re.compile(r"\{[^{}]*\}")
_TEST_NAME = re.compile(r"\bdef (test_\w+)")
_WORD = re.compile(r"\w+")
_IMPORT = re.compile(r"^ *(?:from (?:aioifx|\.)[^(\n]*|import aioifx.*)", re.MULTILINE)


class Hit(NamedTuple):
    kind: str
    path: str
    line: int
    words: str


def gap(code: str) -> Iterator[str]:
    """What stands for code: as many line breaks, and the names of tests, which are sentences."""
    end = 0
    for match in [*_TEST_NAME.finditer(code), None]:
        start = match.start(1) if match else len(code)
        yield "\0" + "\n" * code.count("\n", end, start) + "\0"
        if match:
            yield match[1].replace("_", " ")
            end = match.end()


def prose_and_code(source: str, with_short_strings: bool) -> tuple[str, str]:
    """The prose and the code of a module, each with the other cut out; lines keep their numbers.

    Adjacent literals and the lines of a comment are one text, so that a phrase is found across them.
    """
    prose: list[str] = []
    code: list[str] = []
    end = 0
    for match in _LITERAL.finditer(source):
        between, text = source[end : match.start()], match[0]
        end = match.end()
        code += between, *gap(text)
        prose += [between] if between.isspace() else gap(between)
        if match["long"] or with_short_strings:
            if between[-1:] in ("f", "F"):
                text = _FIELD.sub("\0", text)
            prose.append(text.strip("\"'#"))
        else:
            prose += gap(text)
    code.append(source[end:])
    prose += gap(source[end:])
    return "".join(prose), "".join(code)


def any_of(expressions: Iterable[str]) -> re.Pattern[str]:
    alternatives = "|".join(expressions).replace(" ", r"\s+")
    return re.compile(rf"(?=[A-Za-z])(?<![\w-])(?i:{alternatives})(?![\w-])")


_BANNED = any_of(PHRASES)
_ALLOWED = re.compile("|".join(ALLOWED).replace(" ", r"\s+"))


@cache
def retired(area: str, names: Literal["names", "modules"]) -> frozenset[str]:
    table = RETIRED_NAMES if names == "names" else RETIRED_MODULES
    return frozenset(f"{table['']} {table.get(area.partition('/')[2], '')}".split())


def foreign(path: str) -> set[str]:
    return {
        name
        for name, folders in FOREIGN_NAMES.items()
        if any(path.startswith(f"{folder}/") for folder in folders)
    }


def area_of(path: str) -> str:
    first, _, rest = path.partition("/")
    second = rest.partition("/")[0]
    if first in ("aioifx", "tests") and second in SUBAREAS:
        return f"{first}/{second}"
    return first if first in ("aioifx", "tests", "examples", "docs", "README.md") else "tooling"


def line_of(match: re.Match[str]) -> int:
    return match.string.count("\n", 0, match.start()) + 1


def banned_in(prose: str) -> Iterator[re.Match[str]]:
    exceptions = [match.span() for match in _ALLOWED.finditer(prose)]
    for match in _BANNED.finditer(prose):
        if not any(start <= match.start() and match.end() <= end for start, end in exceptions):
            yield match


def hits_in(path: Path) -> Iterator[Hit]:
    name = path.relative_to(ROOT).as_posix()
    source = path.read_text("utf-8")
    if path.suffix in CODE:
        prose, code = prose_and_code(source, with_short_strings=not name.startswith("tests/"))
    else:
        prose, code = source, ""
    for match in banned_in(prose):
        yield Hit("phrases", name, line_of(match), " ".join(match[0].split()))
    names, modules = retired(area_of(name), "names") - foreign(name), retired(area_of(name), "modules")
    if (stem := path.stem.removeprefix("test_")) in modules:
        yield Hit("identifiers", name, 1, stem)
    if left := names.intersection(_WORD.findall(code)):
        for match in re.finditer(rf"\b(?:{'|'.join(left)})\b", code):
            yield Hit("identifiers", name, line_of(match), match[0])
    for line in _IMPORT.finditer(code):
        for word in modules.intersection(_WORD.findall(line[0])):
            yield Hit("identifiers", name, line_of(line), word)
    if has_sentences(path):
        for number, sentence in long_sentences(path):
            yield Hit("sentences", name, number, sentence)


def has_sentences(path: Path) -> bool:
    first = path.relative_to(ROOT).parts[0]
    suffixes = {"docs": {".md"}, "README.md": {".md"}, "aioifx": {".py", ".pyx", ".pxd"}}
    return path.suffix in suffixes.get(first, set())


def files() -> Iterator[Path]:
    for tree in TREES:
        for path in sorted((ROOT / tree).rglob("*")):
            if path.suffix in CODE | TEXT and path.is_file() and "vectors" not in path.parts:
                yield path
    yield from (ROOT / name for name in FILES if (ROOT / name).is_file())


def all_hits() -> list[Hit]:
    return [
        hit for path in files() if path.relative_to(ROOT).as_posix() not in SKIPPED for hit in hits_in(path)
    ]


def counted(hits: Iterable[Hit]) -> dict[str, dict[str, int]]:
    """By area and kind; an area without a hit counts as well."""
    areas = sorted({area_of(path.relative_to(ROOT).as_posix()) for path in files()})
    counts = Counter((area_of(hit.path), hit.kind) for hit in hits)
    return {area: {kind: counts[area, kind] for kind in KINDS} for area in areas}


def recorded() -> dict[str, dict[str, int]]:
    counts: dict[str, dict[str, int]] = json.loads(RECORD.read_text("utf-8"))
    return counts


def rewrite(new_rules: bool) -> int:
    hits = all_hits()
    found = counted(hits)
    try:
        before = {} if new_rules else recorded()
    except json.JSONDecodeError:  # in the middle of a merge
        before = {}
    worse = 0
    for area, kinds in found.items():
        for kind, count in kinds.items():
            limit = before.get(area, {}).get(kind, count)
            if count > limit:
                worse = 1
                kinds[kind] = limit
                print(f"{area}: {count} {kind}, {limit} allowed", file=sys.stderr)
        print(f"{area:<20}" + "".join(f"{count:>6} {kind}" for kind, count in kinds.items()))
    RECORD.write_text(json.dumps(found, indent=4) + "\n", "utf-8")
    return worse


def show(prefixes: Iterable[str]) -> int:
    wanted = tuple(prefix.rstrip("/") for prefix in prefixes)
    hits = [
        hit
        for hit in all_hits()
        if any(hit.path == name or hit.path.startswith(f"{name}/") for name in wanted)
    ]
    for hit in hits:
        print(f"{hit.path}:{hit.line}: {hit.words}")
    return 1 if hits else 0


if __name__ == "__main__":
    arguments = sys.argv[1:]
    if arguments in ([], ["--new-rules"]):
        sys.exit(rewrite(new_rules=bool(arguments)))
    sys.exit(show(arguments))
