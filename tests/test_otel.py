"""Spans and metrics of connections and pools, as the SDK's exporters in memory get them."""

from __future__ import annotations

import asyncio
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator, Iterator
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.instrumentation.utils import suppress_instrumentation
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from opentelemetry.semconv._incubating.attributes import db_attributes
from opentelemetry.semconv._incubating.metrics import db_metrics
from opentelemetry.trace import SpanKind, StatusCode

import aioifx
from aioifx import otel
from aioifx.client.observation.operation import default_observers
from aioifx.otel import AioifxInstrumentor, TelemetryObserver
from aioifx.server import Routine, Server, ServerOptions, serve
from tests.injection import eventually

SEED = "create table item (id int primary key, name varchar(40)); insert into item values (1, 'pen');"
OPTIONS = ServerOptions(databases=("shop",), seed=SEED, user="app", password="secret", routines=(
    Routine("restock", [("n", "INTEGER")], ["INTEGER"], lambda n: n),
))  # fmt: skip


TYPES = {"_UpDownCounter": "Sum", "_Counter": "Sum", "_Histogram": "Histogram"}
"""Of the SDK: kinds of data by instrument."""


class Telemetry:
    """Providers whose exports are kept in memory."""

    def __init__(self) -> None:
        self.exporter, self.reader = InMemorySpanExporter(), InMemoryMetricReader()
        self.tracers = TracerProvider()
        self.tracers.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.meters = MeterProvider([self.reader])

    @property
    def providers(self) -> dict[str, Any]:
        return {"tracer_provider": self.tracers, "meter_provider": self.meters}

    def observer(self, **options: Any) -> TelemetryObserver:
        return TelemetryObserver(**self.providers, **options)

    @property
    def spans(self) -> list[ReadableSpan]:
        return list(self.exporter.get_finished_spans())

    @property
    def names(self) -> list[str]:
        return [span.name for span in self.spans]

    @property
    def last(self) -> ReadableSpan:
        return self.spans[-1]

    def metrics(self) -> dict[str, Any]:
        """The metrics by name."""
        data = self.reader.get_metrics_data()
        found = (
            [] if data is None else [scope for each in data.resource_metrics for scope in each.scope_metrics]
        )
        return {metric.name: metric for scope in found for metric in scope.metrics}

    def points(self, name: str, *keys: str) -> dict[Any, Any]:
        """Value or count of each data point, by these attributes."""
        metric = self.metrics().get(name)
        points = [] if metric is None else metric.data.data_points
        return {
            tuple(point.attributes.get(key) for key in keys): (
                point.value if hasattr(point, "value") else point.count
            )
            for point in points
        }


@pytest.fixture
def telemetry() -> Telemetry:
    return Telemetry()


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    async with asyncio.timeout(50), serve(OPTIONS) as server:
        yield server


@pytest.fixture
async def conn(server: Server, telemetry: Telemetry) -> AsyncIterator[aioifx.Connection]:
    async with aioifx.connect(server.dsn, observer=telemetry.observer()) as conn:
        telemetry.exporter.clear()
        yield conn


def attributes(span: ReadableSpan) -> dict[str, Any]:
    """Those of a span without those that all have."""
    found = dict(span.attributes or {})
    assert found.pop("db.system.name") == "ibm.informix"
    assert found.pop("server.address") == "127.0.0.1"
    assert found.pop("server.port")
    return found


# -- spans ------------------------------------------------------------------------------------------------------------


