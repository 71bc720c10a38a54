from __future__ import annotations

import pytest

from aioifx.server.protocol.failed_logins import _MAX_ADDRESSES, BURST, FailedLogins


def test_after_ten_failures_in_a_second_each_waits_for_its_tenth_of_a_second() -> None:
    failures = FailedLogins()
    for _ in range(BURST):
        assert failures.delay("a", 5.0) == 0
        failures.add("a", 5.0)
    for count in range(1, 5):
        assert failures.delay("a", 5.0) == pytest.approx(count / BURST)
        failures.add("a", 5.0)
    assert failures.delay("b", 5.0) == 0
    assert failures.delay("a", 5.5) == 0
    assert failures.delay("a", 9.0) == 0


def test_ten_failures_a_second_never_wait() -> None:
    failures = FailedLogins()
    for number in range(100):
        failures.add("a", number * 0.101)
        assert failures.delay("a", number * 0.101) == 0


def test_addresses_without_a_recent_failure_are_forgotten() -> None:
    failures = FailedLogins()
    for number in range(_MAX_ADDRESSES):
        failures.add(str(number), 1.0)
    failures.add("last", 2.0)
    assert list(failures._ends) == ["last"]
