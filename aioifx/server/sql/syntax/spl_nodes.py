"""The syntax tree of SPL: the header of a routine and the statements of its body. Never: an inferred type."""

from __future__ import annotations

from typing import Literal, TypeAlias

from aioifx.server.sql.syntax import nodes
from aioifx.sqltypes import SqlType

LoopKind: TypeAlias = Literal["for", "foreach", "while", "loop"]


class LikeColumn(nodes.Node):
    """``LIKE table.column`` in place of a type."""

    table: nodes.QualifiedName
    column: nodes.Name


DeclaredType: TypeAlias = SqlType | LikeColumn


# --- Statements -------------------------------------------------------------------------------------------------------


class Define(nodes.Node):
    """``DEFINE [GLOBAL] name, .. type [DEFAULT value]``"""

    names: tuple[nodes.Name, ...]
    type: DeclaredType
    default: nodes.Expression | None = None
    is_global: bool = False


class Block(nodes.Node):
    """Statements with the variables and the handlers that are declared before them."""

    defines: tuple[Define, ...]
    handlers: tuple[OnException, ...]
    statements: tuple[SplStatement, ...]


class OnException(nodes.Node):
    """``ON EXCEPTION [IN (code, ..)] [SET sqlcode, isamcode, text] .. END EXCEPTION [WITH RESUME]``"""

    codes: tuple[int, ...]
    targets: tuple[nodes.Name, ...]
    body: Block
    resumes: bool


class Let(nodes.Node):
    """``LET variable, .. = value, ..``"""

    targets: tuple[nodes.Name, ...]
    values: tuple[nodes.Expression, ...]


class Branch(nodes.Node):
    """A condition, or a value of CASE, with its statements."""

    condition: nodes.Expression
    body: Block


class If(nodes.Node):
    """IF .. ELIF .. ELSE .. END IF; a CASE statement with its value in `operand`."""

    branches: tuple[Branch, ...]
    otherwise: Block | None
    operand: nodes.Expression | None = None


class Range(nodes.Node):
    """``first TO last [STEP step]``"""

    first: nodes.Expression
    last: nodes.Expression
    step: nodes.Expression | None


class For(nodes.Node):
    """FOR variable = range, or IN (range or value, ..)."""

    variable: nodes.Name
    items: tuple[Range | nodes.Expression, ...]
    body: Block
    label: str = ""


class While(nodes.Node):
    """WHILE condition, or LOOP without one."""

    condition: nodes.Expression | None
    body: Block
    label: str = ""


class Foreach(nodes.Node):
    """FOREACH over the rows of a query or a routine."""

    source: nodes.Query | nodes.Execute
    targets: tuple[nodes.Name, ...]
    body: Block
    cursor: str = ""
    hold: bool = False
    label: str = ""


class Labelled(nodes.Node):
    """``<<label>>`` before a statement that is no loop; a loop has its own label."""

    label: str
    statement: SplStatement


class Goto(nodes.Node):
    """``GOTO label``"""

    label: str


class Leave(nodes.Node):
    """EXIT or CONTINUE, of the innermost loop of a kind or of the labelled one."""

    verb: Literal["exit", "continue"]
    kind: LoopKind | None
    label: str
    condition: nodes.Expression | None


class Return(nodes.Node):
    """``RETURN value, .. [WITH RESUME]``"""

    values: tuple[nodes.Expression, ...]
    resumes: bool


class Raise(nodes.Node):
    """``RAISE EXCEPTION sqlcode [, isamcode [, text]]``"""

    values: tuple[nodes.Expression, ...]


class CallRoutine(nodes.Node):
    """CALL .. RETURNING, or EXECUTE PROCEDURE .. INTO."""

    call: nodes.Execute
    targets: tuple[nodes.Name, ...]


class Immediate(nodes.Node):
    """EXECUTE IMMEDIATE of a text."""

    text: nodes.Expression


class System(nodes.Node):
    """SYSTEM of a command."""

    command: nodes.Expression


class Prepare(nodes.Node):
    """``PREPARE name FROM text``"""

    name: nodes.Name
    text: nodes.Expression


class DeclareCursor(nodes.Node):
    """``DECLARE cursor CURSOR [WITH HOLD] FOR statement``"""

    cursor: nodes.Name
    statement: nodes.Name
    hold: bool


class OpenCursor(nodes.Node):
    """``OPEN cursor [USING variable, ..]``"""

    cursor: nodes.Name
    values: tuple[nodes.Name, ...]


class FetchCursor(nodes.Node):
    """``FETCH cursor INTO variable, ..``"""

    cursor: nodes.Name
    targets: tuple[nodes.Name, ...]


class EndCursor(nodes.Node):
    """``CLOSE cursor``, or FREE of a cursor or statement."""

    verb: Literal["close", "free"]
    name: nodes.Name


Dynamic: TypeAlias = Prepare | DeclareCursor | OpenCursor | FetchCursor | EndCursor
"""Statements of dynamic SQL."""


class ChangeElements(nodes.Node):
    """INSERT [AT position] INTO, UPDATE or DELETE FROM ``TABLE(variable)``: all elements, or those of a cursor."""

    verb: Literal["insert", "update", "delete"]
    variable: nodes.Name
    value: nodes.Expression | None = None
    position: nodes.Expression | None = None
    cursor: nodes.Name | None = None


class Sql(nodes.Node):
    """An SQL statement, with the variables of INTO."""

    statement: nodes.Statement
    targets: tuple[nodes.Name, ...] = ()


class Trace(nodes.Node):
    """TRACE, which has no effect here."""


SplStatement: TypeAlias = (
    Block
    | Let
    | If
    | For
    | While
    | Foreach
    | Labelled
    | Goto
    | Leave
    | Return
    | Raise
    | CallRoutine
    | Immediate
    | System
    | Dynamic
    | ChangeElements
    | Sql
    | Trace
)


# --- The header -------------------------------------------------------------------------------------------------------


class RoutineParameter(nodes.Node):
    """``[OUT | INOUT] name type [DEFAULT value]``"""

    name: str
    type: DeclaredType
    default: nodes.Expression | None = None
    mode: Literal["in", "out", "inout"] = "in"


class RoutineResult(nodes.Node):
    """``type [AS name]`` after RETURNING; `name` is empty without AS."""

    type: SqlType
    name: str = ""


class TriggerTable(nodes.Node):
    """``REFERENCING OLD AS old NEW AS new FOR table`` of a trigger procedure; a name is empty if not given."""

    table: nodes.QualifiedName
    old: str = ""
    new: str = ""


class CreateRoutine(nodes.RoutineDefinition):
    """CREATE PROCEDURE or CREATE FUNCTION; `text` is the whole statement as written."""

    kind: Literal["procedure", "function"]
    name: nodes.QualifiedName
    parameters: tuple[RoutineParameter, ...]
    results: tuple[RoutineResult, ...]
    body: Block
    text: str
    is_dba: bool = False
    if_not_exists: bool = False
    or_replace: bool = False
    specific: str = ""
    trigger: TriggerTable | None = None
    document: str = ""
    is_not_variant: bool = False
    is_delimident: bool = False
    """Whether double quotes delimit names in `text`."""


class DropRoutine(nodes.RoutineDefinition):
    """DROP PROCEDURE, FUNCTION or ROUTINE; `types` is None without a list of types."""

    kind: Literal["procedure", "function", "routine"]
    name: nodes.QualifiedName
    types: tuple[SqlType, ...] | None = None
    if_exists: bool = False
    is_specific: bool = False
