"""What must be in the distributions of a directory: one sdist, one wheel with the native kernel, one without."""

from __future__ import annotations

import sys
import tarfile
import zipfile
from pathlib import Path

KERNEL = "aioifx/_speedups/"
FOLDER = Path(__file__).parents[1] / KERNEL
CYTHON = {path.stem for path in FOLDER.glob("*.pyx")}
MODULES = CYTHON | {path.stem for path in FOLDER.glob("*.pxd") if path.with_suffix(".py").exists()}


def built(names: set[str]) -> set[str]:
    """The extension modules among the files of a wheel."""
    return {
        name.removeprefix(KERNEL).partition(".")[0]
        for name in names
        if name.startswith(KERNEL) and name.endswith((".so", ".pyd"))
    }


def check(right: bool, what: str) -> None:
    if not right:
        sys.exit(what)


def main(directory: Path) -> None:
    check(len(MODULES) > 0, f"{KERNEL} has no modules")
    (sdist,) = directory.glob("*.tar.gz")
    (pure,) = directory.glob("*-py3-none-any.whl")
    (native,) = set(directory.glob("*.whl")) - {pure}
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    for module in MODULES:
        for kind in (".pyx", ".pyi") if module in CYTHON else (".py", ".pxd"):
            check(f"{KERNEL}{module}{kind}" in names, f"{sdist.name} lacks {module}{kind}")
    check(f"{KERNEL}common.pxd" in names, f"{sdist.name} lacks common.pxd")
    check({"pyproject.toml", "LICENSE", ".build/backend.py"} <= names, f"{sdist.name} cannot be built")
    for wheel, modules in ((pure, set[str]()), (native, MODULES)):
        names = set(zipfile.ZipFile(wheel).namelist())
        check(built(names) == modules, f"{wheel.name} has the extension modules {built(names)}")
        check("aioifx/py.typed" in names, f"{wheel.name} is not typed")
        sources = {name for name in names if name.endswith((".pyx", ".pxd", ".c"))}
        check(not sources, f"{wheel.name} has sources of the kernel: {sources}")
        strangers = {name for name in names if not name.startswith(("aioifx/", "aioifx-"))}
        check(not strangers, f"{wheel.name} has {strangers}")


main(Path(sys.argv[1]))
