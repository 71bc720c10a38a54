"""The syntax tree of SPL: the header of a routine and the statements of its body. Never: an inferred type."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from aioifx.server.sql.syntax.nodes import (
    Execute,
    Expression,
    Name,
    Node,
    QualifiedName,
    Query,
    RoutineDefinition,
    Statement,
)
from aioifx.sqltypes import SqlType

LoopKind: TypeAlias = Literal["for", "foreach", "while", "loop"]


@dataclass(frozen=True, slots=True)
class LikeColumn(Node):
    """``LIKE table.column`` in place of a type."""

    table: QualifiedName
    column: Name


DeclaredType: TypeAlias = SqlType | LikeColumn


# --- Statements -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Define(Node):
    """``DEFINE [GLOBAL] name, .. type [DEFAULT value]``"""

    names: tuple[Name, ...]
    type: DeclaredType
    default: Expression | None = None
    is_global: bool = False


@dataclass(frozen=True, slots=True)
class Block(Node):
    """Statements with the variables and the handlers that are declared before them."""

    defines: tuple[Define, ...]
    handlers: tuple[OnException, ...]
    statements: tuple[SplStatement, ...]


@dataclass(frozen=True, slots=True)
class OnException(Node):
    """``ON EXCEPTION [IN (code, ..)] [SET sqlcode, isamcode, text] .. END EXCEPTION [WITH RESUME]``"""

    codes: tuple[int, ...]
    targets: tuple[Name, ...]
    body: Block
    resumes: bool


@dataclass(frozen=True, slots=True)
class Let(Node):
    """``LET variable, .. = value, ..``"""

    targets: tuple[Name, ...]
    values: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Branch(Node):
    """A condition, or a value of CASE, with its statements."""

    condition: Expression
    body: Block


@dataclass(frozen=True, slots=True)
class If(Node):
    """IF .. ELIF .. ELSE .. END IF; a CASE statement with its value in `operand`."""

    branches: tuple[Branch, ...]
    otherwise: Block | None
    operand: Expression | None = None


@dataclass(frozen=True, slots=True)
class Range(Node):
    """``first TO last [STEP step]``"""

    first: Expression
    last: Expression
    step: Expression | None


@dataclass(frozen=True, slots=True)
class For(Node):
    """FOR variable = range, or IN (range or value, ..)."""

    variable: Name
    items: tuple[Range | Expression, ...]
    body: Block
    label: str = ""


@dataclass(frozen=True, slots=True)
class While(Node):
    """WHILE condition, or LOOP without one."""

    condition: Expression | None
    body: Block
    label: str = ""


@dataclass(frozen=True, slots=True)
class Foreach(Node):
    """FOREACH over the rows of a query or a routine."""

    source: Query | Execute
    targets: tuple[Name, ...]
    body: Block
    cursor: str = ""
    hold: bool = False
    label: str = ""


@dataclass(frozen=True, slots=True)
class Leave(Node):
    """EXIT or CONTINUE, of the innermost loop of a kind or of the labelled one."""

    verb: Literal["exit", "continue"]
    kind: LoopKind | None
    label: str
    condition: Expression | None


@dataclass(frozen=True, slots=True)
class Return(Node):
    """``RETURN value, .. [WITH RESUME]``"""

    values: tuple[Expression, ...]
    resumes: bool


@dataclass(frozen=True, slots=True)
class Raise(Node):
    """``RAISE EXCEPTION sqlcode [, isamcode [, text]]``"""

    values: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class CallRoutine(Node):
    """CALL .. RETURNING, or EXECUTE PROCEDURE .. INTO."""

    call: Execute
    targets: tuple[Name, ...]


@dataclass(frozen=True, slots=True)
class Immediate(Node):
    """EXECUTE IMMEDIATE of a text."""

    text: Expression


@dataclass(frozen=True, slots=True)
class Sql(Node):
    """An SQL statement, with the variables of INTO."""

    statement: Statement
    targets: tuple[Name, ...] = ()


@dataclass(frozen=True, slots=True)
class Trace(Node):
    """TRACE, which has no effect here."""


SplStatement: TypeAlias = (
    Block | Let | If | For | While | Foreach | Leave | Return | Raise | CallRoutine | Immediate | Sql | Trace
)


# --- The header -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RoutineParameter(Node):
    """``[OUT | INOUT] name type [DEFAULT value]``"""

    name: str
    type: DeclaredType
    default: Expression | None = None
    mode: Literal["in", "out", "inout"] = "in"


@dataclass(frozen=True, slots=True)
class RoutineResult(Node):
    """``type [AS name]`` after RETURNING; `name` is empty without AS."""

    type: SqlType
    name: str = ""


@dataclass(frozen=True, slots=True)
class TriggerTable(Node):
    """``REFERENCING OLD AS old NEW AS new FOR table`` of a trigger procedure; a name is empty if not given."""

    table: QualifiedName
    old: str = ""
    new: str = ""


@dataclass(frozen=True, slots=True)
class CreateRoutine(RoutineDefinition):
    """CREATE PROCEDURE or CREATE FUNCTION; `text` is the whole statement as written."""

    kind: Literal["procedure", "function"]
    name: QualifiedName
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


@dataclass(frozen=True, slots=True)
class DropRoutine(RoutineDefinition):
    """DROP PROCEDURE, FUNCTION or ROUTINE; `types` is None without a list of types."""

    kind: Literal["procedure", "function", "routine"]
    name: QualifiedName
    types: tuple[SqlType, ...] | None = None
    if_exists: bool = False
    is_specific: bool = False
