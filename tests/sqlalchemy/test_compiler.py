"""Queries and DML: the text, and what the embedded server makes of it."""

from __future__ import annotations

from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy import exc, func, literal, select
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from aioifx.sqlalchemy.expressions import NO_TABLE
from tests.sqlalchemy.stock import ITEM, PART, Case, differences, load, other_texts, sql

I, P = ITEM.c, PART.c  # noqa: E741 - as short as `c`

NUMBERS = select(I.id.label("n")).where(I.id == 1).cte("numbers", recursive=True)
NUMBERS = NUMBERS.union_all(select(NUMBERS.c.n + 1).where(NUMBERS.c.n < 4))
FRESH = select(I.id, I.name).where(I.fresh).cte("fresh_item")
TOTAL = I.id + 1
INNER = select(P.label).where(P.item == I.id).order_by(P.no)

STRICT = sa.Table("strict", sa.MetaData(), sa.Column("a", sa.Integer, nullable=False))
LARGE = sa.Table("large", sa.MetaData(), sa.Column("x", sa.LargeBinary))

FEW = func.coalesce(I.price, 0)
BIG = I.name.startswith("t")

CASES = {
    "GROUP BY of a function with a parameter": Case(
        select(FEW.label("n"), func.count().label("c")).group_by(FEW).order_by(FEW),
        "SELECT coalesce(item.price, ?::INTEGER) AS n, count(*) AS c FROM item GROUP BY 1 ORDER BY 1",
        [(0, 1), (1.5, 1), (2.5, 1)]),
    "GROUP BY of an equal expression": Case(
        select(sa.extract("year", I.made).label("y"), func.count().label("c"))
        .where(I.made.is_not(None))
        .group_by(sa.extract("year", I.made)),
        "SELECT YEAR(item.made) AS y, count(*) AS c FROM item WHERE item.made IS NOT NULL GROUP BY 1",
        [(2024, 2)],
    ),
    "GROUP BY of a condition with a label": Case(
        select(BIG.label("b"), func.count().label("c")).group_by(BIG).order_by("b"),
        "SELECT (CASE WHEN item.name LIKE ? || '%' THEN 't'::BOOLEAN "
        "WHEN NOT (item.name LIKE ? || '%') THEN 'f'::BOOLEAN END) AS b, count(*) AS c "
        "FROM item GROUP BY 1 ORDER BY b", [(False, 2), (True, 1)]),
    "FIRST and SKIP": Case(select(I.id).order_by(I.id).limit(1).offset(1),
        "SELECT SKIP ? FIRST ? item.id FROM item ORDER BY item.id", [2]),
    "DISTINCT after FIRST": Case(select(P.item).distinct().order_by(P.item).limit(5),
        "SELECT FIRST ? DISTINCT part.item FROM part ORDER BY part.item", [1, 2]),
    "FETCH FIRST": Case(
        select(I.id).order_by(I.id).fetch(2), "SELECT FIRST ? item.id FROM item ORDER BY item.id", [1, 2]
    ),
    "a limit in a derived table": Case(
        select(sa.func.count().label("n")).select_from(select(I.id).limit(2).subquery("two")),
        "SELECT count(*) AS n FROM (SELECT FIRST ? item.id AS id FROM item) AS two", [2]),
    "a limit in a subquery": Case(
        select(I.name).where(I.id == select(P.item).order_by(P.item.desc()).limit(1).scalar_subquery()),
        "SELECT item.name FROM item WHERE item.id = "
        "(SELECT * FROM (SELECT FIRST ? part.item FROM part ORDER BY part.item DESC) AS limited)", ["two"]),
    "the same function in the select list, GROUP BY and ORDER BY": Case(
        select(func.upper(I.name), func.count()).group_by(func.upper(I.name)).order_by(func.upper(I.name).desc()),
        "SELECT upper(item.name) AS upper_1, count(*) AS count_1 FROM item GROUP BY 1 ORDER BY 1 DESC",
        [("TWO", 1), ("ONE", 1), ("O'3%", 1)]),
    "the same function in the select list and ORDER BY of DISTINCT": Case(
        select(func.upper(I.name)).distinct().order_by(func.upper(I.name)),
        "SELECT DISTINCT upper(item.name) AS upper_1 FROM item ORDER BY 1", ["O'3%", "ONE", "TWO"]),
    "other parameters in ORDER BY": Case(select(I.id + 1).order_by(I.id * 0 + 1, I.id),
        "SELECT item.id + ? AS anon_1 FROM item ORDER BY item.id * ? + ?, item.id", [2, 3, 4]),
    "a limit in a subquery of a row": Case(
        select(I.id).where(select(P.no).where(P.item == I.id).order_by(P.no.desc()).limit(1).scalar_subquery() == 2),
        "SELECT item.id FROM item WHERE (SELECT * FROM LATERAL (SELECT FIRST ? part.no FROM part "
        "WHERE part.item = item.id ORDER BY part.no DESC) AS limited) = ?", [1]),
    "no order in a subquery": Case(select(I.id).where(sa.exists(INNER)).order_by(I.id),
        "SELECT item.id FROM item WHERE EXISTS (SELECT part.label FROM part WHERE part.item = item.id) "
        "ORDER BY item.id", [1, 2]),
    "no FROM, with a WHERE": Case(select(sa.literal_column("1")).where(sa.or_(sa.exists(select(P.no)), sa.false())),
        "SELECT 1 FROM (SELECT tabid FROM informix.systables WHERE tabid = 1) AS one_row "
        "WHERE EXISTS (SELECT part.no FROM part)", [1]),
    "no FROM": Case(select(sa.literal_column("1")), "SELECT 1 FROM informix.systables WHERE tabid = 1", [1]),
    "NULLS FIRST and LAST": Case(select(I.id).order_by(I.made.desc().nulls_first(), I.id.asc().nulls_last()),
        "SELECT item.id FROM item ORDER BY item.made DESC NULLS FIRST, item.id ASC NULLS LAST", [3, 2, 1]),
    "GROUP BY a column": Case(select(P.item, func.count().label("n")).group_by(P.item).having(func.count() > 1),
        "SELECT part.item, count(*) AS n FROM part GROUP BY part.item HAVING count(*) > ?", [(1, 2)]),
    "a label in GROUP BY": Case(
        select((I.id % 2).label("odd"), func.count().label("n")).group_by("odd").order_by("odd"),
        "SELECT MOD(item.id, ?) AS odd, count(*) AS n FROM item GROUP BY 1 ORDER BY odd", [(0, 1), (1, 2)]),
    "the same expression in three clauses": Case(
        select(TOTAL, func.count().label("n")).group_by(TOTAL).order_by(TOTAL.desc()),
        "SELECT item.id + ? AS anon_1, count(*) AS n FROM item GROUP BY 1 ORDER BY 1 DESC", [(4, 1), (3, 1), (2, 1)]),
    "joins": Case(select(I.id, P.no).select_from(sa.outerjoin(ITEM, PART, I.id == P.item)).order_by(I.id, P.no),
        "SELECT item.id, part.no FROM item LEFT OUTER JOIN part ON item.id = part.item ORDER BY item.id, part.no",
        [(1, 1), (1, 2), (2, 1), (3, None)]),
    "a full join": Case(select(func.count().label("n")).select_from(sa.join(ITEM, PART, I.id == P.no, full=True)),
        "SELECT count(*) AS n FROM item FULL OUTER JOIN part ON item.id = part.no", [4]),
    "a join on true": Case(select(func.count().label("n")).select_from(sa.join(ITEM, PART, sa.true())),
        "SELECT count(*) AS n FROM item JOIN part ON 1 = 1", [9]),
    "a self join by aliases": Case(select(func.count().label("n")).where(ITEM.alias("a").c.id < ITEM.alias("b").c.id),
        "SELECT count(*) AS n FROM item AS a, item AS b WHERE a.id < b.id", [3]),
    "LATERAL": Case(select(I.id).select_from(sa.join(ITEM, INNER.lateral("l"), sa.true())),
        "SELECT item.id FROM item JOIN LATERAL (SELECT part.label AS label FROM part "
        "WHERE part.item = item.id ORDER BY part.no) AS l ON 1 = 1", [1, 1, 2]),
    "UNION": Case(sa.union(select(I.id.label("n")), select(P.no), select(literal(9))).order_by(sa.desc("n")),
        "SELECT item.id AS n FROM item UNION SELECT part.no FROM part UNION "
        "SELECT ?::INTEGER AS anon_1 FROM informix.systables WHERE tabid = 1 ORDER BY 1 DESC", [9, 3, 2, 1]),
    "UNION ALL by a column": Case(sa.union_all(select(I.id), select(P.item)).order_by(I.id),
        "SELECT item.id FROM item UNION ALL SELECT part.item FROM part ORDER BY 1", [1, 1, 1, 2, 2, 3]),
    "EXCEPT": Case(
        sa.except_(select(I.id), select(P.item)),
        "SELECT item.id FROM item MINUS SELECT part.item FROM part",
        [3],
    ),
    "INTERSECT": Case(sa.intersect(select(I.id), select(P.item)).order_by("id"),
        "SELECT item.id FROM item INTERSECT SELECT part.item FROM part ORDER BY 1", [1, 2]),
    "a limit of a UNION": Case(sa.union(select(I.id), select(P.item)).order_by("id").limit(1).offset(1),
        "SELECT SKIP ? FIRST ? * FROM (SELECT item.id FROM item UNION SELECT part.item FROM part) AS limited "
        "ORDER BY 1", [2]),
    "limits of the parts of a UNION": Case(
        sa.union_all(
            select(I.id).order_by(I.id).limit(1), select(I.id).order_by(I.id.desc()).limit(1)
        ).order_by("id"),
        "SELECT * FROM (SELECT FIRST ? item.id FROM item ORDER BY item.id) AS limited UNION ALL "
        "SELECT * FROM (SELECT FIRST ? item.id FROM item ORDER BY item.id DESC) AS limited ORDER BY 1",
        [1, 3],
    ),
    "an ordered part of a UNION": Case(
        sa.union_all(select(I.id).order_by(I.id.desc()), select(P.item)).order_by("id"),
        "SELECT * FROM (SELECT item.id FROM item ORDER BY item.id DESC) AS limited UNION ALL "
        "SELECT part.item FROM part ORDER BY 1", [1, 1, 1, 2, 2, 3]),
    "an ordered UNION as a part of another": Case(
        sa.union_all(sa.union(select(I.id), select(P.item)).order_by("id"), select(P.no)).order_by("id"),
        "SELECT * FROM (SELECT item.id FROM item UNION SELECT part.item FROM part ORDER BY 1) AS limited "
        "UNION ALL SELECT part.no FROM part ORDER BY 1", [1, 1, 1, 2, 2, 3]),
    "a UNION in a subquery": Case(
        select(I.id).where(I.id.in_(sa.union(select(P.item), select(P.no)).order_by("item").limit(1))),
        "SELECT item.id FROM item WHERE item.id IN (SELECT * FROM (SELECT FIRST ? * FROM "
        "(SELECT part.item FROM part UNION SELECT part.no FROM part) AS limited ORDER BY 1) AS limited)", [1]),
    "a common table": Case(select(FRESH.c.name),
        "WITH fresh_item AS (SELECT item.id AS id, item.name AS name FROM item WHERE item.fresh) "
        "SELECT fresh_item.name FROM fresh_item", ["one"]),
    "a recursive common table": Case(select(NUMBERS.c.n),
        "WITH numbers(n) AS (SELECT item.id AS n FROM item WHERE item.id = ? UNION ALL "
        "SELECT numbers.n + ? AS anon_1 FROM numbers WHERE numbers.n < ?) SELECT numbers.n FROM numbers",
        [1, 2, 3, 4]),
    "a limit of a UNION of common tables": Case(
        sa.union_all(select(FRESH.c.id), select(FRESH.c.id + 1)).order_by("id").limit(1),
        "WITH fresh_item AS (SELECT item.id AS id, item.name AS name FROM item WHERE item.fresh) "
        "SELECT FIRST ? * FROM (SELECT fresh_item.id FROM fresh_item UNION ALL "
        "SELECT fresh_item.id + ? AS anon_1 FROM fresh_item) AS limited ORDER BY 1", [1]),
    "FOR UPDATE": Case(select(I.id).where(I.id == 1).with_for_update(),
        "SELECT item.id FROM item WHERE item.id = ? FOR UPDATE", [1]),
    "FOR UPDATE OF": Case(select(I.id).where(I.id == 1).with_for_update(of=[I.name, I.price]),
        "SELECT item.id FROM item WHERE item.id = ? FOR UPDATE OF name, price", [1]),
    "FOR UPDATE OF a table": Case(select(I.id).where(I.id == 1).with_for_update(of=ITEM, read=True),
        "SELECT item.id FROM item WHERE item.id = ? FOR UPDATE", [1]),
    "directives": Case(
        select(I.id)
        .where(I.id == 1)
        .with_hint(ITEM, "FULL(%(name)s)")
        .with_hint(ITEM, "not for Informix", "oracle")
        .with_statement_hint("FIRST_ROWS"),
        "SELECT {+ FULL(item), FIRST_ROWS } item.id FROM item WHERE item.id = ?",
        [1],
    ),
    "directives before FIRST": Case(select(I.id).with_statement_hint("ORDERED", "informix").order_by(I.id).limit(1),
        "SELECT {+ ORDERED } FIRST ? item.id FROM item ORDER BY item.id", [1]),
    "a sequence": Case(select(sa.Sequence("numbering").next_value().label("n")),
        "SELECT numbering.NEXTVAL AS n FROM informix.systables WHERE tabid = 1", [1]),
}  # fmt: skip


