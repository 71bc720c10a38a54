"""An expression of SQLite's tree -> Python source with the same result. Never: SQL's rules.

A routine evaluates most of its expressions without SQLite. The translator's tree is the only definition of their
meaning: this module reads it and calls the functions that SQLite would call. SQLite evaluates all other expressions.

Invariants:
1. A condition is compiled twice: where it is true, and where it is false. Neither holds for NULL.
2. Operands are evaluated once, from left to right, as SQLite does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final, TypeAlias

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.settings import Settings
from aioifx.server.sql.model.storage import TypeNumber
from aioifx.server.sql.runtime.casts import assigner, converter
from aioifx.server.sql.runtime.decimals import compare_decimals
from aioifx.server.sql.runtime.numerics import RANGES
from aioifx.server.sql.runtime.sqlite_functions import FUNCTIONS
from aioifx.server.sql.sqlite.tree import (
    Call,
    Case,
    Collated,
    In,
    Is,
    Literal,
    Logic,
    Node,
    Not,
    Operation,
    Parameter,
    children,
)

_CALLS: Final = ("ifx_spl", "ifx_spl_not_variant")
"""``ifx_spl(procid, argument, ..)`` calls a routine written in SPL; ``ifx_default()`` is an argument not given."""
_DEFAULT: Final = "ifx_default"

Namespace: TypeAlias = dict[str, Any]
"""Names in the Python source, with the objects that they mean."""

Variables: TypeAlias = Sequence[tuple[str, bool]]
"""For each ``?N``, its source and whether its values are integers."""

_DEEPEST: Final = 40
"""Height of a tree; Python's own source is some times as deep, at most 200."""
_MOST_BRANCHES: Final = 100
"""Branches of a CASE: Python's parser nests each in the one before."""
_GREATEST: Final = 2**63 - 1
_OPERATORS: Final = {"=": "==", "<>": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_NEGATED: Final = {"=": "!=", "<>": "==", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}
_ARITHMETIC: Final = {"ifx_add": "+", "ifx_sub": "-", "ifx_mul": "*"}
_KNOWN: Final = {(spec.name, spec.arguments): spec for spec in FUNCTIONS}


class Unknown(Exception):
    """The expression has a part that only SQLite evaluates."""


class ClosureExpressions:
    """Compiles the expressions of one routine; the objects that the source names are added to `namespace`."""

    def __init__(self, namespace: Namespace, settings: Settings) -> None:
        self._namespace = namespace
        self._settings = settings
        self._temporaries = 0
        self._variables: Variables = ()
        namespace["_settings"] = settings
        namespace["_out_of_range"] = _out_of_range
        namespace["_compare_decimals"] = compare_decimals

    def value(self, tree: Node, variables: Variables) -> str:
        """Source of a value.

        Raises:
            Unknown: only SQLite evaluates it.
        """
        _require_low(tree)
        self._variables = variables
        return self._value(tree)

    def truth(self, tree: Node, variables: Variables) -> str:
        """Source that is truthy if a condition is true, and falsy if it is false or NULL.

        Raises:
            Unknown: only SQLite evaluates it.
        """
        _require_low(tree)
        self._variables = variables
        return self._true(tree)

    def temporary(self) -> str:
        """A name that the routine has not used."""
        self._temporaries += 1
        return f"t{self._temporaries}"

    # --- Values -------------------------------------------------------------------------------------------------------

    def _value(self, tree: Node) -> str:
        """Source of a value."""
        match tree:
            case Literal(int(value)) if not -_GREATEST <= value <= _GREATEST:
                raise Unknown(value)
            case Literal(bytes()):
                raise Unknown("bytes")
            case Literal():
                return repr(tree.value)
            case Parameter():
                source, _ = self._variables[tree.number - 1]
                return source
            case Call():
                return self._call(tree)
            case Operation("||" | "-"):
                verb = "+" if tree.operator == "||" else "-"
                return self._both(tree.left, tree.right, f"{{0}} {verb} {{1}}")
            case Case() if len(tree.branches) > _MOST_BRANCHES:
                raise Unknown("branches")
            case Case():
                branches = "".join(
                    f"{self._value(result)} if {self._true(condition)} else "
                    for condition, result in tree.branches
                )
                return f"({branches}{'None' if tree.otherwise is None else self._value(tree.otherwise)})"
            case _:
                raise Unknown(type(tree).__name__)

    def _both(self, left: Node, right: Node, form: str) -> str:
        """Source of an operator that gives NULL for a NULL operand; *form* has both operands' places."""
        names, guard = self._operands((left, right))
        computed = form.format(*names)
        return f"(None if {guard} else {computed})" if guard else f"({computed})"

    def _operands(self, trees: Sequence[Node]) -> tuple[list[str], str]:
        """Names for evaluated operands, and the source that is true if one of them is NULL."""
        sources = [self._value(tree) for tree in trees]
        names: list[str] = []
        parts: list[str] = []
        tests: list[str] = []
        for tree, source in zip(trees, sources, strict=True):
            if _is_leaf(tree):
                names.append(source)
                if _is_nullable(tree):
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

    def _argument(self, tree: Node) -> str:
        if isinstance(tree, Call) and tree.name == _DEFAULT:
            return "_missing"
        return self._value(tree)

    def _literal(self, tree: Node) -> Any:
        if not isinstance(tree, Literal) or tree.value is None:
            raise Unknown("a literal is expected")
        return tree.value

    def _first_known(self, arguments: Sequence[Node]) -> str:
        *others, last = arguments
        parts: list[str] = []
        for each in others:
            name = self.temporary()
            parts.append(f"{name} if ({name} := {self._value(each)}) is not None else ")
        return f"({''.join(parts)}{self._value(last)})"

    def _converted(self, make: Callable[[TypeNumber, TypeNumber], Any], arguments: Sequence[Node]) -> str:
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

    def _is_integer(self, tree: Node) -> bool:
        """Whether every value of the tree is an integer or NULL."""
        match tree:
            case Literal():
                return isinstance(tree.value, int)
            case Parameter():
                return self._variables[tree.number - 1][1]
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

    def _true(self, tree: Node) -> str:
        """Source that is truthy if the condition is true."""
        match tree:
            case Not():
                return self._false(tree.operand)
            case Logic():
                return f"({f' {tree.operator.lower()} '.join(map(self._true, tree.operands))})"
            case Is():
                return self._is(tree, tree.is_negated)
            case In():
                return self._in(tree, tree.is_negated)
            case Operation() if tree.operator in _NEGATED:
                return self._compared(tree, _OPERATORS[tree.operator])
            case Literal() | Parameter() | Call() | Case():
                return f"({self._value(tree)})"
            case _:
                raise Unknown("a value as a condition")

    def _false(self, tree: Node) -> str:
        """Source that is truthy if the condition is false."""
        match tree:
            case Not():
                return self._true(tree.operand)
            case Logic():
                other = "or" if tree.operator == "AND" else "and"
                return f"({f' {other} '.join(map(self._false, tree.operands))})"
            case Is():
                return self._is(tree, not tree.is_negated)
            case In():
                return self._in(tree, not tree.is_negated)
            case Operation() if tree.operator in _NEGATED:
                return self._compared(tree, _NEGATED[tree.operator])
            case Literal() | Parameter() | Call() | Case():
                name = self.temporary()
                return f"(({name} := {self._value(tree)}) is not None and not {name})"
            case _:
                raise Unknown("a value as a condition")

    def _is(self, tree: Is, is_negated: bool) -> str:
        source = self._value(tree.operand)
        if isinstance(tree.operand, Literal):
            # Python warns about a constant before "is".
            return repr((tree.operand.value is None) is not is_negated)
        # Python folds constant operands into one, and warns about that one.
        operand = source if isinstance(tree.operand, Parameter) else f"({self.temporary()} := {source})"
        return f"({operand} is {'not ' if is_negated else ''}None)"

    def _compared(self, tree: Operation, operator: str) -> str:
        left, collation = _collation_of(tree.left)
        names, guard = self._operands((left, tree.right))
        test = _test(operator, names[0], names[1], collation)
        return f"(not ({guard}) and {test})" if guard else f"({test})"

    def _in(self, tree: In, is_negated: bool) -> str:
        """One of the items is equal; or, negated, all of them are known and different."""
        compared, collation = _collation_of(tree.operand)
        names, guard = self._operands((compared, *tree.items))
        operand, items = names[0], names[1:]
        if not items:
            raise Unknown("IN ()")
        if is_negated:
            tests = " and ".join(_test("!=", operand, item, collation) for item in items)
            return f"(not ({guard}) and {tests})" if guard else f"({tests})"
        parts: list[str] = []
        for item, source in zip(tree.items, items, strict=True):
            test = _test("==", operand, source, collation)
            parts.append(f"({source} is not None and {test})" if _is_nullable(item) else test)
        either = " or ".join(parts)
        evaluated = f"(({guard}) or True) and " if ":=" in guard else ""
        if not _is_nullable(compared):
            return f"({evaluated}({either}))"
        return f"({evaluated}{operand} is not None and ({either}))"


def _is_leaf(tree: Node) -> bool:
    return isinstance(tree, Literal | Parameter)


def _is_nullable(tree: Node) -> bool:
    return not isinstance(tree, Literal) or tree.value is None


def _collation_of(tree: Node) -> tuple[Node, str]:
    """An operand without its collation, and the collation."""
    return (tree.operand, tree.collation) if isinstance(tree, Collated) else (tree, "")


def _require_low(tree: Node) -> None:
    """Raise `Unknown` for a tree that is too high for Python's own parser."""
    level: list[Node] = [tree]
    for _ in range(_DEEPEST):
        level = [child for node in level for child in children(node)]
        if not level:
            return
    raise Unknown("nesting")


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
