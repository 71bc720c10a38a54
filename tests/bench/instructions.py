"""What a small query costs its client in instructions, by valgrind: the same on a busy machine. Never: a clock.

    python -m tests.bench.instructions [--peers aioifx,asyncpg] [--loops asyncio,uvloop] [--workloads select-1,insert]

Each client runs twice as a process of its own, with many calls more the second time; what that took more is divided by
them. What the system does for it is not counted, nor what its server does. A ping-pong has no client in it, so that a
client's own instructions of SELECT 1 are those beyond it; those of other workloads are counted whole.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass
from typing import Final

from tests.bench.compare import named, ping_pong_of
from tests.bench.peers import CROWD, TASKS, Missing, Order
from tests.bench.postgres import PostgresMissing, postgres_process
from tests.bench.replay import replay_process
from tests.bench.workers import Answer

ROWS: Final = 100
FEW: Final = 200
MANY: Final = 1700
WORKLOADS: Final = ("select-1", "pool-fetch", "few-rows", "insert", "gather", "crowd", "connect")
FEWER: Final = {"gather": TASKS, "crowd": CROWD, "connect": 10}
"""Workloads that are repeated less often, by what factor."""

_TOTAL: Final = re.compile(r"I\s+refs:\s+([\d,]+)")


class ValgrindMissing(Exception):
    """There is no valgrind here."""


@dataclass(frozen=True, slots=True)
class Client:
    """A peer on one of the loops."""

    name: str
    peer: str
    dsn: str
    loop: str
    is_pure: bool = False

    def instructions(self, workload: str) -> float:
        """Of one call.

        Raises:
            Missing: the client has no such call.
        """
        factor = FEWER.get(workload, 1)
        few, many = (self._total(Order(workload, repeat=calls // factor)) for calls in (FEW, MANY))
        return (many[0] - few[0]) / (many[1] - few[1])

    def _total(self, order: Order) -> tuple[int, int]:
        valgrind = shutil.which("valgrind")
        if valgrind is None:
            raise ValgrindMissing("no valgrind")
        command = [valgrind, "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]
        command += [sys.executable, "-m", "tests.bench.workers", self.peer, self.dsn, self.loop]
        environment = os.environ | {"PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"}
        if self.is_pure:
            environment["AIOIFX_SPEEDUPS"] = "0"
        done = subprocess.run(
            command, input=json.dumps(asdict(order)) + "\n", capture_output=True, text=True, env=environment
        )
        answer: Answer = json.loads(done.stdout.splitlines()[0]) if done.stdout else {"missing": done.stderr}
        if answer.get("missing") == order.workload:
            raise Missing(order.workload)
        if "missing" in answer:
            raise RuntimeError(f"{self.name}: {answer['missing']}")
        return total_of(done.stderr), answer["done"]


def total_of(report: str) -> int:
    """The instructions that valgrind's last lines tell."""
    found = _TOTAL.search(report)
    if found is None:
        raise ValueError(f"not what valgrind says: {report[-200:]!r}")
    return int(found[1].replace(",", ""))


def clients(informix: str, postgres: str | None, loops: list[str]) -> Iterator[Client]:
    """All that use a loop, each loop's ping-pongs first."""
    for loop in loops:
        end = "" if loop == "asyncio" else f" {loop}"
        yield Client(f"ping-pong{end}", "ping-pong", informix, loop)
        if postgres is not None:
            yield Client(f"ping-pong postgres{end}", "ping-pong-postgres", postgres, loop)
            yield Client(f"asyncpg{end}", "asyncpg", postgres, loop)
        yield Client(f"aioifx{end}", "aioifx", informix, loop)
        yield Client(f"aioifx pure{end}", "aioifx", informix, loop, is_pure=True)
        yield Client(f"aioifx observed{end}", "aioifx-observed", informix, loop)


def table(counted: dict[str, dict[str, float]]) -> Iterator[str]:
    """Lines of Markdown, from the counts of each client by workload."""
    workloads = [*dict.fromkeys(workload for counts in counted.values() for workload in counts)]
    yield f"| client | its own of SELECT 1 | {' | '.join(workloads)} |"
    yield f"| --- | ---: |{' ---: |' * len(workloads)}"
    for name, counts in counted.items():
        beyond = counts["select-1"] - counted[ping_pong_of(name)]["select-1"]
        cells = [f"{counts[workload]:,.0f}" if workload in counts else "" for workload in workloads]
        yield f"| {name} | {beyond:,.0f} | {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--peers", default="*", metavar="PATTERNS", help="such as aioifx,asyncpg")
    parser.add_argument("--loops", default="asyncio,uvloop")
    parser.add_argument("--workloads", default="select-1", help=f"of {','.join(WORKLOADS)}")
    given = parser.parse_args()
    others = [workload for workload in given.workloads.split(",") if workload != "select-1"]
    with ExitStack() as stack:
        informix = stack.enter_context(replay_process(rows=ROWS))
        postgres = None
        try:
            postgres = stack.enter_context(postgres_process(ROWS))
        except PostgresMissing as missing:
            print(f"left out: asyncpg: {missing}", file=sys.stderr)
        counted: dict[str, dict[str, float]] = {}
        for client in clients(informix, postgres, given.loops.split(",")):
            if client.peer.startswith("ping-pong") or named(client.name, given.peers):
                counts = counted[client.name] = {}
                for workload in ["select-1", *others]:
                    with suppress(Missing):
                        counts[workload] = client.instructions(workload)
    print("\n".join(table(counted)))


if __name__ == "__main__":
    main()
