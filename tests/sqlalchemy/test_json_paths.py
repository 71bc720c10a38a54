"""Values of JSON documents: the text, and what the embedded server makes of it."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy import exc, select
from sqlalchemy.ext.asyncio import AsyncEngine

from tests.sqlalchemy.stock import Case, differences, other_texts, sql

DOC = sa.Table("doc", sa.MetaData(), sa.Column("x", sa.JSON))
X = DOC.c.x
VALUE = {"a": {"s": "text", "n": 5, "f": 1.5, "t": True, "l": [1, 2, "last"]}}


def of_doc(expression: str, path: str = "?") -> str:
    return f"SELECT {expression.format(f'doc.x::BSON, {path}')} AS v FROM doc"


DOCUMENTS = {
    "a path": Case(select(X[("a", "s")].as_string().label("v")), of_doc("BSON_VALUE_LVARCHAR({0})"), ["text"]),
    "keys": Case(select(X["a"]["l"][2].as_string().label("v")),
        of_doc("BSON_VALUE_LVARCHAR({0})", "? || '.' || ? || '.' || ?"), ["last"]),
    "a number": Case(select(X["a", "n"].as_integer().label("v")), of_doc("BSON_VALUE_BIGINT({0})"), [5]),
    "a float": Case(select(X["a", "f"].as_float().label("v")), of_doc("BSON_VALUE_DOUBLE({0})"), [1.5]),
    "a decimal": Case(select(X["a", "f"].as_numeric(6, 2).label("v")),
        of_doc("CAST(BSON_VALUE_DOUBLE({0}) AS DECIMAL(6,2))"), [Decimal("1.50")]),
    "a truth": Case(
        select(X["a", "n"].as_integer().label("v")).where(
            X["a", "t"].as_boolean(), X["a", "f"].as_float() > 1
        ),
        of_doc("BSON_VALUE_BIGINT({0})")
        + " WHERE BSON_VALUE_BOOLEAN(doc.x::BSON, ?) AND BSON_VALUE_DOUBLE(doc.x::BSON, ?) > ?",
        [5],
    ),
    "nothing": Case(select(X["b"].as_string().label("v")), of_doc("BSON_VALUE_LVARCHAR({0})"), [None]),
}  # fmt: skip


async def test_values_of_documents(engine: AsyncEngine) -> None:
    assert other_texts(DOCUMENTS) == {}
    assert sql(select(X["a", 1].as_string()), literal_binds=True).startswith(
        "SELECT BSON_VALUE_LVARCHAR(doc.x::BSON, 'a.1')"
    )
    async with engine.begin() as conn:
        await conn.run_sync(DOC.metadata.create_all)
        await conn.execute(DOC.insert().values(x=VALUE))
    assert await differences(engine, DOCUMENTS) == {}
    async with engine.connect() as conn:
        with pytest.raises(exc.StatementError, match="JSON: expected keys without a dot"):
            await conn.execute(select(X["a.b"].as_string()))


@pytest.mark.parametrize("expression", [X["a"], X["a"] == "b"])
def test_a_value_has_a_type(expression: Any) -> None:
    with pytest.raises(exc.CompileError, match=r"JSON: expected as_string\(\)"):
        sql(select(expression))
