"""Calls and queries whose row a routine assigns to its variables: their source. Never: a call in an expression."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.spl import SplParameter, SplRoutine, resolved
from aioifx.server.sql.syntax import nodes
from aioifx.server.sql.translate.calls import NO_VARIABLE
from aioifx.server.sql.translate.spl_dynamic import DynamicSource
from aioifx.server.sql.translate.spl_program import EmbeddedStatement
from aioifx.server.sql.translate.spl_source import Variable
from aioifx.server.sql.translate.variables import path_of, with_variables


def executed(call: nodes.Call) -> nodes.Execute:
    """EXECUTE FUNCTION in place of a call that is a whole expression."""
    return nodes.Execute(call.offset, "function", call.routine, (*call.arguments, *call.named))


class CallSource(DynamicSource):
    """The source of one routine, with its calls and queries."""

    def _assign_call(self, call: nodes.Execute, names: Sequence[nodes.Name]) -> None:
        """CALL .. RETURNING, and LET, with the variables for OUT and INOUT parameters."""
        routine = self._outputs_of(call)
        if routine is None:
            return self._assign_row(call, names)
        call, outputs = self._with_outputs(call, routine)
        targets = self._targets(names)
        if not targets:  # the results of a function that only sets its parameters
            targets = [Variable("_", type_) for _, type_ in routine.results]
        return self._assign(call, [*targets, *outputs])

    def _outputs_of(self, call: nodes.Execute) -> SplRoutine | None:
        """The routine that a call means, if it has OUT or INOUT parameters."""
        name = call.routine
        named = [each.name for each in call.arguments if isinstance(each, nodes.NamedArgument)]
        count = len(call.arguments) - len(named)
        found = [
            each
            for each in self._schema.routines_named(name.name, name.owner)
            if each.accepts(count, named) and (call.kind == "procedure" or each.results)
        ]
        if not any(each.outputs for each in found):
            return None
        types = [
            self._variables.type_of(".".join(path_of(each))) if isinstance(each, nodes.Column) else None
            for each in call.arguments[:count]
        ]
        routine = resolved(found, name.name, types, named, name.offset)
        return routine if routine.outputs else None

    def _with_outputs(self, call: nodes.Execute, routine: SplRoutine) -> tuple[nodes.Execute, list[Variable]]:
        """The call with NULL for each OUT parameter, and the variables of OUT and INOUT parameters.

        Raises:
            SqlError: -9752, an argument is no variable.
        """
        parameters = {each.name: each for each in routine.parameters}
        arguments = list(call.arguments)
        variables: dict[str, Variable] = {}
        for index, argument in enumerate(arguments):
            if isinstance(argument, nodes.NamedArgument):
                parameter, value = parameters[argument.name], argument.value
            else:
                parameter, value = routine.parameters[index], argument
            if parameter.mode == "in":
                continue
            variables[parameter.name] = self._output(value, parameter)
            if parameter.mode == "out":
                null = nodes.Null(value.offset)
                named = nodes.NamedArgument(value.offset, parameter.name, null)
                arguments[index] = null if value is argument else named
        changed = replace(call, arguments=tuple(arguments))
        return changed, [variables.get(each.name, Variable("_", each.type)) for each in routine.outputs]

    def _output(self, value: nodes.Expression, parameter: SplParameter) -> Variable:
        name = ".".join(path_of(value)) if isinstance(value, nodes.Column) else ""
        if self._variables.find(name) is None:
            raise SqlError(NO_VARIABLE, token=parameter.name, offset=value.offset)
        return self._target(nodes.Name(value.offset, name))

    def _assign_row(self, tree: nodes.Query | nodes.Execute, names: Sequence[nodes.Name]) -> None:
        """SELECT .. INTO, and LET of several variables."""
        self._assign(tree, self._targets(names))

    def _assign(self, tree: nodes.Query | nodes.Execute, targets: Sequence[Variable]) -> None:
        call = self._row_source("select", tree, targets)
        if targets:
            self._line(f"{''.join(f'{each.source}, ' for each in targets)} = {call}")
            self._gets_value(*targets)
        else:
            self._line(call)

    def _row_source(
        self,
        verb: str,
        statement: nodes.Statement,
        targets: Sequence[Variable] = (),
        cursor: str = "",
        hold: bool = False,
    ) -> str:
        tree, names = with_variables(statement, self._variables.type_of)
        types = tuple(target.type for target in targets)
        return self._on_sqlite(verb, EmbeddedStatement(tree, types, cursor, hold), names)
