from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest

from aioifx import connect
from aioifx.errors import DatabaseError, IntegrityError, NotNullViolation, UndefinedColumn, UndefinedTable
from aioifx.server import running
from aioifx.server.host.seed import run_script
from tests.server.talking import ServerCore, query, run, server_core


@pytest.fixture
def core() -> Iterator[ServerCore]:
    with server_core() as made:
        yield made


SCRIPT = """
-- a shop; with a semicolon in a comment
CREATE TABLE item (id SERIAL, name VARCHAR(40));
INSERT INTO item VALUES (0, 'pen; blue');
INSERT INTO item VALUES (0, 'cup');
"""


def test_a_script_fills_a_database(core: ServerCore) -> None:
    run_script(SCRIPT, "demo", core.databases, core.registry, "anna")
    assert query(core.engine(), "SELECT id, name FROM item ORDER BY id") == [(1, "pen; blue"), (2, "cup")]
    assert [entry.user for entry in core.registry.entries()] == ["anna"]  # the engine of the line above


def test_a_failing_statement_is_named(core: ServerCore) -> None:
    with pytest.raises(UndefinedTable) as raised:
        run_script(SCRIPT + "DELETE FROM nothing", "demo", core.databases, core.registry, "anna")
    error = raised.value
    assert (error.sql, error.row_index, error.offset) == ("DELETE FROM nothing", 3, 13)
    assert str(error).startswith(
        "statement 4 of the seed, line 6 of the script: table nothing does not exist"
    )
    assert error.__notes__ == ["SQL, column 13:\n    DELETE FROM nothing\n                ^"]
    assert core.registry.entries() == []


def test_the_line_is_that_of_the_place_in_the_statement(core: ServerCore) -> None:
    script = SCRIPT + "\nSELECT name,\n\tnone\nFROM item;"
    with pytest.raises(UndefinedColumn, match=r"^statement 4 of the seed, line 8 of the script: ") as raised:
        run_script(script, "demo", core.databases, core.registry, "anna")
    assert raised.value.__notes__ == ["SQL, line 2, column 2:\n        none\n        ^"]


def test_a_statement_without_a_place_is_shown(core: ServerCore) -> None:
    script = "CREATE TABLE t (a INT NOT NULL);\n\nINSERT INTO t\nVALUES (NULL);"
    with pytest.raises(NotNullViolation, match=r"^statement 2 of the seed, line 3 of the script: ") as raised:
        run_script(script, "demo", core.databases, core.registry, "anna")
    assert raised.value.__notes__ == ["SQL:\n    INSERT INTO t\n    VALUES (NULL)"]


@pytest.mark.parametrize(
    ("rest", "sqlcode", "shown"),
    [
        ("INSERT INTO item VALUES (0, 'it''s);", -282, "INSERT INTO item VALUES (0, 'it''s);"),
        ("{ never closed", -283, "{ never closed"),
        ("SELECT 1 ^ 2;", -202, "SELECT 1 ^ 2;"),
    ],
)
def test_a_script_that_cannot_be_read_runs_nothing_and_names_the_place(
    core: ServerCore, rest: str, sqlcode: int, shown: str
) -> None:
    with pytest.raises(DatabaseError, match=r"^statement 4 of the seed, line 6 of the script: ") as raised:
        run_script(SCRIPT + rest, "demo", core.databases, core.registry, "anna")
    error = raised.value
    assert (error.sqlcode, error.row_index) == (sqlcode, 3)
    (note,) = error.__notes__
    assert note.startswith(
        f"SQL, line 6, column {error.offset - len(SCRIPT)}:\n    {shown}\n"
    ) and note.endswith("^")
    with pytest.raises(UndefinedTable):
        run_script("DELETE FROM item", "demo", core.databases, core.registry, "anna")


