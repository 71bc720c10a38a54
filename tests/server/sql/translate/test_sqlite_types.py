from __future__ import annotations

import pytest

from aioifx.server.sql.model.type_rules import BOOLEAN, DATE, FLOAT, INTEGER, char, decimal
from aioifx.server.sql.sqlite.render import render
from aioifx.server.sql.sqlite.tree import NULL, unquoted
from aioifx.server.sql.translate.sqlite_types import affinity, collated
from aioifx.sqltypes import SqlType


@pytest.mark.parametrize(
    ("type_", "declared"),
    [
        (INTEGER, "INTEGER"),
        (DATE, "INTEGER"),
        (FLOAT, "REAL"),
        (decimal(8, 2), "TEXT COLLATE ifx_decimal"),
        (char(3), "TEXT COLLATE RTRIM"),
        (BOOLEAN, "TEXT"),
    ],
)
def test_a_column_is_declared_by_its_storage_form(type_: SqlType, declared: str) -> None:
    assert affinity(type_) == declared


def test_texts_and_decimals_bring_their_collation() -> None:
    assert render(collated(unquoted("", "a"), char(3))) == "a COLLATE RTRIM"
    assert render(collated(unquoted("", "a"), decimal())) == "a COLLATE ifx_decimal"
    assert render(collated(unquoted("", "a"), INTEGER)) == "a"
    assert collated(NULL, None) is NULL
