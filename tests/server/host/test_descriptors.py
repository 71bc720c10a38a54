from __future__ import annotations

import pytest

from aioifx.server import ServerOptions, serve
from aioifx.server.host.descriptors import PER_SESSION, allow_descriptors, session_limit

resource = pytest.importorskip("resource")


@pytest.fixture
def soft_limit(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The limits that the system reports and sets."""
    limits = [1024, 4096]

    def set_them(kind: int, given: tuple[int, int]) -> None:
        limits[:] = given

    monkeypatch.setattr(resource, "getrlimit", lambda kind: tuple(limits))
    monkeypatch.setattr(resource, "setrlimit", set_them)
    return limits


@pytest.mark.parametrize(
    ("soft", "wanted", "limit"),
    [
        (1024, 1000, (1024 - 64) // PER_SESSION),
        (1024, 10, 10),
        (20_000, 1000, 1000),
        (30, 1000, 1),
        (resource.RLIM_INFINITY, 10**6, 10**6),
    ],
)
def test_sessions_have_room_within_the_limit_of_open_files(
    soft_limit: list[int], soft: int, wanted: int, limit: int
) -> None:
    soft_limit[0] = soft
    assert session_limit(wanted) == limit


def test_the_soft_limit_becomes_the_hard_one(soft_limit: list[int]) -> None:
    allow_descriptors()
    assert soft_limit == [4096, 4096]


async def test_a_server_tells_its_limit(soft_limit: list[int]) -> None:
    async with serve() as server:
        assert server.max_sessions == 192
    async with serve(ServerOptions(max_sessions=7)) as server:
        assert server.max_sessions == 7