def test_the_text_of_queries() -> None:
    assert other_texts(CASES) == {}


async def test_the_rows_of_queries(engine: AsyncEngine) -> None:
    await load(engine)
    async with engine.begin() as conn:
        await conn.execute(sa.text("CREATE SEQUENCE numbering"))
    assert await differences(engine, CASES) == {}


NAMES = select(I.id, I.name).order_by(I.id)

CHANGES: dict[str, tuple[Any, str, list[tuple[Any, ...]]]] = {
    "an INSERT of a query": (
        ITEM.insert().from_select(["id", "name"], select(P.no + 10, literal("new")).where(P.item == 1)),
        "INSERT INTO item (id, name) SELECT part.no + ? AS anon_1, ?::LVARCHAR AS anon_2 FROM part "
        "WHERE part.item = ?",
        [(11, "new"), (12, "new")],
    ),
    "an INSERT of several rows": (
        ITEM.insert().values(
            [{"id": 11, "name": "new"}, {"id": 12, "name": None}, {"id": 13, "name": func.upper("x")}]
        ),
        f"INSERT INTO item (id, name) SELECT * FROM (SELECT CAST(? AS INTEGER), CAST(? AS VARCHAR(20)){NO_TABLE} "
        f"UNION ALL SELECT CAST(? AS INTEGER), CAST(? AS VARCHAR(20)){NO_TABLE} "
        f"UNION ALL SELECT CAST(? AS INTEGER), CAST(upper(?) AS VARCHAR(20)){NO_TABLE}) AS inserted (c1, c2)",
        [(11, "new"), (12, None), (13, "X")],
    ),
    "an INSERT of a UNION": (
        ITEM.insert().from_select(
            ["id", "price"], sa.union(select(P.no + 20, P.no + 20), select(I.id + 30, I.id + 30))
        ),
        "INSERT INTO item (id, price) SELECT * FROM (SELECT part.no + ? AS anon_1, part.no + ? AS anon_2 FROM part "
        "UNION SELECT item.id + ? AS anon_3, item.id + ? AS anon_4 FROM item) AS inserted (c1, c2)",
        [(21, None), (22, None), (31, None), (32, None), (33, None)],
    ),
    "an INSERT of the first rows": (
        ITEM.insert().from_select(["id"], select(P.no + 40).where(P.item == 1).order_by(P.no).limit(1)),
        "INSERT INTO item (id) SELECT * FROM (SELECT FIRST ? part.no + ? AS anon_1 FROM part WHERE part.item = ? "
        "ORDER BY part.no) AS inserted (c1)",
        [(41, None)],
    ),
    "an INSERT of the first rows of a UNION": (
        ITEM.insert().from_select(["id"], sa.union_all(select(P.no + 50), select(I.id + 60)).limit(1)),
        "INSERT INTO item (id) SELECT * FROM (SELECT FIRST ? * FROM (SELECT part.no + ? AS anon_1 FROM part "
        "UNION ALL SELECT item.id + ? AS anon_2 FROM item) AS limited) AS inserted (c1)",
        [(51, None)],
    ),
    "an INSERT of a common table": (
        PART.insert().from_select(["item", "no", "label"], select(FRESH.c.id + 8, FRESH.c.id, FRESH.c.name)),
        "WITH fresh_item AS (SELECT item.id AS id, item.name AS name FROM item WHERE item.fresh) "
        "INSERT INTO part (item, no, label) SELECT fresh_item.id + ? AS anon_1, fresh_item.id, "
        "fresh_item.name FROM fresh_item",
        [],
    ),
    "an INSERT without values": (
        ITEM.insert().values(),
        "INSERT INTO item (id) VALUES (0)",
        [(52, None)],  # after the rows rolled back
    ),
    "an UPDATE with a subquery": (
        ITEM.update().values(name=select(func.max(P.label)).where(P.item == I.id).scalar_subquery()),
        "UPDATE item SET name=(SELECT max(part.label) AS max_1 FROM part WHERE part.item = item.id)",
        [(1, "nut"), (2, None), (3, None)],
    ),
    "an UPDATE from another table": (
        ITEM.update().values(name=P.label + "!", price=7).where(I.id == P.item, P.no == 1),
        "MERGE INTO item USING part ON (item.id = part.item AND part.no = ?) WHEN MATCHED THEN "
        "UPDATE SET name=(part.label || ?), price=?",
        [(1, "bolt!"), (2, None)],
    ),
    "an UPDATE with a condition as its value": (
        ITEM.update().values(fresh=I.id > 1).where(I.id == 1),
        "UPDATE item SET fresh=(CASE WHEN item.id > ? THEN 't'::BOOLEAN WHEN NOT (item.id > ?) "
        "THEN 'f'::BOOLEAN END) WHERE item.id = ?",
        [(1, "one")],
    ),
    "an UPDATE with a directive": (ITEM.update().values(name="x").where(I.id == 3).with_hint("FULL(item)"),
                                   "UPDATE {+ FULL(item) } item SET name=? WHERE item.id = ?", [(3, "x")]),
    "a DELETE with a directive": (ITEM.delete().where(I.id == 3).with_hint("FULL(item)"),
                                  "DELETE {+ FULL(item) } FROM item WHERE item.id = ?", []),
    "a DELETE by another table": (
        ITEM.delete().where(I.id == P.item, P.label == "nut"),
        "DELETE FROM item WHERE EXISTS (SELECT 1 FROM part WHERE item.id = part.item AND part.label = ?)",
        [],
    ),
}  # fmt: skip


