"""All checks and facts: unique names, and one check or reason for each mark of an assumption."""

from __future__ import annotations

import re

from aioifx.verify import CHECKS
from tests.system.live.facts import FACTS
from tests.verify.marks import REASONS, marks
from tests.verify.outcomes import NEVER_TRIED

ALL = (*CHECKS, *FACTS)
_HINT = "add a check to aioifx/verify or tests/system/live, or a reason to tests/verify/marks.py"


def test_names_are_unique_words_with_hyphens() -> None:
    names = [check.name for check in ALL]
    assert len(set(names)) == len(names)
    assert [name for name in names if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name)] == []
    assert set(names) >= NEVER_TRIED


def test_facts_are_sentences() -> None:
    assert [check.fact for check in ALL if not check.fact.endswith(".") or len(check.fact) > 120] == []


def test_each_mark_has_a_check_or_a_reason() -> None:
    keys = [*REASONS, *(key for check in ALL for key in check.marks)]
    unknown = [f"{mark.module}: {mark.line}" for mark in marks() if not any(map(mark.is_named, keys))]
    assert unknown == [], _HINT


def test_each_check_and_each_reason_names_a_mark() -> None:
    found = list(marks())
    strays = {
        key
        for key in [*REASONS, *(key for check in ALL for key in check.marks)]
        if not any(mark.is_named(key) for mark in found)
    }
    assert strays == set()
    checked = {key for check in ALL for key in check.marks}
    needless = {
        key
        for key in REASONS
        if all(any(map(mark.is_named, checked)) for mark in found if mark.is_named(key))
    }
    assert needless == set()
    assert [check.name for check in ALL if not check.marks] == []


def test_the_package_has_no_check_of_an_sql_fact_that_only_the_embedded_server_assumes() -> None:
    alone = {check.name for check in CHECKS if all(key.startswith("server/") for key in check.marks)}
    assert alone == {
        "many-statements", "scroll-kinds", "scrolls-over-collections", "failed-put", "missing-server-file",
        "constraints-outside",
    }, "the requests of these are sent by modules of the package"  # fmt: skip
