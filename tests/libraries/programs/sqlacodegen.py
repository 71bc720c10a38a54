"""sqlacodegen: the module of a database as large as stores_demo is imported unchanged, and its classes query."""

from __future__ import annotations

import importlib.util
import subprocess
import sys

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import Session

from seeds import stores_demo


@pytest.mark.parametrize("generator", ["tables", "declarative", "dataclasses", "sqlmodels"])
def test_a_generated_module_is_imported_and_used(engine, url, tmp_path, generator):
    stores_demo(engine)
    path = tmp_path / "stores.py"
    command = [sys.executable, "-m", "sqlacodegen", url, "--generator", generator, "--outfile", f"{path}"]
    subprocess.run(command, check=True)
    spec = importlib.util.spec_from_file_location("stores", path)
    stores = importlib.util.module_from_spec(spec)
    sys.modules["stores"] = stores
    spec.loader.exec_module(stores)
    with Session(engine) as session:
        if generator == "tables":
            assert session.execute(sa.select(stores.t_customer.c.lname)).first() is not None
        else:
            order = session.scalars(sa.select(stores.Orders)).first()
            assert order.customer.lname
