"""Statements and their plans: prepared once, kept, made anew when the schema is another one. Never: running them."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from aioifx.server.catalog import catalog
from aioifx.server.engine.workspace import Workspace
from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.plan import Plan, PlanKey, Query
from aioifx.server.sql.model.schema import Schema
from aioifx.server.sql.model.settings import Settings
from aioifx.server.sql.syntax.parser import parse
from aioifx.server.sql.translate.translate import translate
from aioifx.server.sqlite.databases import Databases
from aioifx.server.sqlite.parameters import Binders

CACHED_PLANS: Final = 500
"""Translations that one session keeps."""


_NEVER: Final = (0, 0)


class Statement:
    """A prepared statement."""

    __slots__ = ("_binders", "key", "plan", "seen", "text")

    def __init__(self, text: str, key: PlanKey, plan: Plan) -> None:
        self.text = text
        self.follow(key, plan)
        self.seen: tuple[Workspace | None, tuple[int, int], int] | None = None
        """Where and when the plan was last found to hold."""

    def follow(self, key: PlanKey, plan: Plan) -> None:
        """Have another plan from now on."""
        self.key = key
        self.plan = plan
        self._binders: Binders | None = None

    @property
    def binders(self) -> Binders:
        """What binds the plan's parameters.

        Raises:   SqlFault: -1260, a parameter's type is not stored.
        """
        if self._binders is None:
            self._binders = Binders(self.plan.parameters)
        return self._binders


class Planner:
    """One session's translations."""

    def __init__(self, databases: Databases, settings: Settings, *, delimident: bool) -> None:
        self._databases = databases
        self._settings = settings
        self._delimident = delimident
        self._no_schema = catalog.empty_schema()
        self._plans: OrderedDict[PlanKey, Plan] = OrderedDict()

    def prepare(self, text: str, workspace: Workspace | None) -> Statement:
        """Translate *text*.

        Raises:   SqlFault: the statement is wrong, or names what does not exist.
        """
        schema = self.schema(workspace)
        key = self._key(text, schema)
        return Statement(text, key, self._plan(key, schema))

    def renewed(self, statement: Statement, workspace: Workspace | None) -> Plan:
        """The plan of *statement*, made anew if the schema is another one now.

        Raises:   SqlFault: -710, its description is another one now.
        """
        now = workspace, (workspace.stamp if workspace else _NEVER), self._settings.routines.version
        if statement.seen == now:
            return statement.plan
        schema = self.schema(workspace)
        key = self._key(statement.text, schema)
        if key == statement.key and not statement.plan.attach:
            statement.seen = now
            return statement.plan
        plan, before = self._plan(key, schema), statement.plan
        if (plan.type, plan.columns) != (before.type, before.columns):
            tables = plan.action.tables if isinstance(plan.action, Query) else ()
            raise SqlError(-710, token=tables[0].name if tables else "")
        statement.follow(key, plan)
        return plan

    def _key(self, text: str, schema: Schema) -> PlanKey:
        return PlanKey(
            text,
            schema.database,
            schema.generation,
            schema.temp_generation,
            self._delimident,
            self._settings.user,
            self._settings.routines.version,
        )

    def _plan(self, key: PlanKey, schema: Schema) -> Plan:
        plan = self._plans.get(key)
        if plan is not None:
            self._plans.move_to_end(key)
            return plan
        plan = translate(parse(key.text, delimident=key.delimident), schema, self._settings)
        # A plan over other databases depends on their schemas too, which the key does not tell.
        if not plan.attach:
            self._plans[key] = plan
            if len(self._plans) > CACHED_PLANS:
                self._plans.popitem(last=False)
        return plan

    def schema(self, workspace: Workspace | None) -> Schema:
        """What names mean now; read again only when it may have changed."""
        if workspace is None:
            return self._no_schema
        known = workspace.schema
        if known is not None and workspace.schema_stamp == workspace.stamp:
            return known
        workspace.settle()  # a cursor that still reads would hold on to an older state
        stamp, connection = workspace.stamp, workspace.connection
        if (
            known is None
            or catalog.generation(connection) != known.generation
            or catalog.generation(connection, "temp") != known.temp_generation
        ):

            def foreign(name: str) -> Schema | None:
                return self._foreign_schema(workspace, name)

            known = catalog.read_schema(connection, workspace.database.name, foreign=foreign)
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
                self._databases.leave(database)
                raise
        return catalog.read_schema(workspace.connection, name, catalog=alias)