async def test_a_query_is_a_client_span(
    conn: aioifx.Connection, telemetry: Telemetry, server: Server
) -> None:
    await conn.fetch("select name from item where id = ? and name <> 'secret'", 1)
    span = telemetry.last
    assert (span.name, span.kind, span.status.status_code) == (
        "select item",
        SpanKind.CLIENT,
        StatusCode.UNSET,
    )
    assert dict(span.attributes or {}) == {
        "db.system.name": "ibm.informix",
        "db.namespace": "shop",
        "db.query.summary": "select item",
        "db.query.text": "select name from item where id = ? and name <> ?",
        "server.address": "127.0.0.1",
        "server.port": server.port,
    }
    scope = span.instrumentation_scope
    assert scope is not None
    assert (scope.name, scope.version) == ("aioifx", "0.1.0")
    assert (scope.schema_url or "").endswith("/1.33.0")


async def test_a_span_is_as_long_as_its_operation(server: Server, telemetry: Telemetry) -> None:
    ended: list[aioifx.Operation] = []

    class Recorder:
        def on_start(self, operation: aioifx.Operation) -> None: ...

        def on_end(self, operation: aioifx.Operation) -> None:
            ended.append(operation)

    async with aioifx.connect(server.dsn, observer=[Recorder(), telemetry.observer()]) as conn:
        await conn.fetch("select name from item")
    for span, operation in zip(telemetry.spans, ended, strict=True):
        assert span.start_time is not None
        assert span.start_time == int(operation.started_at * 1e9)
        assert (span.end_time or 0) - span.start_time == pytest.approx(
            (operation.duration or 0) * 1e9, abs=1000
        )


async def test_a_span_is_a_child_of_the_current_one(conn: aioifx.Connection, telemetry: Telemetry) -> None:
    with telemetry.tracers.get_tracer("app").start_as_current_span("request") as parent:
        await conn.fetch("select name from item")
        assert trace.get_current_span() is parent
    child, _ = telemetry.spans
    assert child.parent is not None
    assert child.parent.span_id == parent.get_span_context().span_id


@pytest.mark.parametrize(
    ("call", "name", "expected"),
    [
        ("fetchrow", "select item", {"db.query.summary": "select item", "db.query.text": "select id from item"}),
        ("fetchval", "select item", {"db.query.summary": "select item", "db.query.text": "select id from item"}),
        (
            "stream",
            "select item",
            {"db.query.summary": "select item", "db.query.text": "select id from item"},
        ),
        (
            "execute",
            "insert item",
            {"db.query.summary": "insert item", "db.query.text": "insert into item values (?, ?)"},
        ),
        (
            "executemany",
            "BATCH insert item",
            {
                "db.query.summary": "BATCH insert item",
                "db.query.text": "insert into item values (?, ?)",
                "db.operation.batch.size": 3,
            },
        ),
        (
            "executemany one",
            "insert item",
            {"db.query.summary": "insert item", "db.query.text": "insert into item values (?, ?)"},
        ),
        (
            "executemany none",
            "BATCH insert item",
            {
                "db.query.summary": "BATCH insert item",
                "db.query.text": "insert into item values (?, ?)",
                "db.operation.batch.size": 0,
            },
        ),
        (
            "load",
            "BATCH insert item",
            {
                "db.operation.name": "BATCH insert",
                "db.collection.name": "item",
                "db.query.summary": "BATCH insert item",
                "db.operation.batch.size": 2,
            },
        ),
        (
            "call",
            "execute procedure restock",
            {
                "db.operation.name": "execute procedure",
                "db.query.summary": "execute procedure restock",
                "db.stored_procedure.name": "restock",
            },
        ),
    ],
)  # fmt: skip
async def test_spans_of_calls(
    conn: aioifx.Connection, telemetry: Telemetry, call: str, name: str, expected: dict[str, Any]
) -> None:
    insert = "insert into item values (?, ?)"
    match call:
        case "stream":
            assert [row["id"] async for row in conn.stream("select id from item")] == [1]
        case "execute":
            await conn.execute("insert into item values (2, 'ink')")
        case "executemany":
            await conn.executemany(insert, ((n, "ink") for n in (2, 3, 4)))
        case "executemany one":
            await conn.executemany(insert, [(2, "ink")])
        case "executemany none":
            await conn.executemany(insert, [])
        case "load":
            await conn.load("item", [(2, "ink"), (3, "ink")])
        case "call":
            await conn.call("restock", 5)
        case _:
            await getattr(conn, call)("select id from item")
    found = attributes(telemetry.last)
    assert found.pop("db.namespace") == "shop"
    if call == "load":
        assert found.pop("db.query.text").startswith("insert into item")
    assert (telemetry.last.name, found) == (name, expected)


