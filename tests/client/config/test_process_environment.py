"""The process's environment, as os.environ gives it."""

from __future__ import annotations

import os

import pytest

from aioifx.client.config.process_environment import environment_variable, raw_environment


def test_variable_is_read_again_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AIOIFX_TEST", raising=False)
    assert environment_variable("AIOIFX_TEST") is None
    for value in ("", "Grüße", "\udcff"):
        monkeypatch.setenv("AIOIFX_TEST", value)
        assert environment_variable("AIOIFX_TEST") == os.environ["AIOIFX_TEST"] == value


def test_each_change_changes_the_raw_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AIOIFX_TEST", raising=False)
    before = dict(raw_environment())
    monkeypatch.setenv("AIOIFX_TEST", "1")
    first = dict(raw_environment())
    monkeypatch.setenv("AIOIFX_TEST", "2")
    assert first not in (before, raw_environment())
    monkeypatch.delenv("AIOIFX_TEST")
    assert raw_environment() == before


def test_os_environ_may_be_replaced_by_another_mapping(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "environ", {"AIOIFX_TEST": "1"})
    assert (environment_variable("AIOIFX_TEST"), environment_variable("AIOIFX_NONE")) == ("1", None)
    assert raw_environment() == {"AIOIFX_TEST": "1"}
