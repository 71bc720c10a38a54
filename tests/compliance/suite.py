"""The cases, which SQLAlchemy has written."""

from __future__ import annotations

from typing import Any

from sqlalchemy.testing import suite
from sqlalchemy.testing.suite import *  # noqa: F403 # pyright: ignore[reportWildcardImportFromLibrary]

import tests.compliance.provision  # noqa: F401 - it registers itself


class ServerSideCursorsTest(suite.ServerSideCursorsTest):  # type: ignore[no-redef]
    """With cursors of other drivers than SQLAlchemy's own."""

    def _is_server_side(self, cursor: Any) -> bool:
        return bool(cursor.server_side)
