"""The public names of BSON values: one class each, whichever module is imported first."""

from __future__ import annotations

import subprocess
import sys

import aioifx.bson
from aioifx.codecs import bson


def test_the_public_names_are_the_classes_that_decoding_returns() -> None:
    for name in aioifx.bson.__all__:
        assert getattr(aioifx.bson, name) is getattr(bson, name)


def test_a_pickle_of_a_value_names_the_public_path_before_that_was_imported() -> None:
    program = (
        "import pickle; from aioifx.codecs.bson import ObjectId; print(pickle.dumps(ObjectId(bytes(12)), 0))"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=30
    )
    assert "aioifx.bson" in run.stdout and "aioifx.codecs" not in run.stdout
