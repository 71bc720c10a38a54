"""task('pushdata ...') in sysadmin: opening, registering, reading, detaching, joining, deleting."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from aioifx.server.engine.engine import Engine
from aioifx.server.sql.errors import SqlError
from aioifx.server.sqlite.databases import LogMode
from aioifx.wire.objects import ReadObject
from tests.server.talking import ServerCore, Talk, run, run_all, server_core

ORDERS = 'table:"orders", owner:"informix", database:"demo"'
BIG = f'{{{ORDERS}, query:"SELECT id, qty FROM orders WHERE qty > 10", label:"big"}}'
NOW = '{timeout:"0", max_pending_ops:"0", maxrecs:"1"}'
TABLE = "CREATE TABLE orders (id SERIAL PRIMARY KEY, qty INT, note VARCHAR(20))"
TIMEOUT = {"ifx_isTimeout": "true"}


@pytest.fixture
def core() -> Iterator[ServerCore]:
    with server_core() as made:
        run(made.engine(), TABLE)
        yield made


class Client:
    """A session in sysadmin, with its descriptor."""

    def __init__(
        self, core: ServerCore, command: str = "open", *values: str, delimident: bool = False
    ) -> None:
        self.engine = core.engine("sysadmin", delimident=delimident)
        self.talk = Talk(self.engine)
        self.descriptor = self.task(command, *values)

    def task(self, command: str, *values: str) -> str:
        return task(self.engine, command, *values)

    def read(self, size: int = 66560) -> bytes:
        reply = self.talk.say(ReadObject(int(self.descriptor), size))
        assert reply.object_data is not None
        return bytes(reply.object_data.data)

    def event(self, size: int = 66560) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.read(size))
        return found

    def registered(self, *values: str) -> Client:
        for each in (NOW, BIG, *values):
            assert self.task("register", each) == "OK"
        return self


def task(engine: Engine, command: str, *values: str) -> str:
    marks = ", ?" * len(values)
    statement = engine.prepare(f"EXECUTE FUNCTION informix.task('pushdata {command}'{marks})")
    cursor = engine.open(statement, values)
    rows, _ = cursor.fetch(1)
    engine.close_cursor(cursor)
    return str(rows[0][0])


def test_committed_changes_are_events(core: ServerCore) -> None:
    client, writer = Client(core).registered(), core.engine()
    assert client.event() == TIMEOUT
    run_all(
        writer,
        "BEGIN WORK",
        "INSERT INTO orders VALUES (0, 15, 'a')",
        "INSERT INTO orders VALUES (0, 5, 'b')",
    )
    assert client.event() == TIMEOUT
    run_all(
        writer,
        "UPDATE orders SET qty = 20",
        "COMMIT WORK",
        "BEGIN WORK",
        "DELETE FROM orders",
        "ROLLBACK WORK",
    )
    run_all(writer, "UPDATE orders SET qty = 1 WHERE id = 2", "DELETE FROM orders")
    events = [client.event() for _ in range(4)]
    assert client.event() == TIMEOUT
    assert [
        (each["operation"], each["op_num"], each["rowdata"], each.get("before_rowdata")) for each in events
    ] == [
        ("insert", 1, {"id": 1, "qty": 15}, None),
        ("update", 3, {"id": 1, "qty": 20}, {"id": 1, "qty": 15}),
        ("update", 4, {"id": 2, "qty": 20}, {"id": 2, "qty": 5}),
        ("delete", 1, {"id": 1, "qty": 20}, None),
    ]
    first = {name: events[0][name] for name in ("table", "owner", "database", "label")}
    assert first == {"table": "orders", "owner": "informix", "database": "demo", "label": "big"}
    assert events[0]["txnid"] == events[2]["txnid"] < events[3]["txnid"]
    assert events[0]["restart_logid"] << 32 | events[0]["restart_logpos"] < events[0]["txnid"]


def test_values_are_json(core: ServerCore) -> None:
    writer = core.engine()
    run(
        writer,
        "CREATE TABLE kinds (id BIGINT PRIMARY KEY, f FLOAT, d DECIMAL(20,4), b BOOLEAN, c CHAR(3), v LVARCHAR,"
        " day DATE, moment DATETIME YEAR TO FRACTION(3), span INTERVAL HOUR TO MINUTE, blob BLOB, t TEXT)",
    )
    client = Client(core)
    names = "id, f, d, b, c, v, day, moment, span"
    query = (
        f'{{table:"kinds", owner:"informix", database:"demo", query:"SELECT {names} FROM informix.kinds"}}'
    )
    assert (client.task("register", NOW), client.task("register", query)) == ("OK", "OK")
    run(
        writer,
        "INSERT INTO kinds VALUES (9223372036854775807, 1.5, 1234567890123456.7891, 't', 'ä', 'say \"x\"',"
        " MDY(2, 28, 2026), DATETIME(2026-02-28 01:02:03.456) YEAR TO FRACTION(3), INTERVAL(5:06) HOUR TO MINUTE,"
        " NULL, NULL)",
    )
    run(writer, "INSERT INTO kinds (id) VALUES (1)")
    assert '"d":1234567890123456.7891' in (text := client.read().decode())
    assert json.loads(text)["rowdata"] == {
        "id": 9223372036854775807, "f": 1.5, "d": 1234567890123456.7891, "b": True, "c": "ä  ", "v": 'say "x"',
        "day": "02/28/2026", "moment": "2026-02-28 01:02:03.456", "span": "5:06",
    }  # fmt: skip
    empty = client.event()
    assert empty["rowdata"] == dict.fromkeys(names.split(", "), None) | {"id": 1}
    assert "label" not in empty


def test_the_attributes_limit_what_a_read_returns(core: ServerCore) -> None:
    client, writer = Client(core).registered('{timeout:"0", maxrecs:"2", max_pending_ops:"3"}'), core.engine()
    for number in range(6):
        run(writer, f"INSERT INTO orders VALUES (0, {number + 20}, '')")
    assert client.event() == {"ifx_warn_total_skipcount": 3}
    assert client.read().count(b'"rowdata"') == 2
    assert client.event()["rowdata"]["qty"] == 22
    assert client.event() == TIMEOUT
    run(writer, "INSERT INTO orders VALUES (0, 30, '')")
    assert client.event(100) == {"ifx_error": "Smartblob read API buffer size 100 is too small"}


def test_a_session_can_begin_after_a_transaction_or_a_time(core: ServerCore) -> None:
    first, writer = Client(core).registered(), core.engine()
    for number in range(3):
        run(writer, f"INSERT INTO orders VALUES (0, {number + 20}, '')")
    events = [first.event() for _ in range(3)]
    after = Client(core).registered(f'{{timeout:"0", txnid:"{events[1]["txnid"]}"}}')
    assert (after.event(), after.event()) == (events[2], TIMEOUT)
    past = Client(core).registered('{timeout:"0", commit_time:"1"}')
    assert [past.event() for _ in range(4)] == [*events, TIMEOUT]
    future = Client(core).registered(f'{{timeout:"0", commit_time:"{events[0]["commit_time"] + 9}"}}')
    assert future.event() == TIMEOUT


def test_tables_of_two_owners_are_watched_and_not_locked() -> None:
    with server_core(LogMode.ANSI) as core:
        writer = core.engine()
        run_all(
            writer, "CREATE TABLE 'anna'.t (id INT PRIMARY KEY)", "CREATE TABLE 'bert'.t (b INT PRIMARY KEY)"
        )
        run(writer, "COMMIT WORK")
        client = Client(core)
        assert client.task("register", NOW) == "OK"
        for owner in ("anna", "bert"):
            query = (
                f'{{table:"t", owner:"{owner}", database:"demo", query:"SELECT * FROM t", label:"{owner}"}}'
            )
            assert client.task("register", query) == "OK"
        core.databases.find("demo").busy_timeout = 0
        for number, owner in enumerate(("anna", "bert", "anna")):
            run_all(writer, f"INSERT INTO '{owner}'.t VALUES ({number})", "COMMIT WORK")
        found = [client.event() for _ in range(3)]
    assert [(each["label"], each["rowdata"]) for each in found] == [
        ("anna", {"id": 0}), ("bert", {"b": 1}), ("anna", {"id": 2}),
    ]  # fmt: skip


def test_a_joined_session_that_begins_again_has_each_event_once(core: ServerCore) -> None:
    client, writer = Client(core).registered('{timeout:"0", max_pending_ops:"9"}'), core.engine()
    number = client.task("setdetach")
    for each in range(3):
        run(writer, f"INSERT INTO orders VALUES (0, {each + 20}, '')")
    first = client.event()
    client.engine.close()
    joined = Client(core, "join", f'{{session_id:"{number}"}}')
    assert joined.task("register", f'{{timeout:"0", txnid:"{first["txnid"]}"}}') == "OK"
    assert [joined.event().get("rowdata") for _ in range(3)] == [
        {"id": 2, "qty": 21},
        {"id": 3, "qty": 22},
        None,
    ]


def test_a_query_without_a_result_gives_an_error_in_place_of_its_event(core: ServerCore) -> None:
    query = f'{{{ORDERS}, query:"SELECT id, 10 / qty AS share FROM orders"}}'
    client, writer = Client(core), core.engine()
    assert (client.task("register", NOW), client.task("register", query)) == ("OK", "OK")
    run(writer, "BEGIN WORK")
    for qty in (5, 0, 2):
        run(writer, f"INSERT INTO orders VALUES (0, {qty}, '')")
    run(writer, "COMMIT WORK")
    found = [client.event() for _ in range(4)]
    assert [each.get("rowdata", each) for each in found] == [
        {"id": 1, "share": 2}, {"ifx_error": "-1202"}, {"id": 3, "share": 5}, TIMEOUT,
    ]  # fmt: skip


def test_a_query_is_read_with_the_delimident_of_the_session_that_registered_it(core: ServerCore) -> None:
    odd = core.engine(delimident=True)
    run(odd, 'CREATE TABLE "Odd" (id INT PRIMARY KEY, "Note" VARCHAR(9))')
    query = r"""SELECT id, \"Note\" FROM \"Odd\" WHERE \"Note\" <> 'no'"""
    attributes = f'{{table:"Odd", owner:"informix", database:"demo", query:"{query}"}}'
    assert Client(core).task("register", attributes) == "-201"
    client = Client(core, delimident=True)
    assert (client.task("register", NOW), client.task("register", attributes)) == ("OK", "OK")
    session_id = client.task("setdetach")
    client.engine.close()
    run_all(odd, """INSERT INTO "Odd" VALUES (1, 'no')""", """INSERT INTO "Odd" VALUES (2, 'yes')""")
    joined = Client(core, "join", f'{{session_id:"{session_id}"}}')
    assert joined.task("register", NOW) == "OK"
    assert [joined.event().get("rowdata"), joined.event()] == [{"id": 2, "Note": "yes"}, TIMEOUT]


