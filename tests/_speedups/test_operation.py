"""The compiled part of an operation. tests/client/observation runs it, native and pure."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable

import pytest

from aioifx import Operation
from aioifx.channel import Channel
from tests._speedups.test_inbox import check_fields, source_of


def test_the_declared_fields_are_those_that_the_source_sets() -> None:
    check_fields("operation")


def test_a_new_operation_is_the_same_in_both() -> None:
    pure = source_of("operation").CoreOperation("fetch", "select 1", 2)
    ours = Operation("fetch", "select 1", 2)
    for field, value in vars(pure).items():
        assert getattr(ours, field) == value, field
        assert type(getattr(ours, field)) is type(value), field


def test_every_field_of_the_public_class_is_set() -> None:
    assert Operation.__annotations__.keys() <= vars(source_of("operation").CoreOperation("fetch")).keys()


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda operation: pickle.loads(pickle.dumps(operation))]
)
def test_an_operation_can_be_copied(copied: Callable[[Operation], Operation]) -> None:
    operation = Operation("fetch", "select 1", 2)
    operation.set_identity(("db1", 9088, "ol", "shop", "app", 5))
    operation.rows, operation.server_time, operation.lag = 3, 0.5, 0.25
    operation.meter = Channel()  # it runs
    operation.__dict__["label"] = "of an observer"
    made = copied(operation)
    assert type(made) is Operation
    for field in (*Operation.__annotations__, "label"):
        assert getattr(made, field) == getattr(operation, field), field
    assert made.meter is None