def test_the_text_of_changes() -> None:
    texts = {name: (sql(statement), text) for name, (statement, text, _) in CHANGES.items()}
    assert {name: text for name, (text, expected) in texts.items() if text != expected} == {}


async def test_the_rows_after_changes(engine: AsyncEngine) -> None:
    """Each change runs in a transaction of its own, which is rolled back."""
    await load(engine)
    before = [(1, "one"), (2, "two"), (3, "o'3%")]
    gone = {"a DELETE with a directive": 3, "a DELETE by another table": 1}
    async with engine.connect() as conn:
        for name, (statement, _, changed) in CHANGES.items():
            assert (await conn.execute(statement)).rowcount >= 0
            found = [tuple(row) for row in await conn.execute(NAMES)]
            keys = [row[0] for row in changed]
            expected = [row for row in before if row[0] not in [*keys, gone.get(name)]] + changed
            assert (name, found) == (name, sorted(expected))
            await conn.rollback()


async def test_rows_are_counted_whatever_the_statement_becomes(engine: AsyncEngine) -> None:
    await load(engine)
    async with engine.begin() as conn:
        merged = await conn.execute(ITEM.update().values(price=1).where(I.id == P.item, P.no == 1))
        deleted = await conn.execute(PART.delete().where(I.id == P.item, I.fresh))
    assert (merged.rowcount, deleted.rowcount) == (2, 2)


