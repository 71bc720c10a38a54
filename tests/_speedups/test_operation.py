"""The compiled part of an operation. tests/client/observation runs it, native and pure."""

from __future__ import annotations

from aioifx import Operation
from tests._speedups.test_inbox import check_fields, source_of


def test_the_declared_fields_are_those_that_the_source_sets() -> None:
    check_fields("operation")


def test_a_new_operation_is_the_same_in_both() -> None:
    pure = source_of("operation").CoreOperation("fetch", "select 1", 2)
    ours = Operation("fetch", "select 1", 2)
    for field, value in vars(pure).items():
        assert getattr(ours, field) == value, field


def test_every_field_of_the_public_class_is_set() -> None:
    operation = Operation("fetch")
    assert Operation.__annotations__.keys() <= vars(source_of("operation").CoreOperation("fetch")).keys()
    for field in Operation.__annotations__:
        getattr(operation, field)
