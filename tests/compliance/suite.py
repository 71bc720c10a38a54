"""The cases, which SQLAlchemy has written."""

from __future__ import annotations

from sqlalchemy.testing.suite import *  # noqa: F403 # pyright: ignore[reportWildcardImportFromLibrary]

import tests.compliance.provision  # noqa: F401 - it registers itself