async def test_the_serial_of_an_insert(engine: AsyncEngine) -> None:
    await load(engine)
    async with engine.begin() as conn:
        keys = [
            (await conn.execute(ITEM.insert().values(**values))).inserted_primary_key
            for values in ({"name": "a"}, {"id": 40}, {})
        ]
    assert keys == [(4,), (40,), (41,)]


async def test_many_rows_have_their_keys(engine: AsyncEngine) -> None:
    """Of the replies to one executemany, together with keys of the client and of sequences."""
    await load(engine)
    meta = sa.MetaData()
    both = sa.Table("both", meta, sa.Column("id", sa.BigInteger, primary_key=True, autoincrement=True),
                    sa.Column("part", sa.String(9), primary_key=True, default="x"))  # fmt: skip
    numbered = sa.Table("numbered", meta, sa.Column("id", sa.Integer, sa.Sequence("sq_numbered"), primary_key=True),
                        sa.Column("n", sa.Integer))  # fmt: skip
    lone = sa.Table("lone", meta, sa.Column("id", sa.Integer, primary_key=True))
    async with engine.begin() as conn:
        await conn.run_sync(meta.create_all)

        async def keys(table: sa.Table, rows: list[dict[str, Any]]) -> list[Any]:
            result = await conn.execute(table.insert().return_defaults(), rows)
            return [tuple(key or ()) for key in result.inserted_primary_key_rows]

        assert await keys(ITEM, [{"name": name} for name in "abc"]) == [(4,), (5,), (6,)]
        assert await keys(ITEM, [{"id": 50, "name": "d"}, {"id": 40, "name": "e"}]) == [(50,), (40,)]
        assert await keys(both, [{"part": "a"}, {"part": "b"}]) == [(1, "a"), (2, "b")]
        assert await keys(both, [{"id": 9}, {"id": 8}]) == [(9, "x"), (8, "x")]
        assert await keys(numbered, [{"n": 1}, {"n": 2}]) == [(1,), (2,)]
        assert await keys(lone, [{}, {}, {}]) == [(1,), (2,), (3,)]
        view = "CREATE VIEW seen (id, n) AS SELECT id, n FROM numbered"
        action = "FOR EACH ROW (INSERT INTO numbered VALUES (new.n, new.n))"
        await conn.execute(sa.text(view))
        await conn.execute(
            sa.text(f"CREATE TRIGGER g INSTEAD OF INSERT ON seen REFERENCING NEW AS new {action}")
        )
        seen = sa.Table(
            "seen", meta, sa.Column("id", sa.Integer, primary_key=True), sa.Column("n", sa.Integer)
        )
        assert await keys(seen, [{"n": 5}, {"n": 6}]) == [(None,), (None,)]
        assert await keys(seen, [{"id": 7, "n": 7}, {"id": 8, "n": 8}]) == [(7,), (8,)]


