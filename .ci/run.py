"""All of CI, in one place; also good on a developer's machine: it leaves nothing behind.

    .ci/run [--list] [PART ...]

The tree is copied as a clone would have it, so that nothing which lies about in this one can help. Parts are scripts of
the shell. They run side by side, one more than there are cores, since the tests of faults wait half of their time. What
a part prints comes when it ends. Every part runs, whatever became of the others. The two commands of README.md's
"Start" run to the letter, the tests last and alone, so that pytest's own summary ends the output. Named parts run after
those that they need.
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
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
WORK = Path(tempfile.mkdtemp())
TREE = WORK / "tree"
# PYTHONDONTWRITEBYTECODE makes every process compile its modules again.
ENV = {k: v for k, v in os.environ.items() if k not in ("AIOIFX_SPEEDUPS", "PYTHONDONTWRITEBYTECODE")} | {
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "PIP_NO_COMPILE": "0",  # pip's spelling of yes: Python compiles only what is imported
    "CI": os.environ.get("CI", "1"),  # the same examples for every law in every run
    **{
        "WORK": str(WORK),
        "TREE": str(TREE),
        "TOOLS": f"{WORK}/tools/aioifx",
        "README": f"{WORK}/readme/aioifx",
    },
}
SKIPPED = 77
"""The status of a part that cannot run here. Its last line says why."""
HEAD = """
clone() { mkdir -p "$WORK/$1"; cp -a "$TREE" "$WORK/$1/aioifx"; cd "$WORK/$1/aioifx"; }
tests() { python -m pytest --numprocesses=0 -p no:cacheprovider --quiet "$@"; }
task() { poe --quiet --executor simple "$@"; }
"""
TOOLS = 'cd "$TOOLS"; export VIRTUAL_ENV="$WORK/tools/venv" PATH="$WORK/tools/venv/bin:$PATH"\n'
EXHAUSTIVE = 'tests -m "exhaustive or partial or hypothesis"'
LAYERS = "tests/client tests/codecs tests/server tests/testing tests/verify tests/wire"
"""About half of the exhaustive work, apart from faults and cancellation."""
SLOW = "tests/system/faults tests/system/cancellation"
EVERYWHERE = " ".join(f"--ignore=tests/{path}" for path in (
    "diagnosis server/sql verify system/budget system/histories system/interop system/migrations system/orm "
    "system/services system/volume test_docs.py test_examples.py test_layout.py test_vocabulary.py"
).split()) + " tests"  # fmt: skip
"""Leaves out what is the same on every CPython: texts, services in frameworks, and the translation of SQL."""
SOME = (
    "tests/client/api tests/client/connect tests/client/pool tests/client/session tests/codecs tests/server/sqlite \
tests/server/engine/test_engine.py tests/test_channel.py tests/test_rows.py"
)
running: set[int] = set()
"""The process groups of the parts."""


class Part(NamedTuple):
    """A script; those that need `tools` run with them, in a clone with the native kernel."""

    title: str
    needs: tuple[str, ...]
    script: str


def start_command(number: int) -> str:
    """The sh block with that number in README.md's section "Start"."""
    section = (ROOT / "README.md").read_text("utf-8").partition("\n## Start\n")[2].partition("\n## ")[0]
    return str(re.findall(r"^```sh[ \t]*\n(.*?)^```", section, re.M | re.S)[number - 1])


