"""The checks of `transfers` hold at the embedded server."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from aioifx.server import running
from aioifx.server.protocol.dispatch import Conversation
from aioifx.verify import Outcome, transfers, verify
from aioifx.verify.transfers import TRANSFERS
from tests.verify.outcomes import require_all_held


async def test_all_hold() -> None:
    await require_all_held(TRANSFERS)


@pytest.mark.parametrize("is_silent", [True, False])
async def test_rows_that_are_dropped_after_one_that_fails_refute_a_check(
    is_silent: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answer_all(self: Any, groups: Sequence[Any], early: object) -> bytes:
        for number, group in enumerate(groups, 1):
            if self._answer(group) and len(groups) > 1:
                if not is_silent:
                    for _ in groups[number:]:
                        self._answer(group)  # the failed row again
                break
        return bytes(self._context.outbox.detach())

    monkeypatch.setattr(Conversation, "_answer_all", answer_all)
    monkeypatch.setattr(transfers, "_ANSWER_TIME", 1.0)
    async with running() as dsn:
        report = await verify(dsn, only=["rows-after-failed-row"], cancel_timeout=0.1)
    (finding,) = report.findings
    assert finding.outcome is Outcome.REFUTED
    words = "no reply came to rows in flight" if is_silent else "of 60 rows, of which 20 fails"
    assert words in finding.detail
