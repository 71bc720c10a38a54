from __future__ import annotations

import copy
import pickle
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

import aioifx
from aioifx.errors import InterfaceError
from aioifx.tracing.recorder import ChannelTracer


@pytest.mark.parametrize(("trace", "got"), [(7, "int"), ("", "''"), (b"x", "bytes"), ("a\0", r"'a\\x00'")])
def test_the_option_is_checked(trace: Any, got: str) -> None:
    with pytest.raises(InterfaceError, match=f"^trace: expected a path or a callable, got {got}$"):
        aioifx.ConnectOptions(host="h", server="s", user="u", trace=trace)
    with pytest.raises(InterfaceError, match=r"^trace_values: expected True or False, got str$"):
        aioifx.ConnectOptions(host="h", server="s", user="u", trace_values="yes")  # type: ignore[arg-type]


def test_options_with_a_trace_can_be_copied_and_pickled(tmp_path: Path) -> None:
    options = aioifx.ConnectOptions(
        host="h", server="s", user="u", trace=str(tmp_path / "x"), trace_values=True
    )
    assert options.tracer is not None
    options.tracer.check()  # opens the file
    for copied in (copy.deepcopy(options), pickle.loads(pickle.dumps(options))):
        assert copied == options
        assert isinstance(copied.tracer, ChannelTracer) and copied.tracer.values
    assert asdict(options)["trace"] == str(tmp_path / "x")
    assert isinstance(options.tracer, ChannelTracer)
    options.tracer.on_open()
    options.tracer.on_closed()  # closes it


def test_there_is_no_tracer_without_the_option() -> None:
    assert aioifx.ConnectOptions(host="h", server="s", user="u").tracer is None