async def test_keys_of_sql_are_inserted_row_by_row_without_implicit_returning(engine: AsyncEngine) -> None:
    class Base(DeclarativeBase):
        pass

    class Item(Base):
        __tablename__ = "counted"
        __table_args__ = {"implicit_returning": False}  # noqa: RUF012 - as SQLAlchemy declares it
        id: Mapped[int] = mapped_column(
            primary_key=True, default=sa.text("(SELECT NVL(MAX(id), 0) + 1 FROM counted)")
        )

    async with AsyncSession(engine) as session:
        await (await session.connection()).run_sync(Base.metadata.create_all)
        session.add_all(items := [Item(), Item()])
        await session.flush()
        assert [item.id for item in items] == [1, 2]


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        (select(I.id).with_for_update(nowait=True), "FOR UPDATE: Informix lacks NOWAIT; lock_wait"),
        (select(I.id).with_for_update(skip_locked=True), "FOR UPDATE: Informix lacks SKIP LOCKED"),
        (select(I.id).limit(I.id + 1), "LIMIT and OFFSET: expected a number or parameter, got an expression"),
        (select(I.id).fetch(1, with_ties=True), "FETCH FIRST: Informix lacks WITH TIES and PERCENT"),
        (ITEM.update().values(name=P.label), "UPDATE: expected one other table and a WHERE that joins it"),
        (ITEM.update().values(name=P.label).where(I.id == P.item, P.item == FRESH.c.id),
         "UPDATE: expected one other table"),
        (ITEM.update().values(name=FRESH.c.name).where(I.id == FRESH.c.id),
         "UPDATE: expected no common table together with another table"),
        (STRICT.insert().values(), "INSERT: expected values"),
        (LARGE.insert().values([{"x": b"1"}, {"x": b"2"}]), "expected a list of parameters for large objects"),
    ],
)  # fmt: skip
def test_what_informix_lacks_is_an_error(statement: Any, message: str) -> None:
    with pytest.raises(exc.CompileError, match=message):
        sql(statement)


def test_a_limit_of_a_union_has_literals_in_place_of_parameters() -> None:
    text = sql(sa.union(select(I.id), select(P.item)).limit(2).offset(1), literal_binds=True)
    assert (
        text
        == "SELECT SKIP 1 FIRST 2 * FROM (SELECT item.id FROM item UNION SELECT part.item FROM part) AS limited"
    )
