"""A routine's tree -> a Python function, statement by statement. Never: SQLite itself, running the function.

Invariants:
1. The source consists of this module's own text, numbers, and `repr` of texts: no name of the user is part of it.
2. Variables are Python's local variables with values in storage form, so a LET is one assignment.
3. SQL statements are translated when they first run, since a routine may create the tables that it uses.

Source: SPL's rules are documented (Guide to SQL: Syntax, SPL statements).
Of several handlers of one block that fit, the last one runs (documented: ON EXCEPTION, IN clause).
assumed: the offsets of errors in a running body are 0.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.schema import Schema
from aioifx.server.sql.model.settings import Settings
from aioifx.server.sql.model.spl import SplRoutine
from aioifx.server.sql.model.type_rules import INTEGER, LONG_TEXT, Family, family_of, plain
from aioifx.server.sql.syntax import nodes, spl_nodes
from aioifx.server.sql.syntax.parser import parse
from aioifx.server.sql.translate.expressions import Expressions
from aioifx.server.sql.translate.scopes import Context, Scope
from aioifx.server.sql.translate.select import QueryTranslator
from aioifx.server.sql.translate.spl_calls import executed
from aioifx.server.sql.translate.spl_collections import CollectionSource
from aioifx.server.sql.translate.spl_goto import Statements
from aioifx.server.sql.translate.spl_program import Program
from aioifx.server.sql.translate.spl_source import (
    Handler,
    Variable,
    Variables,
    builtin_variables,
    changes_current_of,
    declared_type,
    for_update,
)
from aioifx.server.sql.translate.variables import expression_with_variables
from aioifx.sqltypes import SqlType

REDECLARED: Final = -669
INCONSISTENT: Final = -689
NO_CASE: Final = -26062
NOT_INTEGER: Final = -666
WRONG_COUNT: Final = -655
_PLACES: Final = re.compile(r"\b[vx]\d+\b")


def compiled(routine: SplRoutine, schema: Schema, settings: Settings) -> Program:
    """The program of a stored routine.

    Raises:
        SqlError: the body is invalid.
    """
    tree = parse(routine.text, delimident=routine.is_delimident)
    assert isinstance(tree, spl_nodes.CreateRoutine)
    return compiled_tree(tree, routine, schema, settings)


def compiled_tree(
    tree: spl_nodes.CreateRoutine, routine: SplRoutine, schema: Schema, settings: Settings
) -> Program:
    """The program of a routine whose tree is known."""
    return RoutineCompiler(tree, routine, schema, settings).program()


class RoutineCompiler(CollectionSource):
    """Compiles one routine."""

    def __init__(
        self, tree: spl_nodes.CreateRoutine, routine: SplRoutine, schema: Schema, settings: Settings
    ) -> None:
        super().__init__(schema, settings)
        self._tree = tree
        self._routine = routine
        self._handlers: list[list[Handler]] = []
        self._begun = 0  # blocks with handlers around the innermost BEGIN
        self._outputs: tuple[str, ...] = ()
        self._is_iterator = any(
            isinstance(node, spl_nodes.Return) and node.resumes for node in nodes.walk(tree.body)
        )

    def program(self) -> Program:
        """The compiled routine."""
        names = [self._declare(each.name, each.type).source for each in self._routine.parameters]
        self._variables.parent = builtin_variables(self._routine, self._schema)
        self._outputs = tuple(self._variables.known[each.name].source for each in self._routine.outputs)
        if self._outputs and self._is_iterator:
            raise SqlError(-999, token="OUT PARAMETER WITH RESUME", offset=self._tree.offset)
        for name, parameter in zip(names, self._tree.parameters, strict=True):
            if parameter.mode == "out":
                self._line(f"{name} = None")  # documented: an OUT parameter is NULL at first
            if parameter.default is not None:
                type_ = self._variables.known[parameter.name].type
                self._line(f"if {name} is _missing: {name} = {self._value(parameter.default, type_)}")
        self._find_labels(self._tree.body)
        self._block(self._tree.body)
        places = [place for place in self._places if place not in names]
        head = [f"def routine(_host{''.join(f', {name}' for name in names)}):"]
        head += [f"    {place} = None" for place in places]
        head.append("    _call = object()")
        tail = ["    return", "    yield"] if self._is_iterator else [f"    return {self._row([])}"]
        body = self._lines
        if self._is_dynamic:
            head.append("    _dynamic = _host.dynamic()")
            body = ["    try:", *(f"    {line}" for line in body), "    finally:", "        _dynamic.end()"]
        source = "\n".join([*head, *body, *tail])
        exec(compile(source, f"<{self._routine.name}>", "exec"), self._namespace)
        program = Program(
            self._routine, self._namespace["routine"], self._is_iterator, self._embedded, source
        )
        self._namespace["_program"] = program
        return program

    # --- Blocks and handlers ------------------------------------------------------------------------------------------

    def _block(self, block: spl_nodes.Block) -> None:
        self._variables = Variables(parent=self._variables)
        for define in block.defines:
            self._define(define)
        if block.handlers:
            self._guarded_block(block)
        else:
            self._statements(block)
        assert self._variables.parent is not None
        self._variables = self._variables.parent

    def _statements(self, block: spl_nodes.Block) -> None:
        self._in_parts(block, self._written)

    def _written(self, statements: Statements) -> None:
        for statement in statements:
            if self._resuming:
                self._resumed(statement)
            else:
                self._statement(statement)

    def _guarded_block(self, block: spl_nodes.Block) -> None:
        handlers = [self._handler(each) for each in block.handlers][::-1]
        ending = [handler for handler in handlers if not handler.resumes]
        self._handlers.append(handlers)
        if ending:
            with self._nested(block.offset):
                with self._indented("try:"), self._branch():
                    self._statements(block)
                self._trapped(ending)
        else:
            self._statements(block)
        self._handlers.pop()

    def _trapped(self, handlers: Sequence[Handler], ending: bool = True) -> None:
        """Source after ``try``: the first handler that takes the error; with *ending* false, only those that resume."""
        error = f"e{self._number()}"
        with self._indented(f"except SqlError as {error}:"):
            verb = "if"
            for handler in handlers:
                with self._indented(
                    f"{verb} _traps(_host, {error}, {handler.codes!r}, _call, {handler.depth}):"
                ):
                    if ending or handler.resumes:
                        self._handle(handler, error)
                    else:
                        self._line("raise")
                verb = "elif"
            with self._indented("else:"):
                self._line("raise")

    @property
    def _resuming(self) -> list[Handler]:
        """The handlers of this BEGIN block, the nearest first; empty if none of them is WITH RESUME.

        Those of blocks around it continue after it (documented: RAISE EXCEPTION to exit nested code). assumed: loops
        and IF are not blocks of their own.
        """
        near = [each for handlers in reversed(self._handlers[self._begun :]) for each in handlers]
        return near if any(each.resumes for each in near) else []

    def _begin(self, block: spl_nodes.Block) -> None:
        """BEGIN .. END, which is one statement of the block around it."""
        outer, self._begun = self._begun, len(self._handlers)
        self._block(block)
        self._begun = outer

    def _resumed(self, statement: spl_nodes.SplStatement) -> None:
        """A statement after whose failure a handler WITH RESUME continues with the next one."""
        with self._nested(statement.offset):
            with self._indented("try:"), self._branch():
                self._statement(statement)
            self._trapped(self._resuming, ending=False)

    def _handle(self, handler: Handler, error: str) -> None:
        """Run a handler, which may end the routine, or leave a loop."""
        verb = "yield from _handled_with_rows" if self._is_iterator else "_handled"
        result = f"r{self._number()}"
        self._line(f"{result} = {verb}({handler.function}, {error}, _call, {handler.depth})")
        for number, (loop, verb) in enumerate(handler.jumps, start=1):
            with self._indented(f"if {result} == {number}:"):
                self._jump(loop, verb)
        self._line(f"if {result} is not None: {self._ended(result)}")

    def _ended(self, result: str) -> str:
        """Source that ends the function with the result of a handler."""
        if self._in_handler:
            return f"return {result}"
        return "return" if self._is_iterator else f"return {result}[0]"

    def _handler(self, node: spl_nodes.OnException) -> Handler:
        """Compile a handler as an inner function.

        It returns None, a tuple with the row of its RETURN, or the number of its EXIT or CONTINUE of a loop around it.
        """
        name = f"h{self._number()}"
        targets = self._targets(node.targets)
        outer = self._lines, self._loops, self._loops_outside, self._in_handler, self._jumps
        self._loops_outside = [*self._loops_outside, *self._loops]
        self._lines, self._loops, self._in_handler, self._jumps = [], [], True, []
        self._indent += 1
        for place, target in zip(("sqlcode", "isamcode", "token"), targets, strict=False):
            type_ = LONG_TEXT if place == "token" else INTEGER
            self._line(f"{target.source} = {self._assigned(f'_error.{place}', type_, target.type)}")
        with self._branch():
            self._gets_value(*targets)
            self._block(node.body)
        self._line("return None")
        if self._is_iterator:
            self._line("yield")
        used = {found for line in self._lines for found in _PLACES.findall(line)}
        shared = sorted(used.intersection(self._places))
        if shared:
            self._lines.insert(0, f"{'    ' * self._indent}nonlocal {', '.join(shared)}")
        self._indent -= 1
        body, jumps = self._lines, tuple(self._jumps)
        self._lines, self._loops, self._loops_outside, self._in_handler, self._jumps = outer
        self._line(f"def {name}(_error):")
        self._lines += body
        return Handler(node.codes, name, node.resumes, len(self._handlers), jumps)

    # --- Declarations -------------------------------------------------------------------------------------------------

    def _define(self, node: spl_nodes.Define) -> None:
        type_ = declared_type(node.type, Context(self._schema, self._settings))
        for name in node.names:
            if name.text in self._variables.known:
                raise SqlError(REDECLARED, token=name.text, offset=name.offset)
            if node.is_global:
                self._define_global(name.text, type_, node.default)
                continue
            if node.default is not None:
                raise SqlError(-201, offset=node.default.offset)
            variable = self._declare(name.text, type_)
            self._line(f"{variable.source} = _missing")
            self._undefined.add(variable.source)

    def _define_global(self, name: str, type_: SqlType, default: nodes.Expression | None) -> None:
        assert default is not None
        source = f"_host.globals[{name!r}]"
        value = self._value(default, type_)
        declared = f"_host.global_types.setdefault({name!r}, {str(type_)!r})"
        self._line(f"if {declared} != {str(type_)!r}: raise SqlError({INCONSISTENT}, 0, {name!r})")
        self._line(f"if {name!r} not in _host.globals: {source} = {value}")
        self._variables.known[name] = Variable(source, type_)

    # --- Statements ---------------------------------------------------------------------------------------------------

    def _statement(self, node: spl_nodes.SplStatement) -> None:
        match node:
            case spl_nodes.Let():
                self._let(node)
            case spl_nodes.If():
                self._if(node)
            case spl_nodes.For():
                self._for(node)
            case spl_nodes.While():
                self._while(node)
            case spl_nodes.Foreach():
                self._foreach(node)
            case spl_nodes.Labelled():
                self._require_no_handler(node)
                self._statement(node.statement)
            case spl_nodes.Goto():
                self._goto(node)
            case spl_nodes.Leave():
                self._leave(node)
            case spl_nodes.Return():
                self._return(node)
            case spl_nodes.Raise():
                self._raise(node)
            case spl_nodes.CallRoutine():
                self._assign_call(node.call, node.targets)
            case spl_nodes.System():
                self._line(f"_host.system({self._value(node.command, LONG_TEXT)})")
            case spl_nodes.Immediate():
                self._line(f"_host.immediate({self._value(node.text, LONG_TEXT)})")
            case (
                spl_nodes.Prepare()
                | spl_nodes.DeclareCursor()
                | spl_nodes.OpenCursor()
                | spl_nodes.FetchCursor()
                | spl_nodes.EndCursor()
            ):
                self._dynamic(node)
            case spl_nodes.ChangeElements():
                self._change_elements(node)
            case spl_nodes.Sql():
                self._sql(node)
            case spl_nodes.Block():
                self._begin(node)
            case spl_nodes.Trace():
                self._line("pass")

    def _let(self, node: spl_nodes.Let) -> None:
        targets = self._targets(node.targets)
        value = node.values[0]
        if isinstance(value, nodes.Call) and len(node.values) == 1 and self._outputs_of(executed(value)):
            return self._assign_call(executed(value), node.targets)
        if len(targets) > 1 and len(node.values) == 1:
            if isinstance(value, nodes.Subquery):
                return self._assign_row(value.query, node.targets)
            if isinstance(value, nodes.Call):
                return self._assign_call(executed(value), node.targets)
        if len(targets) != len(node.values):
            raise SqlError(-201, offset=node.offset)
        sources = [
            self._value(value, target.type) for value, target in zip(node.values, targets, strict=True)
        ]
        self._line(f"{', '.join(each.source for each in targets)} = {', '.join(sources)}")
        self._gets_value(*targets)
        return None

    def _sql(self, node: spl_nodes.Sql) -> None:
        if node.targets:
            assert isinstance(node.statement, nodes.Query)
            self._assign_row(node.statement, node.targets)
        else:
            self._line(self._row_source("execute", node.statement))

    def _if(self, node: spl_nodes.If) -> None:
        conditions = [branch.condition for branch in node.branches]
        if node.operand is not None:
            conditions = self._cases(node.operand, conditions)
        verb = "if"
        for condition, branch in zip(conditions, node.branches, strict=True):
            with self._indented(f"{verb} {self._condition(condition)}:"), self._branch():
                self._block(branch.body)
            verb = "elif"
        if not node.branches and node.otherwise is not None:
            self._block(node.otherwise)
        elif node.otherwise is not None:
            with self._indented("else:"), self._branch():
                self._block(node.otherwise)
        elif node.operand is not None:  # documented: CASE statement
            self._line(f"else: raise SqlError({NO_CASE})")

    def _cases(self, operand: nodes.Expression, values: Sequence[nodes.Expression]) -> list[nodes.Expression]:
        """The conditions of CASE: its operand is evaluated once and compared with each value."""
        context = Context(self._schema, self._settings, statement=operand)
        tree, _ = expression_with_variables(operand, self._variables.type_of)
        type_ = plain(Expressions(context, Scope(), QueryTranslator(context)).value(tree).known_type)
        name = f" case{self._number()}"
        variable = self._declare(name, type_)
        self._line(f"{variable.source} = {self._value(operand, type_)}")
        return [
            nodes.Comparison(value.offset, "=", nodes.Column(operand.offset, name), value, value.offset)
            for value in values
        ]

    # --- Loops --------------------------------------------------------------------------------------------------------

    def _while(self, node: spl_nodes.While) -> None:
        condition = "True" if node.condition is None else self._condition(node.condition)
        with self._loop(node, f"while {condition}:"):
            self._block(node.body)

    def _for(self, node: spl_nodes.For) -> None:
        target = self._target(node.variable)
        parts: list[str] = []
        for item in node.items:
            if isinstance(item, spl_nodes.Range):
                if family_of(target.type) is not Family.INTEGER:
                    raise SqlError(NOT_INTEGER, token=node.variable.text, offset=node.variable.offset)
                bounds = [item.first, item.last, *([item.step] if item.step is not None else [])]
                parts.append(f"_range({', '.join(self._value(each, target.type) for each in bounds)})")
            else:
                parts.append(f"({self._value(item, target.type)},)")
        items = parts[0] if len(parts) == 1 else f"_chain({', '.join(parts)})"
        variables = Variables(parent=self._variables)
        variables.known[node.variable.text] = Variable(target.source, target.type, is_loop=True)
        each = f"t_for{self._number()}"
        with self._loop(node, f"for {each} in {items}:"):
            self._line(f"{target.source} = {each}")
            self._gets_value(target)
            self._variables = variables
            self._block(node.body)
            assert variables.parent is not None
            self._variables = variables.parent

    def _foreach(self, node: spl_nodes.Foreach) -> None:
        targets = self._targets(node.targets)
        source = node.source
        if node.cursor and isinstance(source, nodes.Query) and changes_current_of(node.body, node.cursor):
            source = for_update(source)
        if isinstance(source, nodes.Execute) and (routine := self._outputs_of(source)):
            source, outputs = self._with_outputs(source, routine)
            targets += outputs
        for each in targets:
            if each.source in self._undefined:  # as after a SELECT without rows
                self._line(f"if {each.source} is _missing: {each.source} = None")
        self._gets_value(*(each for each in targets if each.whole is None))
        rows, elements = f"rows{self._number()}", self._open_elements(node)
        self._line(f"{rows} = {self._row_source('rows', source, targets, node.cursor, node.hold)}")
        with self._nested(node.offset):
            with self._indented("try:"):
                row = f"row{self._number()}"
                with self._loop(node, f"for {row} in {rows}:"):
                    if elements:
                        self._line(f"{elements}.step()")
                    self._line(f"{''.join(f'{each.source}, ' for each in targets)} = {row}")
                    self._gets_value(*targets)
                    self._block(node.body)
            with self._indented("finally:"):
                self._line(f"{rows}.close()")
        self._element_cursors.pop(node.cursor, None)

    def _leave(self, node: spl_nodes.Leave) -> None:
        loop = self._loop_of(node)
        if node.condition is not None:
            with self._indented(f"if {self._condition(node.condition)}:"):
                self._jump(loop, node.verb)
        else:
            self._jump(loop, node.verb)

    # --- The end ------------------------------------------------------------------------------------------------------

    def _return(self, node: spl_nodes.Return) -> None:
        results = self._routine.results
        if len(node.values) != len(results) and node.values:
            raise SqlError(WRONG_COUNT, offset=node.offset)
        pairs = zip(node.values, results, strict=False)
        row = self._row([self._value(value, type_) for value, (_, type_) in pairs])
        if self._is_iterator:
            if node.values:
                self._line(f"yield {row}")
            if not node.resumes:
                self._line("return (None,)" if self._in_handler else "return")
        else:
            self._line(f"return ({row},)" if self._in_handler else f"return {row}")

    def _row(self, values: Sequence[str]) -> str:
        """Source of the row of RETURN, with the values of OUT and INOUT parameters; None if it has no values."""
        if not (values or self._outputs):
            return "None"
        row = [*(values or ["None"] * len(self._routine.results)), *self._outputs]
        return f"({''.join(f'{each}, ' for each in row)})"

    def _raise(self, node: spl_nodes.Raise) -> None:
        types = (INTEGER, INTEGER, LONG_TEXT)
        sources = [self._value(value, type_) for value, type_ in zip(node.values, types, strict=False)]
        self._line(f"raise _raised({', '.join(sources)})")