DBSCHEMA = """
DBSCHEMA Schema Utility       INFORMIX-SQL Version 14.10.FC7

grant dba to "informix";
grant connect to "public";

{ TABLE "informix".customer row size = 134 number of columns = 3 index size = 28; it's }

{ unload file name = custo00100.unl number of rows = 28 }

create table "informix".customer
  (
    customer_num serial not null ,
    fname char(15) default 'it''s; {so}',
    zip char(5), -- don't; { mind
    check (fname != ';' ) constraint "informix".c100_1,
    primary key (customer_num)  constraint "informix".u100_2
  ) extent size 16 next size 16 lock mode row;

revoke all on "informix".customer from "public" as "informix";

grant select on "informix".customer to "public" as "informix";

create index "informix".zip_ix on "informix".customer (zip) using btree ;
"""


def test_the_output_of_dbschema_is_a_seed(core: ServerCore) -> None:
    run_script(DBSCHEMA, "demo", core.databases, core.registry, "informix")
    engine = core.engine()
    found = query(engine, "SELECT constrname FROM sysconstraints ORDER BY 1")
    assert found == [("c100_1",), ("n100_1",), ("u100_2",)]
    run(engine, "INSERT INTO customer (customer_num) VALUES (0)")
    assert query(engine, "SELECT fname FROM customer") == [("it's; {so}     ",)]
    with pytest.raises(DatabaseError, match=r"^statement 8 of the seed, line 27 of the script: ") as raised:
        routine = "\ncreate procedure p() define a int; let a = 1; end procedure document 'x; y';\nselect 1;"
        run_script(DBSCHEMA + routine, "sysmaster", core.databases, core.registry, "informix")
    assert raised.value.sqlcode == -201


async def test_a_script_is_kept_in_an_ansi_database_too() -> None:
    async with running(seed=SCRIPT, log_mode="ansi") as dsn, connect(dsn) as conn:
        assert await conn.fetchval("SELECT COUNT(*) FROM item") == 2


DUMP = (Path(__file__).parent / "data" / "dbschema.sql").read_text("utf-8")
"""As ``dbschema -d stores -ss`` writes it, but for types that are not served: every clause it prints is in it."""


async def test_a_whole_schema_from_dbschema_works_afterwards() -> None:
    async with running("stores", seed=DUMP) as dsn, connect(dsn) as conn:
        names = "SELECT TRIM(owner) || '.' || constrname FROM sysconstraints WHERE constrtype IN ('P', 'R', 'U', 'C')"
        assert sorted([name async for (name,) in conn.stream(names)]) == [
            "informix.ck_discount", "informix.fk_country", "informix.pk_country", "informix.pk_customer",
            "ledger.ck_state", "ledger.fk_customer", "ledger.fk_orders", "ledger.pk_orders", "ledger.u_items",
            "ledger.u_po",
        ]  # fmt: skip
        await conn.execute("INSERT INTO country VALUES (?, ?)", "DE", "Germany")
        customer = (await conn.execute("INSERT INTO customer (lname) VALUES (?)", "Okafor")).serial
        order = (await conn.execute("INSERT INTO ledger.orders (customer_num) VALUES (?)", customer)).serial
        await conn.execute('INSERT INTO "ledger".items VALUES (1, ?, 3, 2.5, ?)', order, None)
        assert await conn.fetchval("SELECT receipt.NEXTVAL FROM country") == 4709
        assert (await conn.execute("UPDATE active_customer SET discount = ?", Decimal(5))).rowcount == 1
        with pytest.raises(IntegrityError, match=r"informix\.ck_discount"):
            await conn.execute("UPDATE buyer SET discount = 101")
        with pytest.raises(IntegrityError, match=r"ledger\.fk_customer"):
            await conn.execute("UPDATE orders SET customer_num = 99")
        (row,) = await conn.fetch("SELECT order_num, total FROM open_order")
        assert tuple(row) == (order, Decimal("7.5"))
        await conn.execute("DELETE FROM orders")
        assert await conn.fetchval("SELECT COUNT(*) FROM items") == 0
        assert await conn.fetchval("SELECT name FROM nation") == "Germany"


