"""All of CI, in one place; also good on a developer's machine: it leaves nothing behind.

    .ci/run [--list] [PART ...]

The tree is copied as a clone would have it, so that nothing which lies about in this one can help. The scripts of
parts.toml run side by side, one more than there are cores, since the tests of faults wait half of their time. What a
part prints comes when it ends. Every part runs, whatever became of the others. The two commands of README.md's
"Start" run to the letter, the tests last and alone, so that pytest's own summary ends the output. Named parts run
after those that they need.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
WORK = Path(tempfile.mkdtemp())
TREE = WORK / "tree"
SKIPPED = 77
FILE = tomllib.loads((ROOT / ".ci/parts.toml").read_text("utf-8"))
START = re.findall(
    r"^```sh[ \t]*\n(.*?)^```",
    (ROOT / "README.md").read_text("utf-8").partition("\n## Start\n")[2],
    re.M | re.S,
)
"""The sh blocks of README.md's section "Start"."""
# PYTHONDONTWRITEBYTECODE makes every process compile its modules again.
ENV = {k: v for k, v in os.environ.items() if k not in ("AIOIFX_SPEEDUPS", "PYTHONDONTWRITEBYTECODE")} | {
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "PIP_NO_COMPILE": "0",  # pip's spelling of yes: Python compiles only what is imported
    "CI": os.environ.get("CI", "1"),  # the same examples for every law in every run
    "START": START[0],
}
ENV |= {
    "WORK": f"{WORK}",
    "TREE": f"{TREE}",
    "TOOLS": f"{WORK}/tools/aioifx",
    "README": f"{WORK}/readme/aioifx",
}
running: set[int] = set()
"""The process groups of the parts."""


class Part(NamedTuple):
    """A script of parts.toml."""

    title: str
    script: str
    needs: Sequence[str] = ()
    env: Mapping[str, str] = {}


def all_parts() -> dict[str, Part]:
    """By name, in the order of the file; each other CPython has a part of its own."""
    parts: dict[str, Part] = {}
    *older, newest = [*other_pythons().items()] or [("", "")]
    for name, fields in FILE["parts"].items():
        pythons = {"newest": [newest] if newest[0] else [], "older": older}.get(name)
        for version, python in pythons if pythons is not None else [("", "")]:
            part = Part(**fields, env={"VERSION": version, "PYTHON": python})
            title = part.title.replace("$VERSION", version)
            parts[f"python{version}" if version else name] = part._replace(title=title)
    return parts


