"""The process's own environment variables, which every connect reads anew. Never: what a variable means."""

from __future__ import annotations

import os
from typing import Any


def environment_variable(name: str) -> str | None:
    """``os.environ.get(name)``, without the exception that `os.environ` raises inside for a missing variable.

    A connect asks for six variables, which are usually missing: 3 % of its instructions (measured).
    """
    environ: Any = os.environ
    raw = environ._data.get(environ.encodekey(name))
    value: str | None = None if raw is None else environ.decodevalue(raw)
    return value
