from __future__ import annotations

from aioifx.server.engine.engine import Engine
from tests.server.talking import query, run


def test_a_routine_is_in_the_system_catalog(engine: Engine) -> None:
    text = "CREATE DBA FUNCTION f(a INT, b CHAR(3)) RETURNING DATE AS d, INT; RETURN TODAY, 1; END FUNCTION"
    text += " DOCUMENT 'about f'"
    run(engine, text)
    columns = "procname, mode, numargs, isproc, langid, paramtypes, variant"
    assert query(engine, f"SELECT {columns} FROM sysprocedures") == [
        ("f", "D", 2, "f", 2, "integer,char(3)", True)
    ]
    found = query(engine, "SELECT datakey, seqno, TRIM(data) FROM sysprocbody ORDER BY 1")
    assert found == [("D", 1, "about f"), ("T", 1, text)]
    columns = "paramid, paramname, paramtype, paramlen, paramattr"
    result = query(engine, f"SELECT {columns} FROM sysproccolumns ORDER BY paramid")
    assert result == [(1, "a", 2, 4, 1), (2, "b", 0, 3, 1), (3, "d", 7, 4, 3), (4, None, 2, 4, 3)]
    assert query(engine, "SELECT COUNT(*) FROM sysprocauth") == [(0,)]
    run(engine, "DROP FUNCTION f")
    for table in ("sysprocedures", "sysprocbody", "sysproccolumns"):
        assert query(engine, f"SELECT COUNT(*) FROM {table}") == [(0,)]


def test_a_long_text_is_in_pieces(engine: Engine) -> None:
    text = f"CREATE PROCEDURE p() TRACE '{'x' * 300}'; END PROCEDURE"
    run(engine, text)
    pieces = query(engine, "SELECT seqno, data FROM sysprocbody WHERE datakey = 'T' ORDER BY seqno")
    assert [number for number, _ in pieces] == [1, 2]
    assert "".join(str(data) for _, data in pieces).rstrip() == text
    assert query(engine, "SELECT TRIM(grantee), procauth FROM sysprocauth") == [("public", "e")]