ROUTINES = (Path(__file__).parent / "data" / "dbschema_routines.sql").read_text("utf-8")
"""As ``dbschema -d stock -ss`` and dbexport write routines and triggers."""


async def test_routines_and_triggers_from_dbschema_work_afterwards() -> None:
    async with running("stock", seed=ROUTINES) as dsn, connect(dsn) as conn:
        await conn.execute("INSERT INTO item (name, quantity, unit_price) VALUES ('pen', 10, 1.50)")
        await conn.execute("INSERT INTO cheap (name, price) VALUES ('cup', 4)")
        rows = await conn.fetch(
            "SELECT name_upper, quantity, total_price FROM item WHERE modified IS NOT NULL ORDER BY 1"
        )
        assert rows == [("CUP", 1, Decimal("4.00")), ("PEN", 10, Decimal("15.00"))]
        await conn.execute("UPDATE item SET quantity = 200 WHERE name = 'pen'")
        await conn.execute("UPDATE item SET quantity = 2 WHERE name = 'pen'")
        assert await conn.fetchval("SELECT message FROM alert") == "only 2 left; order more"
        assert await conn.fetchval("EXECUTE FUNCTION price(1)") == Decimal("3.00")
        assert await conn.fetchval("EXECUTE FUNCTION price(200, 1.50)") == Decimal("270.00")
        await conn.execute("UPDATE item SET unit_price = 2 WHERE item_num = 1")
        await conn.execute("UPDATE item SET name = 'ball' WHERE item_num = 1")
        assert await conn.fetchval("SELECT name_upper FROM article WHERE item_num = 1") == "BALL"
        await conn.execute("DELETE FROM item WHERE item_num = 1")
        log = await conn.fetch(
            "SELECT item_num, action, old_quantity, new_quantity FROM item_log ORDER BY at, action"
        )
        assert sorted(log, key=str) == sorted(
            [
                (1, "I", None, 10),
                (2, "I", None, 1),
                (1, "U", 10, 200),
                (1, "U", 200, 2),
                (1, "P", None, None),
                (1, "D", 2, None),
            ],
            key=str,
        )
        assert await conn.fetchval("SELECT count(*) FROM alert") == 0
        assert await conn.fetch("EXECUTE PROCEDURE stocks()") == [(2, "cup")]


async def test_the_catalog_has_what_dbschema_reads() -> None:
    bodies = (
        "SELECT data FROM sysprocbody b, sysprocedures p WHERE b.procid = p.procid AND datakey = 'T' AND p.procid = ?"
        " ORDER BY seqno"
    )
    parts = (
        "SELECT data FROM systrigbody WHERE trigid = ? AND datakey IN ('A', 'D') ORDER BY datakey DESC, seqno"
    )
    async with running("stock", seed=ROUTINES) as dsn, connect(dsn) as conn:
        made: list[str] = []
        for query, numbers in (
            (bodies, "SELECT procid FROM sysprocedures ORDER BY procid"),
            (parts, "SELECT trigid FROM systriggers ORDER BY trigid"),
        ):
            for (number,) in await conn.fetch(numbers):
                made.append("".join([data.ljust(256) for (data,) in await conn.fetch(query, number)]))
        assert len(made) == 12
        for name in ("item_ins", "item_upd", "item_name", "item_del", "log_guard", "cheap_ins"):
            await conn.execute(f"DROP TRIGGER {name}")
        for name in ("log_item", "price(INTEGER)", "price(INTEGER, MONEY)", "watch", "stamp", "stocks"):
            await conn.execute(f"DROP ROUTINE {name}")
        for text in made:
            await conn.execute(f"{text} disabled" if "log_guard" in text else text)
        await conn.execute("INSERT INTO item (name, quantity, unit_price) VALUES ('pen', 10, 1.50)")
        assert await conn.fetchval("SELECT total_price FROM item") == Decimal("15.00")
