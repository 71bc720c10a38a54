"""ConnectOptions: every option of a connection with its default and its checks. Never: where a value comes from.

Invariants:
1. Every error is found here, before a socket opens, and its message begins with the option's name.
2. A message shows a value only where it cannot be a piece of a badly quoted password.
"""

from __future__ import annotations

import logging
import ssl as tls
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import tzinfo
from functools import lru_cache
from typing import Any, Final, Literal, TypedDict

from aioifx.client.config.addresses import MAX_PORT, ROLES, Address, Role, addresses, names_in
from aioifx.client.config.checks import (
    DEFAULT_LOCALE,
    ClientFiles,
    Lobs,
    PamHandler,
    check_client_files,
    check_flag,
    check_keepalive,
    check_lobs,
    check_locale,
    check_pam,
    check_row_factory,
    check_text,
    check_tls,
    check_words,
    got,
)
from aioifx.client.config.environment import checked_variables, login_pairs, session_pairs
from aioifx.client.config.isolation import Isolation, isolation_clause, lock_mode_clause
from aioifx.client.config.option_kinds import (
    FLAG,
    PATH,
    SECONDS,
    SECONDS_OR_0,
    TEXT,
    Kind,
    flag_from_text,
    in_code,
    keepalive_from_text,
    kinds_of,
    lock_wait_from_text,
    option,
    unchanged,
    value_checked,
    whole,
    word,
)
from aioifx.client.config.password import Password, Secret
from aioifx.client.config.tls import context_of
from aioifx.client.config.tracing import Tracer, tracer_of
from aioifx.client.observation.observation import Observation
from aioifx.client.observation.operation import Observers, checked_observers
from aioifx.client.observation.query_log import QueryLog
from aioifx.client.observation.query_log import logger as query_logger
from aioifx.codecs.conversions import (
    PLAIN,
    Conversions,
    Convert,
    JsonDumps,
    JsonLoads,
    TypeCodec,
    TypeCodecs,
    checked_conversions,
)
from aioifx.codecs.temporal_text import ISO_DATES
from aioifx.codecs.text import CodeSet, code_set_of
from aioifx.codecs.time_zones import time_zone
from aioifx.errors import InterfaceError
from aioifx.rows import RowFactory
from aioifx.tracing.events import TraceTarget

DEFAULT_PORT: Final = 9088
STANDARD_FETCH_SIZE: Final = 32767
"""Accepted by every server (observed)."""

MIN_FETCH_SIZE: Final = 4096
"""The smallest size that JDBC requests (observed: select.json)."""
MAX_FETCH_SIZE: Final = 2**31 - 1
MAX_STATEMENTS: Final = 10_000
"""Below the limit of a 16-bit statement id; a server has a limit of its own, too (-257, documented)."""

_KEEPALIVE: Final = (60, 10, 6)
"""A dead server is detected after two minutes; with the system's defaults after two hours."""


class OptionFields(TypedDict, total=False):
    """Keywords of connect() except row_factory, which determines the connection's type. None is the same as omitting
    the option. See ConnectOptions for their meaning."""

    host: str | None
    port: int | None
    user: str | None
    password: Password | None
    database: str | None
    server: str | None
    sqlhosts: str | None
    role: Role | None
    allow_redirect_to: str | None
    ssl: bool | tls.SSLContext | None
    ssl_ca: str | None
    ssl_cert: str | None
    ssl_key: str | None
    connect_timeout: float | None
    connect_retries: int | None
    stagger: float | None
    command_timeout: float | None
    cancel_timeout: float | None
    locale: Literal["auto"] | None
    client_locale: str | None
    db_locale: str | None
    encoding_errors: str | None
    application_name: str | None
    environment: Mapping[str, str] | None
    autocommit: bool | None
    isolation: Isolation | None
    lock_wait: float | None
    read_only: bool | None
    fetch_size: int | None
    optofc: bool | None
    statement_cache_size: int | None
    pipelining: bool | None
    keepalive: bool | tuple[int, int, int] | None
    strip_char: bool | None
    integral_decimals: bool | None
    timezone: str | tzinfo | None
    lobs: Lobs | None
    max_lob_size: int | None
    client_files: ClientFiles | None
    pam: PamHandler | None
    type_codecs: TypeCodecs | None
    adapters: Mapping[type[Any], Convert] | None
    json_loads: JsonLoads | None
    json_dumps: JsonDumps | None
    observer: Observers | None
    slow_query: float | None
    lock_diagnosis: bool | None
    trace: TraceTarget | None
    trace_values: bool | None


