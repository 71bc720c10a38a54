"""Facts of servers that only the embedded server assumes. `aioifx verify` checks those that the client needs."""

from __future__ import annotations

from typing import Final

from aioifx.verify import Check
from tests.system.live.composites import COMPOSITES
from tests.system.live.queries import QUERIES
from tests.system.live.statements import STATEMENTS
from tests.system.live.values import VALUES

FACTS: Final[tuple[Check, ...]] = (*VALUES, *COMPOSITES, *STATEMENTS, *QUERIES)
