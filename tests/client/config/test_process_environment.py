"""One variable of the process's environment, as os.environ gives it."""

from __future__ import annotations

import os

import pytest

from aioifx.client.config.process_environment import environment_variable


def test_variable_is_read_anew_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AIOIFX_TEST", raising=False)
    assert environment_variable("AIOIFX_TEST") is None
    for value in ("", "Grüße", "\udcff"):
        monkeypatch.setenv("AIOIFX_TEST", value)
        assert environment_variable("AIOIFX_TEST") == os.environ["AIOIFX_TEST"] == value
