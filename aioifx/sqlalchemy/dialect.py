"""The dialect: what Informix can do, connecting, transactions, DDL, isolation, errors. Never: the text of SQL."""

# pyright: reportIncompatibleMethodOverride=false, reportIncompatibleVariableOverride=false
# pyright: reportUnknownMemberType=false
# SQLAlchemy's base classes are annotated in part.

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Iterator
from typing import Any, Final, cast
from urllib.parse import quote
from weakref import WeakKeyDictionary, WeakSet

from sqlalchemy import exc
from sqlalchemy.engine import URL, Connection, default
from sqlalchemy.pool import AsyncAdaptedQueuePool, Pool, QueuePool
from sqlalchemy.sql import compiler as sql_compiler
from sqlalchemy.sql.elements import quoted_name

from aioifx import dbapi, errors
from aioifx.client.api.connection import Connection as Client
from aioifx.client.api.connection import statements_of
from aioifx.client.session.loop_binding import LoopBinding
from aioifx.client.sql.scanner import scan
from aioifx.client.sql.statement_rules import alters_tables
from aioifx.codecs.text import CodeSet, code_set_of
from aioifx.codecs.time_zones import time_zone
from aioifx.sqlalchemy.adapters import AdaptedConnection, AdaptedModule
from aioifx.sqlalchemy.compiler import InformixCompiler
from aioifx.sqlalchemy.ddl import CONSTRUCT_ARGUMENTS, InformixDDLCompiler, InformixTypeCompiler
from aioifx.sqlalchemy.reflection import InformixReflection
from aioifx.sqlalchemy.type_compiler import DEFAULT_LVARCHAR, MAX_LVARCHAR
from aioifx.sqlalchemy.types import COLSPECS


class SchemaChanges:
    """DDL of the connections of one engine. May be used by several threads.

    After another session's DDL, a cached statement of a client raises -710 in a transaction, and SQLAlchemy always has
    one. DDL of other engines and processes is not seen here: its first statements raise -710, which is retryable.
    """

    def __init__(self) -> None:
        self._current = object()
        """Replaced by each change."""
        self._seen = WeakKeyDictionary[Any, object]()
        self._changed = WeakSet[Any]()
        """Connections whose open transaction has DDL."""

    def before_execute(self, connection: Any) -> None:
        """Make a connection forget its statements if there was DDL since it was last used."""
        current = self._current
        seen = self._seen.get(connection)
        if seen is not current:
            self._seen[connection] = current
            if seen is not None:
                connection.run(_forget_statements)

    def on_executed(self, connection: Any, sql: str) -> None:
        """Called after a statement without rows."""
        if alters_tables(sql):
            self._current = object()
            self._changed.add(connection)
        elif scan(sql).verb == "create":
            self._changed.add(connection)

    def on_commit(self, connection: Any) -> None:
        """Called after COMMIT."""
        self._changed.discard(connection)

    def on_rollback(self, connection: Any) -> None:
        """Called after ROLLBACK, which undoes DDL."""
        if connection in self._changed:
            self._changed.discard(connection)
            self._current = object()


async def _forget_statements(connection: Client[Any]) -> None:
    statements_of(connection).invalidate()


_ISOLATION_LEVELS: Final = (
    "AUTOCOMMIT",
    "DIRTY READ",
    "COMMITTED READ",
    "COMMITTED READ LAST COMMITTED",
    "CURSOR STABILITY",
    "REPEATABLE READ",
)

_LARGE_REFUSED: Final = range(-616, -609)
"""BYTE and TEXT with an index, GROUP BY, DISTINCT, ORDER BY, and in expressions (documented)."""

_DEFAULTS: Final = {"lobs": "inline", "DELIMIDENT": "y"}
"""Options of a connection unless the URL has them. SQLAlchemy reads complete values and quotes names."""


_KEYWORDS: Final = frozenset({
    "current", "datetime", "dbservername", "escape", "exists", "extend", "first", "interval", "last", "list", "matches",
    "middle", "multiset", "prior", "set", "sitename", "skip", "substring", "sysdate", "today", "union", "units",
    "values", "with",
})  # fmt: skip
"""What Informix would take for something else than a name (documented: Use of Keywords as Identifiers)."""