def all_parts() -> dict[str, Part]:
    """The longest first, after those that others need."""
    *older, newest = [*other_pythons().items()] or [("", "")]
    both = ("tools", "kernel")
    parts = {
        "readme": Part("README: the main job", (), f"clone readme; set -x\n{start_command(1)}"),
        # The kernel is that of README's environment, because compiling it takes 15 s of processor time.
        "tools": Part("tools", (), """
            clone tools; python3 -m venv ../venv
            AIOIFX_SPEEDUPS=0 ../venv/bin/python -m pip install --quiet --editable '.[dev]'"""),
        f"python{newest[0]}": Part(f"the tests on CPython {newest[0]}", (), tests_on(*newest, EVERYWHERE)),
        "kernel": Part("README's native kernel, for the tools as well", ("readme", "tools"), """
            cp "$README"/aioifx/_speedups/*.so aioifx/_speedups
            python -c "import aioifx; print(aioifx.speedups); assert aioifx.speedups == 'native'" """),
        "exhaustive": Part("exhaustive tests: all others", both,
            EXHAUSTIVE + "".join(f" --ignore={path}" for path in f"{LAYERS} {SLOW}".split())),
        "exhaustive-layers": Part("exhaustive tests: the layers", both, f"{EXHAUSTIVE} {LAYERS}"),
        "exhaustive-faults": Part("exhaustive tests: faults and cancellation", both, f"{EXHAUSTIVE} {SLOW}"),
        **{f"python{version}": Part(f"the tests on CPython {version} that use asyncio, the kernel or sqlite3 most",
            (), tests_on(version, python, SOME)) for version, python in older},
        "simulation": Part("simulation: two minutes of new seeds", both, "task simulate --seconds 120 --jobs 1"),
        # What has a native twin, or calls one.
        "pure": Part("the tests in pure Python", both, """
            export AIOIFX_SPEEDUPS=0; python -c "import aioifx; assert aioifx.speedups == 'pure'"
            tests tests/codecs tests/wire tests/system/budget tests/bench/test_codec_perf.py \
                $(printf 'tests/client/%s ' api bulk execution lobs session) \
                tests/test_arrow.py tests/test_channel.py tests/test_rows.py"""),
        "bench": Part("the benches, once, and their tests", both, "tests tests/bench -m ''"),
        "compliance": Part("SQLAlchemy's suite for dialects", both,
            "task compliance --quiet -p no:cacheprovider"),
        # On the oldest version that the extra allows, without asyncio, and the dialect's own tests.
        "oldest-sqlalchemy": Part("the oldest SQLAlchemy", both, """
            oldest=$(sed -n 's/^sqlalchemy = .*>=\\([0-9.]*\\),.*/\\1/p' pyproject.toml | head -1)
            python -m pip install --quiet --no-deps --target "$WORK/sqlalchemy" "sqlalchemy==$oldest"
            export PYTHONPATH="$WORK/sqlalchemy"
            task compliance --quiet -p no:cacheprovider --sync; tests tests/sqlalchemy"""),
        "types": Part("types", both, "task types"),
        # README's installation, seen by a program in the folder above the clone, whose name is that of the package.
        "editable": Part("the editable installation", both, """
            cp .ci/program.py ..; cd ..
            python program.py; mypy --strict --cache-dir "$WORK/mypy" program.py
            pyright --pythonpath venv/bin/python program.py"""),
        # What users get: an sdist, the wheel with the kernel, the pure one, and that of a build without a compiler.
        "wheels": Part("wheels", ("tools",), """
            clone wheels; dist="$WORK/dist"
            CFLAGS=-O0 python -m build --outdir "$dist" > "$WORK/build.log" 2>&1 || { cat "$WORK/build.log"; exit 1; }
            wheel() { python -m pip wheel --quiet --no-deps --wheel-dir "$@"; }
            AIOIFX_SPEEDUPS=0 wheel "$dist" "$dist"/*.tar.gz; CC=/bin/false wheel "$dist/uncompiled" "$dist"/*.tar.gz
            python .ci/wheels.py "$dist"; python3 -m venv "$WORK/installed"; cd "$WORK"
            set -- pure "$dist"/*-py3-none-any.whl native "$dist"/*-cp*.whl pure "$dist"/uncompiled/*.whl
            while [ $# -gt 0 ]; do
                installed/bin/python -m pip install --quiet --no-deps --force-reinstall "$2"
                installed/bin/python -c "import aioifx; assert aioifx.speedups == '$1'"
                echo "$(basename "$2"): $1"; shift 2
            done"""),
        "docs": Part("docs", both, "task docs"),
        "lint": Part("lint and layers", ("tools",), "task lint; task layers"),
    }  # fmt: skip
    return {name: part for name, part in parts.items() if name != "python"}


def tests_on(version: str, python: str, tests: str) -> str:
    """The tests on another CPython; skipped where a dependency has no wheel for it. Its kernel is not optimised."""
    return f"""
        clone python{version}; log="$WORK/pip{version}.log"; {python} -m venv .venv; PATH="$PWD/.venv/bin:$PATH"
        if ! CFLAGS=-O0 python -m pip install --quiet --only-binary :all: --no-binary dbapi-compliance \
                --editable '.[test]' > "$log" 2>&1; then
            cat "$log"; grep -Eq "No matching distribution|ResolutionImpossible" "$log" || exit 1
            echo "not everything that the tests need has a wheel for CPython {version}"; exit {SKIPPED}
        fi
        tests {tests}"""


def other_pythons() -> dict[str, str]:
    """Every CPython from 3.11 on but that of README's commands, oldest first; of each version the newest."""
    code = """if True:
        import sys, sysconfig
        if sys.implementation.name == "cpython" and not sysconfig.get_config_var("Py_GIL_DISABLED"):
            print(*sys.version_info[:3])"""
    names = [Path(folder, f"python3.{minor}") for folder in os.get_exec_path() for minor in range(11, 30)]
    pyenv = Path(ENV.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions").glob("*/bin/python")
    found: dict[tuple[int, ...], str] = {}
    for path in filter(Path.exists, (*names, *pyenv)):
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


def shell(script: str, log: Path | None = None) -> tuple[int, float]:
    """Run a script in a process group of its own; returns its status, and its seconds of processor time."""
    with log.open("ab") if log else nullcontext() as output:
        process = subprocess.Popen(
            ["sh", "-euc", script], env=ENV, stdout=output, stderr=output, start_new_session=True
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
    status, cpu = shell(HEAD + (TOOLS if "tools" in part.needs else "") + part.script, log)
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
    print(f"\n=== README: the tests\n$ {start_command(2)}", flush=True)
    # Otherwise each process of these tests compiles all modules again, which takes 7 s of processor time.
    share = 'cd "$TOOLS" 2>/dev/null && find aioifx tests -name "*.pyc" -exec cp --parents -t "$README" {} + || true\n'
    return shell(f'{share}cd "$README"\n{start_command(2)}')[0] or int(failed)


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
