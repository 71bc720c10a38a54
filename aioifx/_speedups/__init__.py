"""The hot loops in Cython, with the same values, types and errors; and whether they are used. Never: aioifx's modules.

`aioifx.codecs.native` has a Python function for each that is not built here. `inbox` and `round_trip` are compiled from
Python, which pure Python runs as it is.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import Final

SWITCH: Final = "AIOIFX_SPEEDUPS"
"""0 in the environment forces pure Python."""

_KERNELS: Final = (
    "inbox",  # first, since others use its types
    "round_trip",
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
            module = import_module(f"{__name__}.{kernel}")
            if str(module.__file__).endswith(".py"):
                return "the kernel is not built"
    except ModuleNotFoundError:
        return "the kernel is not built"
    except ImportError as error:
        return str(error)
    return ""


def _run_source(module: str) -> None:
    """Import a module from its source, although it may be compiled as well."""
    from importlib.util import module_from_spec, spec_from_file_location  # rarely needed

    name = f"{__name__}.{module}"
    spec = spec_from_file_location(name, __file__.replace("__init__", module))
    assert spec is not None and spec.loader is not None
    sys.modules[name] = made = module_from_spec(spec)
    spec.loader.exec_module(made)


REASON: Final = _why_pure()
"""Why pure Python decodes and encodes in this process; empty if the kernel does."""

if REASON:
    _run_source("inbox")
    _run_source("round_trip")