class AllOptionFields(OptionFields, total=False):
    """All keywords of connect()."""

    row_factory: RowFactory[Any] | None


def _check_role(role: object) -> None:
    if role not in ROLES:
        raise InterfaceError(f"role: expected one of {', '.join(ROLES)}{got(role)}")


def _check_auto(locale: object) -> None:
    if locale != "auto":
        raise InterfaceError(f'locale: expected "auto" or None{got(locale)}; use db_locale for a locale')


def _check_ssl(ssl: object) -> None:
    if not isinstance(ssl, (bool, tls.SSLContext)):
        raise InterfaceError(
            f"ssl: expected None, True, False or an ssl.SSLContext, got {type(ssl).__name__}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectOptions:
    """All options of a connection, checked on creation.

    Frozen. ``repr`` and a pickle omit the password, and ``asdict`` hides it; ``options.password.reveal()`` returns it.
    """

    host: str = option("", TEXT)
    """Host name or address, or several, separated by commas, each with an optional port: ``db1,db2:9089``. Empty: the
    server is looked up in *sqlhosts*."""
    port: int = option(DEFAULT_PORT, whole(1, MAX_PORT, show=False))
    """Port of hosts given without one."""
    user: str = option("", TEXT)
    """The user who logs in. Required here; in `connect`, it defaults to the user of the operating system."""
    password: Password | None = option(None, TEXT, repr=False)
    """The user's password, or a function that returns it. A text is stored as a `Secret`, which repr, `asdict` and
    pickle do not show."""
    database: str = option("", TEXT)
    """Database to open; empty: none."""
    server: str = option("", TEXT)
    """The DBSERVERNAME or an alias; required, because the server compares it. With several hosts: one for all, or one
    for each. With *sqlhosts*: servers or groups, tried in order."""
    sqlhosts: str = option("", TEXT)
    """File in which servers are looked up if no host is given."""
    role: Role = option("any", word(_check_role))
    """Required role of the server in a cluster. Requires a database, since a server reports its role on opening one."""
    allow_redirect_to: str = option("", TEXT)
    """Hosts to which a connection manager may redirect the login, with user and password: comma-separated patterns such
    as ``db*.example.com``. Empty: none."""
    ssl: bool | tls.SSLContext | None = option(None, Kind(value_checked(_check_ssl), flag_from_text))
    """Whether TLS is used, with verification of the certificate and the host name; or an ``ssl.SSLContext``. None: no
    TLS."""
    ssl_ca: str = option("", PATH)
    """PEM file of trusted authorities; turns TLS on. Empty: the system's authorities."""
    ssl_cert: str = option("", PATH)
    """PEM file of the client certificate, and of its key unless *ssl_key* is given; turns TLS on."""
    ssl_key: str = option("", PATH)
    """PEM file of the client certificate's key."""
    connect_timeout: float = option(20.0, SECONDS)
    """Seconds from the first packet to the open database, for all hosts together."""
    connect_retries: int = option(0, whole(0, 1000))
    """Number of further rounds over all hosts when none could be reached, spread over *connect_timeout*."""
    stagger: float = option(1.0, SECONDS)
    """Seconds after which the next host is tried in parallel."""
    command_timeout: float | None = option(None, SECONDS)
    """Time limit in seconds for a call, from queueing to the last reply; for a stream, cursor or executemany it applies
    to each block. None: no limit."""
    cancel_timeout: float = option(5.0, SECONDS_OR_0)
    """Time limit in seconds for the reply to a cancelled call, after which the connection is dropped. 0: drop it
    immediately, without an interrupt."""
    locale: Literal["auto"] | None = option(None, word(_check_auto))
    """With "auto", the database's locale is queried from the server if none is given or the given one is rejected."""
    client_locale: str | None = option(None, TEXT)
    """Locale of the client; None: same as the database's."""
    db_locale: str | None = option(None, TEXT)
    """Locale of the database, whose code set is used for text on the wire; None: *client_locale*."""
    encoding_errors: str = option("strict", TEXT)
    """Python's error handler for bytes that cannot be decoded: "strict", "replace", "surrogateescape" ..."""
    application_name: str = option("", TEXT)
    """Name that the server's session list shows."""
    environment: Mapping[str, str] = option(dict[str, str], in_code(), hash=False)
    """Informix environment variables for the session, such as PDQPRIORITY; unknown ones are rejected."""
    autocommit: bool = option(True, FLAG)
    """Whether a statement outside a transaction commits by itself. False: a transaction is started before the first
    statement, and ended by `commit` or `rollback`, as in PEP 249."""
    isolation: Isolation | None = option(None, word(isolation_clause))
    """Isolation level, by the names of `Connection.transaction`; None: the database's default."""
    lock_wait: float | None = option(None, Kind(value_checked(lock_mode_clause), lock_wait_from_text))
    """Seconds that a statement waits for a lock; 0: do not wait, -1 or infinity: no limit. None: the server's default,
    0."""
    read_only: bool = option(False, FLAG)
    """Whether changes are rejected: by the client outside transactions and by the server inside."""
    fetch_size: int = option(STANDARD_FETCH_SIZE, whole(MIN_FETCH_SIZE, MAX_FETCH_SIZE))
    """Bytes (not rows) per block of rows. More than 32767 needs a server with capability 63; without it, or if the
    server rejects the size, the connection uses 32767."""
    optofc: bool = option(True, FLAG)
    """Whether the server closes the cursor of a query with its last row, which saves the round trip of CLOSE. OPTOFC in
    *environment* takes precedence."""
    statement_cache_size: int = option(100, whole(0, MAX_STATEMENTS))
    """Maximum statements that stay prepared at the server between calls; 0: none, for no hidden state."""
    pipelining: bool = option(False, FLAG)
    """Whether deferred cleanup (CLOSE, RELEASE) is sent together with the next request; see the page Protocol flow."""
    keepalive: bool | tuple[int, int, int] = option(
        True, Kind(value_checked(check_keepalive), keepalive_from_text)
    )
    """Whether TCP detects that the server's machine is unreachable. Three numbers: idle seconds before the first probe,
    seconds between probes, and unanswered probes until the connection is dropped."""
    strip_char: bool = option(False, FLAG)
    """Whether trailing blanks of CHAR and NCHAR values are removed."""
    integral_decimals: bool = option(True, FLAG)
    """Whether DECIMAL and MONEY of scale 0, such as the result of COUNT, are returned as int instead of Decimal."""
    timezone: str | tzinfo | None = option(None, Kind(value_checked(time_zone), unchanged))
    """Zone of the times in DATETIME columns: an IANA name such as "UTC", or a tzinfo. Datetimes are then read as aware,
    and aware ones are accepted. None: datetimes are naive, and aware ones are refused."""
    lobs: Lobs = option("handles", word(check_lobs))
    """How large values are returned: "handles" returns BLOB and CLOB as handles, "inline" as bytes and str. Both return
    BYTE and TEXT as bytes and str. "stream" returns each value of a `stream` as a series of chunks; other calls
    then return handles."""
    max_lob_size: int = option(64 * 1024 * 1024, whole(1, MAX_FETCH_SIZE))
    """Maximum bytes of one large value in memory; a larger one raises DataError. Not for "stream"."""
    client_files: ClientFiles | None = option(None, in_code(check_client_files), hash=False)
    """Where a server may read and write files of the client, for ``lotofile``, ``filetoblob`` and ``filetoclob`` with
    'client': a directory, or a function that opens files. None: nowhere."""
    pam: PamHandler | None = option(None, in_code(check_pam), hash=False)
    """Answers the questions of a server with PAM: a callable or coroutine function of a `PamStyle` and the question's
    text. It returns the answer, or None to end the login. Without it, the password answers the first question of style
    ECHO_OFF, and the login ends at any other."""
    type_codecs: TypeCodecs = option(dict[str, TypeCodec], in_code(), hash=False)
    """Encoders and decoders by the name of an Informix type; see `Connection.set_type_codec`."""
    adapters: Mapping[type[Any], Convert] = option(dict[type[Any], Convert], in_code(), hash=False)
    """Functions that convert parameters, by class; also used for subclasses. For example ``{uuid.UUID: str}``."""
    json_loads: JsonLoads | None = option(None, in_code())
    """Function from the text of a JSON value to an object, such as ``orjson.loads``; None: `json.loads`."""
    json_dumps: JsonDumps | None = option(None, in_code())
    """Function from an object to JSON, as str or UTF-8, such as ``orjson.dumps``; None: `json.dumps`, without NaN."""
    observer: Observers | None = option(None, in_code(checked_observers), hash=False, repr=False)
    """An `Observer`, or a sequence of them; called at the start and at the end of each operation."""
    slow_query: float | None = option(None, SECONDS_OR_0)
    """Seconds after which a call is logged at WARNING by ``aioifx.query``, with its statement, its caller and where the
    time went; 0: each call. None: none."""
    lock_diagnosis: bool = option(False, FLAG)
    """Whether a `LockError` gets notes about the sessions that hold the locks, as by `diagnose_locks`."""
    trace: TraceTarget | None = option(None, in_code(), hash=False)  # not in an address: it writes files
    """File to which events of the protocol are appended, or a function that is called with each `TraceEvent`."""
    trace_values: bool = option(False, Kind(check_flag))
    """Whether the trace holds values, literals and passwords."""
    row_factory: RowFactory[Any] | None = option(None, in_code(check_row_factory))
    """Row factory of calls without their own; None: rows are `Record` objects."""
    conversions: Conversions = field(default=PLAIN, init=False, repr=False, compare=False)
    """Combines *integral_decimals*, *type_codecs*, *adapters*, *json_loads*, *json_dumps*, *timezone* and DBDATE."""
    code_set: CodeSet = field(init=False, repr=False, compare=False)
    """Encoding of text on this connection: the database's code set.

    Source: documented: the client converts between its code set and the database's, whose locale defaults to the
    client's (GLS guide); observed: JDBC, locales.json
    """
    client_code_set: CodeSet = field(init=False, repr=False, compare=False)
    """Encoding of text in the login (assumed), and in files of UNLOAD's format (documented)."""

    tracer: Tracer | None = field(default=None, init=False, repr=False, compare=False)
    """Writes the trace; None without *trace*."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "environment", checked_variables(self.environment))
        check_locale("client_locale", self.client_locale, self.encoding_errors)
        check_locale("db_locale", self.db_locale, self.encoding_errors)
        client = self.client_locale or self.db_locale or DEFAULT_LOCALE
        database = self.db_locale or client
        object.__setattr__(self, "client_code_set", code_set_of(client, self.encoding_errors))
        object.__setattr__(self, "code_set", code_set_of(database, self.encoding_errors))
        for name, kind in KINDS.items():
            value = getattr(self, name)
            if kind.check is not None and not (value is None and name in _MAY_BE_NONE):
                kind.check(name, value)
        for name in _TEXTS:
            check_text(name, getattr(self, name), self.client_code_set, required=name in ("server", "user"))
        check_text("database", self.database, self.code_set)
        self._check_server()
        if not (self.password is None or isinstance(self.password, Secret) or callable(self.password)):
            check_text("password", self.password, self.client_code_set)
            object.__setattr__(self, "password", Secret(self.password))
        check_tls(self.ssl, self.ssl_ca, self.ssl_cert, self.ssl_key)
        conversions = checked_conversions(
            self.type_codecs,
            self.adapters,
            integral_decimals=self.integral_decimals,
            json_loads=self.json_loads,
            json_dumps=self.json_dumps,
            zone=time_zone(self.timezone),
            dbdate="" if "GL_DATE" in self.environment else self.environment.get("DBDATE", ISO_DATES),
        )
        object.__setattr__(self, "conversions", conversions)
        object.__setattr__(self, "tracer", tracer_of(self.trace, self.trace_values))

    def _check_server(self) -> None:
        if not (self.host or self.sqlhosts):
            raise InterfaceError("host: missing, and no sqlhosts file is given")
        check_words(self.server, self.database)
        if self.host:
            addresses(self.host, self.port, self.server)
        if self.role != "any" and not self.database:
            raise InterfaceError("role: requires a database, since a server reports its role on opening one")
        if self.allow_redirect_to:
            names_in("allow_redirect_to", self.allow_redirect_to)
            if any(
                character.isspace() or character in "/@"
                for character in self.allow_redirect_to.replace(" ", "")
            ):
                raise InterfaceError("allow_redirect_to: expected host patterns separated by commas")

    @property
    def destination(self) -> str:
        """Description of the target, for messages."""
        if not self.host:
            return f"{self.server} in {self.sqlhosts}"
        return ", ".join(str(address) for address in addresses(self.host, self.port, self.server))

    def in_locale(self, locale: str) -> ConnectOptions:
        """The same options with another locale.

        Raises:
            InterfaceError: its code set is not supported.
        """
        return replace(self, locale=None, client_locale=locale, db_locale=locale)

    def for_question(self, database: str) -> ConnectOptions:
        """The same server and user, for a query to *database* in the default locale."""
        return replace(
            self, database=database, role="any", locale=None, client_locale=None, db_locale=None,
            autocommit=True, isolation=None, lock_wait=None, read_only=False, row_factory=None, observer=(),
            slow_query=None, lock_diagnosis=False,
        )  # fmt: skip

    @property
    def keepalive_times(self) -> tuple[int, int, int] | None:
        """Idle seconds, interval and count of keepalive; None if it is off."""
        if isinstance(self.keepalive, bool):
            return _KEEPALIVE if self.keepalive else None
        return self.keepalive

    @property
    def uses_tls(self) -> bool | None:
        """Whether TLS is on; None if no option sets it."""
        if self.ssl_ca or self.ssl_cert:
            return True
        return None if self.ssl is None else bool(self.ssl)

    def ssl_context(self, wanted: bool | None = None) -> tls.SSLContext | None:
        """The TLS context; None for plain TCP.

        Args:
            wanted: whether the server's port uses TLS, if known; None: as in the options.

        Raises:
            InterfaceError: a file is not usable.
        """
        if not (self.uses_tls if wanted is None else wanted):
            return None
        if isinstance(self.ssl, tls.SSLContext):
            return self.ssl
        return context_of(self.ssl_ca, self.ssl_cert, self.ssl_key)

    def observation(self, pool: str = "") -> Observation | None:
        """Reports the operations of a connection, or of the pool of this name; None if no option needs it."""
        observers = checked_observers(self.observer)
        if self.slow_query is not None or query_logger.isEnabledFor(logging.DEBUG):
            observers = (*observers, QueryLog(self.slow_query))
        if not (observers or self.lock_diagnosis):
            return None
        first = addresses(self.host, self.port, self.server)[0] if self.host else Address("", 0, self.server)
        return Observation(
            observers, (first.host, first.port, first.server, self.database, self.user, None), pool
        )

    def login_environment(self, *, sends_db_locale: bool = True) -> tuple[tuple[bytes, bytes], ...]:
        """The variables of the login, in JDBC's order.

        Both locales and the date format are always sent, so that nothing depends on the server's defaults (observed:
        JDBC sends the same three, locales.json).

        Args:
            sends_db_locale: False leaves DB_LOCALE to the server, as JDBC does by default.
        """
        client = self.client_locale or self.db_locale or DEFAULT_LOCALE
        database = (self.db_locale or client) if sends_db_locale else None
        return _login_variables(client, database, tuple(self.environment.items()))

    def session_environment(self) -> tuple[tuple[bytes, bytes], ...]:
        """The variables of SQ_INFO, in JDBC's order."""
        return _session_variables(self.fetch_size, self.optofc, tuple(self.environment.items()))

    @property
    def date_hint(self) -> str:
        """The hint for a text that is not a date: the format of dates in the session, as sent in the login."""
        variable = "GL_DATE" if "GL_DATE" in self.environment else "DBDATE"
        form = self.environment.get(variable, ISO_DATES)
        return f"{variable} of this session is {form}; a datetime.date as a parameter needs no format"

    @property
    def sends_optofc(self) -> bool:
        """Whether the server is asked to close cursors with their last rows."""
        return self.environment.get("OPTOFC", "1" if self.optofc else "0") != "0"

    def without_optofc(self) -> ConnectOptions:
        """The same options with OPTOFC=0."""
        return replace(self, environment={**self.environment, "OPTOFC": "0"})


