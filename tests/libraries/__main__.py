"""Other projects' tests, and programs of ours that use their libraries, against the embedded server.

    python -m tests.libraries [--update] [LIBRARY ...]

The libraries come from the registry, in the versions of requirements.txt, into an environment of their own. A suite
that is not in the wheel comes in the sdist. Nothing stays. Where the registry cannot be reached, the status is 77.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import io
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import urllib.request
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from aioifx.server import ServerOptions, serve
from tests.libraries.table import HERE, REQUIREMENTS, Library, distributions, libraries, write_page

ROOT = HERE.parents[1]
SKIPPED = 77
UNREACHABLE = re.compile(
    r"error sending request|dns error|tcp connect error|Connection refused|NewConnectionError|"
    r"Temporary failure in name resolution|Network is unreachable|timed out"
)
OPTIONS = (
    *("-p", "suite_plugin", "-p", "no:cacheprovider", "-q", "--tb=short"),
    *("-o", "asyncio_default_fixture_loop_scope=function"),  # otherwise pytest-asyncio warns
)


class Unreachable(Exception):
    """The registry cannot be reached."""


def fetch(*command: str | Path, cwd: Path, **variables: str) -> None:
    """Run a command that asks the registry.

    Raises:
        Unreachable: there is no connection.
        SystemExit: it failed otherwise.
    """
    env = os.environ | {"UV_CACHE_DIR": f"{cwd}/cache", "UV_PYTHON_DOWNLOADS": "never"} | variables
    run = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True)
    if run.returncode:
        if UNREACHABLE.search(run.stderr):
            raise Unreachable(run.stderr.strip().splitlines()[-1].strip().removeprefix("cause: "))
        sys.exit(f"{' '.join(map(str, command))}:\n{run.stdout}{run.stderr}")


def update(folder: Path) -> None:
    """Write the newest versions of the libraries, and of what they need, into requirements.txt and the page."""
    asked = folder / "distributions.in"
    asked.write_text("\n".join(distributions()), "utf-8")
    uv = (
        sys.executable,
        "-m",
        "uv",
        "pip",
        "compile",
        "--quiet",
        "--upgrade",
        "--no-header",
        "--no-annotate",
    )
    fetch(*uv, "--python-version", "3.11", "--output-file", REQUIREMENTS, asked, cwd=folder)
    write_page()


def make_environment(folder: Path) -> Path:
    """An environment with the libraries and this aioifx; returns its interpreter."""
    uv = (sys.executable, "-m", "uv")
    fetch(*uv, "venv", "--quiet", "--python", sys.executable, folder / "venv", cwd=folder)
    python = folder / "venv/bin/python"
    install = (*uv, "pip", "install", "--quiet", "--python", python)
    fetch(*install, "--requirement", REQUIREMENTS, cwd=folder)
    # The native kernel is beside its sources if there is one; it is not built again.
    fetch(*install, "--no-deps", "--editable", ROOT, cwd=folder, AIOIFX_SPEEDUPS="0")
    return python


def unpack(library: Library, folder: Path) -> Path:
    """The folder of a library's sdist."""
    uv = (sys.executable, "-m", "uv", "pip", "compile", "--quiet", "--no-deps")
    asked, lock = folder / "sdist.in", folder / "pylock.toml"
    asked.write_text(f"{library.distribution}=={library.version}\n", "utf-8")
    fetch(*uv, "--format", "pylock.toml", "--output-file", lock, asked, cwd=folder)
    sdist = tomllib.loads(lock.read_text("utf-8"))["packages"][0]["sdist"]
    try:
        with urllib.request.urlopen(sdist["url"]) as answer:
            content = answer.read()
    except OSError as error:
        raise Unreachable(f"{sdist['url']}: {error}") from None
    assert hashlib.sha256(content).hexdigest() == sdist["hashes"]["sha256"], sdist["url"]
    target = folder / library.key
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        archive.extractall(target, filter="data")
    return next(target.iterdir())


