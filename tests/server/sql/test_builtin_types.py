"""LVARCHAR and BOOLEAN as descriptions state them."""

from __future__ import annotations

import pytest

from aioifx.server.sql.builtin_types import boolean, lvarchar
from aioifx.sqltypes import SqlType, TypeCode


@pytest.mark.parametrize(
    ("type_", "kind", "extended"), [(lvarchar(), TypeCode.LVARCHAR, 1), (boolean(), TypeCode.BOOLEAN, 5)]
)
def test_lvarchar_and_boolean_are_opaque_types_of_informix(type_: SqlType, kind: int, extended: int) -> None:
    assert type_.kind == kind
    assert (type_.extended_id, type_.owner) == (extended, "informix")
