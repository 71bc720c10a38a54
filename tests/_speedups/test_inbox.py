"""The compiled receive buffer does what its source does."""

from __future__ import annotations

import ast
import importlib.util
import re
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from aioifx import _speedups
from aioifx._speedups import inbox

FOLDER = Path(_speedups.__file__).parent


def source_of(name: str) -> Any:
    """The module as pure Python runs it."""
    spec = importlib.util.spec_from_file_location(f"source_of_{name}", FOLDER / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def check_fields(name: str) -> None:
    """The fields with declared types are those that the source sets: others cannot be set in the compiled class."""
    declared: dict[str, set[str]] = {}
    fields = set[str]()
    for line in (FOLDER / f"{name}.pxd").read_text("utf-8").splitlines():
        if found := re.match(r"cdef class (\w+)", line):
            fields = declared[found[1]] = set()
        elif found := re.match(r"    cdef public \w+ (.*)", line):
            fields.update(found[1].split(", "))
    tree = ast.parse((FOLDER / f"{name}.py").read_text("utf-8"))
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name in declared]
    assert {node.name for node in classes} == declared.keys() != set()
    for node in classes:
        targets = {
            target.attr
            for target in ast.walk(node)
            if isinstance(target, ast.Attribute)
            and isinstance(target.ctx, ast.Store)
            and isinstance(target.value, ast.Name)
            and target.value.id == "self"
        }
        assert targets == declared[node.name], node.name


SIZES = {"u8": 1, "i16": 2, "u16": 2, "i32": 4, "u32": 4, "i64": 8}
OPERATIONS = st.one_of(
    st.tuples(st.just("feed"), st.binary(max_size=40)),
    st.tuples(st.sampled_from(["take", "take_many", "skip"]), st.integers(0, 12)),
    st.tuples(st.sampled_from([*SIZES]), st.none()),
)


@given(st.lists(OPERATIONS, max_size=30))
def test_any_operations_leave_the_same_bytes_and_give_the_same_values(
    operations: list[tuple[str, Any]],
) -> None:
    ours, pure = inbox.CoreInbox(1 << 40), source_of("inbox").CoreInbox(1 << 40)
    for name, argument in operations:
        count = SIZES.get(name, argument)
        if name != "feed" and count > pure.unread:
            continue
        arguments = () if argument is None else (argument,)
        assert getattr(ours, name)(*arguments) == getattr(pure, name)(*arguments)
        for field in ("data", "pos", "dropped", "limit", "eof", "unread", "consumed"):
            assert getattr(ours, field) == getattr(pure, field), field


def test_the_declared_fields_are_those_that_the_source_sets() -> None:
    check_fields("inbox")
