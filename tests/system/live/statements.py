"""Facts that the embedded server assumes of servers: statements and the catalog. Never: what the client needs."""

from __future__ import annotations

from typing import Final

from aioifx.verify.check import ANY_ERROR, ONE_ROW, Check, Step, does, fails, gives, refused, rows, sql_check

_TEXTS: Final = ("CREATE TEMP TABLE vfy_text (a INT, t TEXT)", "INSERT INTO vfy_text VALUES (1, NULL)")
_CLOBS: Final = ("CREATE TEMP TABLE vfy_clob (a INT, c CLOB)", "INSERT INTO vfy_clob VALUES (1, NULL)")

STATEMENTS: Final[tuple[Check, ...]] = (
    sql_check(
        "merge-matches-twice",
        "MERGE fails with -284 if two rows of the source match the same row.",
        "server/sql/translate/merge.py: _Merge._matched_once",
        fails(
            "MERGE INTO vfy_to USING vfy_from ON vfy_to.a = vfy_from.a WHEN MATCHED THEN UPDATE SET b = vfy_from.b",
            -284,
        ),
        setup=(
            "CREATE TEMP TABLE vfy_to (a INT, b INT)",
            "CREATE TEMP TABLE vfy_from (a INT, b INT)",
            "INSERT INTO vfy_to VALUES (1, 10)",
            "INSERT INTO vfy_from VALUES (1, 20)",
            "INSERT INTO vfy_from VALUES (1, 30)",
        ),
    ),
    sql_check(
        "union-of-texts",
        "A UNION of BYTE or TEXT values is refused as DISTINCT is, with -613.",
        "server/sql/translate/select.py: QueryTranslator._combined",
        fails("SELECT t FROM vfy_text UNION SELECT t FROM vfy_text", -613),
        setup=_TEXTS,
    ),
    sql_check(
        "text-subscript-type",
        "A subscript of a TEXT column gives a TEXT.",
        "server/sql/translate/large_objects.py: large_subscript",
        Step("SELECT t[1,2] FROM vfy_text", (), [(None,)], types=("TEXT",)),
        setup=_TEXTS,
    ),
    sql_check(
        "large-object-codes",
        "BLOB and CLOB are refused where BYTE and TEXT are, with the same SQLCODEs.",
        "server/sql/translate/large_objects.py",
        fails("SELECT DISTINCT c FROM vfy_clob", -613),
        fails("SELECT a FROM vfy_clob ORDER BY c", -614),
        fails("SELECT a FROM vfy_clob WHERE c LIKE 'a%'", -615),
        setup=_CLOBS,
    ),
    sql_check(
        "filetoblob-needs-a-place",
        "FILETOBLOB refuses a place other than client and server.",
        "server/engine/session_state.py: SessionState.files_at",
        fails("INSERT INTO vfy_clob VALUES (2, FILETOCLOB('vfy', 'elsewhere'))", ANY_ERROR),
        setup=_CLOBS,
    ),
    sql_check(
        "drop-restrict",
        "DROP TABLE .. RESTRICT is refused while a view depends on the table.",
        "server/sql/translate/ddl.py: _dependents",
        fails("DROP TABLE vfy_base RESTRICT", ANY_ERROR),
        setup=("CREATE TABLE vfy_base (a INT)", "CREATE VIEW vfy_view AS SELECT a FROM vfy_base"),
    ),
    sql_check(
        "check-option-needs-updatable-view",
        "WITH CHECK OPTION on a view that cannot be updated fails with -384.",
        "server/sql/translate/views.py",
        fails("CREATE VIEW vfy_count (n) AS SELECT COUNT(*) FROM vfy_base WITH CHECK OPTION", -384),
        setup=("CREATE TABLE vfy_base (a INT)",),
    ),
    sql_check(
        "sequence-type",
        "NEXTVAL and CURRVAL are INT8s; in a WHERE clause they fail with -201.",
        "server/sql/translate/sequences.py",
        Step(f"SELECT vfy_seq.NEXTVAL {ONE_ROW}", (), [(1,)], types=("INT8",)),
        fails("SELECT tabid FROM informix.systables WHERE vfy_seq.NEXTVAL = 1", -201),
        setup=("CREATE SEQUENCE vfy_seq",),
    ),
    sql_check(
        "sequence-column-names",
        "Columns of NEXTVAL and CURRVAL have these names.",
        "server/sql/translate/grouping.py: default_name",
        Step(f"SELECT vfy_seq.NEXTVAL {ONE_ROW}", (), [(1,)], names=("nextval",)),
        Step(f"SELECT vfy_seq.CURRVAL {ONE_ROW}", (), [(1,)], names=("currval",)),
        setup=("CREATE SEQUENCE vfy_seq",),
    ),
    sql_check(
        "row-type-exists",
        "A type that exists fails with -9631, the drop of one in use with -9630.",
        "server/sql/translate/user_types.py",
        fails("CREATE ROW TYPE vfy_rt (a INT)", -9631),
        fails("DROP ROW TYPE vfy_rt RESTRICT", -9630),
        setup=("CREATE ROW TYPE vfy_rt (a INT, b VARCHAR(10))", "CREATE TABLE vfy_typed (x vfy_rt)"),
    ),
    sql_check(
        "distinct-of-serial",
        "A DISTINCT type of SERIAL is refused with -201.",
        (
            "server/sql/translate/user_types.py: _create_distinct_type",
            "server/sql/syntax/types.py: _part_type",
        ),
        fails("CREATE DISTINCT TYPE vfy_ser AS SERIAL", -201),
        fails("CREATE TEMP TABLE vfy_coll (a SET(SERIAL NOT NULL))", -201),
    ),
    sql_check(
        "distinct-needs-cast",
        "A value between a DISTINCT type and any other type but its own fails with -9634.",
        (
            "server/sql/translate/typed.py: require_assignable",
            "server/sql/translate/typed.py: require_castable",
        ),
        refused("5.5::vfy_num", -9634),
        fails("INSERT INTO vfy_typed VALUES (5.5)", -9634),
        setup=("CREATE DISTINCT TYPE vfy_num AS INTEGER", "CREATE TABLE vfy_typed (y vfy_num)"),
    ),
    sql_check(
        "distinct-has-no-operators",
        "A comparison of a DISTINCT type with another type fails with -674.",
        "server/sql/translate/typed.py: comparison",
        fails("SELECT y FROM vfy_typed WHERE y = 5", -674),
        setup=("CREATE DISTINCT TYPE vfy_num AS INTEGER", "CREATE TABLE vfy_typed (y vfy_num)"),
    ),
    sql_check(
        "too-many-columns",
        "A table of more columns than a row has bytes fails with -528.",
        "server/sql/model/schema.py: require_columns",
        fails(f"CREATE TEMP TABLE vfy_wide ({', '.join(f'c{number} INT' for number in range(32768))})", -528),
    ),
    sql_check(
        "row-too-long",
        "A table whose columns take more than 32767 bytes fails with -528.",
        ("server/sql/model/schema.py: require_row", "docs/reference/embedded-sql.md: Limits"),
        fails("CREATE TEMP TABLE vfy_long (a CHAR(30000), b CHAR(2768))", -528),
        fails("CREATE TEMP TABLE vfy_long (a LVARCHAR(20000), b LVARCHAR(20000))", -528),
        does("CREATE TEMP TABLE vfy_long (a CHAR(30000), b CHAR(2767))"),
    ),
    sql_check(
        "savepoint-unique",
        "A second savepoint of the name of a UNIQUE one fails with -743.",
        "server/sqlite/transactions.py: Transactions.set_savepoint",
        does("SAVEPOINT vfy_point UNIQUE"),
        fails("SAVEPOINT vfy_point", -743),
        logged=True,
    ),
    sql_check(
        "savepoint-unknown",
        "A savepoint that does not exist fails with -278.",
        (
            "server/sqlite/transactions.py: Transactions.release_savepoint",
            "server/sqlite/transactions.py: Transactions.rollback_to",
            "server/sqlite/transaction_state.py: Transaction.find",
        ),
        does("SAVEPOINT vfy_point"),
        fails("RELEASE SAVEPOINT vfy_other", -278),
        fails("ROLLBACK WORK TO SAVEPOINT vfy_other", -278),
        logged=True,
    ),
    sql_check(
        "catalog-marks",
        "systables has rows for GL_COLLATE and GL_CTYPE, each with a leading blank, below 100.",
        "server/catalog/systables.py: MARKS",
        rows(
            "SELECT COUNT(*) FROM informix.systables WHERE tabname IN (' GL_COLLATE', ' GL_CTYPE') AND tabid < 100",
            (2,),
        ),
    ),
    sql_check(
        "document-types-in-catalog",
        "sysxtdtypes has JSON as 25 and BSON as 26, of mode B and type 40.",
        (
            "server/catalog/systables.py: EXTENDED_TYPES",
            "server/sql/builtin_types.py: EXTENDED_BSON",
        ),
        rows("SELECT extended_id, mode, type FROM informix.sysxtdtypes WHERE name = 'json'", (25, "B", 40)),
        rows("SELECT extended_id, mode, type FROM informix.sysxtdtypes WHERE name = 'bson'", (26, "B", 40)),
    ),
    sql_check(
        "nested-fields-in-catalog",
        "sysattrtypes lists the fields of an unnamed type after the row type's own, one level deeper.",
        "server/catalog/sysrows.py: rows_of_type",
        rows(
            "SELECT a.levelno, a.parent_no, a.fieldname FROM informix.sysattrtypes a, informix.sysxtdtypes x "
            "WHERE a.extended_id = x.extended_id AND x.name = 'vfy_nested' AND a.levelno > 0 ORDER BY a.seqno",
            (1, 1, "a"),
            (1, 1, "b"),
            (2, 3, "c"),
            (2, 3, "d"),
        ),
        setup=("CREATE ROW TYPE vfy_nested (a INT, b ROW(c INT, d INT))",),
    ),
    sql_check(
        "literal-defaults-in-catalog",
        "Six characters and a blank precede the value of a default that is not a text in sysdefaults.",
        "server/catalog/sysrows.py: _sysdefaults_row",
        rows(
            "SELECT d.colno, TRIM(SUBSTR(d.default, 8, 8)) FROM informix.sysdefaults d, informix.systables t "
            "WHERE t.tabid = d.tabid AND t.tabname = 'vfy_default' AND d.type = 'L' AND d.colno = 1",
            (1, "5"),
        ),
        setup=("CREATE TABLE vfy_default (a INT DEFAULT 5, c CHAR(3) DEFAULT 'abc')",),
    ),
    sql_check(
        "for-update-has-no-order",
        "A SELECT with ORDER BY cannot be FOR UPDATE.",
        "server/sql/translate/select_plan.py: _for_update",
        fails("SELECT a FROM vfy_ordered ORDER BY a FOR UPDATE", -365),
        setup=("CREATE TABLE vfy_ordered (a INT)",),
    ),
    sql_check(
        "created-as-select",
        "A table that CREATE TABLE AS makes takes NULL in columns that are NOT NULL in the query's table.",
        "server/sql/translate/ddl.py: _create_table_as",
        rows(
            "SELECT c.colno, MOD(c.coltype, 512) FROM informix.syscolumns c, informix.systables t "
            "WHERE t.tabid = c.tabid AND t.tabname = 'vfy_copy'",
            (1, 2),
        ),
        setup=(
            "CREATE TABLE vfy_origin (a INT NOT NULL)",
            "CREATE TABLE vfy_copy AS SELECT a FROM vfy_origin",
        ),
    ),
    sql_check(
        "object-modes",
        "SET CONSTRAINTS, INDEXES and TRIGGERS report an unknown object as -894.",
        "server/sql/translate/object_modes.py: _found",
        fails("SET CONSTRAINTS vfy_nothing DISABLED", -894),
        fails("SET INDEXES vfy_nothing DISABLED", -894),
        fails("SET TRIGGERS vfy_nothing DISABLED", -894),
    ),
    sql_check(
        "deferred-constraints",
        "A deferred constraint that is violated has the SQLCODE of statements; an unknown one is -623.",
        (
            "server/engine/deferred_constraints.py",
            "server/sql/translate/control.py: _constraints",
        ),
        fails("SET CONSTRAINTS vfy_nothing DEFERRED", -623),
        does("SET CONSTRAINTS ALL DEFERRED"),
        does("INSERT INTO vfy_child VALUES (2, 1, 1)"),
        fails("SET CONSTRAINTS ALL IMMEDIATE", -691),
        does("UPDATE vfy_child SET r = NULL, c = 0"),
        fails("SET CONSTRAINTS ALL IMMEDIATE", -530),
        does("UPDATE vfy_child SET c = 1"),
        does("INSERT INTO vfy_child VALUES (NULL, 1, 1)"),
        fails("SET CONSTRAINTS ALL IMMEDIATE", -268),
        setup=(
            "CREATE TABLE vfy_parent (k INT PRIMARY KEY)",
            "CREATE TABLE vfy_child (r INT REFERENCES vfy_parent, c INT CHECK (c > 0), u INT UNIQUE)",
        ),
        logged=True,
    ),
    sql_check(
        "version-parts",
        "DBINFO gives the version's operating system as a text.",
        "server/sql/model/settings.py: Version",
        does(f"SELECT DBINFO('version', 'os') {ONE_ROW}"),
    ),
    sql_check(
        "routine-not-resolved",
        "A routine is found by name and number of arguments; a mismatch of either fails with -674.",
        (
            "server/sql/translate/routines.py",
            "server/sql/translate/routines.py: _by_position",
        ),
        refused("vfy_fun(1, 2)", -674),
        fails("EXECUTE FUNCTION vfy_fun(a = 1, 2)", -201),
        setup=("CREATE FUNCTION vfy_fun(a INT) RETURNING INT; RETURN a; END FUNCTION",),
    ),
    sql_check(
        "routine-without-row",
        "A function in an expression that returns no row gives NULL.",
        "server/sqlite/routine_calls.py: _single",
        gives("vfy_none(1)", None),
        setup=(
            "CREATE FUNCTION vfy_none(a INT) RETURNING INT; IF a > 1 THEN RETURN a; END IF; END FUNCTION",
        ),
    ),
    sql_check(
        "encryption-passwords",
        "A wrong password fails with -26008, and a missing or short one with -26007.",
        (
            "errors.py: SQLCODES #4",
            "errors.py: SQLCODES #5",
            "server/sql/runtime/encryption.py #2",
            "server/sql/translate/control.py: _setting",
        ),
        refused("ENCRYPT_AES('abc')", -26007),
        refused("ENCRYPT_AES('abc', 'short')", -26007),
        refused("DECRYPT_CHAR(ENCRYPT_AES('abc', 'secret'), 'another')", -26008),
        gives("GETHINT(ENCRYPT_AES('abc', 'secret', ''))", None),
        does("SET ENCRYPTION PASSWORD 'a secret' WITH HINT 'a hint'"),
        gives("DECRYPT_CHAR(ENCRYPT_TDES('abc'))", "abc"),
        gives("GETHINT(ENCRYPT_TDES('abc'))", "a hint"),
    ),
    sql_check(
        "regex-errors",
        "A wrong regular expression is an error of a routine in C.",
        "server/sql/runtime/regex.py: _FAILED",
        refused("REGEX_MATCH('a', '(')", -937),
        refused("REGEX_MATCH('a', 'a', 7)", -937),
    ),
    sql_check(
        "regex-split-rows",
        "REGEX_SPLIT returns no empty text at the start and the end, and at most as many rows as the limit.",
        "server/sql/runtime/regex.py: regex_split",
        rows("EXECUTE FUNCTION REGEX_SPLIT(',a,,b,', ',')", ("a",), ("",), ("b",)),
        rows("EXECUTE FUNCTION REGEX_SPLIT('a,b,c', ',', 2)", ("a",), ("b",)),
    ),
    sql_check(
        "descriptors-in-sql",
        "The routines on descriptors of smart large objects can be called in SQL.",
        "server/sql/translate/large_objects.py: _POSITIONS",
        refused("ifx_lo_tell(-1)", -9810),
        refused("ifx_lo_seek(-1, 0, 0)", -9810),
        refused("ifx_lo_close(-1)", -9810),
    ),
)
