"""All checks, in the order in which they run. Never: a check's content."""

from __future__ import annotations

from typing import Final

from aioifx.verify.check import Check
from aioifx.verify.fetching import FETCHING
from aioifx.verify.sessions import SESSIONS
from aioifx.verify.sql import SQL
from aioifx.verify.transfers import TRANSFERS

CHECKS: Final[tuple[Check, ...]] = (
    *FETCHING,
    *TRANSFERS,
    *SQL,
    *SESSIONS,
)
