from __future__ import annotations

import pytest

from aioifx.server.sql.translate.closure_texts import (
    NULL,
    Call,
    Case,
    In,
    Is,
    Logic,
    Operation,
    Unknown,
    Value,
    tree_of,
)


def test_operators_bind_as_in_sqlite() -> None:
    tree = tree_of("1 = 2 OR NOT 'a' || 'b' < 'c' AND ?1 IS NULL", [("v1", False)])
    assert isinstance(tree, Logic) and tree.operator == "or"
    both = tree.operands[1]
    assert isinstance(both, Logic) and both.operator == "and"
    negation, test = both.operands
    assert isinstance(negation, Logic) and negation.operator == "not"
    (less,) = negation.operands
    assert isinstance(less, Operation) and less.operator == "<"
    assert isinstance(less.left, Operation) and less.left.operator == "||"
    assert test == Is(Value("v1", True), NULL, False)


def test_literals_are_python_source() -> None:
    for text, source in (("'it''s'", '"it\'s"'), ("-5", "-5"), ("1.5", "1.5"), ("NULL", "None")):
        tree = tree_of(text, [])
        assert isinstance(tree, Value) and tree.source == source


def test_calls_cases_and_lists() -> None:
    assert tree_of("f(1, g())", []) == Call("f", (Value("1", False, True, 1), Call("g", ())))
    assert isinstance(tree_of("CASE WHEN 1 = 1 THEN 2 ELSE 3 END", []), Case)
    found = tree_of("?1 COLLATE RTRIM NOT IN ('a', 'b')", [("v1", False)])
    assert isinstance(found, In) and (found.collation, found.is_negated, len(found.items)) == (
        "RTRIM",
        True,
        2,
    )


@pytest.mark.parametrize("text", ["1 +", "x", "(1", "1 = 2 = 3", "EXISTS (SELECT 1)", "f(" * 60 + ")" * 60])
def test_the_rest_is_unknown(text: str) -> None:
    with pytest.raises(Unknown):
        tree_of(text, [])
