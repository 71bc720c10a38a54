"""A hook of mkdocs: the site is named after the version that it documents."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

PYPROJECT = Path(__file__).parents[1] / "pyproject.toml"


def on_config(config: Any) -> Any:
    """Add the version to the name, which is in the header and in the titles of all pages."""
    config.site_name += f" {tomllib.loads(PYPROJECT.read_text('utf-8'))['project']['version']}"
    return config
