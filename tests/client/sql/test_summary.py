"""Summaries and sanitized texts of statements, for telemetry."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aioifx.client.sql.summary import _describe, describe

# -- summaries --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sql", "summary"),
    [
        # The examples of OpenTelemetry's conventions.
        ("SELECT *\nFROM   wuser_table\nWHERE  username = ?", "SELECT wuser_table"),
        (
            "INSERT INTO shipping_details\n(order_id) SELECT order_id FROM orders WHERE order_id = ?",
            "INSERT shipping_details SELECT orders",
        ),
        ("SELECT * FROM songs,\n artists WHERE songs.artist_id == artists.id", "SELECT songs artists"),
        (
            "SELECT order_date FROM (SELECT * FROM orders o JOIN customers c ON o.customer_id = c.customer_id)",
            "SELECT SELECT orders customers",
        ),
        ("SELECT * FROM \"song list\", 'informix'.artists", "SELECT \"song list\" 'informix'.artists"),
        ("call some_stored_procedure()", "call some_stored_procedure"),
        # Informix.
        ("select first 10 skip 5 a from t1 x, outer (t2 y, outer t3 as z) where x.a = 1, 2", "select t1 t2 t3"),
        ("SELECT a FROM shop@srv:\"own\".item", 'SELECT shop@srv:"own".item'),
        ("SELECT a FROM b UNION ALL SELECT c FROM d ORDER BY 1, 2", "SELECT b SELECT d"),
        ("SELECT (SELECT max(a) FROM b), c FROM d WHERE e IN (SELECT f FROM g)", "SELECT SELECT b d SELECT g"),
        ("WITH c AS (SELECT a FROM b) SELECT * FROM c", "SELECT b SELECT c"),
        ("select 1 from table(multiset(select a from b)) as t(x), table(function f(1)) g", "select select b f"),
        ("SELECT TRIM(LEADING '0' FROM name) FROM item", "SELECT item"),
        ("SELECT a FROM b JOIN c ON f(b.a, c.a) = 1, d WHERE a IN (?, ?) FOR UPDATE OF a, e", "SELECT b c d"),
        ("SELECT a FROM b INTO TEMP c WITH NO LOG", "SELECT b"),
        ("INSERT INTO item VALUES (?, (SELECT a FROM b))", "INSERT item SELECT b"),
        ("UPDATE item SET price = ?, (a, b) = ((SELECT c, d FROM e)) WHERE f = ?", "UPDATE item SELECT e"),
        ("UPDATE STATISTICS HIGH FOR TABLE item (price)", "UPDATE STATISTICS"),
        ("DELETE FROM ONLY (item) WHERE a = ?", "DELETE item"),
        ("MERGE INTO a USING b ON a.x = b.x WHEN MATCHED THEN UPDATE SET y = 1", "MERGE a b"),
        ("EXECUTE PROCEDURE own.restock(?, ?)", "EXECUTE PROCEDURE own.restock"),
        ("EXECUTE FUNCTION shop:total(?)", "EXECUTE FUNCTION shop:total"),
        ("CREATE TEMP TABLE IF NOT EXISTS scratch (a VARCHAR(20))", "CREATE TEMP TABLE scratch"),
        ("CREATE UNIQUE INDEX ix ON item (name)", "CREATE UNIQUE INDEX ix"),
        ("CREATE PROCEDURE p() SELECT a FROM b; END PROCEDURE;", "CREATE PROCEDURE p"),
        ("DROP TABLE IF EXISTS item", "DROP TABLE item"),
        ("RENAME COLUMN item.a TO b", "RENAME COLUMN item.a"),
        ("ALTER TABLE item ADD (a INT)", "ALTER TABLE item"),
        ("LOCK TABLE item IN SHARE MODE", "LOCK item"),
        ("TRUNCATE TABLE item", "TRUNCATE item"),
        ("DATABASE shop EXCLUSIVE", "DATABASE shop"),
        ("SET ISOLATION TO DIRTY READ", "SET ISOLATION"),
        ("SAVEPOINT s_17", "SAVEPOINT"),
        ("GRANT SELECT ON item TO app", "GRANT"),
        ("begin work; insert into item values (1); commit work", "begin insert item commit"),
        ("{ note } (select a from b)", "select b"),
        ("-- note\n/*+ FULL(b) */ select a from b", "select b"),
        ("frobnicate item", ""),
        ("?", ""),
        ("", ""),
    ],
)  # fmt: skip
def test_a_summary_has_operations_and_their_targets(sql: str, summary: str) -> None:
    assert describe(sql).summary == summary


def test_a_long_summary_ends_with_a_whole_name() -> None:
    tables = [f"a_table_with_a_long_name_{n}" for n in range(20)]
    summary = describe(f"SELECT a FROM {', '.join(tables)}").summary
    assert len(summary) <= 255 < len(summary) + len(tables[0]) + 2
    assert summary.split() == ["SELECT", *tables[: len(summary.split()) - 1]]


# -- texts ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sql", "text"),
    [
        ("SELECT a, ? FROM t1 WHERE b = ? AND c_2 = d$3", None),
        ("SELECT 'a''b', \"c\", '' FROM t", "SELECT ?, ?, ? FROM t"),
        ("SELECT 1, -2.5, .5, 1e-10, 1.E+5, 0x1F FROM t", "SELECT ?, -?, ?, ?, ?, ? FROM t"),
        ("SELECT a FROM t WHERE b='x'AND c=5", "SELECT a FROM t WHERE b=?AND c=?"),
        (
            "SELECT DATETIME (2024-01-01 10:00) YEAR TO MINUTE, interval(5 10) day to hour FROM t",
            "SELECT DATETIME (?) YEAR TO MINUTE, interval(?) day to hour FROM t",
        ),
        (
            "SELECT SET{1, 'a'}, MULTISET {}, a::LIST(INT NOT NULL) FROM t",
            "SELECT SET{?}, MULTISET {?}, a::LIST(INT NOT NULL) FROM t",
        ),
        # After SET braces may also be a comment, in which an apostrophe opens no text.
        ("UPDATE t SET {a secret} b = 'secret'", "UPDATE t SET {?} b = ?"),
        ("UPDATE t SET {it's a secret} b = 'secret', c = 1", "UPDATE t SET {?}?"),
        ("INSERT INTO t VALUES (SET{'a}secret'}, 'secret')", "INSERT INTO t VALUES (SET{?}?"),
        ("SELECT a FROM t WHERE b IN (1, 2,3) OR c in(?,?)", "SELECT a FROM t WHERE b IN (?) OR c in(?)"),
        ("SELECT a FROM t WHERE b IN (?, f(1), 2)", "SELECT a FROM t WHERE b IN (?, f(?), ?)"),
        ("SELECT a -- secret\nFROM t{secret}WHERE /* secret */ b", "SELECT a \nFROM t WHERE  b"),
        ("SELECT {+ FULL(t)} a /*+ INDEX(t i) */ FROM t --+ORDERED", None),
        ("SELECT \"own\".t.a, x.\"b c\" FROM \"own\".t, \"t u\" x", None),
        ("SELECT TRIM(LEADING '0' FROM \"secret\") FROM t", "SELECT TRIM(LEADING ? FROM ?) FROM t"),
        ("SET ENCRYPTION PASSWORD 'secret' WITH HINT \"secret\"", "SET ENCRYPTION PASSWORD ? WITH HINT ?"),
        ("CONNECT TO 'shop@srv' USER 'app' USING 'secret'", "CONNECT TO ? USER ? USING ?"),
        ("SELECT 'secret", "SELECT ?"),
        ('SELECT "secret', "SELECT ?"),
        ("SELECT a /* secret", "SELECT a"),
        ("  SELECT a  ", "SELECT a"),
    ],
)  # fmt: skip
def test_a_text_has_no_literals_and_no_comments(sql: str, text: str | None) -> None:
    assert describe(sql).text == (sql if text is None else text)


def test_a_long_text_is_cut() -> None:
    text = describe(f"SELECT a FROM t WHERE b = '{'x' * 10_000} secret'").text
    assert text == "SELECT a FROM t WHERE b = ?..."


_PIECES = st.sampled_from(
    [
        "SELECT", "FROM", "t", '"own".', "(", ")", ",", ";", "/*", "*/", "--", "\n", "{", "}", "SET{", '"', "?", "IN",
        "DATETIME (", "INTERVAL(", "1", "1.", "e", ".", ":", "@", " ", "UPDATE", "INSERT INTO", "TABLE", "{+", "$", "é",
    ]
)  # fmt: skip


@given(st.lists(_PIECES, max_size=30).map("".join), st.text(max_size=20))
def test_a_string_never_passes(rest: str, text: str) -> None:
    literal = "s3cr3t" + text.replace("'", "''")
    for sql in (
        f"SELECT a FROM t WHERE b = '{literal}' {rest}",
        f"INSERT INTO t VALUES ('x''{literal}', {rest}",
    ):
        summary, sanitized = describe(sql)
        assert "s3cr3t" not in summary + sanitized
        assert len(summary) <= 255


@given(st.lists(_PIECES, max_size=30).map("".join))
def test_any_text_is_accepted_and_a_sanitized_one_is_sanitized_again_to_itself(sql: str) -> None:
    sanitized = describe(sql).text
    if '"' not in sql and "{" not in sql:
        assert describe(sanitized).text == sanitized


# Law: linear. A backtracking pattern would need minutes for each of these; the suite's time limit shows it.
@pytest.mark.parametrize(
    "piece", ["'", '"', "(", "{", "/*", "--+", "a.", '"a".', "SET{", "DATETIME (", "1.", "IN (?,", "IN(?,?"]
)
def test_hostile_texts_are_described_in_linear_time(piece: str) -> None:
    summary, text = _describe.__wrapped__(piece * 50_000)
    assert (len(summary), text[:1]) < (256, "~")
