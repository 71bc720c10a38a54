"""How much of a test the default suite keeps."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import pytest
from hypothesis import settings

LARGE = 8
"""A family of so many cases is a table of values, vectors or types, of which the default suite keeps a few."""

MOST, MOST_OF_SYSTEM = 25, 8
"""Cases that it keeps of the largest tables, and of the largest tests of the whole system."""


def not_in_the_sample(cases: Sequence[pytest.Function]) -> list[pytest.Function]:
    """All but a few: these have each value of each parameter at least once, and are always the same."""
    left = sorted(cases, key=_number_of)
    seen: set[tuple[str, int]] = set()
    for is_kept in (seen.isdisjoint, lambda values: not seen.issuperset(values)):
        for case in left.copy():
            values = {(name, id(value)) for name, value in case.callspec.params.items()}
            if is_kept(values):
                seen.update(values)
                left.remove(case)
    return left


def left_out(family: Sequence[pytest.Function], *, is_system: bool) -> list[pytest.Function]:
    """The cases of one test that the default suite leaves out.

    It keeps a sample of a test that is marked `sampled`, and one of four runs on other loops than asyncio's. It
    keeps one of four cases of large tables, of laws, which try several examples for each, and of tests of the whole
    system, which take longest.
    """
    if family[0].get_closest_marker("sampled"):
        left, is_table = not_in_the_sample(family), False
    else:
        left = [case for case in family if _is_on_another_loop(case) and _number_of(case) % 4]
        is_table = len(family) >= LARGE or hasattr(family[0].obj, "hypothesis")
    if is_table or is_system:
        kept = sorted((case for case in family if case not in left), key=_number_of)
        left += kept[min(max(len(kept) // 4, 1), MOST_OF_SYSTEM if is_system else MOST) :]
    return left


def repeated_on_other_transports(family: Sequence[pytest.Function]) -> list[pytest.Function]:
    """The cases on uvloop and with TLS that no suite runs, of a sampled test of the whole system.

    Over TCP on asyncio the exhaustive suite runs all of its cases. On uvloop and with TLS, whose transports alone
    differ, it runs the fewest that have each value of each parameter.
    """
    if not family[0].get_closest_marker("sampled"):
        return []
    elsewhere = [case for case in family if _is_on_another_loop(case)]
    with_tls = [case for case in family if case not in elsewhere and "tls" in case.callspec.id.split("-")]
    return [*not_in_the_sample(elsewhere), *not_in_the_sample(with_tls)]


def _is_on_another_loop(case: pytest.Function) -> bool:
    return "uvloop" in case.callspec.id or "eager" in case.callspec.id


def _number_of(case: pytest.Function) -> int:
    """The same in every run."""
    return zlib.crc32(case.name.encode())


def examples(count: int) -> settings:
    """As many examples in the exhaustive suite; in the default suite fewer, in the same proportion as elsewhere."""
    return settings(max_examples=max(count * settings().max_examples // 100, 1))
