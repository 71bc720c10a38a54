"""All of CI, in one place; also good on a developer's machine: it leaves nothing behind.

    .ci/run [--list] [PART ...]

The tree is copied as a clone would have it, so that nothing which lies about in this one can help. Parts run side by
side, one more than there are cores, since the tests of faults wait half of their time. What a part prints comes when it
ends. Every part runs, whatever became of the others. The two commands of README.md's "Start" run to the letter, the
tests last and alone, so that pytest's own summary ends the output. Named parts run after those that they need.
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
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
WORK = Path(tempfile.mkdtemp())
TREE, TOOLS, README = WORK / "tree", WORK / "tools/aioifx", WORK / "readme/aioifx"
VENV = WORK / "tools/venv"
PYTHON = VENV / "bin/python"
UNSET = (
    "AIOIFX_SPEEDUPS",
    "PYTHONDONTWRITEBYTECODE",
)  # the second one makes every process compile its modules again
ENV = {name: value for name, value in os.environ.items() if name not in UNSET} | {
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "PIP_NO_COMPILE": "0",  # pip's spelling of yes: Python compiles only what is imported
    "CI": os.environ.get("CI", "1"),  # the same examples for every law in every run
}
LAYERS = ("client", "codecs", "server", "testing", "verify", "wire")
"""About half of the exhaustive work, apart from faults and cancellation."""
EVERYWHERE = ["--ignore=tests/" + path for path in (
    "diagnosis server/sql verify system/budget system/histories system/interop system/migrations system/orm "
    "system/services system/volume test_docs.py test_examples.py test_layout.py test_vocabulary.py"
).split()] + ["tests"]  # fmt: skip
"""Leaves out what is the same on every CPython: texts, services in frameworks, and the translation of SQL."""
running: set[int] = set()
"""The process groups of the parts."""


class Skipped(Exception):
    """The part cannot run here; says why."""


class Part:
    """Commands that run one after the other. The first that fails ends the part."""

    def __init__(self, name: str, title: str, action: Callable[[Part], None], *needs: str) -> None:
        self.name, self.title, self.action, self.needs = name, title, action, needs
        self.log, self.cpu = WORK / f"{name}.log", 0.0

    def run(self, *command: Any, cwd: Path = TOOLS, out: Path | None = None, **env: str) -> None:
        """Run a command in a process group of its own; its output goes to the log, or to the file *out*."""
        with open(out or self.log, "ab") as file:
            args, env = [*map(str, command)], ENV | env
            process = subprocess.Popen(
                args,
                cwd=cwd,
                env=env,
                stdout=file,
                stderr=file,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
        running.add(process.pid)
        _, status, usage = os.wait4(process.pid, 0)
        running.discard(process.pid)
        self.cpu += usage.ru_utime + usage.ru_stime
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise subprocess.CalledProcessError(process.returncode, args)

    def say(self, text: str) -> None:
        with self.log.open("a") as file:
            print(text, file=file)

    def poe(self, *task: str, **env: str) -> None:
        """A task with the tools of our own environment, not with a .venv that README's commands made."""
        path = f"{VENV}/bin:{ENV['PATH']}"
        self.run(
            VENV / "bin/poe",
            "--quiet",
            "--executor",
            "simple",
            *task,
            VIRTUAL_ENV=str(VENV),
            PATH=path,
            **env,
        )

    def pytest(self, *args: str, python: Path = PYTHON, cwd: Path = TOOLS, **env: str) -> None:
        command = (python, "-m", "pytest", "--numprocesses=0", "-p", "no:cacheprovider", "--quiet", *args)
        self.run(*command, cwd=cwd, **env)


def copy_tree() -> None:
    """What git would give: tracked files, and new ones that it does not ignore. Without git, all but environments."""
    listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate"]
    found = subprocess.run(listing, cwd=ROOT, capture_output=True)
    if found.returncode:
        shutil.copytree(ROOT, TREE, symlinks=True, ignore=shutil.ignore_patterns(".venv"))
    for name in filter(None, found.stdout.decode().split("\0")):
        source, target = ROOT / name, TREE / name
        if (
            source.is_symlink() or source.exists()
        ):  # a tracked file that was deleted is not part of the tree to test
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target, follow_symlinks=False)


