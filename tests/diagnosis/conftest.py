"""Diagnoses in tests do not wait for servers that speak first, nor long before they interrupt."""

from __future__ import annotations

import pytest

from aioifx.diagnosis import checks, examination
from tests.client.conftest import tidy

__all__ = ["tidy"]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(examination, "BANNER_WAIT", 0.01)
    monkeypatch.setattr(checks, "RUNNING_TIME", 0.02)