def other_pythons() -> dict[str, str]:
    """Every CPython from 3.11 on but that of README's commands, oldest first; of each version the newest."""
    code = """if True:
        import sys, sysconfig
        if sys.implementation.name == "cpython" and not sysconfig.get_config_var("Py_GIL_DISABLED"):
            print(*sys.version_info[:3])"""
    names = [Path(folder, f"python3.{minor}") for folder in os.get_exec_path() for minor in range(11, 30)]
    pyenv = Path(ENV.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions").glob("*/bin/python")
    is_needed = not sys.argv[1:] or any(name.startswith("python") for name in sys.argv[1:])
    command = [sys.executable, ROOT / ".build/pythons.py", *([] if is_needed else ["--cached"])]
    made = subprocess.run(command, capture_output=True, text=True)
    if made.returncode and is_needed:
        print(f"=== newer CPythons cannot be had: {(made.stdout + made.stderr).strip().splitlines()[-1]}")
    newer = map(Path, [] if made.returncode else made.stdout.split())
    found: dict[tuple[int, ...], str] = {}
    for path in filter(Path.exists, (*names, *pyenv, *newer)):
        run = subprocess.run([path, "-c", code], capture_output=True, text=True)  # a shim may be of nothing
        if run.stdout and (version := (*map(int, run.stdout.split()),)) >= (3, 11):
            found[version] = str(path)
    ours = subprocess.run(["python3", "-c", code], capture_output=True, text=True).stdout.split()
    newest = {f"{major}.{minor}": path for (major, minor, _), path in sorted(found.items())}
    return {version: path for version, path in newest.items() if version != ".".join(ours[:2])}


def copy_tree() -> None:
    """What git would give: tracked files, and new ones that it does not ignore. Without git, all but environments."""
    listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate"]
    found = subprocess.run(listing, cwd=ROOT, capture_output=True)
    if found.returncode:
        shutil.copytree(ROOT, TREE, symlinks=True, ignore=shutil.ignore_patterns(".venv"))
    for name in filter(None, found.stdout.decode().split("\0")):
        if os.path.lexists(ROOT / name):  # a tracked file that was deleted is not part of the tree to test
            (TREE / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, TREE / name, follow_symlinks=False)


def shell(script: str, env: Mapping[str, str], log: Path | None = None) -> tuple[int, float]:
    """Run a script in a process group of its own; returns its status, and its seconds of processor time."""
    with log.open("ab") if log else nullcontext() as output:
        process = subprocess.Popen(
            ["sh", "-euc", script], env=env, stdout=output, stderr=output, start_new_session=True
        )
        running.add(process.pid)
        _, status, usage = os.wait4(process.pid, 0)
        running.discard(process.pid)
        process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, usage.ru_utime + usage.ru_stime


def perform(name: str, part: Part, needed: list[Future[str]]) -> str:
    """Run a part after those that it needs, and print what it said; returns "ok", or how it ended."""
    for future in needed:
        future.result()
    began, log = time.monotonic(), WORK / f"{name}.log"
    head = FILE["head"] + (FILE["tools"] if "tools" in part.needs else "")
    status, cpu = shell(head + part.script, {**ENV, **part.env}, log)
    said = log.read_text(errors="replace")
    why = said.splitlines()[-1] if said and status == SKIPPED else ""
    result = "ok" if not status else f"skipped: {why}" if why else f"FAILED: status {status}"
    spent = f"({time.monotonic() - began:.0f} s, {cpu:.0f} s of processor time)"
    print(f"\n=== {part.title}\n{said}=== {part.title}: {result} {spent}", flush=True)
    return result


def main() -> int:
    parts = all_parts()
    parser = argparse.ArgumentParser(prog=".ci/run", description="All of CI, or some of its parts.")
    parser.add_argument("--list", action="store_true", help="print the parts")
    parser.add_argument("parts", nargs="*", metavar="PART", help="the parts to run, and those that they need")
    given = parser.parse_args()
    if unknown := {*given.parts} - {*parts, "tests"}:
        parser.error(f"unknown part: {', '.join(sorted(unknown))}; --list prints them")
    if given.list:
        titles = {name: part.title for name, part in parts.items()} | {"tests": "README: the tests"}
        print(*(f"{name:18} {title}" for name, title in titles.items()), sep="\n")
        return 0
    chosen = {*given.parts} or {*parts, "tests"}
    for name, part in reversed(parts.items()):  # those that are needed precede those that need them
        chosen |= {*part.needs} if name in chosen else {*()}
    chosen |= {"readme"} if "tests" in chosen else {*()}
    copy_tree()
    with ThreadPoolExecutor((os.cpu_count() or 2) + 1) as pool:
        futures: dict[str, Future[str]] = {}
        for name, part in parts.items():
            if name in chosen:
                futures[name] = pool.submit(perform, name, part, [futures[need] for need in part.needs])
    endings = {parts[name].title: future.result() for name, future in futures.items()}
    for state, heading in (("skipped", "skipped"), ("FAILED", "failed before the tests")):
        if found := [f"{title}: {ending}" for title, ending in endings.items() if ending.startswith(state)]:
            print(f"\n=== {heading}:", *found, sep="\n      ")
    failed = any(ending.startswith("FAILED") for ending in endings.values())
    if "tests" not in chosen:
        return int(failed)
    print(f"\n=== README: the tests\n$ {START[1]}", flush=True)
    # Otherwise each process of these tests compiles all modules again, which takes 7 s of processor time.
    share = 'cd "$TOOLS" 2>/dev/null && find aioifx tests -name "*.pyc" -exec cp --parents -t "$README" {} + || true\n'
    return shell(f'{share}cd "$README"\n{START[1]}', ENV)[0] or int(failed)


def stop(number: int, _: object) -> None:
    for group in [*running]:
        os.killpg(group, signal.SIGTERM)
    shutil.rmtree(WORK, ignore_errors=True)
    os._exit(128 + number)


if __name__ == "__main__":
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    try:
        code = main()
    finally:
        shutil.rmtree(WORK, ignore_errors=True)
    sys.exit(code)