def clone(name: str) -> Path:
    """A copy of the tree for one part, with its times, for `share_bytecode`."""
    return Path(shutil.copytree(TREE, WORK / name / "aioifx", symlinks=True))


def start_command(number: int) -> str:
    """The sh block with that number in README.md's section "Start"."""
    section = (TREE / "README.md").read_text("utf-8").partition("\n## Start\n")[2].partition("\n## ")[0]
    return re.findall(r"^```sh[ \t]*\n(.*?)^```", section, re.M | re.S)[number - 1]


def readme(part: Part) -> None:
    clone("readme")
    part.say(f"$ {start_command(1)}")
    part.run("sh", "-euc", start_command(1), cwd=README)


def tools(part: Part) -> None:
    """The tools; their kernel is that of README's environment, because compiling it takes 15 s of processor time."""
    clone("tools")
    part.run("python3", "-m", "venv", VENV)
    part.run(PYTHON, "-m", "pip", "install", "--quiet", "--editable", ".[dev]", AIOIFX_SPEEDUPS="0")


def kernel(part: Part) -> None:
    for library in (README / "aioifx/_speedups").glob("*.so"):
        shutil.copy2(library, TOOLS / "aioifx/_speedups")
    part.run(PYTHON, "-c", "import aioifx; print(aioifx.speedups); assert aioifx.speedups == 'native'")


def share_bytecode() -> None:
    """Otherwise each process of README's tests compiles all modules again, which takes 7 s of processor time."""
    for folder in (*TOOLS.glob("aioifx/**/__pycache__"), *TOOLS.glob("tests/**/__pycache__")):
        shutil.copytree(folder, README / folder.relative_to(TOOLS), dirs_exist_ok=True)


def lint(part: Part) -> None:
    part.poe("lint")
    part.poe("layers")


def editable(part: Part) -> None:
    """README's installation, seen by a program in the folder above the clone, whose name is that of the package."""
    shutil.copy2(TOOLS / ".ci/program.py", TOOLS.parent)
    for command in ((PYTHON,), (VENV / "bin/mypy", "--strict", "--cache-dir", WORK / "mypy")):
        part.run(*command, "program.py", cwd=TOOLS.parent)
    part.run(VENV / "bin/pyright", "--pythonpath", PYTHON, "program.py", cwd=TOOLS.parent)


