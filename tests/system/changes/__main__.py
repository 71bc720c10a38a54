"""The law with many transactions: ``python -m tests.system.changes 100000 --seed 1 --kill 20``."""

from __future__ import annotations

import argparse
import asyncio
import time

from aioifx.server import Quirk
from tests.system.changes.law import Law
from tests.system.soak.places import Killed, Restarted

WRITERS = 8


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.system.changes", description=__doc__)
    parser.add_argument("transactions", type=int, help="of all writers")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kill", type=int, default=0, metavar="N", help="kill the server N times")
    parser.add_argument("--cuts", type=float, default=0.005, help="probability of each transaction")
    parser.add_argument(
        "--faults", type=float, default=0.5, help="probability that a connection of the reader is cut"
    )
    parser.add_argument(
        "--quirks", nargs="*", default=[], choices=[quirk for quirk in Quirk if "cdc-" in quirk]
    )
    given = parser.parse_args()
    law = Law(
        given.seed,
        given.transactions // WRITERS,
        WRITERS,
        given.quirks,
        Killed if given.kill else Restarted,
        given.kill,
        given.cuts,
        given.faults,
        most_seconds=30.0,
    )
    began = time.monotonic()
    asyncio.run(law.check())
    print(f"equal: {law.seen}, {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