@pytest.mark.parametrize("delimident", [False, True])
@pytest.mark.parametrize("name", ["user", "current", "unique"])
def test_the_name_of_a_table_may_be_a_word_that_needs_quotes(
    core: ServerCore, name: str, delimident: bool
) -> None:
    run(core.engine(delimident=True), f'CREATE TABLE "{name}" (id INT PRIMARY KEY)')
    written = rf"\"{name}\"" if delimident else name
    attributes = f'{{table:"{name}", owner:"informix", database:"demo", query:"SELECT id FROM {written}"}}'
    assert Client(core, delimident=delimident).task("register", attributes) == "OK"


def test_a_timeout_beyond_those_of_the_machine_is_none(core: ServerCore) -> None:
    client = Client(core).registered(f'{{timeout:"{10**18}"}}')
    run(core.engine(), "INSERT INTO orders VALUES (0, 15, '')")
    assert client.event()["rowdata"] == {"id": 1, "qty": 15}


@pytest.mark.parametrize(
    ("attributes", "answer"),
    [
        ('table:"orders", database:"demo", query:"SELECT * FROM orders, orders b"', "exactly one table"),
        (
            'table:"orders", database:"demo", query:"SELECT * FROM orders JOIN orders b ON 1 = 1"',
            "exactly one table",
        ),
        ('table:"orders", database:"demo", query:"DELETE FROM orders"', "is not one SELECT"),
        (
            'table:"orders", database:"demo", query:"SELECT * FROM orders UNION SELECT * FROM orders"',
            "not one SELECT",
        ),
        (
            'table:"orders", database:"demo", query:"SELECT (SELECT 1 FROM systables) FROM orders"',
            "more than a list",
        ),
        ('table:"orders", database:"demo", query:"SELECT qty FROM orders GROUP BY qty"', "more than a list"),
        ('table:"orders", database:"demo", query:"SELECT * FROM others"', "is not of table orders"),
        ('table:"others", database:"demo", query:"SELECT * FROM others"', "-206 others"),
        ('table:"systables", database:"demo", query:"SELECT * FROM systables"', "-206 systables"),
        ('table:"orders", database:"nowhere", query:"SELECT * FROM orders"', "-329 nowhere"),
        ('table:"orders", database:"demo", query:"SELECT nothing FROM orders"', "-217 nothing"),
        ('table:"orders", database:"demo", query:"SELECT FROM"', "-201"),
        (
            'table:"heap", database:"demo", query:"SELECT * FROM heap"',
            "neither a primary key nor a unique index",
        ),
        (
            'table:"large", database:"demo", query:"SELECT * FROM large"',
            "column b has a type that cannot be pushed",
        ),
        ('table:"plain", database:"plain", query:"SELECT * FROM plain"', "database plain has no log"),
        ('timeout:"soon"', "timeout is not a number"),
        ('timeout:"--5"', "timeout is not a number"),
        (f'txnid:"{"9" * 5000}"', "txnid is not a number"),
        ("nonsense", "-9652"),
    ],
)
def test_what_cannot_be_registered_is_refused_with_the_reason(
    core: ServerCore, attributes: str, answer: str
) -> None:
    run_all(core.engine(), "CREATE TABLE heap (a INT)", "CREATE TABLE large (a INT UNIQUE, b BLOB)")
    core.databases.create("plain", LogMode.UNLOGGED, "informix")
    run(core.engine("plain"), "CREATE TABLE plain (a INT PRIMARY KEY)")
    found = Client(core).task("register", f"{{{attributes}}}")
    assert answer in found
    assert found != "OK"


