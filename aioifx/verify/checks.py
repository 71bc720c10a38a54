"""All checks, in the order in which they run; those of SQL itself. Never: how values travel."""

from __future__ import annotations

from decimal import Decimal
from typing import Final

from aioifx.verify.captures import CAPTURES
from aioifx.verify.check import ONE_ROW, Check, does, fails, gives, rows, sql_check
from aioifx.verify.fetching import FETCHING
from aioifx.verify.sessions import SESSIONS
from aioifx.verify.transfers import TRANSFERS

_COLLECTIONS: Final = (
    "CREATE TEMP TABLE vfy_coll (a INT, s SET(INT NOT NULL), r ROW(x INT, y VARCHAR(9)))",
    "INSERT INTO vfy_coll VALUES (1, SET{1,2}, ROW(1,'q'))",
)
_DOCUMENT: Final = """'{"a":1,"b":{"c":2},"d":[5,6],"s":"x","n":"7"}'::JSON::BSON"""
_DOCUMENTS: Final = (
    "CREATE TEMP TABLE vfy_doc (a INT, b BSON, j JSON)",
    f"INSERT INTO vfy_doc VALUES (1, {_DOCUMENT}, NULL)",
)

SQL: Final[tuple[Check, ...]] = (
    sql_check(
        "decimal-rounds-half-up",
        "A value with more digits than its column is rounded half up.",
        "codecs/numbers.py: decimal",
        does("INSERT INTO vfy_round VALUES (1.005)"),
        does("INSERT INTO vfy_round VALUES (-1.005)"),
        rows("SELECT d FROM vfy_round ORDER BY d", (Decimal("-1.01"),), (Decimal("1.01"),)),
        setup=("CREATE TEMP TABLE vfy_round (d DECIMAL(10,2))",),
    ),
    sql_check(
        "to-char-width",
        "TO_CHAR returns a VARCHAR(255).",
        (
            "server/sql/translate/builtins.py: _to_char",
            "docs/reference/embedded-sql.md: Limits #2",
        ),
        gives("TO_CHAR(1, '&&')", "01", type="VARCHAR(255)"),
    ),
    sql_check(
        "collection-without-null",
        "A NULL element of a collection fails with -9978.",
        ("errors.py: SQLCODES",),
        fails("INSERT INTO vfy_coll VALUES (2, SET{1,NULL}, NULL)", -9978),
        setup=_COLLECTIONS,
    ),
    sql_check(
        "in-needs-a-collection",
        "IN with something else than a collection on its right fails with -9650.",
        (
            "server/sql/translate/complex_types.py",
            "errors.py: SQLCODES #2",
        ),
        fails("SELECT a FROM vfy_coll WHERE 1 IN a", -9650),
        setup=_COLLECTIONS,
    ),
    sql_check(
        "not-json",
        "A text that is not JSON fails with -9652.",
        (
            "server/sql/runtime/json_text.py: INVALID_JSON",
            "errors.py: SQLCODES #3",
        ),
        fails("INSERT INTO vfy_doc VALUES (2, NULL, 'abc')", -9652),
        setup=_DOCUMENTS,
    ),
    sql_check(
        "text-is-not-bson",
        "A text is not converted to BSON without ::JSON.",
        "codecs/documents.py: document_encoder",
        fails("""INSERT INTO vfy_doc VALUES (2, '{"a":1}', NULL)""", -9634),
        setup=_DOCUMENTS,
    ),
    sql_check(
        "not-null-names-column",
        "The error -391 names the column, at the end of its token.",
        "errors.py: _named_by",
        fails("INSERT INTO vfy_null VALUES (NULL)", -391, token="needed"),
        setup=("CREATE TEMP TABLE vfy_null (needed INT NOT NULL)",),
    ),
    sql_check(
        "lateral-in-subquery",
        "A lateral table in a subquery may refer to the tables of the outer query.",
        "sqlalchemy/compiler.py: _derived",
        rows(
            f"SELECT t.a, (SELECT s.b FROM LATERAL (SELECT t.a + 1 {ONE_ROW}) AS s (b)) FROM vfy_lateral t",
            (1, 2),
        ),
        setup=("CREATE TEMP TABLE vfy_lateral (a INT)", "INSERT INTO vfy_lateral VALUES (1)"),
    ),
)


CHECKS: Final[tuple[Check, ...]] = (
    *FETCHING,
    *TRANSFERS,
    *SQL,
    *SESSIONS,
    *CAPTURES,
)
