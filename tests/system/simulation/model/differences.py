"""Ways in which a server may differ from what the client expects, and which exclude each other. Never: behaviour."""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class Difference(StrEnum):
    """One way; the name is what a scenario's host has."""

    DONE_WITH_EACH_BLOCK = "DONE with each block"
    """Each block has an SQ_DONE with the rows so far, and the client cannot know the last one by it (not excluded by
    any evidence; the one client that was observed on 14.10 and 15 goes on after it)."""
    NO_DONE_WITH_ROWS = "no DONE with rows"
    """Rows, also the last ones, come without SQ_DONE; the end is a reply of its own (observed: clients that rely on it
    work with 12.10, 14.10 and 15)."""
    END_WITHOUT_DONE = "end without DONE"
    """The reply without rows that ends a result is SQ_EOT alone (observed: JDBC accepts it)."""
    END_WITH_ZERO = "end with 0 rows"
    """The reply without rows that ends a result has an SQ_DONE of 0 rows, and not of all of them (observed: 15)."""
    OPTOFC_IGNORED = "OPTOFC ignored"
    """The cursor is open after its last row."""
    OPTOFC_ALWAYS = "OPTOFC always"
    """The variable is set for the server: the cursor is closed unless the client sends 0."""
    VALUES_KEPT = "values kept"
    """The last row closes a cursor with BYTE columns too. Its values can be requested, unless AUTOFREE was sent."""
    VALUES_GONE = "values gone"
    """The last row closes a cursor with BYTE columns too, and a request for a value of it is an error."""
    RET_TYPE_REFUSED = "RET_TYPE refused"
    """SQ_RET_TYPE in the group of OPEN, without BIND, is an error; the cursor may be open then."""
    PUT_REFUSED = "PUT refused"
    """SQ_PUT is an error."""
    SILENT_AFTER_ERROR = "silent after an error"
    """After an execution of a batch has failed, the executions of its later writes are dropped without a reply."""
    LATE_INTERRUPTS = "late interrupts"
    """An urgent byte ends a statement some requests later, also after the one that asks whether it has arrived."""


EXCLUSIVE: Final = (
    (Difference.DONE_WITH_EACH_BLOCK, Difference.NO_DONE_WITH_ROWS),
    (Difference.END_WITHOUT_DONE, Difference.END_WITH_ZERO),
    (Difference.OPTOFC_IGNORED, Difference.OPTOFC_ALWAYS),
    (Difference.VALUES_KEPT, Difference.VALUES_GONE),
    (Difference.RET_TYPE_REFUSED,),
    (Difference.PUT_REFUSED,),
    (Difference.SILENT_AFTER_ERROR,),
    (Difference.LATE_INTERRUPTS,),
)
"""What seeds draw: of each line a server has at most one."""