def test_a_detached_session_goes_on_and_is_joined(core: ServerCore) -> None:
    client, writer = Client(core).registered(), core.engine()
    number = client.task("setdetach")
    assert client.task("join", f'{{session_id:"{number}"}}') == "-1"
    assert Client(core, "join", f'{{session_id:"{number}"}}').descriptor == "-1"
    run(writer, "BEGIN WORK")
    run(writer, "INSERT INTO orders VALUES (0, 15, '')")
    client.engine.close()
    run(writer, "COMMIT WORK")
    joined = Client(core, "join", f'{{session_id:"{number}"}}')
    assert joined.event()["rowdata"] == {"id": 1, "qty": 15}
    joined.engine.close()
    another = Client(core)
    assert another.task("delete", f'{{session_id:"{number}"}}') == "OK"
    assert another.task("delete", f'{{session_id:"{number}"}}') == f"there is no detached session {number}"
    assert Client(core, "join", f'{{session_id:"{number}"}}').descriptor == "-1"


def test_tables_are_watched_until_the_last_session_ends(core: ServerCore) -> None:
    database = core.databases.find("demo")
    first, second = Client(core).registered(BIG), Client(core).registered()
    assert len(database.captured) == 1
    first.engine.close()
    assert len(database.captured) == 1
    second.task("setdetach")
    second.engine.close()
    assert len(database.captured) == 1
    assert Client(core).task("delete", '{delete_all:"1"}') == "OK"
    assert not database.captured