async def test_spans_of_transactions_cursors_and_prepared_statements(
    conn: aioifx.Connection, telemetry: Telemetry
) -> None:
    async with conn.transaction():
        async with conn.transaction():
            pass
    with pytest.raises(ZeroDivisionError):
        async with conn.transaction():
            await conn.execute("lock table item in share mode")
            raise ZeroDivisionError
    assert telemetry.names == ["BEGIN", "SAVEPOINT", "RELEASE", "COMMIT", "BEGIN", "lock item", "ROLLBACK"]
    assert attributes(telemetry.last)["db.operation.name"] == "ROLLBACK"
    telemetry.exporter.clear()
    async with conn.cursor() as cursor:
        await cursor.execute("select id from item")
        assert await cursor.fetchall() == [(1,)]
    statement = await conn.prepare("select name from item where id = ?")
    await statement.fetch(1)
    conn.cancel()
    assert telemetry.names == ["select item", "PREPARE select item", "select item"]


async def test_a_failure_has_its_sqlcode_and_class(conn: aioifx.Connection, telemetry: Telemetry) -> None:
    with pytest.raises(aioifx.UniqueViolation) as caught:
        await conn.execute("insert into item values (?, ?)", 1, "secret-value")
    span = telemetry.last
    found = attributes(span)
    assert (found["error.type"], found["db.response.status_code"]) == ("aioifx.UniqueViolation", "-268")
    assert (span.status.status_code, span.status.description) == (StatusCode.ERROR, str(caught.value))
    assert not span.events
    assert "secret" not in span.to_json()


async def test_a_failure_without_sqlcode_has_its_class(conn: aioifx.Connection, telemetry: Telemetry) -> None:
    with pytest.raises(aioifx.InterfaceError):
        await conn.fetch("select id from item where id = ?")
    found = attributes(telemetry.last)
    assert found["error.type"].startswith("aioifx.")
    assert "db.response.status_code" not in found


async def test_a_cancelled_call_ends_its_span(conn: aioifx.Connection, telemetry: Telemetry) -> None:
    task = asyncio.create_task(conn.fetch("select name from item"))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert attributes(telemetry.last)["error.type"] == "asyncio.exceptions.CancelledError"
    assert (telemetry.last.status.status_code, telemetry.last.status.description) == (StatusCode.ERROR, None)


async def test_texts_may_be_reported_as_written(server: Server, telemetry: Telemetry) -> None:
    async with aioifx.connect(server.dsn, observer=telemetry.observer(sanitize=False)) as conn:
        await conn.fetch("select name from item where id = 1")
    assert attributes(telemetry.last)["db.query.text"] == "select name from item where id = 1"
    assert telemetry.last.name == "select item"


async def test_connecting_is_a_span_and_pings_and_closing_are_none(
    server: Server, telemetry: Telemetry
) -> None:
    async with aioifx.connect(server.dsn, observer=telemetry.observer()) as conn:
        await conn.ping()
    (span,) = telemetry.spans
    assert span.name == "CONNECT shop"
    assert attributes(span) == {"db.namespace": "shop", "db.operation.name": "CONNECT"}
    with pytest.raises(aioifx.AuthenticationError):
        await aioifx.connect(server.dsn, password="wrong-secret", observer=telemetry.observer())
    assert attributes(telemetry.last)["error.type"] == "aioifx.AuthenticationError"
    assert "secret" not in telemetry.last.to_json()


