"""A client of change data capture: it opens a session by the routines of syscdcv1, and reads its records."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from aioifx.codecs.cdc_records import CdcRecord, RecordReader, Timeout
from aioifx.codecs.text import CodeSet
from aioifx.server.engine.engine import Engine
from aioifx.wire.objects import ReadObject
from tests.server.talking import LATIN_1, ServerCore, Talk, run_all, server_core

TABLE = "demo:anna.t"


class Capturing:
    """A client with a session that captures the table t of the database demo."""

    def __init__(self, core: ServerCore, *, user: str = "informix", code_set: CodeSet = LATIN_1) -> None:
        self.engine = core.engine("syscdcv1", user=user)
        self._client = Talk(self.engine, code_set)
        self._reader = RecordReader()
        self.session = 0

    def call(self, routine: str, *values: int | str | None) -> Any:
        """The result of a routine."""
        marks = ", ".join("?" * len(values))
        ((result,),) = self._client.select(f"EXECUTE FUNCTION informix.{routine}({marks})", *values)
        return result

    def select(self, query: str) -> list[tuple[Any, ...]]:
        return self._client.select(query)

    def open(self, timeout: int = 0, max_records: int = 1) -> int:
        self.session = self.call("cdc_opensess", "aioifx", 0, timeout, max_records, 1, 1)
        return self.session

    def capture(self, columns: str = "a, v", label: int = 7, name: str = TABLE) -> None:
        assert self.call("cdc_set_fullrowlogging", name, 1) == 0
        assert self.call("cdc_startcapture", self.session, "0", name, columns, label) == 0

    def begin(self, position: int = 0, **options: int) -> None:
        """Open, capture and activate."""
        self.open(**options)
        self.capture()
        assert self.call("cdc_activatesess", self.session, str(position)) == 0

    def raw(self, size: int = 32_000) -> bytes:
        """One read."""
        reply = self._client.say(ReadObject(self.session & 0xFFFF, size))
        assert reply.error is None, reply.error
        assert reply.object_data is not None
        return bytes(reply.object_data.data)

    def read(self, size: int = 32_000) -> list[CdcRecord]:
        """The records that end with the next read."""
        return self._reader.feed(self.raw(size))

    def all(self) -> list[CdcRecord]:
        """All records up to a TIMEOUT."""
        found: list[CdcRecord] = []
        while not (found and isinstance(found[-1], Timeout)):
            found += self.read()
        return found[:-1]

    def kinds(self) -> list[str]:
        """The names of all records up to a TIMEOUT; of rows, their kinds."""
        return [kind_of(record) for record in self.all()]

    def close(self) -> None:
        assert self.call("cdc_closesess", self.session) == 0


def kind_of(record: CdcRecord) -> str:
    kind = getattr(record, "kind", None)
    return type(record).__name__ if kind is None else kind.name


@contextmanager
def captured_core(*quirks: str, directory: Path | None = None) -> Iterator[tuple[ServerCore, Engine]]:
    """A server with the table, and a session that changes it."""
    with server_core(directory=directory) as core:
        core.registry.quirks = frozenset(quirks)
        core.databases.changes.discards = "cdc-discards" in quirks
        core.databases.changes.interleaves = "cdc-interleaved" in quirks
        writer = core.engine()
        run_all(writer, "CREATE TABLE IF NOT EXISTS t (a INTEGER, v VARCHAR(20), x TEXT)")
        yield core, writer


def insert(writer: Engine, *numbers: int) -> None:
    run_all(writer, *(f"INSERT INTO t VALUES ({number}, 'n{number}', NULL)" for number in numbers))