def test_a_registration_waits_for_the_statement_that_writes(core: ServerCore) -> None:
    client, writer = Client(core), core.engine()
    assert client.task("register", NOW) == "OK"
    run_all(writer, "BEGIN WORK", "CREATE TABLE z (a INTEGER)")  # keeps the latch
    core.databases.find("demo").busy_timeout = 0
    assert client.task("register", BIG) == "-244 demo: another session writes longer than busy_timeout"
    run_all(writer, "INSERT INTO orders VALUES (0, 15, '')", "COMMIT WORK")
    assert client.task("register", BIG) == "OK"
    run(writer, "INSERT INTO orders VALUES (0, 16, '')")
    assert [client.event().get("rowdata") for _ in range(2)] == [{"id": 2, "qty": 16}, None]


def test_the_own_session_is_deleted(core: ServerCore) -> None:
    client = Client(core).registered()
    number = client.task("setdetach")
    assert client.task("delete") == "OK"
    client.engine.close()
    assert Client(core, "join", f'{{session_id:"{number}"}}').descriptor == "-1"


def test_a_session_opens_once(core: ServerCore) -> None:
    client = Client(core)
    assert client.task("open") == "-1"
    assert Client(core, "register", NOW).descriptor == "no session of push data is open"


def test_changes_that_the_log_no_longer_has_are_an_error(core: ServerCore) -> None:
    client = Client(core).registered()
    run(core.engine(), "INSERT INTO orders VALUES (0, 15, '')")
    log = core.databases.changes
    for number in log.numbers:
        log.path(number).unlink()
    log._number += 1
    log._offset = 0
    assert client.event() == {"ifx_error": "the log no longer has the changes of the session"}


def test_other_commands_are_refused(core: ServerCore) -> None:
    engine = core.engine("sysadmin")
    assert error_from(engine, "EXECUTE FUNCTION task('check extents')") == (-999, "task('check extents')")
    granted = engine.open(engine.prepare("EXECUTE FUNCTION task('grant admin', 'anna', 'replication')"))
    assert granted.fetch(1)[0] == [("OK",)]


def error_from(engine: Engine, text: str) -> tuple[int, str]:
    with pytest.raises(SqlError) as raised:
        engine.open(engine.prepare(text))
    return raised.value.sqlcode, raised.value.token