def wheels(part: Part) -> None:
    """What users get: an sdist, the wheel with the kernel, the pure one, and that of a build without a compiler."""
    tree, dist, python = clone("wheels"), WORK / "dist", WORK / "installed/bin/python"
    part.run(PYTHON, "-m", "build", "--outdir", dist, cwd=tree, out=WORK / "build.log", CFLAGS="-O0")
    (source,) = dist.glob("*.tar.gz")
    pip = (PYTHON, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir")
    part.run(*pip, dist, source, cwd=tree, AIOIFX_SPEEDUPS="0")
    part.run(*pip, dist / "uncompiled", source, cwd=tree, CC="/bin/false")
    part.run(PYTHON, ".ci/wheels.py", dist, cwd=tree)
    part.run("python3", "-m", "venv", WORK / "installed")
    for kind, pattern in (
        ("pure", "*-py3-none-any.whl"),
        ("native", "*-cp*.whl"),
        ("pure", "uncompiled/*.whl"),
    ):
        (wheel,) = dist.glob(pattern)
        part.run(python, "-m", "pip", "install", "--quiet", "--no-deps", "--force-reinstall", wheel, cwd=WORK)
        part.run(python, "-c", f"import aioifx; assert aioifx.speedups == '{kind}'", cwd=WORK)
        part.say(f"{wheel.name}: {kind}")


def pure(part: Part) -> None:
    """What has a native twin, or calls one."""
    client = [f"tests/client/{name}" for name in ("api", "bulk", "execution", "lobs", "session")]
    others = [f"tests/test_{name}.py" for name in ("arrow", "channel", "rows")]
    part.run(PYTHON, "-c", "import aioifx; assert aioifx.speedups == 'pure'", AIOIFX_SPEEDUPS="0")
    codecs = ("tests/codecs", "tests/wire", "tests/system/budget", "tests/bench/test_codec_perf.py")
    part.pytest(*codecs, *client, *others, AIOIFX_SPEEDUPS="0")


def exhaustive(*args: str) -> Callable[[Part], None]:
    """What the default suite leaves out, and what it tries fewer cases of."""
    return lambda part: part.pytest("-m", "exhaustive or partial or hypothesis", *args)


def poe(*task: str) -> Callable[[Part], None]:
    return lambda part: part.poe(*task)


def oldest_sqlalchemy(part: Part) -> None:
    """SQLAlchemy's suite on the oldest version that the extra allows, without asyncio, and the dialect's own tests."""
    oldest = re.findall(r"^sqlalchemy = .*>=([0-9.]*),", (TREE / "pyproject.toml").read_text("utf-8"), re.M)[
        0
    ]
    folder = WORK / "sqlalchemy"
    part.run(
        PYTHON, "-m", "pip", "install", "--quiet", "--no-deps", "--target", folder, f"sqlalchemy=={oldest}"
    )
    part.poe("compliance", "--quiet", "-p", "no:cacheprovider", "--sync", PYTHONPATH=str(folder))
    part.pytest("tests/sqlalchemy", PYTHONPATH=str(folder))


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
    newest = {f"{major}.{minor}": path for (major, minor, _), path in sorted(found.items())}
    ours = subprocess.run(["python3", "-c", code], capture_output=True, text=True).stdout.split()
    newest.pop(".".join(ours[:2]), None)
    return newest


def tests_on(version: str, python: str, args: list[str], part: Part) -> None:
    """The tests on another CPython; skipped where a dependency has no wheel for it. Its kernel is not optimised."""
    tree, log = clone(f"python{version}"), WORK / f"pip{version}.log"
    own = tree / ".venv/bin/python"
    part.run(python, "-m", "venv", ".venv", cwd=tree)
    only = (
        "--only-binary",
        ":all:",
        "--no-binary",
        "dbapi-compliance",
    )  # that one has no wheel, and needs none
    try:
        command = (own, "-m", "pip", "install", "--quiet", *only, "--editable", ".[test]")
        part.run(*command, cwd=tree, out=log, CFLAGS="-O0")
    except subprocess.CalledProcessError:
        part.say(log.read_text())
        if re.search("No matching distribution|ResolutionImpossible", log.read_text()):
            raise Skipped(f"not everything that the tests need has a wheel for CPython {version}") from None
        raise
    part.pytest(*args, python=own, cwd=tree)


def all_parts() -> list[Part]:
    """The longest first, after those that others need."""
    *older, newest = [*other_pythons().items()] or [None]
    few = "client/api client/connect client/pool client/session codecs server/sqlite server/engine/test_engine.py"
    some = [f"tests/{path}" for path in f"{few} test_channel.py test_rows.py".split()]
    slow = ("tests/system/faults", "tests/system/cancellation")
    inside = [f"tests/{name}" for name in LAYERS]
    outside = [f"--ignore={path}" for path in (*inside, *slow)]
    quiet = ("--quiet", "-p", "no:cacheprovider")
    both = ("tools", "kernel")
    new_seeds = ("simulate", "--seconds", "120", "--jobs", "1")
    parts = [Part("readme", "README: the main job", readme), Part("tools", "tools", tools)]
    if newest:
        on_newest = partial(tests_on, *newest, EVERYWHERE)
        parts.append(Part(f"python{newest[0]}", f"the tests on CPython {newest[0]}", on_newest))
    parts += [
        Part("kernel", "README's native kernel, for the tools as well", kernel, "readme", "tools"),
        Part("exhaustive", "exhaustive tests: all others", exhaustive(*outside), *both),
        Part("exhaustive-layers", f"exhaustive tests: {' '.join(LAYERS)}", exhaustive(*inside), *both),
        Part("exhaustive-faults", "exhaustive tests: faults and cancellation", exhaustive(*slow), *both),
    ]
    for version, python in filter(None, older):
        title = f"the tests on CPython {version} that use asyncio, the kernel or sqlite3 most"
        parts.append(Part(f"python{version}", title, partial(tests_on, version, python, some)))
    return [
        *parts,
        Part(
            "simulation",
            "simulation: two minutes of new seeds",
            poe(*new_seeds),
            *both,
        ),
        Part("pure", "the tests in pure Python", pure, *both),
        Part(
            "bench",
            "the benches, once, and their tests",
            lambda part: part.pytest("tests/bench", "-m", ""),
            *both,
        ),
        Part("compliance", "SQLAlchemy's suite for dialects", poe("compliance", *quiet), *both),
        Part("oldest-sqlalchemy", "the oldest SQLAlchemy", oldest_sqlalchemy, *both),
        Part("types", "types", poe("types"), *both),
        Part("editable", "the editable installation", editable, *both),
        Part("wheels", "wheels", wheels, "tools"),
        Part("docs", "docs", poe("docs"), *both),
        Part("lint", "lint and layers", lint, "tools"),
    ]


def perform(part: Part, needed: list[Future[str]]) -> str:
    """Run a part after those that it needs, and print what it said; returns "ok", or how it ended."""
    for future in needed:
        future.result()
    began = time.monotonic()
    try:
        part.action(part)
        result = "ok"
    except Skipped as reason:
        result = f"skipped: {reason}"
    except Exception as error:  # every part runs, whatever became of the others
        result = f"FAILED: {error}"
    said = part.log.read_text(errors="replace") if part.log.exists() else ""
    spent = f"({time.monotonic() - began:.0f} s, {part.cpu:.0f} s of processor time)"
    print(f"\n=== {part.title}\n{said}=== {part.title}: {result} {spent}", flush=True)
    return result


def main() -> int:
    parts = {part.name: part for part in all_parts()}
    parser = argparse.ArgumentParser(prog=".ci/run", description="All of CI, or some of its parts.")
    parser.add_argument("--list", action="store_true", help="print the parts")
    parser.add_argument("parts", nargs="*", metavar="PART", help="the parts to run, and those that they need")
    given = parser.parse_args()
    if unknown := {*given.parts} - {*parts, "tests"}:
        parser.error(f"unknown part: {', '.join(sorted(unknown))}; --list prints them")
    if given.list:
        for name, title in [
            *((part.name, part.title) for part in parts.values()),
            ("tests", "README: the tests"),
        ]:
            print(f"{name:18} {title}")
        return 0
    chosen = {*given.parts} or {*parts, "tests"}
    for part in reversed(parts.values()):  # those that are needed precede those that need them
        chosen |= {*part.needs} if part.name in chosen else {*()}
    chosen |= {"readme"} if "tests" in chosen else {*()}
    copy_tree()
    with ThreadPoolExecutor((os.cpu_count() or 2) + 1) as pool:
        futures: dict[str, Future[str]] = {}
        for name, part in parts.items():
            if name in chosen:
                futures[name] = pool.submit(perform, part, [futures[need] for need in part.needs])
    endings = {parts[name].title: future.result() for name, future in futures.items()}
    for state, heading in (("skipped", "skipped"), ("FAILED", "failed before the tests")):
        if found := [f"{title}: {ending}" for title, ending in endings.items() if ending.startswith(state)]:
            print(f"\n=== {heading}:", *found, sep="\n      ")
    failed = any(ending.startswith("FAILED") for ending in endings.values())
    if "tests" not in chosen:
        return int(failed)
    print(f"\n=== README: the tests\n$ {start_command(2)}", flush=True)
    share_bytecode()
    process = subprocess.Popen(["sh", "-euc", start_command(2)], cwd=README, env=ENV, start_new_session=True)
    running.add(process.pid)
    return process.wait() or int(failed)


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
