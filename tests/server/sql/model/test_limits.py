from __future__ import annotations

import pytest

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.limits import require_columns


def test_more_columns_than_a_row_may_have_are_refused() -> None:
    require_columns(1998, 1)
    for count, reported in {
        1999: (-999, "more than 1998 columns"),
        32767: (-999, "more than 1998 columns"),
        32768: (-528, ""),
    }.items():
        with pytest.raises(SqlError) as raised:
            require_columns(count, 7)
        assert (raised.value.sqlcode, raised.value.token, raised.value.offset) == (*reported, 7)
