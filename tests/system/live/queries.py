"""Facts that the embedded server assumes of servers: queries and hierarchies. Never: what the client needs."""

from __future__ import annotations

from typing import Final

from aioifx.verify.check import ANY_ERROR, Check, Step, does, fails, rows, sql_check

_TREE: Final = (
    "CREATE TEMP TABLE vfy_tree (a INT, b INT)",
    "INSERT INTO vfy_tree VALUES (1, 3)",
    "INSERT INTO vfy_tree VALUES (2, 1)",
    "INSERT INTO vfy_tree VALUES (3, 2)",
)
"""The rows 1, 2 and 3, each the child of the one before, and 1 the child of 3."""

QUERIES: Final[tuple[Check, ...]] = (
    sql_check("ratio-to-report", "RATIO_TO_REPORT has the type of a division, and is NULL where the sum is 0.",
              "server/sql/translate/windows.py: _ratio",
              Step("SELECT RATIO_TO_REPORT(a) OVER () FROM vfy_ratio", (), [(None,), (None,)],
                   types=("DECIMAL(32)",)),
              setup=("CREATE TEMP TABLE vfy_ratio (a INT)", "INSERT INTO vfy_ratio VALUES (0)",
                     "INSERT INTO vfy_ratio VALUES (0)")),
    sql_check("first-too-many", "FIRST with a number above the range of INTEGER fails with -1215.",
              "server/sql/translate/select.py: _MOST_ROWS",
              fails("SELECT FIRST 99999999999 tabid FROM informix.systables", -1215)),
    sql_check("several-statements", "A text of several statements tells the number of rows of the last one.",
              "server/engine/engine.py: Engine.execute",
              does(
                  "INSERT INTO vfy_several VALUES (1); INSERT INTO vfy_several VALUES (2);"
                  " DELETE FROM vfy_several WHERE a < 9"), rows("SELECT DBINFO('sqlca.sqlerrd2') FROM vfy_one", (2,)),
              setup=("CREATE TEMP TABLE vfy_several (a INT)", "CREATE TEMP TABLE vfy_one (a INT)",
                     "INSERT INTO vfy_one VALUES (1)")),
    sql_check(
        "several-statements-text",
        "A text of several statements cannot have a parameter for a TEXT.",
        "server/engine/planner.py: _require_part",
        fails("DELETE FROM vfy_text; INSERT INTO vfy_text VALUES (?)", -555, "a"),
        setup=("CREATE TEMP TABLE vfy_text (a TEXT)",),
    ),
    sql_check("connect-by-join", "CONNECT BY over a join is a syntax error.", "server/sql/translate/hierarchies.py",
              fails("SELECT x.a FROM vfy_tree x, vfy_tree y CONNECT BY PRIOR x.a = y.b", -201), setup=_TREE),
    sql_check("connect-by-filter", "WHERE filters the rows of the complete hierarchy.",
              "server/sql/translate/hierarchies.py",
              rows("SELECT a FROM vfy_tree WHERE a <> 2 START WITH a = 1 CONNECT BY PRIOR a = b AND b < 3 ORDER BY a",
                   (1,), (3,)), setup=_TREE),
    sql_check("connect-by-without-prior", "A CONNECT BY without PRIOR has no loops.",
              "server/sql/translate/hierarchies.py",
              rows("SELECT LEVEL FROM vfy_tree START WITH a = 1 CONNECT BY a = 1 AND LEVEL < 3 ORDER BY 1", (1,),
                   (2,)), setup=_TREE),
    sql_check("connect-by-flags", "CONNECT_BY_ISLEAF is 1 if all children are ancestors.",
              "server/sql/translate/hierarchies.py",
              rows(
                  "SELECT a, CONNECT_BY_ISLEAF, CONNECT_BY_ISCYCLE FROM vfy_tree"
                  " START WITH a = 1 CONNECT BY NOCYCLE PRIOR a = b ORDER BY a", (1, 0, 0), (2, 0, 0), (3, 1, 1)),
              setup=_TREE),
    sql_check("connect-by-iscycle", "CONNECT_BY_ISCYCLE without NOCYCLE is refused.",
              "server/sql/translate/hierarchies.py",
              fails("SELECT CONNECT_BY_ISCYCLE FROM vfy_tree CONNECT BY PRIOR a = b AND LEVEL < 2", ANY_ERROR),
              setup=_TREE),
    sql_check("connect-by-level", "LEVEL alone means the pseudo column, even if there is a column of that name.",
              "server/sql/translate/scopes.py: Source.column",
              rows("SELECT level FROM vfy_level START WITH a = 1 CONNECT BY PRIOR a = b", (1,)),
              setup=("CREATE TEMP TABLE vfy_level (a INT, b INT, level INT)",
                     "INSERT INTO vfy_level VALUES (1, 0, 7)")),
    sql_check("connect-by-path", "SYS_CONNECT_BY_PATH is an LVARCHAR.",
              "server/sql/translate/hierarchies.py: _Translator._add_paths",
              Step(
                  "SELECT SYS_CONNECT_BY_PATH(a, '/') FROM vfy_tree WHERE a = 2"
                  " START WITH a = 1 CONNECT BY NOCYCLE PRIOR a = b", (), [("/1/2",)], types=("LVARCHAR(32739)",)),
              setup=_TREE),
)  # fmt: skip
