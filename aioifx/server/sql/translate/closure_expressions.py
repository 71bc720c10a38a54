"""SQLite text of an expression, as this package writes it -> Python source with the same result. Never: SQL's rules.

A routine evaluates most of its expressions without SQLite. The translator's text is the only definition of their
meaning: this module reads it and calls the functions that SQLite would call. SQLite evaluates all other texts.

Invariants:
1. A condition is compiled twice: where it is true, and where it is false. Neither holds for NULL.
2. Operands are evaluated once, from left to right, as SQLite does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.settings import Settings
from aioifx.server.sql.model.storage import TypeNumber
from aioifx.server.sql.runtime.casts import assigner, converter
from aioifx.server.sql.runtime.decimals import compare_decimals
from aioifx.server.sql.runtime.numerics import RANGES
from aioifx.server.sql.runtime.sqlite_functions import FUNCTIONS
from aioifx.server.sql.translate.closure_texts import (
    NULL,
    Call,
    Case,
    In,
    Is,
    Logic,
    Operation,
    Tree,
    Unknown,
    Value,
    tree_of,
)

_CALLS: Final = ("ifx_spl", "ifx_spl_not_variant")
"""``ifx_spl(procid, argument, ..)`` calls a routine written in SPL; ``ifx_default()`` is an argument not given."""
DEFAULT: Final = "ifx_default"

Namespace = dict[str, Any]
"""Names in the Python source, with the objects that they mean."""


_NEGATED: Final = {"==": "!=", "!=": "==", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}
_ARITHMETIC: Final = {"ifx_add": "+", "ifx_sub": "-", "ifx_mul": "*"}
_KNOWN: Final = {(spec.name, spec.arguments): spec for spec in FUNCTIONS}


# --- Python source ----------------------------------------------------------------------------------------------------


class ClosureExpressions:
    """Compiles the expressions of one routine; the objects that the source names are added to `namespace`."""

    def __init__(self, namespace: Namespace, settings: Settings) -> None:
        self._namespace = namespace
        self._settings = settings
        self._temporaries = 0
        namespace["_settings"] = settings
        namespace["_out_of_range"] = _out_of_range
        namespace["_compare_decimals"] = compare_decimals

    def value(self, text: str, variables: Sequence[tuple[str, bool]]) -> str:
        """Source of a value.

        Args:
            variables: for each ``?N``, its source and whether its values are integers.

        Raises:
            Unknown: only SQLite evaluates it.
        """
        return self._value(tree_of(text, variables))

    def truth(self, text: str, variables: Sequence[tuple[str, bool]]) -> str:
        """Source that is truthy if a condition is true, and falsy if it is false or NULL.

        Raises:
            Unknown: only SQLite evaluates it.
        """
        return self._true(tree_of(text, variables))

    def temporary(self) -> str:
        """A name that the routine has not used."""
        self._temporaries += 1
        return f"t{self._temporaries}"

    # --- Values -------------------------------------------------------------------------------------------------------

    def _value(self, tree: Tree) -> str:
        """Source of a value."""
        match tree:
            case Value():
                return tree.source
            case Call():
                return self._call(tree)
            case Operation("||" | "-"):
                verb = "+" if tree.operator == "||" else "-"
                return self._both(tree.left, tree.right, f"{{0}} {verb} {{1}}")
            case Case():
                source = self._value(tree.otherwise)
                for condition, result in reversed(tree.branches):
                    source = f"({self._value(result)} if {self._true(condition)} else {source})"
                return source
            case _:
                raise Unknown("a condition as a value")

    def _both(self, left: Tree, right: Tree, form: str) -> str:
        """Source of an operator that gives NULL for a NULL operand; *form* has both operands' places."""
        names, guard = self._operands((left, right))
        computed = form.format(*names)
        return f"(None if {guard} else {computed})" if guard else f"({computed})"

    def _operands(self, trees: Sequence[Tree]) -> tuple[list[str], str]:
        """Names for evaluated operands, and the source that is true if one of them is NULL."""
        sources = [self._value(tree) for tree in trees]
        names: list[str] = []
        parts: list[str] = []
        tests: list[str] = []
        for tree, source in zip(trees, sources, strict=True):
            if isinstance(tree, Value):
                names.append(source)
                if tree.is_nullable:
                    tests.append(f"{source} is None")
            else:
                name = self.temporary()
                names.append(name)
                parts.append(f"({name} := {source})")
                tests.append(f"{name} is None")
        # The only operand that may be NULL is evaluated by its own test.
        if len(parts) == 1 and len(tests) == 1:
            return names, f"{parts[0]} is None"
        guard = " or ".join(tests)
        if parts:
            guard = f"(({', '.join(parts)},) and ({guard}))"
        return names, guard

    def _call(self, tree: Call) -> str:
        arguments = tree.arguments
        if tree.name in _CALLS:
            procid = self._literal(arguments[0])
            values = "".join(f"{self._argument(each)}, " for each in arguments[1:])
            return f"_host.single({procid!r}, ({values}))"
        if tree.name == "ifnull" and len(arguments) == 2:
            return self._first_known(arguments)
        if tree.name == "coalesce":
            return self._first_known(arguments)
        if tree.name in ("ifx_cast", "ifx_assign"):
            make = converter if tree.name == "ifx_cast" else assigner
            return self._converted(make, arguments)
        if tree.name in _ARITHMETIC:
            found = self._integer_arithmetic(tree)
            if found is not None:
                return found
        spec = _KNOWN.get((tree.name, len(arguments)))
        if spec is None:
            raise Unknown(tree.name)
        name = f"f_{tree.name}_{len(arguments)}"
        call: Callable[..., Any] = partial(spec.call, self._settings) if spec.with_settings else spec.call
        self._namespace[name] = call
        sources = ", ".join(self._value(each) for each in arguments)
        return f"{name}({sources})"

    def _argument(self, tree: Tree) -> str:
        if isinstance(tree, Call) and tree.name == DEFAULT:
            return "_missing"
        return self._value(tree)

    def _literal(self, tree: Tree) -> Any:
        if not isinstance(tree, Value) or tree.literal is None:
            raise Unknown("a literal is expected")
        return tree.literal

    def _first_known(self, arguments: Sequence[Tree]) -> str:
        source = self._value(arguments[-1])
        for each in reversed(arguments[:-1]):
            name = self.temporary()
            source = f"({name} if ({name} := {self._value(each)}) is not None else {source})"
        return source

    def _converted(self, make: Callable[[TypeNumber, TypeNumber], Any], arguments: Sequence[Tree]) -> str:
        value, source, target = arguments
        numbers = self._literal(source), self._literal(target)
        name = f"c{len(self._namespace)}"
        self._namespace[name] = make(*numbers)
        names, guard = self._operands((value,))
        call = f"{name}({names[0]}, _settings)"
        return f"(None if {guard} else {call})" if guard else call

    def _integer_arithmetic(self, tree: Call) -> str | None:
        """Arithmetic of integers whose result is an integer: Python's own, with the check of the range."""
        if not self._is_integer(tree):
            return None
        left, right, result = tree.arguments
        limits = RANGES[self._literal(result) >> 16]
        total = self.temporary()
        highest = limits.highest
        computed = f"{total} if -{highest} <= ({total} := {{0}} {_ARITHMETIC[tree.name]} {{1}}) <= {highest}"
        return self._both(left, right, f"{computed} else _out_of_range({limits.sqlcode})")

    def _is_integer(self, tree: Tree) -> bool:
        """Whether every value of the tree is an integer or NULL."""
        match tree:
            case Value():
                return tree.is_integer
            case Operation():
                return tree.operator == "-"
            case Call() if tree.name in _ARITHMETIC:
                left, right, result = tree.arguments
                number = self._literal(result)
                is_integer = isinstance(number, int) and number >> 16 in RANGES
                return is_integer and self._is_integer(left) and self._is_integer(right)
            case _:
                return False

    # --- Conditions ---------------------------------------------------------------------------------------------------

    def _true(self, tree: Tree) -> str:
        """Source that is truthy if the condition is true."""
        match tree:
            case Logic("not"):
                return self._false(tree.operands[0])
            case Logic():
                return f"({f' {tree.operator} '.join(map(self._true, tree.operands))})"
            case Is():
                return self._is(tree, tree.is_negated)
            case In():
                return self._in(tree, tree.is_negated)
            case Operation() if tree.operator in _NEGATED:
                return self._compared(tree, tree.operator)
            case Value() | Call() | Case():
                return f"({self._value(tree)})"
            case _:
                raise Unknown("a value as a condition")

    def _false(self, tree: Tree) -> str:
        """Source that is truthy if the condition is false."""
        match tree:
            case Logic("not"):
                return self._true(tree.operands[0])
            case Logic():
                other = "or" if tree.operator == "and" else "and"
                return f"({f' {other} '.join(map(self._false, tree.operands))})"
            case Is():
                return self._is(tree, not tree.is_negated)
            case In():
                return self._in(tree, not tree.is_negated)
            case Operation() if tree.operator in _NEGATED:
                return self._compared(tree, _NEGATED[tree.operator])
            case Value() | Call() | Case():
                name = self.temporary()
                return f"(({name} := {self._value(tree)}) is not None and not {name})"
            case _:
                raise Unknown("a value as a condition")

    def _is(self, tree: Is, is_negated: bool) -> str:
        left = self._value(tree.left)
        if tree.right is NULL and isinstance(tree.left, Value) and not tree.left.is_nullable:
            return repr(is_negated)
        if tree.right is NULL:
            # Python warns about a constant before "is", and folds constant operands into one.
            operand = left if isinstance(tree.left, Value) else f"({self.temporary()} := {left})"
            return f"({operand} is {'not ' if is_negated else ''}None)"
        return f"({left} {'!=' if is_negated else '=='} {self._value(tree.right)})"

    def _compared(self, tree: Operation, operator: str) -> str:
        names, guard = self._operands((tree.left, tree.right))
        test = _test(operator, names[0], names[1], tree.collation)
        return f"(not ({guard}) and {test})" if guard else f"({test})"

    def _in(self, tree: In, is_negated: bool) -> str:
        """One of the items is equal; or, negated, all of them are known and different."""
        names, guard = self._operands((tree.operand, *tree.items))
        operand, items = names[0], names[1:]
        if not items:
            raise Unknown("IN ()")
        if is_negated:
            tests = " and ".join(_test("!=", operand, item, tree.collation) for item in items)
            return f"(not ({guard}) and {tests})" if guard else f"({tests})"
        parts: list[str] = []
        for item, source in zip(tree.items, items, strict=True):
            test = _test("==", operand, source, tree.collation)
            is_nullable = not isinstance(item, Value) or item.is_nullable
            parts.append(f"({source} is not None and {test})" if is_nullable else test)
        either = " or ".join(parts)
        evaluated = f"(({guard}) or True) and " if ":=" in guard else ""
        if isinstance(tree.operand, Value) and not tree.operand.is_nullable:
            return f"({evaluated}({either}))"
        return f"({evaluated}{operand} is not None and ({either}))"


def _test(operator: str, left: str, right: str, collation: str) -> str:
    match collation:
        case "":
            return f"{left} {operator} {right}"
        case "RTRIM":
            return f"{left}.rstrip(' ') {operator} {right}.rstrip(' ')"
        case "ifx_decimal":
            return f"_compare_decimals({left}, {right}) {operator} 0"
        case _:
            raise Unknown(collation)


def _out_of_range(sqlcode: int) -> Any:
    raise SqlError(sqlcode)
