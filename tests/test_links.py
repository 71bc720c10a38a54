"""The extension in .build that links names in docstrings to the reference."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

pytest.importorskip("griffe", reason="comes with the extra docs")

_SPEC = importlib.util.spec_from_file_location("links", Path(__file__).parents[1] / ".build" / "links.py")
assert _SPEC and _SPEC.loader
links = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(links)


def test_documented_names_become_links() -> None:
    documented = {"aioifx.Stream", "aioifx.Pool.acquire", "aioifx.Pool.release"}
    text = "See `Stream`, `acquire` and `Pool.release`; ``acquire`` and `other` stay."
    assert links.with_links(text, "aioifx.Pool", documented) == (
        "See [`Stream`][aioifx.Stream], [`acquire`][aioifx.Pool.acquire] and "
        "[`Pool.release`][aioifx.Pool.release]; ``acquire`` and `other` stay."
    )
