"""Coverage-guided fuzzing of every parser that reads a peer's bytes: ``poe fuzz --seconds 60``. Needs atheris.

It starts from recorded bytes, and stops at the first exception that is not one of those for a peer's nonsense; the
bytes that caused it are then in a file called crash-*. atheris is not a dependency: only some Pythons have wheels.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

MEMORY = 1024
"""Megabytes; more than that is a finding, too."""

LONGEST = 4096
"""Bytes of one input."""


def main(arguments: list[str] | None = None) -> int:
    """Fuzz for so many seconds.

    Returns:
        0 without a finding, or without atheris; the fuzzer ends the process itself when it finds something.
    """
    parser = argparse.ArgumentParser(
        prog="poe fuzz", description="Fuzz what reads a peer's bytes, with atheris."
    )
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--side", choices=("replies", "requests"), default="replies")
    parser.add_argument("inputs", nargs="*", type=Path, help="inputs of a former finding, tried once each")
    options = parser.parse_args(arguments)
    try:
        atheris: Any = import_module("atheris")
    except ImportError:
        print(
            "atheris is not installed, nothing was fuzzed: pip install atheris (it has wheels for some Pythons)"
        )
        return 0
    with atheris.instrument_imports(include=["aioifx"]):
        from tests.system.fuzz import corpus, targets
    if options.side == "requests":
        called, starts = targets.REQUESTS, (*corpus.logins("C"), *corpus.requests())
    else:
        called, starts = targets.REPLIES, (*corpus.logins("S"), *corpus.replies(), *corpus.queries())
    with tempfile.TemporaryDirectory() as directory:
        for number, data in enumerate(starts):
            for which in range(len(called)):
                Path(directory, f"{number}-{which}").write_bytes(bytes([which]) + data)
        limits = [f"-max_total_time={options.seconds}", f"-rss_limit_mb={MEMORY}", f"-max_len={LONGEST}"]
        places = [str(path) for path in options.inputs] or [directory]
        _fuzz(atheris, called, [sys.argv[0], *limits, "-print_final_stats=1", *places])
    return 0


def _fuzz(atheris: Any, called: tuple[Callable[[bytes], None], ...], arguments: list[str]) -> None:
    def one_input(data: bytes) -> None:
        """The first byte says which parser, the rest is what comes."""
        if data:
            called[data[0] % len(called)](data[1:])

    atheris.Setup(arguments, one_input)
    atheris.Fuzz()


if __name__ == "__main__":
    sys.exit(main())