def run(library: Library, python: Path, folder: Path, url: str) -> tuple[Counter[str], bool]:
    """Run a library's tests; returns the number of each outcome, and whether they are as expected."""
    source = unpack(library, folder) if library.unpacked else folder
    own = ("-c", HERE / "pytest.ini", "--rootdir", folder)
    runs: list[tuple[str | Path, ...]] = []
    if library.suite:
        suite = [each.replace("URL", url) for each in library.suite]
        runs.append((*(() if library.unpacked else own), *suite))
    if library.program.exists():
        runs.append((*own, library.program))
    env = os.environ | {k: v.replace("URL", url) for k, v in library.environment.items()}
    env.pop("PYTHONDONTWRITEBYTECODE", None)  # otherwise each run compiles all modules again
    env |= {"PYTHONPATH": f"{HERE}", "AIOIFX_LIBRARY": library.key, "AIOIFX_LIBRARY_URL": url}
    pytest = (python, "-m", "pytest", *OPTIONS)
    total: Counter[str] = Counter()
    for arguments in runs:
        counts = folder / "counts.json"
        counts.unlink(missing_ok=True)
        result = subprocess.run(
            (*pytest, *arguments),
            cwd=source,
            env=env | {"AIOIFX_LIBRARY_COUNTS": f"{counts}"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        outcome = Counter(json.loads(counts.read_text("utf-8")) if counts.exists() else {"error": 1})
        if result.returncode:
            outcome["failed"] = outcome["failed"] or 1
            print(result.stdout, flush=True)
        total += outcome
    return total, not total["failed"] and not total["error"] and total["passed"] >= library.passed


async def run_all(chosen: Sequence[Library], folder: Path) -> int:
    """Run the tests of some libraries, and print one line for each; returns the status of the program."""
    python = make_environment(folder)
    total: Counter[str] = Counter()
    wrong: list[str] = []
    async with serve(ServerOptions((), db_locale="en_US.utf8")) as server:
        for library in chosen:
            server.create_database(
                library.key
            )  # each alone: has_table reads the tables of all databases in sysmaster
            url = server.dsn_of(library.key).replace("informix:", "informix+aioifx:", 1) + "&lock_wait=5"
            began = sum(os.times()[:4])
            counts, is_good = await asyncio.to_thread(
                run, library, python, folder, f"{url}&{library.option}" if library.option else url
            )
            await server.drop_database(library.key)
            spent = sum(os.times()[:4]) - began
            total += counts
            wrong += [] if is_good else [library.name]
            said = ", ".join(f"{count} {outcome}" for outcome, count in counts.items())
            expected = "" if is_good else f"; expected {library.passed} passed and no failure"
            print(
                f"{library.name} {library.version}: {said}{expected} ({spent:.0f} s of processor time)",
                flush=True,
            )
    if wrong:
        print(f"not as libraries.toml says: {', '.join(wrong)}")
    failed = total["failed"] + total["error"]
    print(f"{total['passed']} passed, {failed} failed, {total['skipped'] + total['xfailed']} skipped")
    return int(bool(wrong))


def main() -> int:
    names = {library.key: library for library in libraries()}
    parser = argparse.ArgumentParser(
        prog="python -m tests.libraries", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument(
        "--update", action="store_true", help="write the newest versions into requirements.txt"
    )
    parser.add_argument("libraries", nargs="*", metavar="LIBRARY", help=", ".join(names))
    given = parser.parse_args()
    if unknown := {*given.libraries} - {*names}:
        parser.error(f"LIBRARY: expected one of {', '.join(names)}, got {', '.join(sorted(unknown))}")
    with tempfile.TemporaryDirectory() as name:
        try:
            if given.update:
                update(Path(name))
                return 0
            return asyncio.run(run_all([names[key] for key in given.libraries or names], Path(name)))
        except Unreachable as error:
            print(f"the registry cannot be reached: {error}")
            return SKIPPED


if __name__ == "__main__":
    sys.exit(main())
