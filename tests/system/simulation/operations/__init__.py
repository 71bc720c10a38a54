"""The operations of callers. Never: who runs them.

Every operation that writes inserts notes with its own number as their tag. So the log of commits tells which
operations took effect.
"""

from __future__ import annotations

# isort: off
# The order of these imports is that of the table, from which seeds draw.
from tests.system.simulation.operations import reading as reading
from tests.system.simulation.operations import writing as writing
from tests.system.simulation.operations import leftovers as leftovers
from tests.system.simulation.operations import rarer as rarer
from tests.system.simulation.operations import differing as differing
from tests.system.simulation.operations import capturing as capturing

# isort: on
from tests.system.simulation.operations.kinds import KINDS as KINDS
from tests.system.simulation.operations.kinds import Kind as Kind
