"""How many bytes of rows a session asks for at a time, and what it learns from the answers. Never: a cursor."""

from __future__ import annotations

import logging
from typing import Final

from aioifx.client.config.options import STANDARD_FETCH_SIZE
from aioifx.errors import DatabaseError, InternalError, NotSupportedError, OperationalError, class_for
from aioifx.wire.replies import Reply

_MAY_BE_THE_SIZE: Final = (DatabaseError, OperationalError, InternalError, NotSupportedError)
"""Such an error, and of these exactly, says nothing of the statement, of a lock, of a value or of an interrupt."""

logger: Final = logging.getLogger("aioifx.fetch")


class FetchBuffer:
    """The size of a session's fetches.

    One above `STANDARD_FETCH_SIZE` is doubted until the first such fetch has been answered. When that answer is an
    error that may have been about the size, the standard size takes its place for the rest of the session.

    Source:   observed: JDBC sends 100,000 when it is told to (select.json, fet_buf_size_100000), and libsqli up to
              4 MiB to 14.10. Documented: up to 2 GB since 11.70.xC5, and a size that is invalid gives no error but
              the default. That a server could refuse a size all the same, and by which error, is assumed.
    """

    __slots__ = ("is_doubted", "size")

    def __init__(self, size: int) -> None:
        self.size = size
        self.is_doubted = size > STANDARD_FETCH_SIZE
        """Whether nothing is known yet of how the server takes it."""

    def refused(self, size: int, reply: Reply) -> bool:
        """Judge the answer to a fetch of *size* bytes: whether so many cannot be had. It is True at most once."""
        if not self.is_doubted or size <= STANDARD_FETCH_SIZE:
            return False
        error = reply.error
        if error is None or reply.rows or reply.bad_value is not None:
            self.is_doubted = False
            return False
        if class_for(error.sqlcode, error.isamcode) not in _MAY_BE_THE_SIZE:
            return False
        logger.warning(
            "a fetch of %d bytes failed with %d; this connection asks for %d from now on",
            size,
            error.sqlcode,
            STANDARD_FETCH_SIZE,
        )
        self.use_standard_size()
        return True

    def use_standard_size(self) -> None:
        """Ask for no more than every server gives."""
        self.size = min(self.size, STANDARD_FETCH_SIZE)
        self.is_doubted = False
