"""Facts that the embedded server assumes of servers: rows, collections, documents. Never: what the client needs."""

from __future__ import annotations

from typing import Final

from aioifx.verify.check import Check, Step, does, fails, gives, refused, rows, sql_check

_COLLECTIONS: Final = (
    "CREATE TEMP TABLE vfy_coll (a INT, s SET(INT NOT NULL), r ROW(x INT, y VARCHAR(9)))",
    "INSERT INTO vfy_coll VALUES (1, SET{1,2}, ROW(1,'q'))",
)
_DOCUMENT: Final = """'{"a":1,"b":{"c":2},"d":[5,6],"s":"x","n":"7"}'::JSON::BSON"""
_DOCUMENTS: Final = (
    "CREATE TEMP TABLE vfy_doc (a INT, b BSON, j JSON)",
    f"INSERT INTO vfy_doc VALUES (1, {_DOCUMENT}, NULL)",
)
_OBJECT_ID: Final = "507f1f77bcf86cd799439011"

COMPOSITES: Final[tuple[Check, ...]] = (
    sql_check("set-drops-duplicates", "Duplicates in a SET are dropped without an error.",
              "server/sql/runtime/complex_values.py", does("INSERT INTO vfy_coll VALUES (2, SET{1,1,2}, NULL)"),
              rows("SELECT CARDINALITY(s) FROM vfy_coll WHERE a = 2", (2,)), setup=_COLLECTIONS),
    sql_check("row-field-count", "A row with a different number of fields fails with -9634.",
              "server/sql/runtime/complex_values.py",
              fails("INSERT INTO vfy_coll VALUES (2, NULL, ROW(1, 'q', 3))", -9634), setup=_COLLECTIONS),
    sql_check("literal-not-a-collection", "A text that is not the literal of a collection fails with -1260.",
              "server/sql/runtime/complex_literals.py", fails("INSERT INTO vfy_coll VALUES (2, 'abc', NULL)", -1260),
              setup=_COLLECTIONS),
    sql_check("empty-collection", "An empty collection is allowed where nothing requires its type.",
              "server/sql/translate/complex_types.py", gives("CARDINALITY(SET{})", 0)),
    sql_check("multiset-item", "MULTISET(SELECT ITEM ..) of several columns fails with -201.",
              "server/sql/translate/complex_types.py: multiset",
              refused("MULTISET(SELECT ITEM a, a FROM vfy_coll)", -201), setup=_COLLECTIONS),
    sql_check("no-aggregate-of-collections", "MAX of a row or a collection fails with -674.",
              "server/sql/translate/complex_types.py: require_aggregated", fails("SELECT MAX(s) FROM vfy_coll", -674),
              fails("SELECT MAX(r) FROM vfy_coll", -674), setup=_COLLECTIONS),
    sql_check("no-order-of-collections", "ORDER BY and DISTINCT of collections and documents fail with -9926.",
              "server/sql/translate/complex_types.py: require_ordered",
              fails("SELECT a FROM vfy_coll ORDER BY s", -9926), fails("SELECT DISTINCT s FROM vfy_coll", -9926),
              setup=_COLLECTIONS),
    sql_check("no-text-functions-of-collections",
              "A function of texts of a row, a collection or a document fails with -674.",
              "server/sql/translate/typed.py: _require_scalar", fails("SELECT UPPER(s) FROM vfy_coll", -674),
              fails("SELECT s || 'a' FROM vfy_coll", -674), setup=_COLLECTIONS),
    sql_check("rows-compare-by-field", "Rows are compared field by field, so that a NULL decides.",
              "server/sql/runtime/complex_values.py: equality",
              rows("SELECT a FROM vfy_coll WHERE r = ROW(1, 'q')::ROW(x INT, y VARCHAR(9))", (1,)),
              rows("SELECT a FROM vfy_coll WHERE r = ROW(1, NULL)::ROW(x INT, y VARCHAR(9))"), setup=_COLLECTIONS),
    sql_check("row-text-widths", "Integers in the text of a row are padded to 6, 11 or 20 characters.",
              "server/sql/runtime/complex_values.py: _WIDTHS",
              rows("SELECT r::LVARCHAR FROM vfy_ints", (f"ROW({'1':6},{'2':11},{'3':20},{'4':20})",)),
              setup=("CREATE TEMP TABLE vfy_ints (r ROW(a SMALLINT, b INT, c BIGINT, d INT8))",
                     "INSERT INTO vfy_ints VALUES (ROW(1, 2, 3, 4))")),
    sql_check("missing-document-field",
              "A missing field, or one of another kind, is NULL; a.0 is an element of an array.",
              "server/sql/runtime/documents.py",
              rows("SELECT BSON_VALUE_INT(b, 'zz'), BSON_VALUE_INT(b, 's'), BSON_VALUE_INT(b, 'd.0') FROM vfy_doc",
                   (None, None, 5)), rows("SELECT BSON_GET(b, 'b.c')::JSON::LVARCHAR FROM vfy_doc", ('{"c":2}',)),
              rows("SELECT BSON_SIZE(b, 'a') FROM vfy_doc", (12,)), setup=_DOCUMENTS),
    sql_check("document-field-cast", "column.field::type converts the field's value from its text.",
              "server/sql/runtime/casts.py: _bson_to_scalar", rows("SELECT b.a::INT, b.n::INT FROM vfy_doc", (1, 7)),
              setup=_DOCUMENTS),
    sql_check("json-forms", "JSON takes ObjectId, $oid and $date as input, and writes ObjectId and ISODate.",
              "server/sql/runtime/json_text.py",
              gives(f"""'{{"x":{{"$oid":"{_OBJECT_ID}"}}}}'::JSON::BSON::JSON::LVARCHAR""",
                    f'{{"x":ObjectId("{_OBJECT_ID}")}}'),
              gives(f"""'{{"x":ObjectId("{_OBJECT_ID}")}}'::JSON::BSON::JSON::LVARCHAR""",
                    f'{{"x":ObjectId("{_OBJECT_ID}")}}'),
              gives("""'{"x":{"$date":"2013-05-18T00:33:14.000Z"}}'::JSON::BSON::JSON::LVARCHAR""",
                    '{"x":ISODate("2013-05-18T00:33:14.000Z")}'), setup=_DOCUMENTS),
    sql_check("document-functions-take-json",
              "The BSON functions convert JSON; their texts are LVARCHAR(32739) and VARCHAR(24).",
              "server/sql/translate/documents.py", gives("""BSON_VALUE_INT('{"a":1}'::JSON, 'a')""", 1),
              Step("SELECT BSON_VALUE_LVARCHAR(b, 's') FROM vfy_doc", (), [("x",)], types=("LVARCHAR(32739)",)),
              gives(f"""BSON_VALUE_OBJECTID('{{"x":{{"$oid":"{_OBJECT_ID}"}}}}'::JSON::BSON, 'x')""", _OBJECT_ID,
                    type="VARCHAR(24)"), setup=_DOCUMENTS),
    sql_check("genbson-names", "genBSON names fields f1 and so on for expressions that are not columns.",
              "server/sql/translate/documents.py: _name",
              rows("SELECT BSON_VALUE_INT(genBSON(ROW(a, a + 1), 0, 0), 'f2') FROM vfy_doc", (2,)), setup=_DOCUMENTS),
)  # fmt: skip