async def test_a_pool_has_spans_of_its_queries_alone(server: Server, telemetry: Telemetry) -> None:
    async with aioifx.create_pool(server.dsn, observer=telemetry.observer(), check_after_idle=0) as pool:
        assert await pool.fetchval("select name from item") == "pen"
        async with pool.acquire() as conn:
            await conn.execute("begin work")  # rolled back at the release
        assert await pool.fetchval("select name from item") == "pen"
    assert telemetry.names == ["select item", "begin", "select item"]
    assert attributes(telemetry.spans[0])["db.namespace"] == "shop"


async def test_suppressed_instrumentation_reports_nothing(
    conn: aioifx.Connection, telemetry: Telemetry
) -> None:
    telemetry.metrics()
    with suppress_instrumentation():
        await conn.fetch("select name from item")
    assert telemetry.spans == []


async def test_a_span_that_is_not_sampled_is_measured(server: Server, telemetry: Telemetry) -> None:
    tracers = TracerProvider(sampler=ALWAYS_OFF)
    tracers.add_span_processor(SimpleSpanProcessor(telemetry.exporter))
    observer = TelemetryObserver(tracer_provider=tracers, meter_provider=telemetry.meters)
    async with aioifx.connect(server.dsn, observer=observer) as conn:
        await conn.fetch("select name from item")
    assert telemetry.spans == []
    assert telemetry.points("db.client.operation.duration", "db.query.summary")[("select item",)] == 1


# -- metrics ----------------------------------------------------------------------------------------------------------


async def test_the_duration_of_operations_is_measured(conn: aioifx.Connection, telemetry: Telemetry) -> None:
    for n in (1, 2):
        await conn.fetch("select name from item where id = ?", n)
    with pytest.raises(aioifx.UndefinedTable):
        await conn.fetch("select name from itme")
    metric = telemetry.metrics()["db.client.operation.duration"]
    assert metric.unit == "s"
    points = {point.attributes.get("db.query.summary"): point for point in metric.data.data_points}
    assert points["select item"].count == 2
    assert points["select item"].explicit_bounds == (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10)
    assert set(points["select item"].attributes) == {
        "db.system.name", "db.namespace", "db.query.summary", "server.address", "server.port",
    }  # fmt: skip
    failed = points["select itme"].attributes
    assert (failed["error.type"], failed["db.response.status_code"]) == ("aioifx.UndefinedTable", "-206")
    spans = [span for span in telemetry.spans if span.name == "select item"]
    total = sum((span.end_time or 0) - (span.start_time or 0) for span in spans) / 1e9
    assert points["select item"].sum == pytest.approx(total, abs=1e-5)


async def test_returned_rows_are_counted(conn: aioifx.Connection, telemetry: Telemetry) -> None:
    await conn.fetch("select tabname from systables where tabid < ?", 4)
    await conn.execute("update item set name = 'ink'")
    async with conn.cursor() as cursor:
        await cursor.execute("select id from item")
        await cursor.fetchall()
        await cursor.execute("update item set name = 'pen'")
    metric = telemetry.metrics()["db.client.response.returned_rows"]
    found = {point.attributes["db.query.summary"]: point for point in metric.data.data_points}
    rows = {summary: point.sum for summary, point in found.items()}
    assert rows["select systables"] == 3
    assert rows.keys() <= {"select systables", "select item"}
    assert found["select systables"].explicit_bounds[0] == 1


