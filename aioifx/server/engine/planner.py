"""Statements and their plans: prepared once, cached, renewed after a schema change. Never: running them."""

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
"""Maximum number of plans that one session caches."""


_NEVER: Final = (0, 0)


class Statement:
    """A prepared statement."""

    __slots__ = ("_binders", "key", "plan", "seen", "text")

    def __init__(self, text: str, key: PlanKey, plan: Plan) -> None:
        self.text = text
        self.follow(key, plan)
        self.seen: tuple[Workspace | None, tuple[int, int], int] | None = None
        """Workspace and stamps at which the plan was last found valid."""

    def follow(self, key: PlanKey, plan: Plan) -> None:
        """Replace the plan."""
        self.key = key
        self.plan = plan
        self._binders: Binders | None = None

    @property
    def binders(self) -> Binders:
        """The binders of the plan's parameters.

        Raises:   SqlError: -1260, a parameter's type is not supported.
        """
        if self._binders is None:
            self._binders = Binders(self.plan.parameters)
        return self._binders


class Planner:
    """The plans of one session."""

    def __init__(self, databases: Databases, settings: Settings, *, delimident: bool) -> None:
        self._databases = databases
        self._settings = settings
        self._delimident = delimident
        self._no_schema = catalog.empty_schema()
        self._plans: OrderedDict[PlanKey, Plan] = OrderedDict()

    def prepare(self, text: str, workspace: Workspace | None) -> Statement:
        """Translate *text*.

        Raises:   SqlError: the statement is invalid, or an object in it does not exist.
        """
        schema = self.schema(workspace)
        key = self._key(text, schema)
        return Statement(text, key, self._plan(key, schema))

    def current_plan(self, statement: Statement, workspace: Workspace | None) -> Plan:
        """The plan of *statement*, translated again if the schema has changed.

        Raises:   SqlError: -710, its description has changed.
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
        # A plan over other databases depends on their schemas too, which are not part of the key.
        if not plan.attach:
            self._plans[key] = plan
            if len(self._plans) > CACHED_PLANS:
                self._plans.popitem(last=False)
        return plan

    def schema(self, workspace: Workspace | None) -> Schema:
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
                self._databases.on_closed(database)
                raise
        return catalog.read_schema(workspace.connection, name, catalog=alias)
