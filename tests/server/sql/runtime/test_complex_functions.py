from __future__ import annotations

from typing import Any

import pytest

from aioifx.codecs.bson import decode_document
from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.storage import type_number
from aioifx.server.sql.runtime.complex_functions import complex_value, contains, gen_bson
from tests.server.sql import kinds


def test_parts_become_a_value_of_a_type() -> None:
    assert complex_value("[1,2,1]", "SET(integer not null)") == "[1,2]"
    assert complex_value("[1,2,1]", "LIST(integer not null)") == "[1,2,1]"
    assert complex_value(None, "LIST(integer not null)") is None
    with pytest.raises(SqlError) as raised:
        complex_value("[null]", "LIST(integer not null)")
    assert raised.value.sqlcode == -9978


@pytest.mark.parametrize(
    ("collection", "definition", "element", "kind", "expected"),
    [
        ("[1,2]", "SET(integer not null)", 2, kinds.INTEGER, True),
        ("[1,2]", "SET(integer not null)", "2.5", kinds.decimal(), False),
        ("[1,2]", "SET(integer not null)", "2", kinds.varchar(1), True),
        ('["a"]', "LIST(varchar(5) not null)", "a ", kinds.char(2), True),
        ('["1.5"]', "LIST(decimal(5,2) not null)", 1.5, kinds.FLOAT, True),
        ('["[1,2]"]', "LIST(SET(integer not null) not null)", "SET{2,1}", kinds.varchar(9), True),
        ("[]", "SET(integer not null)", 2, kinds.INTEGER, False),
        (None, "SET(integer not null)", 2, kinds.INTEGER, None),
        ("[1]", "SET(integer not null)", None, kinds.INTEGER, None),
    ],
)
def test_elements_are_compared_by_the_rules_of_their_types(
    collection: str | None, definition: str, element: Any, kind: Any, expected: bool | None
) -> None:
    assert contains(kinds.settings(), collection, definition, element, type_number(kind)) is expected


def test_a_row_becomes_a_document() -> None:
    made = gen_bson(kinds.settings(), "ROW(a integer,b decimal(5,2))", '["x","y"]', '[1,"2.5"]', 0, 0)
    assert decode_document(bytes.fromhex(str(made))) == {"x": 1, "y": 2.5}
    assert gen_bson(kinds.settings(), "ROW(a integer)", '["x"]', None, 0, 0) is None
