from __future__ import annotations

from aioifx.server import Quirk
from aioifx.server.engine import cdc_quirks


def test_each_name_is_a_quirk_and_each_quirk_of_capture_has_a_name() -> None:
    names = {value for name, value in vars(cdc_quirks).items() if name.isupper()}
    assert names == {quirk for quirk in Quirk if quirk.startswith("cdc-")}
