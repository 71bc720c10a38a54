"""Rows of all types, as a capture session sends them."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Final

import pytest

from aioifx.codecs.cdc_records import RowImage
from aioifx.codecs.cdc_rows import RowLayout
from aioifx.codecs.large_objects import Locator
from aioifx.server.catalog.cdc_tables import NUMBERS
from aioifx.server.engine.cdc_rows import CdcError
from aioifx.sqltypes import Column, Datetime, IntervalYM, Value
from tests.server.engine.capturing import Capturing, captured_core
from tests.server.talking import LATIN_1, run, run_all

TYPES: Final[list[tuple[str, Value]]] = [
    ("SMALLINT", -7),
    ("INTEGER", 2**31 - 1),
    ("INT8", -(2**40)),
    ("BIGINT", 2**62),
    ("SERIAL", 5),
    ("FLOAT", 1.5),
    ("SMALLFLOAT", 0.25),
    ("DECIMAL(10,2)", Decimal("-12.34")),
    ("DECIMAL(12)", Decimal("1.5")),
    ("MONEY(8,2)", Decimal("5.50")),
    ("DATE", date(2024, 3, 14)),
    ("DATETIME YEAR TO SECOND", datetime(2024, 3, 14, 15, 9, 26)),
    ("DATETIME HOUR TO FRACTION(3)", time(15, 9, 26, 535_000)),
    ("DATETIME YEAR TO MONTH", Datetime(year=2024, month=3)),
    ("INTERVAL DAY(3) TO SECOND", timedelta(days=3, seconds=5)),
    ("INTERVAL YEAR TO MONTH", IntervalYM(-14)),
    ("BOOLEAN", True),
    ("CHAR(5)", "abc  "),
    ("NCHAR(3)", "no "),
    ("VARCHAR(20)", "vé"),
    ("NVARCHAR(20)", ""),
    ("LVARCHAR(300)", "long " * 50),
    ("LVARCHAR(30)", ""),
]


def test_each_type_and_its_null_arrive() -> None:
    names = [f"c{number}" for number in range(len(TYPES))]
    with captured_core() as (core, writer):
        columns = ", ".join(f"{name} {type_}" for name, (type_, _) in zip(names, TYPES, strict=True))
        run_all(writer, f"CREATE TABLE types ({columns})")
        client = Capturing(core)
        client.open(max_records=9)
        client.capture(",".join(reversed(names)), name="demo:anna.types")
        assert client.call("cdc_activatesess", client.session, 0) == 0
        marks = ", ".join("?" * len(names))
        values = [value for _, value in TYPES]
        nulls = [5 if type_ == "SERIAL" else None for type_, _ in TYPES]
        for row in (values, nulls):
            run(writer, f"INSERT INTO types VALUES ({marks})", *row)
        described = writer.prepare("SELECT * FROM types").plan.columns
        layout = RowLayout([Column(each.name, each.type) for each in reversed(described)], LATIN_1)
        schema, _, one, _, _, other, _ = client.all()
        layout.check_schema(schema)  # type: ignore[arg-type]
        for record, expected in ((one, values), (other, nulls)):
            assert isinstance(record, RowImage)
            assert list(reversed(layout.decode(record))) == expected


def test_smart_large_objects_arrive_as_locators() -> None:
    with captured_core() as (core, writer):
        run_all(writer, "CREATE TABLE large (b BLOB, c CLOB)")
        client = Capturing(core)
        client.open(max_records=9)
        client.capture("b,c", name="demo:anna.large")
        assert client.call("cdc_activatesess", client.session, 0) == 0
        run(writer, "INSERT INTO large VALUES (?::BYTE::BLOB, NULL)", b"bytes")
        _, _, record, _ = client.all()
        assert isinstance(record, RowImage)
        columns = [
            Column(each.name, each.type) for each in writer.prepare("SELECT * FROM large").plan.columns
        ]
        blob, clob = RowLayout(columns, LATIN_1).decode(record)
        assert isinstance(blob, Locator)
        assert clob is None


def test_an_error_has_the_number_of_its_name() -> None:
    assert CdcError("LSN").number == NUMBERS["CDC_E_LSN"] == -83713
    with pytest.raises(KeyError):
        CdcError("NOTHING")
