"""Traces and metrics by OpenTelemetry's semantic conventions for databases. Never: a value of a parameter or a row.

Source: OpenTelemetry semantic conventions, database spans and metrics. The spans' attributes and
`db.client.operation.duration` are stable. The value "ibm.informix", the metrics of pools and
`db.client.response.returned_rows` are in development there.

Needs the extra ``otel``.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Collection, Iterable
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from opentelemetry.instrumentation.utils import is_instrumentation_enabled
from opentelemetry.metrics import CallbackOptions, Histogram, MeterProvider, Observation, get_meter_provider
from opentelemetry.semconv.attributes.db_attributes import (
    DB_COLLECTION_NAME,
    DB_NAMESPACE,
    DB_OPERATION_BATCH_SIZE,
    DB_OPERATION_NAME,
    DB_QUERY_SUMMARY,
    DB_QUERY_TEXT,
    DB_RESPONSE_STATUS_CODE,
    DB_STORED_PROCEDURE_NAME,
    DB_SYSTEM_NAME,
)
from opentelemetry.semconv.attributes.error_attributes import ERROR_TYPE
from opentelemetry.semconv.attributes.server_attributes import SERVER_ADDRESS, SERVER_PORT
from opentelemetry.semconv.metrics.db_metrics import DB_CLIENT_OPERATION_DURATION
from opentelemetry.semconv.schemas import Schemas
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, TracerProvider, get_tracer

from aioifx.client.observation.operation import Operation, OperationName, default_observers
from aioifx.client.pool.decisions import PoolState
from aioifx.client.pool.stats import BOUNDS
from aioifx.client.sql.summary import describe
from aioifx.errors import DatabaseError

if TYPE_CHECKING:  # the module of the original has its types switched off

    class BaseInstrumentor:
        def instrument(self, **kwargs: Any) -> None: ...
        def uninstrument(self, **kwargs: Any) -> None: ...

else:
    from opentelemetry.instrumentation.instrumentor import BaseInstrumentor

__all__ = ["AioifxInstrumentor", "TelemetryObserver"]

Attributes: TypeAlias = dict[str, str | int]

_SCHEMA: Final = Schemas.V1_33_0.value
"""The first version with everything that is used here."""


_ROWS: Final = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000)
"""Bounds of the ranges of numbers of rows, from the conventions."""

# In development: packages of the conventions have these names in private modules only.
_POOL_NAME: Final = "db.client.connection.pool.name"
_STATE: Final = "db.client.connection.state"
_RETURNED_ROWS: Final = "db.client.response.returned_rows"

_UNREPORTED: Final[frozenset[OperationName]] = frozenset({"acquire", "cancel"})
"""No calls of the database: the first is measured by `db.client.connection.wait_time`."""
_BATCHES: Final[frozenset[OperationName]] = frozenset({"executemany", "load"})
_QUERIES: Final[frozenset[OperationName]] = frozenset(
    {"fetch", "fetchrow", "fetchval", "call", "stream", "unload"}
)


class TelemetryObserver:
    """Reports operations and pools to OpenTelemetry: ``connect(observer=TelemetryObserver())``, likewise for a pool.

    `AioifxInstrumentor` does it for all connections and pools of a program instead.

    Args:
        tracer_provider: None: the global ones.
        meter_provider: None: the global ones.
        sanitize: replace literals in `db.query.text` by ``?``; False: report statements as written.
    """

    is_open = True
    """Whether it reports."""

    def __init__(
        self,
        *,
        tracer_provider: TracerProvider | None = None,
        meter_provider: MeterProvider | None = None,
        sanitize: bool = True,
    ) -> None:
        own_version = version("aioifx")
        self._tracer = get_tracer("aioifx", own_version, tracer_provider, _SCHEMA)
        self._metrics = _metrics_of(meter_provider or get_meter_provider(), own_version)
        self._sanitize = sanitize
        self._spans: weakref.WeakKeyDictionary[Operation, tuple[Span, Attributes]] = (
            weakref.WeakKeyDictionary()
        )

    def close(self) -> None:
        """Report nothing any more. Connections and pools that have this observer stay usable."""
        self.is_open = False

    # -- operations ---------------------------------------------------------------------------------------------------

    def on_start(self, operation: Operation, /) -> None:
        """Start the span."""
        if operation.name in _UNREPORTED or not self.is_open or not is_instrumentation_enabled():
            return
        if operation.name == "connect" and operation.pool:  # measured by db.client.connection.create_time
            return
        attributes = self._attributes(operation)
        span = self._tracer.start_span(
            _span_name(attributes),
            kind=SpanKind.CLIENT,
            attributes=attributes,
            start_time=_nanoseconds(operation.started_at),
        )
        self._spans[operation] = span, attributes

    def on_end(self, operation: Operation, /) -> None:
        """End the span, and record the metrics."""
        if operation not in self._spans:
            return
        span, at_start = self._spans.pop(operation)
        attributes = self._attributes(operation)
        failure = _failure(operation.error)
        duration = operation.duration or 0.0
        if span.is_recording():
            changed = {key: value for key, value in attributes.items() if at_start.get(key) != value}
            span.set_attributes(changed | failure)
            if (name := _span_name(attributes)) != _span_name(at_start):
                span.update_name(name)
            if operation.error is not None:
                span.set_status(Status(StatusCode.ERROR, str(operation.error) or None))
        span.end(_nanoseconds(operation.started_at + duration))
        attributes.pop(DB_QUERY_TEXT, None)
        attributes.pop(DB_OPERATION_BATCH_SIZE, None)
        self._metrics.duration.record(duration, attributes | failure)
        if operation.name in _QUERIES or (operation.name == "cursor" and _reads(attributes)):
            self._metrics.returned_rows.record(operation.rows, attributes | failure)

    def _attributes(self, operation: Operation) -> Attributes:
        """Those of a span, except for the failure. A batch of one row is a single operation."""
        attributes: Attributes = {DB_SYSTEM_NAME: "ibm.informix"}
        if operation.database:
            attributes[DB_NAMESPACE] = operation.database
        if operation.host:
            attributes[SERVER_ADDRESS] = operation.host
        if operation.port:
            attributes[SERVER_PORT] = operation.port
        summary, text = describe(operation.sql)
        batch = ""
        if operation.name in _BATCHES and operation.batch_size != 1:
            batch = "BATCH "
            if operation.batch_size is not None:
                attributes[DB_OPERATION_BATCH_SIZE] = operation.batch_size
        match operation.name:
            case "connect" | "begin" | "commit" | "rollback":
                attributes[DB_OPERATION_NAME] = summary or operation.name.upper()
            case "load" if summary:  # the text is ours: insert into table values(?)
                verb, _, table = summary.partition(" ")
                attributes[DB_OPERATION_NAME] = f"{batch}{verb}"
                attributes[DB_COLLECTION_NAME] = table
            case "call" if summary:  # the text is ours: execute procedure name(?)
                *words, name = summary.split(" ", 2)
                attributes[DB_OPERATION_NAME] = " ".join(words)
                attributes[DB_STORED_PROCEDURE_NAME] = name
                text = ""
            case "prepare":
                summary = f"PREPARE {summary}".rstrip()
            case _:
                pass
        if summary:
            attributes[DB_QUERY_SUMMARY] = f"{batch}{summary}"
        if text:
            attributes[DB_QUERY_TEXT] = text if self._sanitize else operation.sql
        return attributes

    # -- pools --------------------------------------------------------------------------------------------------------

    def watch_pool(self, name: str, state: PoolState[Any, Any], /) -> _PoolMetrics:
        """Report a new pool."""
        return self._metrics.add_pool(_PoolMetrics(self._metrics, self, name, state))


def _span_name(attributes: Attributes) -> str:
    if summary := attributes.get(DB_QUERY_SUMMARY):
        return str(summary)
    target = attributes.get(DB_NAMESPACE, "")
    return f"{attributes.get(DB_OPERATION_NAME, '')} {target}".strip() or "ibm.informix"


def _reads(attributes: Attributes) -> bool:
    """Whether the statement of a cursor is a query."""
    return str(attributes.get(DB_QUERY_SUMMARY, "")).upper().startswith(("SELECT", "EXECUTE"))


def _failure(error: BaseException | None) -> Attributes:
    """SQLCODE and class of an error."""
    if error is None:
        return {}
    kind = type(error)
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    if isinstance(error, DatabaseError) and error.sqlcode:
        return {ERROR_TYPE: name, DB_RESPONSE_STATUS_CODE: str(error.sqlcode)}
    return {ERROR_TYPE: name}


def _nanoseconds(seconds: float) -> int:
    return int(seconds * 1e9)


# -- metrics ----------------------------------------------------------------------------------------------------------


class _Metrics:
    """The instruments of one meter provider, and the pools that they observe."""

    def __init__(self, provider: MeterProvider, own_version: str) -> None:
        meter = provider.get_meter("aioifx", own_version, _SCHEMA)
        self._pools: list[weakref.ref[_PoolMetrics]] = []

        def times(name: str, description: str) -> Histogram:
            return meter.create_histogram(name, "s", description, explicit_bucket_boundaries_advisory=BOUNDS)

        def sizes(name: str, unit: str, description: str, *values: tuple[str, _Size]) -> None:
            meter.create_observable_up_down_counter(name, [self._observe(values)], unit, description)

        self.duration = times(DB_CLIENT_OPERATION_DURATION, "Duration of database client operations.")
        self.returned_rows = meter.create_histogram(
            _RETURNED_ROWS,
            "{row}",
            "The actual number of records returned by the database operation.",
            explicit_bucket_boundaries_advisory=_ROWS,
        )
        prefix, unit = "db.client.connection", "{connection}"
        self.wait_time = times(
            f"{prefix}.wait_time", "The time it took to obtain an open connection from the pool."
        )
        self.use_time = times(
            f"{prefix}.use_time", "The time between acquiring a connection and releasing it to the pool."
        )
        self.create_time = times(f"{prefix}.create_time", "The time it took to create a new connection.")
        self.timeouts = meter.create_counter(
            f"{prefix}.timeouts",
            "{timeout}",
            "The number of connection timeouts that have occurred trying to obtain a connection from the pool.",
        )
        sizes(
            f"{prefix}.count",
            unit,
            "The number of connections that are currently in state described by the `state` attribute.",
            ("idle", lambda state: len(state.idle)),
            ("used", lambda state: len(state.in_use)),
        )
        sizes(
            f"{prefix}.idle.max",
            unit,
            "The maximum number of idle open connections allowed.",
            ("", lambda state: state.limits.max_size),
        )
        sizes(
            f"{prefix}.idle.min",
            unit,
            "The minimum number of idle open connections allowed.",
            ("", lambda state: state.limits.min_size),
        )
        sizes(
            f"{prefix}.max",
            unit,
            "The maximum number of open connections allowed.",
            ("", lambda state: state.limits.max_size),
        )
        sizes(
            f"{prefix}.pending_requests",
            "{request}",
            "The number of current pending requests for an open connection.",
            ("", lambda state: len(state.waiting)),
        )

    def add_pool(self, pool: _PoolMetrics) -> _PoolMetrics:
        with _lock:
            self._pools = [*(each for each in self._pools if each() is not None), weakref.ref(pool)]
        return pool

    def _observe(self, values: Collection[tuple[str, _Size]]) -> _Callback:
        """A callback for an instrument, called in any thread. Pools of one name are added up."""

        def observe(_: CallbackOptions) -> Iterable[Observation]:
            totals: dict[tuple[str, str], int] = {}
            for reference in self._pools:
                if (pool := reference()) is None or not pool.is_reported:
                    continue
                for which, size in values:
                    totals[pool.name, which] = totals.get((pool.name, which), 0) + size(pool.state)
            for (name, which), total in totals.items():
                yield Observation(total, {_POOL_NAME: name} | ({_STATE: which} if which else {}))

        return observe


_Size: TypeAlias = Callable[[PoolState[Any, Any]], int]
_Callback: TypeAlias = Callable[[CallbackOptions], Iterable[Observation]]


class _PoolMetrics:
    """Records the times of one pool."""

    def __init__(
        self, metrics: _Metrics, observer: TelemetryObserver, name: str, state: PoolState[Any, Any]
    ) -> None:
        self._metrics = metrics
        self._observer = observer
        self._attributes = {_POOL_NAME: name}
        self.name = name
        self.state = state

    @property
    def is_reported(self) -> bool:
        """Whether its sizes are reported: until it is closed, or its observer is."""
        return self._observer.is_open and not (self.state.is_closing and not self.state.size)

    def on_acquired(self, seconds: float, /) -> None:
        if self._observer.is_open:
            self._metrics.wait_time.record(seconds, self._attributes)

    def on_released(self, seconds: float, /) -> None:
        if self._observer.is_open:
            self._metrics.use_time.record(seconds, self._attributes)

    def on_opened(self, seconds: float, /) -> None:
        if self._observer.is_open:
            self._metrics.create_time.record(seconds, self._attributes)

    def on_timed_out(self) -> None:
        if self._observer.is_open:
            self._metrics.timeouts.add(1, self._attributes)


_by_provider: Final[weakref.WeakKeyDictionary[MeterProvider, _Metrics]] = weakref.WeakKeyDictionary()
_lock: Final = threading.Lock()


def _metrics_of(provider: MeterProvider, own_version: str) -> _Metrics:
    """The instruments of a provider, which registers the callbacks of each instrument only once."""
    with _lock:
        metrics = _by_provider.get(provider)
        if metrics is None:
            metrics = _by_provider[provider] = _Metrics(provider, own_version)
        return metrics


# -- instrumenting a whole program ------------------------------------------------------------------------------------


class AioifxInstrumentor(BaseInstrumentor):
    """Reports all connections and pools of a program: ``AioifxInstrumentor().instrument()``.

    `instrument` takes the arguments of `TelemetryObserver`. Connections and pools that exist already are not reported;
    after `uninstrument`, none is. ``opentelemetry-instrument`` finds the class by its entry point.
    """

    _observer: TelemetryObserver | None = None

    def instrumentation_dependencies(self) -> Collection[str]:
        """The package that is instrumented: this one."""
        return ("aioifx",)

    def _instrument(self, **kwargs: Any) -> None:
        known = {"tracer_provider", "meter_provider", "sanitize"}  # further ones are for other instrumentors
        self._observer = TelemetryObserver(**{key: kwargs[key] for key in known & kwargs.keys()})
        default_observers.append(self._observer)

    def _uninstrument(self, **kwargs: Any) -> None:
        if self._observer is not None:
            default_observers.remove(self._observer)
            self._observer.close()
            self._observer = None
