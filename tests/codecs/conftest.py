"""A fixture that watches what is kept for the consumers of exports."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from importlib.util import find_spec

import pytest

from aioifx.codecs import arrow_export
from aioifx.codecs.native import native_arrow_releases, pure_arrow_releases

RELEASES = {"native": native_arrow_releases, "pure": pure_arrow_releases}


@pytest.fixture(params=["native", "pure"])
def kept(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[int, object]]:
    """What a kernel keeps for consumers; nothing at the end of a test."""
    if request.param == "native" and find_spec("aioifx._speedups.arrow_release") is None:
        pytest.skip("not built")
    releases = RELEASES[request.param]()
    monkeypatch.setattr(arrow_export, "releases", releases)
    assert not releases.LIVE
    yield releases.LIVE
    gc.collect()
    assert not releases.LIVE
