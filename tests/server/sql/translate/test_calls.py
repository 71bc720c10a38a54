from __future__ import annotations

from decimal import Decimal

import pytest

from aioifx.server.sql.runtime import encryption
from aioifx.server.sql.translate.builtins import CATALOG_ROUTINES, ROUTINES
from aioifx.sqltypes import Value
from tests.server.sql.workbench import FUNCTION_ARGUMENTS, Workbench

BENCH = Workbench(*FUNCTION_ARGUMENTS)


@pytest.mark.parametrize(
    ("call", "value", "type_"),
    [
        ("NVL(NULL::INT, 5)", 5, "INTEGER"),
        ("NVL(c, 'none')", "ab   ", "CHAR(5)"),
        ("COALESCE(NULL::INT, NULL::BIGINT, k)", -7, "BIGINT"),
        ("NULLIF(k, -7)", None, "INTEGER"),
        ("NULLIF(v, 'x')", "Hello", "VARCHAR(20)"),
        ("DECODE(k, -7, 'seven', 'other')", "seven", "CHAR(5)"),
        ("DECODE(NULL::INT, NULL, 'n', 'x')", "n", "CHAR(1)"),
        ("DECODE(k, 1, 'one')", None, "CHAR(3)"),
        ("NVL2(k, 1, 2)", 1, "INTEGER"),
        ("GREATEST(k, 5, -9)", 5, "INTEGER"),
        ("LEAST(10.5::DECIMAL(5,2), 9.25::DECIMAL(5,2), 9.5::DECIMAL(5,2))", Decimal("9.25"), "DECIMAL(5,2)"),
        ("GREATEST('ab', c)", "ab   ", "CHAR(5)"),
        ("LEAST(k, NULL)", None, "INTEGER"),
        ("DBINFO('dbname')", "stores", "VARCHAR(128)"),
        ("DBINFO('sqlca.sqlerrd1')", 0, "INTEGER"),
        ("DBINFO('version', 'major')", "15", "VARCHAR(255)"),
    ],
)
def test_a_function_that_sees_the_tree_has_informixs_value_and_type(
    call: str, value: Value, type_: str
) -> None:
    ((found,),) = BENCH.rows(f"SELECT {call} FROM t")
    assert found == value
    assert BENCH.described(f"SELECT {call} FROM t") == [("(expression)", type_)]


@pytest.mark.parametrize("name", ["upper", "nvl", "mdy", "decode"])
def test_a_call_without_arguments_has_too_few(name: str) -> None:
    sqlcode, token, offset = BENCH.error(f"SELECT {name}() FROM t")
    assert (sqlcode, token, offset) in [(-664, name, 8), (-201, "", 8 + len(name) + 1)]


def test_a_function_with_too_many_arguments_is_named() -> None:
    assert BENCH.error("SELECT UPPER('a', 'b') FROM t") == (-664, "upper", 8)


def test_catalog_routines_belong_to_informix() -> None:
    assert BENCH.value("informix.schema_coltypename(262, 0)") == "serial"
    assert BENCH.value("schema_coltypename(262, 0)") == "serial"
    assert set(CATALOG_ROUTINES).isdisjoint(ROUTINES)


@pytest.mark.parametrize(
    "call",
    [
        "REGEX_SPLIT('a', 'b')",
        "BSON_UPDATE('{}'::JSON::BSON, '{}')",
    ],
)
def test_functions_of_informix_that_are_not_executed_are_refused_by_name(call: str) -> None:
    assert Workbench().error(f"SELECT {call} FROM sysmaster:sysdual")[:2] == (-999, call.partition("(")[0])


@pytest.mark.parametrize("call", ["ENCRYPT_AES('a', 'secret')", "DECRYPT_CHAR('a')", "GETHINT('a')"])
def test_functions_without_their_extra_name_it(monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    monkeypatch.setattr(encryption, "EXTRA", "server-crypto")
    name = call.partition("(")[0]
    expected = -999, f"{name} without aioifx[server-crypto]"
    assert Workbench().error(f"SELECT {call} FROM sysmaster:sysdual")[:2] == expected


def test_a_large_object_is_not_an_argument() -> None:
    bench = Workbench("CREATE TABLE t (b BLOB, c CLOB)")
    for call in ("ENCRYPT_TDES(b)", "REGEX_MATCH(c, 'a')"):
        name = call.partition("(")[0]
        assert bench.error(f"SELECT {call} FROM t") == (-999, f"{name} OF A LARGE OBJECT", 8)


@pytest.mark.parametrize(
    ("call", "type_"),
    [
        ("ENCRYPT_AES(c)", "VARCHAR(99)"),
        ("ENCRYPT_TDES(c)", "VARCHAR(87)"),
        ("ENCRYPT_TDES(l)", "LVARCHAR(355)"),
        ("DECRYPT_CHAR(v)", "VARCHAR(20)"),
        ("GETHINT(v)", "VARCHAR(32)"),
    ],
)
def test_the_size_of_an_encrypted_text_is_that_of_its_argument(call: str, type_: str) -> None:
    bench = Workbench("CREATE TABLE t (c CHAR(5), v VARCHAR(20), l LVARCHAR(200))")
    assert bench.described(f"SELECT {call} FROM t")[0][1] == type_
