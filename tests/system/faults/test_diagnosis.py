"""A diagnosis under every fault of the network ends with a report, in which each failure has a change."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import pytest

import aioifx
import aioifx.diagnosis
from aioifx.diagnosis import DiagnosisReport, checks, examination
from aioifx.diagnosis.report import STEPS
from aioifx.server import Server, ServerOptions, serve
from tests.system.faults.proxy import Fault, Kind, Proxy, Urgent, Way, proxied

SECRET = "tr0ub4dor"


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(examination, "BANNER_WAIT", 0.01)
    monkeypatch.setattr(checks, "RUNNING_TIME", 0.02)


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    async with serve(ServerOptions(("shop",), password=SECRET)) as server:
        yield server


async def diagnose(server: Server, proxy: Proxy, step_timeout: float) -> DiagnosisReport:
    dsn = server.dsn.replace(f":{server.port}/", f":{proxy.port}/")
    report = await aioifx.diagnosis.diagnose(dsn, cancel_timeout=0.1, step_timeout=step_timeout)
    assert [step.name for step in report.steps] == [*STEPS]
    assert SECRET not in json.dumps(report.as_dict())
    return report


async def test_a_proxy_that_drops_urgent_data(server: Server) -> None:
    async with proxied(server.port) as proxy:
        proxy.urgent = Urgent.LOST
        report = await diagnose(server, proxy, 10)
    assert report.ok
    (step,) = (step for step in report.steps if step.name == "interrupt")
    assert step.outcome == "warning" and step.changes[0].setting == "the way to the server"


@pytest.mark.sampled
@pytest.mark.parametrize("before", range(2))
@pytest.mark.parametrize("after", [0, 250, 480, 1_500, 20_000])
@pytest.mark.parametrize("way", Way)
@pytest.mark.parametrize("kind", [Kind.CUT, Kind.RESET, Kind.CORRUPT, Kind.HALF, Kind.STALL])
async def test_each_failure_has_a_change(
    kind: Kind, way: Way, after: int, before: int, server: Server
) -> None:
    async with proxied(server.port) as proxy:
        proxy.faults.extend([*[None] * before, Fault(kind, way, after)])
        report = await diagnose(server, proxy, 0.3)
        proxy.drop_links()
    assert all(step.changes for step in report.failed)
