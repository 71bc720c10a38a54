"""The hot loops in Cython, with the same values, types and errors; and whether they are used. Never: aioifx's modules.

`aioifx.codecs.native` has a Python function for each that is not built here. `inbox`, `operation` and `round_trip` are
compiled from Python, which pure Python runs as it is.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from importlib.machinery import EXTENSION_SUFFIXES
from typing import Final

SWITCH: Final = "AIOIFX_SPEEDUPS"
"""0 in the environment forces pure Python."""

_BUILT: Final = tuple(EXTENSION_SUFFIXES)

_FROM_PYTHON: Final = "inbox", "operation", "round_trip"

_KERNELS: Final = (
    *_FROM_PYTHON,  # first, since others use their types
    "arrow_encoder",
    "arrow_release",
    "column_decoder",
    "param_encoder",
    "reply_reader",
    "row_decoder",
    "row_encoder",
)


def _why_pure() -> str:
    """Why the kernel is not used; empty if it is."""
    if os.environ.get(SWITCH) == "0":
        return f"{SWITCH}=0"
    try:
        for kernel in _KERNELS:
            file = str(import_module(f"{__name__}.{kernel}").__file__)
            if not file.endswith(_BUILT):
                return "the kernel is not built"
            if _is_older(file, kernel):
                return f"{kernel} was built before its source changed"
    except ModuleNotFoundError:
        return "the kernel is not built"
    except Exception as error:  # also a ValueError, of modules that were not built together
        return str(error) or repr(error)
    return ""


def _is_older(file: str, kernel: str) -> bool:
    """Whether a source has changed since. Only in a clone: no wheel has a .pyx or .pxd file."""
    folder = os.path.dirname(file)
    sources = [os.path.join(folder, f"{kernel}.{kind}") for kind in ("pyx", "pxd", "py")]
    there = [os.path.getmtime(source) for source in sources if os.path.exists(source)]
    is_clone = os.path.exists(sources[0]) or os.path.exists(sources[1])
    return is_clone and max(there) > os.path.getmtime(file)


def _run_source(module: str) -> None:
    """Import a module, again if it is imported, from its source, although it may be compiled as well."""
    from importlib.util import find_spec, module_from_spec, spec_from_file_location  # rarely needed

    name = f"{__name__}.{module}"
    sys.modules.pop(name, None)
    found = find_spec(name)
    if found is None or not str(found.origin).endswith(_BUILT):
        import_module(name)
        return
    spec = spec_from_file_location(name, os.path.join(os.path.dirname(str(found.origin)), f"{module}.py"))
    assert spec is not None and spec.loader is not None
    sys.modules[name] = globals()[module] = made = module_from_spec(spec)
    spec.loader.exec_module(made)


REASON: Final = _why_pure()
"""Why pure Python decodes and encodes in this process; empty if the kernel does."""

if REASON:
    for module in _FROM_PYTHON:
        _run_source(module)
