"""All checks, in the order in which they run. Never: a check's content."""

from __future__ import annotations

from typing import Final

from aioifx.verify.check import Check
from aioifx.verify.composites import COMPOSITES
from aioifx.verify.fetching import FETCHING
from aioifx.verify.queries import QUERIES
from aioifx.verify.sessions import SESSIONS
from aioifx.verify.statements import STATEMENTS
from aioifx.verify.transfers import TRANSFERS
from aioifx.verify.values import VALUES

CHECKS: Final[tuple[Check, ...]] = (
    *FETCHING,
    *TRANSFERS,
    *VALUES,
    *COMPOSITES,
    *STATEMENTS,
    *QUERIES,
    *SESSIONS,
)
