"""All checks and facts: unique names, and one check or reason for each mark of an assumption."""

from __future__ import annotations

import re
from functools import cache

from aioifx.verify import CHECKS
from aioifx.verify.checks import SQL
from tests.system.live.facts import FACTS
from tests.verify.marks import REASONS, Mark, marks
from tests.verify.outcomes import NEVER_TRIED, require_all_held

ALL = (*CHECKS, *FACTS)
_HINT = "add a check to aioifx/verify or tests/system/live, or a reason to tests/verify/marks.py"


@cache
def all_marks() -> list[Mark]:
    return [*marks()]


def test_names_are_unique_words_with_hyphens() -> None:
    names = [check.name for check in ALL]
    assert len(set(names)) == len(names)
    assert [name for name in names if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name)] == []
    assert set(names) >= NEVER_TRIED


def test_facts_are_sentences() -> None:
    assert [check.fact for check in ALL if not check.fact.endswith(".") or len(check.fact) > 120] == []


def test_each_mark_has_a_check_or_a_reason() -> None:
    known = {*REASONS, *(key for check in ALL for key in check.marks)}
    unknown = [f"{mark.id}: {mark.line}" for mark in all_marks() if mark.id not in known]
    assert unknown == [], _HINT


def test_each_check_and_each_reason_names_a_mark() -> None:
    checked = {key for check in ALL for key in check.marks}
    assert {*REASONS, *checked} - {mark.id for mark in all_marks()} == set()
    assert checked & REASONS.keys() == set()
    assert [check.name for check in ALL if not check.marks] == []


def test_the_package_has_no_check_of_an_sql_fact_that_only_the_embedded_server_assumes() -> None:
    alone = {check.name for check in CHECKS if all(key.startswith("server/") for key in check.marks)}
    assert alone == {
        "many-statements", "scroll-kinds", "scrolls-over-collections", "failed-put", "missing-server-file",
        "constraints-outside", "cdc-codes", "cdc-open-close", "cdc-timeout-record", "cdc-max-records", "cdc-interrupt",
        "cdc-lsn-too-old",
    }, "the requests of these are sent by modules of the package"  # fmt: skip


async def test_all_hold() -> None:
    await require_all_held(SQL)
