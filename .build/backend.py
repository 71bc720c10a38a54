"""The build backend: setuptools, an editable installation that type checkers see, and one switch.

AIOIFX_SPEEDUPS=0 builds without the native kernel: py3-none-any.
The same variable chooses pure Python at run time. Without it the kernel is built where a compiler is found; where none
is, setuptools leaves it out, and the wheel bears the platform's name all the same. Hence the switch, for the wheel that
suits every platform. An sdist always has everything.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec, TypeVar
from unittest.mock import patch

from setuptools import Distribution, Extension, build_meta
from setuptools.build_meta import (
    build_sdist,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
)
from setuptools.command.build_ext import build_ext

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]

P = ParamSpec("P")
R = TypeVar("R")


def switched(hook: Callable[P, R]) -> Callable[P, R]:
    """The hook, blind to extension modules if the switch says so."""
    if os.environ.get("AIOIFX_SPEEDUPS") != "0":
        return hook

    def pure(*args: P.args, **kwargs: P.kwargs) -> R:
        with patch.object(Distribution, "has_ext_modules", lambda self: False):
            return hook(*args, **kwargs)

    return pure


def build_extension_if_changed(command: build_ext, extension: Extension) -> None:
    """Take the extension that is in the clone, unless a source is newer: a second installation need not compile."""
    built = Path(command.get_ext_filename(command.get_ext_fullname(extension.name)))
    sources = [Path(source) for source in (*extension.sources, *extension.depends)]
    if built.exists() and all(source.stat().st_mtime < built.stat().st_mtime for source in sources):
        command.copy_file(str(built), command.get_ext_fullpath(extension.name))
    else:
        build_extension(command, extension)


build_extension = build_ext.build_extension


def build_editable(
    wheel_directory: str,
    config_settings: dict[str, Any] | None = None,
    metadata_directory: str | None = None,
) -> str:
    """setuptools' hook, for an installation that names the clone in a .pth file.

    setuptools itself would install a finder. Type checkers do not run it, and a folder "aioifx" beside a script, such
    as the clone, hides what it finds.
    """
    settings = {"editable_mode": "compat", **(config_settings or {})}
    with patch.object(build_ext, "build_extension", build_extension_if_changed):
        return switched(build_meta.build_editable)(wheel_directory, settings, metadata_directory)


build_wheel = switched(build_meta.build_wheel)
prepare_metadata_for_build_editable = switched(build_meta.prepare_metadata_for_build_editable)
prepare_metadata_for_build_wheel = switched(build_meta.prepare_metadata_for_build_wheel)