async def test_a_pool_is_measured(server: Server, telemetry: Telemetry) -> None:
    def sizes(name: str, *keys: str) -> Any:
        return telemetry.points(f"db.client.connection.{name}", "db.client.connection.pool.name", *keys)

    observer = telemetry.observer()
    async with aioifx.create_pool(server.dsn, max_size=2, name="web", observer=observer) as pool:
        async with pool.acquire(), pool.acquire():
            waiting = asyncio.create_task(pool.fetchval("select name from item"))
            await eventually(lambda: pool.stats.waiting == 1)
            assert sizes("pending_requests") == {("web",): 1}
            with pytest.raises(aioifx.PoolTimeout):
                await pool.acquire(timeout=0)
            assert sizes("count", "db.client.connection.state") == {("web", "idle"): 0, ("web", "used"): 2}
        await waiting
        pool.pop_stats()
        assert sizes("count", "db.client.connection.state") == {("web", "idle"): 2, ("web", "used"): 0}
        assert sizes("max") == sizes("idle.max") == {("web",): 2}
        assert sizes("idle.min") == {("web",): 1}
        assert sizes("timeouts") == {("web",): 1}
        assert sizes("create_time") == {("web",): 2}
        assert sizes("wait_time") == sizes("use_time") == {("web",): 3}
        assert telemetry.metrics()["db.client.connection.use_time"].unit == "s"
    assert sizes("count", "db.client.connection.state") == {}, "a closed pool has no size"


async def test_pools_of_one_name_are_added_up(server: Server, telemetry: Telemetry) -> None:
    observer = telemetry.observer()
    async with aioifx.create_pool(server.dsn, name="web", observer=observer):
        async with aioifx.create_pool(server.dsn, name="web", max_size=5, observer=telemetry.observer()):
            assert telemetry.points("db.client.connection.max", otel._POOL_NAME) == {("web",): 15}


def test_names_in_development_are_those_of_the_conventions() -> None:
    assert db_attributes.DbSystemNameValues.IBM_INFORMIX.value == "ibm.informix"
    assert db_attributes.DB_CLIENT_CONNECTION_POOL_NAME == otel._POOL_NAME
    assert db_attributes.DB_CLIENT_CONNECTION_STATE == otel._STATE
    assert {state.value for state in db_attributes.DbClientConnectionStateValues} == {"idle", "used"}
    assert db_metrics.DB_CLIENT_RESPONSE_RETURNED_ROWS == otel._RETURNED_ROWS


async def test_instruments_are_those_of_the_conventions(server: Server, telemetry: Telemetry) -> None:
    async with aioifx.create_pool(server.dsn, max_size=1, observer=telemetry.observer()) as pool:
        await pool.fetchval("select name from item")
        async with pool.acquire():
            with pytest.raises(aioifx.PoolTimeout):
                await pool.acquire(timeout=0)
        found = telemetry.metrics()
    known = {
        name: value
        for name, value in vars(db_metrics).items()
        if name.isupper() and name.startswith("DB_CLIENT_")
    }
    assert found.keys() == {
        value for value in known.values()
        if value.startswith(("db.client.connection.", "db.client.operation.duration", "db.client.response."))
    }  # fmt: skip
    made = MeterProvider([InMemoryMetricReader()]).get_meter("conventions")
    for name, value in known.items():
        if value in found:
            instrument = getattr(db_metrics, f"create_{name.lower()}")(made)
            assert found[value].unit == instrument.unit
            assert type(found[value].data).__name__ == TYPES[type(instrument).__name__]


# -- instrumenting a program ------------------------------------------------------------------------------------------


@pytest.fixture
def instrumentor(telemetry: Telemetry) -> Iterator[AioifxInstrumentor]:
    instrumentor = AioifxInstrumentor()
    instrumentor.instrument(**telemetry.providers)
    yield instrumentor
    if default_observers:
        instrumentor.uninstrument()


def test_the_instrumentor_is_an_entry_point() -> None:
    (found,) = [each for each in entry_points(group="opentelemetry_instrumentor") if each.name == "aioifx"]
    assert found.load() is AioifxInstrumentor


