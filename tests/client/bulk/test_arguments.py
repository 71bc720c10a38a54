"""Signatures at run time."""

from __future__ import annotations

import inspect
import typing
from typing import Any

import pytest

import aioifx
import aioifx.diagnosis


@pytest.mark.parametrize("owner", [aioifx.Connection, aioifx.Pool, aioifx.PreparedStatement, aioifx.Cursor])
def test_the_hints_of_every_public_method_can_be_resolved(owner: Any) -> None:
    methods = {
        name: method
        for name, method in inspect.getmembers(owner, inspect.isfunction)
        if not name.startswith("_")
    }
    assert len(methods) > 5
    for method in methods.values():
        assert "return" in typing.get_type_hints(method)


def test_the_hints_of_a_load_are_the_types_that_callers_import() -> None:
    hints = typing.get_type_hints(aioifx.Connection.load)
    assert hints["return"] is aioifx.ExecuteResult
    assert "TextFormat" in str(hints["format"])