KINDS: Final = kinds_of(ConnectOptions)
"""The kinds of all options, by name."""

_MAY_BE_NONE: Final = {each.name for each in fields(ConnectOptions) if each.default is None}
_TEXTS: Final = (
    "host",
    "sqlhosts",
    "server",
    "user",
    "application_name",
    "allow_redirect_to",
    "ssl_ca",
    "ssl_cert",
    "ssl_key",
)
"""Sent, or used, in the client's code set."""


@lru_cache(maxsize=64)
def _login_variables(
    client: str, database: str | None, environment: tuple[tuple[str, str], ...]
) -> tuple[tuple[bytes, bytes], ...]:
    variables = {"CLIENT_LOCALE": client, "DBDATE": "Y4MD-"}
    if database is not None:
        variables["DB_LOCALE"] = database
    return login_pairs({**variables, **dict(environment)})


@lru_cache(maxsize=64)
def _session_variables(
    fetch_size: int, optofc: bool, environment: tuple[tuple[str, str], ...]
) -> tuple[tuple[bytes, bytes], ...]:
    variables = {"OPTOFC": "1" if optofc else "0", **dict(environment)}
    if fetch_size > STANDARD_FETCH_SIZE:
        # JDBC, the only client recorded with such fetches, announces them here (observed: session.json).
        variables.setdefault("FET_BUF_SIZE", str(fetch_size))
    return session_pairs(variables)