class InformixIdentifierPreparer(sql_compiler.IdentifierPreparer):
    """Quotes names, which Informix understands with DELIMIDENT."""

    reserved_words = sql_compiler.RESERVED_WORDS | _KEYWORDS

    def quote_schema(self, schema: str, force: Any = None) -> str:
        """An owner, after the database that may precede it: ``stock:"joe"``, ``stock@far:"joe"``.

        Owners are always quoted: an ANSI database changes others to upper case (documented: Owner Name).
        """
        # The place of a schema to be translated.
        if isinstance(schema, quoted_name) and schema.quote is False:
            return super().quote_schema(schema)
        database, colon, owner = schema.rpartition(":")
        if not owner:
            raise exc.CompileError(f"schema: expected an owner after the database, got {schema!r}")
        place = "@".join(map(self.quote, database.split("@"))) if database else ""
        return place + colon + self.quote_identifier(owner)


class InformixExecutionContext(default.DefaultExecutionContext):
    """One execution of a statement."""

    def create_server_side_cursor(self) -> Any:
        return self._dbapi_connection.cursor(server_side=True)

    def get_lastrowid(self) -> Any:
        """The SERIAL of the last row inserted."""
        return self.cursor.lastrowid

    def _setup_ins_pk_from_lastrowid(self) -> Any:
        """The primary key of each row that was inserted: SQLAlchemy's own is for one row."""
        if not self.executemany:
            return super()._setup_ins_pk_from_lastrowid()  # type: ignore[no-untyped-call]
        compiled: Any = self.compiled
        key_of: Callable[..., Any] = compiled._inserted_primary_key_from_lastrowid_getter
        rows = self.compiled_parameters
        # Without a serial column, as for a view with INSTEAD OF, there are no serials.
        return list(map(key_of, self.cursor.serials or (None,) * len(rows), rows))

    def fire_sequence(self, seq: Any, type_: Any) -> Any:
        """The next value of a sequence."""
        name = self.identifier_preparer.format_sequence(seq)
        sql = f"SELECT {name}.NEXTVAL FROM informix.systables WHERE tabid = 1"
        return self._execute_scalar(sql, type_)


