"""What a small query costs its client in instructions, by valgrind: the same on a busy machine. Never: a clock.

    python -m tests.bench.instructions [--peers aioifx,asyncpg] [--loops asyncio,uvloop]

Each client runs twice as a process of its own, with many calls more the second time; what that took more is divided by
them. What the system does for it is not counted, nor what its server does. A ping-pong has no client in it, so that a
client's own instructions are those beyond it.
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
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from typing import Final

from tests.bench.compare import named, ping_pong_of
from tests.bench.peers import Order
from tests.bench.postgres import PostgresMissing, postgres_process
from tests.bench.replay import replay_process

ROWS: Final = 100
FEW: Final = 200
MANY: Final = 1700

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
        """Of one call."""
        few, many = (self._total(Order(workload, repeat=calls)) for calls in (FEW, MANY))
        return (many - few) / (MANY - FEW)

    def _total(self, order: Order) -> int:
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
        answer = json.loads(done.stdout.splitlines()[0]) if done.stdout else {"missing": done.stderr}
        if "missing" in answer:
            raise RuntimeError(f"{self.name}: {answer['missing']}")
        return total_of(done.stderr)


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


def table(counted: dict[str, float]) -> Iterator[str]:
    """Lines of Markdown."""
    yield "| client | instructions | its own |"
    yield "| --- | ---: | ---: |"
    for name, count in counted.items():
        beyond = count - counted[ping_pong_of(name)]
        yield f"| {name} | {count:,.0f} | {beyond:,.0f} |"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--peers", default="*", metavar="PATTERNS", help="such as aioifx,asyncpg")
    parser.add_argument("--loops", default="asyncio,uvloop")
    given = parser.parse_args()
    with ExitStack() as stack:
        informix = stack.enter_context(replay_process(rows=ROWS))
        postgres = None
        try:
            postgres = stack.enter_context(postgres_process(ROWS))
        except PostgresMissing as missing:
            print(f"left out: asyncpg: {missing}", file=sys.stderr)
        counted: dict[str, float] = {}
        for client in clients(informix, postgres, given.loops.split(",")):
            if client.peer.startswith("ping-pong") or named(client.name, given.peers):
                counted[client.name] = client.instructions("select-1")
    print("\n".join(table(counted)))


if __name__ == "__main__":
    main()
