"""Fetch size of a session, and its fallback to the standard size. Never: a cursor."""

from __future__ import annotations

import logging
from typing import Final

from aioifx.client.config.options import STANDARD_FETCH_SIZE
from aioifx.errors import (
    DatabaseError,
    DataError,
    IntegrityError,
    InternalError,
    LockError,
    NotSupportedError,
    OperationalError,
    PermissionDenied,
    QueryCanceled,
    class_for,
)
from aioifx.wire.completion import ServerError
from aioifx.wire.replies import Reply

_MAY_BE_THE_SIZE: Final = (DatabaseError, OperationalError, InternalError, NotSupportedError)
"""Classes (not their subclasses) of errors unrelated to the statement, a lock, a value or an interrupt."""

logger: Final = logging.getLogger("aioifx.fetch")


_OF_THE_ROWS: Final = (LockError, QueryCanceled, DataError, IntegrityError, PermissionDenied)
"""Classes of errors that only an evaluated query can have."""


def may_be_about_the_request(error: ServerError) -> bool:
    """Whether the error of an opening may be about the form of its request."""
    return not issubclass(class_for(error.sqlcode, error.isamcode), _OF_THE_ROWS)


def may_be_about_the_size(sqlcode: int, isamcode: int) -> bool:
    """Whether an error of a fetch may be about its size."""
    return class_for(sqlcode, isamcode) in _MAY_BE_THE_SIZE


class FetchBuffer:
    """Size of a session's fetches.

    A size above `STANDARD_FETCH_SIZE` is uncertain until the first such fetch has succeeded. If that fetch fails with
    an error that may be about the size, the standard size is used for the rest of the session.

    Source: observed: JDBC sends 100,000 if configured (select.json, fet_buf_size_100000), and libsqli up to 4 MiB to
    14.10. Documented: up to 2 GB since 11.70.xC5; an invalid size falls back to the default without an error. Assumed:
    outside ANSI databases a reply holds as many rows as fit into the size. Assumed: a server may reject a size, and the
    error that it then sends.
    """

    __slots__ = ("is_unconfirmed", "size")

    def __init__(self, size: int) -> None:
        self.size = size
        self.is_unconfirmed = size > STANDARD_FETCH_SIZE
        """Whether the server's acceptance of the size is still unknown."""

    def fall_back_if_rejected(self, size: int, reply: Reply) -> bool:
        """Use the standard size if the reply to a fetch of *size* bytes shows that it was rejected.

        Returns:
            Whether it was rejected; True at most once.
        """
        if not self.is_unconfirmed or size <= STANDARD_FETCH_SIZE:
            return False
        error = reply.error
        if error is None or reply.rows or reply.bad_value is not None:
            self.is_unconfirmed = False
            return False
        if not may_be_about_the_size(error.sqlcode, error.isamcode):
            return False
        logger.warning(
            "a fetch of %d bytes failed with %d; this connection now uses %d",
            size,
            error.sqlcode,
            STANDARD_FETCH_SIZE,
        )
        self.use_standard_size()
        return True

    def use_standard_size(self) -> None:
        """Use the size that every server accepts."""
        self.size = min(self.size, STANDARD_FETCH_SIZE)
        self.is_unconfirmed = False