class InformixDialect(InformixReflection):
    """The dialect of `create_engine`: it runs on aioifx.dbapi.

    Its arguments come from `create_engine`; *options* are for SQLAlchemy's `DefaultDialect`.

    Args:
        text_type: what Text, UnicodeText and SQLAlchemy's TEXT are: "text", which is the default; "lvarchar", of 2,048
            bytes; or "lvarchar(n)". `aioifx.sqlalchemy.TEXT` is always TEXT. It may be in the URL's query instead.

    Raises:
        sqlalchemy.exc.ArgumentError: *text_type* is none of these.
    """

    name = "informix"
    driver = "aioifx"

    default_paramstyle = "qmark"
    has_terminate = True
    max_identifier_length = 128
    supports_statement_cache = True
    supports_native_boolean = True
    supports_native_decimal = True
    supports_sane_rowcount = True
    supports_sane_multi_rowcount = True
    supports_sequences = True
    supports_alter = True
    supports_comments = False
    supports_empty_insert = False
    supports_default_values = False
    supports_default_metavalue = True
    default_metavalue_token = "0"  # of a SERIAL column: the next value
    supports_multivalues_insert = True  # as a query
    postfetch_lastrowid = True
    insert_returning = update_returning = delete_returning = False
    # The ORM asks so whether an executemany gives keys in the order of its rows: the replies have the serial values.
    insert_executemany_returning_sort_by_parameter_order: Any = True
    use_insertmanyvalues = False
    div_is_floordiv = False  # 7 / 2 is 3.5
    requires_name_normalize = False

    statement_compiler = InformixCompiler
    ddl_compiler = InformixDDLCompiler
    type_compiler_cls = InformixTypeCompiler
    preparer = InformixIdentifierPreparer
    execution_ctx_cls = InformixExecutionContext
    colspecs = dict(COLSPECS)  # noqa: RUF012 - as in the base class
    construct_arguments = CONSTRUCT_ARGUMENTS

    text_length: int | None = None
    """Bytes of the LVARCHAR that generic Text is; None: it is TEXT."""

    def __init__(
        self,
        text_type: str | None = None,
        json_serializer: Callable[[Any], str] | None = None,
        json_deserializer: Callable[[str], Any] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self._text_type = text_type
        self.text_length = _text_length(text_type)
        self._json_serializer = json_serializer
        self._json_deserializer = json_deserializer
        self._schema = SchemaChanges()
        self.code_set = code_set_of("en_US.utf8")

    @classmethod
    def import_dbapi(cls) -> Any:
        return dbapi

    @classmethod
    def get_pool_class(cls, url: URL) -> type[Pool]:
        return QueuePool

    @classmethod
    def get_async_dialect_cls(cls, url: URL) -> type[InformixDialect]:
        return AsyncInformixDialect

    # -- connecting ---------------------------------------------------------------------------------------------------

    def create_connect_args(self, url: URL) -> Any:
        """The URL as a DSN of aioifx; every option of a DSN is an option of the URL.

        The connection decodes JSON, so it gets the engine's function.
        """
        if self._text_type is None:  # libraries make engines themselves, from a URL
            self.text_length = _text_length(url.query.get("text_type"))
        url = url.difference_update_query(["text_type"])
        self.zone = time_zone(url.query.get("timezone"))
        return [dsn_of(url)], {} if self._json_deserializer is None else {
            "json_loads": self._json_deserializer
        }

    def initialize(self, connection: Connection) -> None:
        """Read what the first connection knows, also what `connect_args` say: its time zone and code set."""
        client = _connection_of(connection.connection)
        self.zone = client.run(_zone_of)
        self.code_set = client.run(_code_set_of)
        super().initialize(connection)

    # Asked of the client: a query needs a database, and CREATE DATABASE has none.

    def _get_server_version_info(self, connection: Connection) -> tuple[int, ...] | None:
        found = re.search(r"(\d+)\.(\d+)", _connection_of(connection.connection).run(_version_of))
        return (int(found[1]), int(found[2])) if found else None

    def _get_default_schema_name(self, connection: Connection) -> str:
        return str(_connection_of(connection.connection).run(_user_of))

    def _check_max_identifier_length(self, connection: Connection) -> None:
        return None

    # -- statements ---------------------------------------------------------------------------------------------------

    def do_execute(self, cursor: Any, statement: str, parameters: Any, context: Any = None) -> None:
        if not statement:  # DDL that Informix does not need, such as a second index on the same columns
            return
        connection = cursor.connection
        self._schema.before_execute(connection)
        try:
            cursor.execute(statement, parameters)
        except errors.DatabaseError as error:
            _explain(error)
            raise
        if cursor.description is None:
            self._schema.on_executed(connection, statement)

    def do_executemany(self, cursor: Any, statement: str, parameters: Any, context: Any = None) -> None:
        self._schema.before_execute(cursor.connection)
        try:
            cursor.executemany(statement, parameters)
        except errors.DatabaseError as error:
            _explain(error)
            raise

    def do_commit(self, dbapi_connection: Any) -> None:
        super().do_commit(dbapi_connection)  # type: ignore[no-untyped-call]
        self._schema.on_commit(_connection_of(dbapi_connection))

    def do_rollback(self, dbapi_connection: Any) -> None:
        super().do_rollback(dbapi_connection)  # type: ignore[no-untyped-call]
        self._schema.on_rollback(_connection_of(dbapi_connection))

    def do_ping(self, dbapi_connection: Any) -> bool:
        dbapi_connection.ping()
        return True

    def is_disconnect(self, e: Any, connection: Any, cursor: Any) -> bool:
        if isinstance(e, errors.DatabaseError):
            return not e.connection_usable
        # In a forked process, or after the end of the connection's event loop: a pool then opens another.
        return (
            isinstance(e, errors.InterfaceError)
            and connection is not None
            and self._binding_of(_connection_of(connection)).is_gone
        )

    def _binding_of(self, connection: Any) -> LoopBinding:
        return cast(LoopBinding, connection._thread.binding)

    def do_terminate(self, dbapi_connection: Any) -> None:
        dbapi_connection.terminate()

    # -- isolation levels ---------------------------------------------------------------------------------------------

    def get_isolation_level_values(self, dbapi_conn: Any) -> list[Any]:
        return list(_ISOLATION_LEVELS)

    def detect_autocommit_setting(self, dbapi_conn: Any) -> bool:
        return bool(dbapi_conn.autocommit)

    def get_isolation_level(self, dbapi_connection: Any) -> Any:
        if dbapi_connection.autocommit:
            return "AUTOCOMMIT"
        return dbapi_connection.run(_isolation_of)

    def set_isolation_level(self, dbapi_connection: Any, level: str) -> None:
        dbapi_connection.autocommit = level == "AUTOCOMMIT"
        if level != "AUTOCOMMIT":
            cursor = dbapi_connection.cursor()
            cursor.execute(f"SET ISOLATION TO {level}")
            cursor.close()


class AsyncInformixDialect(InformixDialect):
    """The dialect of `create_async_engine`: it runs on the asyncio client."""

    is_async = True
    supports_statement_cache = True
    supports_server_side_cursors = True

    @classmethod
    def import_dbapi(cls) -> Any:
        return AdaptedModule()

    @classmethod
    def get_pool_class(cls, url: URL) -> type[Pool]:
        return AsyncAdaptedQueuePool

    def _binding_of(self, connection: Any) -> LoopBinding:
        return cast(AdaptedConnection, connection).binding

    def get_driver_connection(self, connection: Any) -> Any:
        """The `aioifx.Connection` of a connection."""
        return connection.client


def _connection_of(connection: Any) -> Any:
    """The connection of PEP 249, of which SQLAlchemy's pool may pass a proxy."""
    return getattr(connection, "dbapi_connection", connection)


async def _version_of(connection: Client[Any]) -> str:
    return connection.server_version


async def _user_of(connection: Client[Any]) -> str:
    return connection.user


async def _zone_of(connection: Client[Any]) -> dt.tzinfo | None:
    """The time zone of DATETIMEs."""
    return statements_of(connection).session.conversions.zone


async def _code_set_of(connection: Client[Any]) -> CodeSet:
    """How text looks in bytes."""
    return statements_of(connection).session.code_set


async def _isolation_of(connection: Client[Any]) -> str:
    """The isolation level by its name in SQL."""
    return connection.isolation.replace("_", " ").upper()


_TEXT_TYPE: Final = re.compile(r"text|lvarchar(?:\((\d{1,5})\))?", re.IGNORECASE)


def _text_length(text_type: object) -> int | None:
    if text_type is None:
        return None
    found = _TEXT_TYPE.fullmatch(text_type) if isinstance(text_type, str) else None
    length = int((found and found[1]) or DEFAULT_LVARCHAR)
    if found is None or not 1 <= length <= MAX_LVARCHAR:
        raise exc.ArgumentError(
            f"text_type: expected text, lvarchar or lvarchar(n) with n from 1 to {MAX_LVARCHAR}, got {text_type!r:.40}"
        )
    return None if found[0].lower() == "text" else length


def _explain(error: errors.DatabaseError) -> None:
    """Complete the message, because SQLAlchemy shows neither attributes nor notes."""
    if isinstance(error, errors.DataError) and error.column is not None:
        error.args = (f"column {error.column}, {error}",)
    elif error.sqlcode in _LARGE_REFUSED:
        error.args = (
            f"{error}; as LVARCHAR Text can be compared: create its table with text_type=lvarchar in the URL, "
            "or bytes as VARBINARY(n)",
        )


def dsn_of(url: URL) -> str:
    """The DSN of aioifx for a URL of SQLAlchemy."""
    address = ""
    if url.username is not None:
        address = _quoted(url.username)
        if url.password is not None:
            address += f":{_quoted(str(url.password))}"
        address += "@"
    if url.host:
        address += f"[{url.host}]" if ":" in url.host else url.host
    if url.port is not None:
        address += f":{url.port}"
    query = "&".join(f"{_quoted(name)}={_quoted(value)}" for name, value in _options_of(url))
    return f"informix://{address}/{_quoted(url.database or '')}?{query}"


def _options_of(url: URL) -> Iterator[tuple[str, str]]:
    yield from ((name, value) for name, value in _DEFAULTS.items() if name not in url.query)
    for name, value in url.query.items():
        yield name, value if isinstance(value, str) else ",".join(value)


def _quoted(text: str) -> str:
    return quote(text, safe="")
