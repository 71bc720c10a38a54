"""Stored procedures as they are in use: each script holds tables, data, routines, calls, and what the calls give.

Lines with ``-->`` are the outcome of the statement before them: rows with a bar behind each value and nothing for NULL,
``no rows``, ``done``, or ``error`` with SQLCODE, ISAM code and token. All of them were worked out by hand.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from aioifx.server.engine.engine import Engine
from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.syntax.parser import split_script
from tests.server.talking import query, run

SCRIPTS = sorted(Path(__file__).parent.glob("*.sql"))
_OUTCOME = re.compile(r"((?:^-->.*\n)+)", re.M)
_ROUTINE = re.compile(
    r"^create (?:procedure|function)\b.*?^\s*end (?:procedure|function)\b", re.I | re.M | re.S
)


def steps(script: str) -> Iterator[tuple[str, list[str] | None]]:
    """The statements, each with the lines of its outcome, or None where it only has to succeed."""
    parts = _OUTCOME.split(script)
    for text, outcome in zip(parts[::2], [*parts[1::2], ""], strict=True):
        statements = [statement for statement, _ in split_script(text)]
        yield from ((statement, None) for statement in (statements[:-1] if outcome else statements))
        if outcome:
            yield statements[-1], [line.removeprefix("-->").strip() for line in outcome.splitlines()]


def outcome_of(engine: Engine, text: str) -> list[str]:
    try:
        if not engine.prepare(text).plan.returns_rows:
            run(engine, text)
            return ["done"]
        rows = query(engine, text)
    except SqlError as error:
        return [f"error {error.sqlcode}, {error.isamcode}, {error.token}".rstrip(", ")]
    lines = ("".join(f"{'' if value is None else value}|" for value in row) for row in rows)
    return [*lines] or ["no rows"]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_routines_give_what_they_mean(script: Path, engine: Engine) -> None:
    for text, expected in steps(script.read_text("utf-8")):
        assert outcome_of(engine, text) == (expected or ["done"]), text


def test_routines_are_as_long_as_in_use() -> None:
    lengths = [
        routine.count("\n") + 1 for path in SCRIPTS for routine in _ROUTINE.findall(path.read_text("utf-8"))
    ]
    assert sum(20 <= length <= 150 for length in lengths) >= 83
    assert sum(55 < length <= 150 for length in lengths) >= 20
    assert sum(130 <= length <= 150 for length in lengths) >= 2
