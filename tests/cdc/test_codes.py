from __future__ import annotations

import copy

import pytest

from aioifx import CdcError
from aioifx.cdc.codes import NAMES, cdc_error


@pytest.mark.parametrize(
    ("code", "found", "message", "hint"),
    [
        (-83713, None, "CDC_E_LSN (-83713): the server gives no text", "snapshot=True"),
        (-83704, ("DBNOTLOGGED", "no log"), "CDC_E_DBNOTLOGGED (-83704): no log", "ondblog"),
        (-83708, ("CDC_E_NOSES", "no session"), "CDC_E_NOSES (-83708): no session", "GRANT DBA"),
        (-83701, None, "CDC_E_NOCDCDB (-83701): the server gives no text", "syscdcv1.sql"),
        (-83800, None, "CDC_E_? (-83800): the server gives no text", ""),
    ],
)  # fmt: skip
def test_an_error_has_name_text_and_hint(
    code: int, found: tuple[str, str] | None, message: str, hint: str
) -> None:
    error = cdc_error(code, found)
    assert (str(error), error.code) == (message, code)
    assert hint in "".join(getattr(error, "__notes__", [""]))
    copied = copy.copy(error)
    assert (type(copied), copied.code, copied.name, copied.text) == (
        CdcError, code, error.name, error.text
    )  # fmt: skip


def test_a_routine_is_named() -> None:
    assert cdc_error(-83707, ("NOCOL", "no column"), during="cdc_startcapture").text == (
        "cdc_startcapture: no column"
    )
    assert all(name.startswith("CDC_E_") for name in NAMES.values())
