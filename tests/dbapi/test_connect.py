"""connect of PEP 249: its defaults, and what it leaves when it fails."""

from __future__ import annotations

import pytest

import aioifx
from aioifx import dbapi
from tests.dbapi.conftest import Host


def test_the_module_says_what_it_is() -> None:
    assert (dbapi.apilevel, dbapi.threadsafety, dbapi.paramstyle) == ("2.0", 2, "qmark")
    assert dbapi.Error is aioifx.Error and dbapi.connect.__module__ == "aioifx.dbapi"


def test_options_have_the_defaults_of_pep_249_and_others_win(host: Host) -> None:
    with dbapi.connect(host.dsn + "&autocommit=true", row_factory=aioifx.rows.dict_row) as conn:
        assert conn.autocommit is True
        assert conn.cursor().execute("select n from number where n = 1").fetchall() == [{"n": 1}]
    with pytest.raises(dbapi.InterfaceError, match=r'^lobs: expected "inline", got \'handles\''):
        dbapi.connect(host.dsn, lobs="handles")
    with pytest.raises(dbapi.InterfaceError, match=r"^nonsense: unknown option"):
        dbapi.connect(host.dsn, nonsense=1)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    with pytest.raises(dbapi.OperationalError):
        dbapi.connect(host.dsn.replace("/shop", "/nowhere"))
