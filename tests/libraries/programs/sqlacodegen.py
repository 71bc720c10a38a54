"""sqlacodegen: its modules of the tables of Informix's stores_demo, and of types that these lack, run unchanged."""

from __future__ import annotations

import datetime as dt
import importlib.util
import sys
from decimal import Decimal
from functools import cache
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlacodegen.cli import main
from sqlalchemy.orm import Session
from suite_plugin import URL

import aioifx

STATEMENTS = Path(__file__).with_name("stores_demo.sql").read_text("utf-8").split(";\n")


@pytest.fixture(scope="module", autouse=True)
def stores():
    engine = sa.create_engine(URL)
    with engine.begin() as conn:
        for statement in STATEMENTS:
            conn.exec_driver_sql(statement)
    engine.dispose()


@pytest.fixture(scope="module")
def generated(tmp_path_factory):
    """The module that one of its generators writes."""

    @cache
    def generate(generator, *options):
        name = f"stores_{generator}"
        path = tmp_path_factory.mktemp("generated") / f"{name}.py"
        with pytest.MonkeyPatch.context() as patch:
            command = ["sqlacodegen", URL, "--generator", generator, "--outfile", f"{path}", *options]
            patch.setattr(sys, "argv", command)
            main()
        spec = importlib.util.spec_from_file_location(name, path)
        sys.modules[name] = module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return generate


def test_tables_are_made_again_as_they_were(generated, engine):
    module = generated("tables", "--options", "nosyntheticenums")
    reflected = sa.MetaData()
    reflected.reflect(engine)
    dialect = engine.dialect
    for name, table in reflected.tables.items():
        written = module.metadata.tables[name]
        assert [
            (column.name, column.type.compile(dialect), column.nullable) for column in written.columns
        ] == [(column.name, column.type.compile(dialect), column.nullable) for column in table.columns]
        assert {key.target_fullname for key in written.foreign_keys} == {
            key.target_fullname for key in table.foreign_keys
        }
    with engine.connect() as conn:
        assert conn.execute(sa.select(module.t_custview.c.company)).scalar().rstrip() == "Engines"


@pytest.mark.parametrize("generator", ["declarative", "dataclasses"])
def test_classes_have_relationships(generated, engine, generator):
    module = generated(generator)
    with Session(engine) as session:
        order = session.scalars(sa.select(module.Orders)).one()
        assert order.customer.lname.rstrip() == "Byron"
        assert [(item.quantity, item.stock.manufact.manu_name.rstrip()) for item in order.items] == [
            (2, "Hero")
        ]
        order.items[0].quantity = 3
        assert session.scalar(sa.select(sa.func.sum(module.Items.quantity))) == 3
        state = {"code": "CA", "sname": "California", "sales_tax": Decimal("0.065")}
        session.add(module.State(**state))
        session.flush()
        assert session.scalar(sa.select(module.State.sales_tax)) == Decimal("0.065")
        session.rollback()


def test_rows_and_collections_are_written_and_read(generated, engine):
    employee = generated("declarative").Employee
    day = dt.date(2026, 5, 20)
    with Session(engine) as session:
        grace = session.get(employee, 1)
        grace.bonus, grace.settings, grace.photo, grace.resume = (
            Decimal("2.5"),
            {"theme": "dark"},
            b"\0\1",
            "long",
        )
        grace.home = {"street": "1 Main St", "city": "Oslo", "since": dt.datetime(2026, 6, 1, 9, 30)}
        grace.phones, grace.shifts, grace.visits = (
            {"1", "2"},
            [dt.time(9, 30)],
            [{"customer_num": 101, "day": day}],
        )
        grace.age = aioifx.IntervalYM(50, 3)
        session.commit()
        assert isinstance(grace.home, aioifx.Record)
        assert (grace.name["last"], grace.home["city"], grace.phones) == ("Hopper", "Oslo", {"1", "2"})
        assert (grace.home["since"], grace.shifts) == (dt.datetime(2026, 6, 1, 9, 30), [dt.time(9, 30)])
        assert [visit.asdict() for visit in grace.visits] == [{"customer_num": 101, "day": day}]
        assert (grace.bonus, grace.settings, grace.age) == (
            Decimal("2.5"),
            {"theme": "dark"},
            aioifx.IntervalYM(50, 3),
        )
        assert (grace.photo, grace.resume, grace.is_active) == (b"\0\1", "long", True)


def test_models_of_sqlmodel(generated, engine):
    module = generated(
        "sqlmodels", "--tables", "customer,orders,items,stock,manufact,state,cust_calls,call_type"
    )
    with Session(engine) as session:
        session.add(module.State(code="OR", sname="Oregon"))
        session.flush()
        assert session.get(module.State, "OR").model_dump()["sales_tax"] is None
        assert session.scalars(sa.select(module.Orders)).one().customer.fname.rstrip() == "Ada"
        session.rollback()
