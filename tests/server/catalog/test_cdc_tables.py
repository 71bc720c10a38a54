from __future__ import annotations

from aioifx.server.catalog.cdc_tables import ERRORS, NUMBERS, RECORDS
from aioifx.server.catalog.systables import DATABASE_TABLES
from tests.server.talking import query, server_core


def test_the_tables_of_the_database_have_their_rows() -> None:
    with server_core() as core:
        engine = core.engine("syscdcv1")
        assert query(engine, "SELECT majvers, minvers FROM informix.syscdcvers") == [(1, 1)]
        codes = query(engine, "SELECT errcode, errname, errdesc FROM syscdcerrcodes ORDER BY errcode DESC")
        assert [code[0] for code in codes] == [*ERRORS]
        assert codes[13][:2] == (-83713, "CDC_E_LSN")
        records = query(engine, "SELECT recnum, recname FROM syscdcrectypes WHERE recnum > 100 ORDER BY 1")
        assert records[:2] == [(119, "CDC_REC_TRUNCATE"), (200, "CDC_REC_TABSCHEM")]
        assert query(core.engine(), "SELECT schemenum FROM syscdcv1:informix.syscdcpacketschemes") == [(66,)]
        for name in ("syscdcsess", "syscdctabs"):
            assert query(engine, f"SELECT * FROM {name}") == []


def test_names_fit_their_columns() -> None:
    tables = DATABASE_TABLES["syscdcv1"]
    for table, known in (("syscdcerrcodes", ERRORS), ("syscdcrectypes", RECORDS)):
        _, name, text = tables[table].columns
        for given in known.values():
            assert len(given[0]) <= (name.type.size or 0)
            assert len(given[1]) <= (text.type.size or 0)


def test_each_error_has_one_number() -> None:
    assert {NUMBERS[name]: name for name in NUMBERS} == {number: name for number, (name, _) in ERRORS.items()}
