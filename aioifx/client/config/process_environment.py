"""The process's own environment variables, which every connect reads again. Never: what a variable means.

`os.environ` raises and catches an exception for each variable that is missing, as most are. Reading the dictionary
inside it saves 4 % of a connect's instructions (measured).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any


def environment_variable(name: str) -> str | None:
    """``os.environ.get(name)``."""
    environ: Any = os.environ
    try:
        raw = environ._data.get(environ.encodekey(name))
    except AttributeError:  # `os.environ` was replaced by another mapping
        found: str | None = environ.get(name)
        return found
    value: str | None = None if raw is None else environ.decodevalue(raw)
    return value


def raw_environment() -> Mapping[object, object]:
    """All variables, encoded as the platform has them if possible; only for comparisons."""
    environ: Any = os.environ
    raw: Mapping[object, object] = getattr(environ, "_data", environ)
    return raw