async def test_an_instrumented_program_reports_every_connection_and_pool(
    server: Server, telemetry: Telemetry, instrumentor: AioifxInstrumentor
) -> None:
    async with aioifx.connect(server.dsn) as conn:
        await conn.fetch("select name from item")
    async with aioifx.create_pool(server.dsn, name="web") as pool:
        await pool.fetchval("select id from item")
    assert telemetry.names == ["CONNECT shop", "select item", "select item"]
    assert telemetry.points("db.client.connection.use_time", otel._POOL_NAME) == {("web",): 1}


async def test_an_instrumented_program_has_its_own_observers_as_well(
    server: Server, telemetry: Telemetry, instrumentor: AioifxInstrumentor
) -> None:
    other = Telemetry()
    async with aioifx.connect(server.dsn, observer=other.observer()):
        pass
    assert telemetry.names == other.names == ["CONNECT shop"]
    async with aioifx.connect(server.dsn, observer=()) as conn:
        await conn.fetch("select name from item")
    assert telemetry.names == ["CONNECT shop"], "an empty sequence turns it off"


async def test_a_query_for_the_locale_has_no_span(
    server: Server, telemetry: Telemetry, instrumentor: AioifxInstrumentor
) -> None:
    async with aioifx.connect(server.dsn, locale="auto"):
        pass
    assert telemetry.names == ["CONNECT shop"]


async def test_after_uninstrument_nothing_is_reported(
    server: Server, telemetry: Telemetry, instrumentor: AioifxInstrumentor
) -> None:
    async with aioifx.create_pool(server.dsn, name="web", max_size=1) as pool:
        async with pool.acquire() as conn:
            instrumentor.uninstrument()
            await conn.fetch("select name from item")
            with pytest.raises(aioifx.PoolTimeout):
                await pool.acquire(timeout=0)
        pool.expire()
        async with aioifx.connect(server.dsn):
            pass
        assert await pool.fetchval("select id from item") == 1
        assert telemetry.spans == []
        found = telemetry.metrics()
        counts = {name: telemetry.points(name, otel._POOL_NAME) for name in found}
    assert counts == {
        "db.client.connection.create_time": {("web",): 1},
        "db.client.connection.wait_time": {("web",): 1},
    }

    instrumentor.instrument(**telemetry.providers)
    async with aioifx.create_pool(server.dsn, name="again") as pool:
        await pool.fetchval("select id from item")
        assert telemetry.points("db.client.connection.max", otel._POOL_NAME) == {("again",): 10}
    assert telemetry.names == ["select item"]


async def test_arguments_for_other_instrumentors_are_ignored(telemetry: Telemetry) -> None:
    instrumentor = AioifxInstrumentor()
    instrumentor.instrument(**telemetry.providers, sanitize=False, enable_commenter=True)
    (observer,) = default_observers
    instrumentor.uninstrument()
    assert isinstance(observer, TelemetryObserver)
    assert not observer.is_open
    assert default_observers == []


PROGRAM = """
import asyncio
from opentelemetry import metrics, trace
from tests.test_otel import OPTIONS, Telemetry
import aioifx
from aioifx.server import serve

async def main():
    telemetry = Telemetry()  # the program sets up the SDK after it was instrumented
    trace.set_tracer_provider(telemetry.tracers)
    metrics.set_meter_provider(telemetry.meters)
    async with serve(OPTIONS) as server, aioifx.create_pool(server.dsn, name="web") as pool:
        await pool.fetchval("select name from item")
        print(telemetry.names, telemetry.points("db.client.connection.max", "db.client.connection.pool.name"))

asyncio.run(main())
"""


@pytest.mark.exhaustive
async def test_opentelemetry_instrument_finds_it() -> None:
    command = [str(Path(sys.executable).with_name("opentelemetry-instrument"))]
    process = await asyncio.create_subprocess_exec(
        *command, sys.executable, "-c", PROGRAM, stdout=PIPE, stderr=PIPE, cwd=Path(__file__).parents[1]
    )
    out, err = await process.communicate()
    assert (out.decode(), err.decode()) == ("['select item'] {('web',): 10}\n", "")
