"""Statements and their plans: prepared once, cached, renewed after a schema change. Never: running them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Final

from aioifx.server.catalog import catalog
from aioifx.server.engine.workspace import Workspace
from aioifx.server.sql.builtin_types import BYTE, TEXT
from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model import plan as plans
from aioifx.server.sql.model.schema import Schema
from aioifx.server.sql.model.settings import Settings
from aioifx.server.sql.model.spl import SplRoutine
from aioifx.server.sql.model.storage import Stored
from aioifx.server.sql.runtime.parameters import Binders
from aioifx.server.sql.syntax.parser import parse, split_statements
from aioifx.server.sql.translate.spl_program import Embedded
from aioifx.server.sql.translate.translate import translate, translate_embedded
from aioifx.server.sqlite.databases import Database, Databases, LogMode
from aioifx.sqltypes import Value

CACHED_PLANS: Final = 500
"""Maximum number of plans that one session caches."""


_NEVER: Final = (0, 0)
_SEVERAL_STATEMENTS: Final = -26058


class Statement:
    """A prepared statement."""

    __slots__ = ("_binders", "embedded", "key", "parts", "plan", "seen", "text")

    def __init__(
        self,
        text: str,
        key: plans.PlanKey,
        plan: plans.Plan,
        parts: tuple[Statement, ...] = (),
        embedded: Embedded | None = None,
    ) -> None:
        self.text = text
        self.parts = parts
        """The statements of a text with several, whose plan only describes them."""
        self.embedded = embedded
        """The tree of a statement in a routine, whose values are given in storage form."""
        self.follow(key, plan)
        self.seen: tuple[Workspace | None, tuple[int, int], int] | None = None
        """Workspace and stamps at which the plan was last found valid."""

    def follow(self, key: plans.PlanKey, plan: plans.Plan) -> None:
        """Replace the plan."""
        self.key = key
        self.plan = plan
        self._binders: Binders | None = None

    @property
    def binders(self) -> Binders:
        """The binders of the plan's parameters.

        Raises:
            SqlError: -1260, a parameter's type is not supported.
        """
        if self._binders is None:
            self._binders = Binders(self.plan.parameters)
        return self._binders

    def bind(self, values: Sequence[Value], settings: Settings) -> tuple[Stored, ...]:
        """The parameters in storage form.

        Raises:
            SqlError: as `Binders.bind`.
        """
        return tuple(values) if self.embedded is not None else self.binders.bind(values, settings)


def _require_part(plan: plans.Plan, offset: int) -> None:
    """Refuse a statement that a text with several cannot have.

    Source: documented: "Restricted Statements in Multistatement Prepared Objects". assumed: -555 for parameters that
    are BYTE or TEXT, too

    Raises:
        SqlError: -555; -999, it begins or ends a transaction.
    """
    if isinstance(plan.action, _TRANSACTIONS):
        raise SqlError(
            -999, token=f"{plan.type.name.replace('_', ' ')} beside other statements", offset=offset
        )
    has_large = any(each.type in (BYTE, TEXT) for each in plan.parameters)
    if has_large or plan.returns_rows or isinstance(plan.action, _DATABASES):
        raise SqlError(-555, offset=offset)


_DATABASES: Final = (plans.OpenDatabase, plans.CloseDatabase, plans.CreateDatabase, plans.DropDatabase)
_TRANSACTIONS: Final = (plans.BeginWork, plans.CommitWork, plans.RollbackWork)


class Planner:
    """The plans of one session."""

    def __init__(self, databases: Databases, settings: Settings, *, delimident: bool) -> None:
        self._databases = databases
        self._settings = settings
        self.is_delimident = delimident
        self._no_schema = catalog.empty_schema()
        self._plans: OrderedDict[plans.PlanKey, plans.Plan] = OrderedDict()

    def prepare(self, text: str, workspace: Workspace | None) -> Statement:
        """Translate *text*.

        Raises:
            SqlError: the statement is invalid, or an object in it does not exist.
        """
        schema = self.schema(workspace)
        pieces = split_statements(text, delimident=self.is_delimident)
        if len(pieces) > 1:
            return self._several(text, pieces, schema)
        key = self._key(text, schema)
        return Statement(text, key, self._plan(key, schema))

    def call_text(self, routine: SplRoutine, arguments: int) -> str:
        """EXECUTE of a routine with a placeholder for each argument."""
        owner = routine.owner.replace("'", "''")
        name = '"' + routine.name.replace('"', '""') + '"' if self.is_delimident else routine.name
        return f"execute procedure '{owner}'.{name}({', '.join('?' * arguments)})"

    def prepare_single(self, text: str, workspace: Workspace) -> Statement:
        """Translate a text that a routine has computed.

        Raises:
            SqlError: -26058, it has several statements (documented); others as `prepare`.
        """
        if len(split_statements(text, delimident=self.is_delimident)) > 1:
            raise SqlError(_SEVERAL_STATEMENTS)
        return self.prepare(text, workspace)

    def _several(self, text: str, pieces: Sequence[tuple[str, int]], schema: Schema) -> Statement:
        """The statement of a text with several.

        Source: documented: "Preparing Multiple SQL Statements": each is checked before any of them runs; DESCRIBE
        statement: it has the type of the first

        Raises:
            SqlError: -555 and -999, as `_require_part`.
        """
        parts: list[Statement] = []
        for piece, start in pieces:
            key = self._key(piece, schema)
            try:
                plan = self._plan(key, schema)
            except SqlError as error:
                error.offset += start if error.offset else 0
                raise
            _require_part(plan, start + 1)
            parts.append(Statement(piece, key, plan))
        parameters = tuple(each for part in parts for each in part.plan.parameters)
        plan = plans.Plan(parts[0].plan.type, plans.Nothing(), parameters=parameters)
        return Statement(text, self._key(text, schema), plan, tuple(parts))

    def prepare_embedded(self, embedded: Embedded, workspace: Workspace) -> Statement:
        """Translate a statement of a routine.

        Raises:
            SqlError: the statement is invalid, or an object in it does not exist.
        """
        schema = self.schema(workspace)
        plan = translate_embedded(embedded, schema, self._settings)
        return Statement("", self._key("", schema), plan, embedded=embedded)

    def current_plan(self, statement: Statement, workspace: Workspace | None) -> plans.Plan:
        """The plan of *statement*, translated again if the schema has changed.

        Raises:
            SqlError: -710, its description has changed.
        """
        if statement.parts:
            return statement.plan
        now = workspace, (workspace.stamp if workspace else _NEVER), self._settings.routines.version
        if statement.seen == now:
            return statement.plan
        schema = self.schema(workspace)
        key = self._key(statement.text, schema)
        if key == statement.key and not statement.plan.attach:
            statement.seen = now
            return statement.plan
        if statement.embedded is not None:
            statement.follow(key, translate_embedded(statement.embedded, schema, self._settings))
            statement.seen = now
            return statement.plan
        plan, before = self._plan(key, schema), statement.plan
        if (plan.type, plan.columns) != (before.type, before.columns):
            tables = plan.action.tables if isinstance(plan.action, plans.Query) else ()
            raise SqlError(-710, token=tables[0].name if tables else "")
        statement.follow(key, plan)
        return plan

    def _key(self, text: str, schema: Schema) -> plans.PlanKey:
        return plans.PlanKey(
            text,
            schema.database,
            schema.generation,
            schema.temp_generation,
            self.is_delimident,
            self._settings.user,
            self._settings.routines.version,
        )

    def _plan(self, key: plans.PlanKey, schema: Schema) -> plans.Plan:
        plan = self._plans.get(key)
        if plan is not None:
            self._plans.move_to_end(key)
            return plan
        tree = parse(key.text, delimident=key.delimident, check=self._settings.check_interrupt)
        plan = translate(tree, schema, self._settings)
        # A plan over other databases depends on their schemas too, which are not part of the key.
        if not plan.attach:
            self._plans[key] = plan
            if len(self._plans) > CACHED_PLANS:
                self._plans.popitem(last=False)
        return plan

    def schema(self, workspace: Workspace | None) -> catalog.Snapshot:
        """The current schema; read again only if it may have changed."""
        if workspace is None:
            return self._no_schema
        known = workspace.schema
        if known is not None and workspace.schema_stamp == workspace.stamp:
            return known
        workspace.settle()  # a live cursor would keep an older snapshot open
        stamp, connection = workspace.stamp, workspace.connection
        if (
            known is None
            or catalog.generation(connection) != known.generation
            or catalog.generation(connection, "temp") != known.temp_generation
        ):

            def foreign(name: str) -> Schema | None:
                return self._foreign_schema(workspace, name)

            known = catalog.read_schema(
                connection,
                workspace.database.name,
                foreign=foreign,
                default_owner=self._default_owner(workspace.database),
            )
            workspace.database.table_names.update(
                (tabid, table.name) for tabid, table in known.tables.items()
            )
        workspace.schema, workspace.schema_stamp = known, stamp
        return known

    def _foreign_schema(self, workspace: Workspace, name: str) -> Schema | None:
        """The schema of another database, attached to the current one's connection."""
        if name not in self._databases.names:
            return None
        alias = workspace.alias_of(name)
        if alias is None:
            database = self._databases.open(name)
            try:
                alias = workspace.attach(database)
            except BaseException:
                self._databases.on_closed(database)
                raise
        owner = self._default_owner(workspace.attached[alias])
        return catalog.read_schema(workspace.connection, name, catalog=alias, default_owner=owner)

    def _default_owner(self, database: Database) -> str:
        return self._settings.user if database.log_mode is LogMode.ANSI else ""
