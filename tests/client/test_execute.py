"""What a statement does for a call: COMMAND or PREPARE, rows counted or made, values found."""

from __future__ import annotations

from typing import Any

import pytest

from aioifx import rows
from aioifx.errors import InterfaceError, NotNullViolation, UniqueViolation
from aioifx.wire.opcodes import StatementType
from tests.scripted import (
    ANSI,
    C1,
    CHUNKINGS,
    COMMAND,
    COMMIT,
    EOT,
    INTEGER,
    PREPARE,
    ROLLBACK,
    Chunking,
    Held,
    Turn,
    cancel_at,
    closing,
    column,
    described,
    done,
    error,
    executed,
    insert_done,
    ints,
    opening,
    played,
    raw_row,
    release,
    takes,
    talking,
)

pytestmark = pytest.mark.usefixtures("tidy")

commit_of_jdbc = b"\0\x13" + EOT


@pytest.mark.parametrize("chunks", CHUNKINGS, ids=lambda chunks: chunks.__name__)
@pytest.mark.parametrize(
    ("file", "case", "sql"),
    [
        ("select", "dml_insert", "insert into t values (1,'a')"),
        ("select", "dml_update", "update t set a=1 where b=2"),
        ("select", "dml_delete", "delete from t where b=2"),
        ("select", "ddl_create", "create temp table x (a int)"),
        ("transactions", "isolation_1", "set isolation to dirty read"),
        ("transactions", "isolation_4", "set isolation to repeatable read"),
    ],
)
async def test_a_statement_without_rows_and_parameters_is_one_round_trip(
    file: str, case: str, sql: str, chunks: Chunking
) -> None:
    async with talking(played(file, case), chunks=chunks) as (conn, _):
        result = await conn.execute(sql)
        assert result.rowcount == (1 if case.startswith("dml") else 0)
        assert conn.stats.round_trips == 1


@pytest.mark.parametrize(
    ("case", "sql", "kind", "sqlcode"),
    [
        ("appendisam", "insert into exec_err_268 values(1)", UniqueViolation, -268),
        ("exec_391_stmt", "insert into exec_err_391 values(null)", NotNullViolation, -391),
    ],
)
async def test_what_fails_is_told_with_all_codes_and_not_followed_by_a_commit(
    case: str, sql: str, kind: type[UniqueViolation], sqlcode: int
) -> None:
    """A difference on purpose: JDBC commits behind a failed statement in autocommit mode, where nothing can be open."""
    script = [turn for turn in played("errors", case) if turn[0] != commit_of_jdbc]
    async with talking(script) as (conn, _):
        with pytest.raises(kind, match="u100_1") as caught:
            await conn.execute(sql)
        assert (caught.value.sqlcode, caught.value.isamcode, caught.value.sqlstate) == (
            sqlcode,
            -100,
            "23000",
        )
        assert (caught.value.token, caught.value.sql, caught.value.row_index) == ("u100_1", sql, None)


@pytest.mark.parametrize(
    ("bits", "sqlstates"),
    [
        (1, ["01004"]),
        (2, ["01003"]),
        (4, ["01I09"]),
        (8, ["01I07"]),
        (16, ["01I06"]),
        (32, ["01I11"]),
        (64, []),
        (128, []),
    ],
)
async def test_warnings_come_with_the_result(bits: int, sqlstates: list[str]) -> None:
    script = played("errors", "getsqlwarnings")
    turn = script[bits.bit_length() - 1]
    async with talking(turn) as (conn, _):
        result = await conn.execute("update warnme set a=1")
        assert [warning.sqlstate for warning in result.warnings] == sqlstates
        assert all(str(warning) for warning in result.warnings)


async def test_warnings_of_prepare_and_of_execution_are_both_told() -> None:
    async with talking(
        (PREPARE, described(2, kind=StatementType.DELETE_ALL, warnings=8)),
        ("Id(2) DescribeInput", takes(INTEGER)),
        ("Id(2) Bind(1) Execute", done(3, warnings=1) + EOT),
        release(2),
    ) as (conn, _):
        result = await conn.execute("delete from t where a = ?", 1)
        assert [warning.sqlstate for warning in result.warnings] == ["01004", "01I07"]


@pytest.mark.parametrize("sql", ["  -- note\n INSERT into t values (1)", "{ x } insert into t values (1)"])
async def test_comments_in_front_do_not_hide_what_it_is(sql: str) -> None:
    async with talking((COMMAND, executed(0, StatementType.INSERT, 1))) as (conn, peer):
        await conn.execute(sql)
        assert peer.statements == [sql.encode()]  # the text itself is the server's


@pytest.mark.parametrize(
    "sql", ["execute procedure p()", "database stores", "update statistics", "begin work"]
)
async def test_what_is_not_known_to_return_nothing_is_prepared(sql: str) -> None:
    script: list[Turn] = [
        (PREPARE, described(0, kind=StatementType.EXECUTE_ROUTINE)),
        ("Id(0) Execute", done() + EOT),
        release(0),
    ]
    if sql.startswith("update"):
        script = [(COMMAND, executed(0, 30))]
    async with talking(script) as (conn, _):
        await conn.execute(sql)


async def test_serials_are_taken_from_where_the_server_puts_them() -> None:
    describe = described(0, kind=StatementType.INSERT).removesuffix(done() + EOT)
    for tail, serial in (
        (done(1, serial=5), 5),
        (insert_done(6, 0) + done(1), 6),
        (insert_done(0, 7) + done(1), 7),
        (insert_done(0, 0) + done(1), None),
    ):
        async with talking((COMMAND, describe + tail + EOT)) as (conn, _):
            assert (await conn.execute("insert into t values (0)")).serial == serial


async def test_what_an_update_leaves_in_the_serial_is_not_ours() -> None:
    async with talking(
        (COMMAND, executed(0, StatementType.UPDATE)[:-2] + done(1, serial=9, rowid=257) + EOT)
    ) as (conn, _):
        result = await conn.execute("update t set a = 1")
        assert (result.serial, result.rowid) == (None, 257)


async def test_an_answer_without_a_description_is_read_all_the_same() -> None:
    async with talking((COMMAND, done(2) + EOT)) as (conn, _):
        assert (await conn.execute("delete from t where a = 1")).rowcount == 2


# -- rows -------------------------------------------------------------------------------------------------------------


async def test_a_value_is_found_by_its_column() -> None:
    two: list[Turn] = [
        (PREPARE, described(0, C1, column("c2", 2, 4))),
        (opening(0, 4096), raw_row(b"\0\0\0\1\0\0\0\2") + done(1) + EOT),
        *closing(0),
    ]
    async with talking(two, two, two) as (conn, _):
        assert await conn.fetchval("select c1, c2 from t") == 1
        assert await conn.fetchval("select c1, c2 from t", column=1) == 2
        with pytest.raises(InterfaceError, match="column 2 of a row with 2 columns"):
            await conn.fetchval("select c1, c2 from t", column=2)


async def test_no_row_is_none_and_no_rows_are_an_empty_list() -> None:
    def nothing(size: int) -> list[Turn]:
        return [(PREPARE, described(0, C1)), (opening(0, size), done(0) + EOT), *closing(0)]

    async with talking(nothing(4096), nothing(4096), nothing(32767)) as (conn, _):
        assert await conn.fetchrow("select c1 from t") is None
        assert await conn.fetchval("select c1 from t") is None
        assert await conn.fetch("select c1 from t") == []


async def test_the_factory_of_the_call_wins_over_the_connections() -> None:
    def one(size: int) -> list[Turn]:
        return [(PREPARE, described(0, C1)), (opening(0, size), ints(1) + done(1) + EOT), *closing(0)]

    async with talking(one(32767), one(32767), one(4096), one(4096), row_factory=rows.dict_row) as (conn, _):
        all_rows: list[Any] = await conn.fetch("select c1 from t")
        assert all_rows == [{"c1": 1}]
        assert await conn.fetch("select c1 from t", row_factory=rows.tuple_row) == [(1,)]
        one_row: Any = await conn.fetchrow("select c1 from t")
        assert one_row == {"c1": 1}
        assert await conn.fetchrow("select c1 from t", row_factory=rows.tuple_row) == (1,)


# -- ANSI databases ---------------------------------------------------------------------------------------------------


async def test_an_ansi_database_is_committed_behind_a_failure_too() -> None:
    """Or what the failed statement has locked would stay locked."""
    nothing_to_commit: Turn = ("Commit", error(-255) + EOT)
    async with talking(
        (COMMAND, error(-268, -100) + EOT),
        COMMIT,
        (PREPARE, described(2, kind=StatementType.INSERT)),
        ("Id(2) DescribeInput", takes(INTEGER)),
        ("Id(2) Bind(1) Execute", error(-268, -100) + EOT),
        release(2),
        nothing_to_commit,
        warnings=ANSI,
    ) as (conn, _):
        with pytest.raises(UniqueViolation):
            await conn.execute("insert into t values(1)")
        with pytest.raises(UniqueViolation):
            await conn.execute("insert into t values(?)", 1)


async def test_a_cancelled_statement_of_an_ansi_database_is_committed_by_the_next_turn() -> None:
    """It may have been done; a ROLLBACK of what comes next must not undo it."""
    held = Held(done(1) + EOT)
    async with talking((COMMAND, held), COMMIT, ROLLBACK, warnings=ANSI) as (conn, _):
        await cancel_at(held, conn.execute("insert into t values(1)"))
        held.release()
        transaction = conn.transaction()
        await transaction.start()
        await transaction.rollback()


async def test_a_failure_inside_of_a_transaction_is_not_committed() -> None:
    async with talking((COMMAND, error(-268, -100) + EOT), ROLLBACK, warnings=ANSI) as (conn, _):
        with pytest.raises(UniqueViolation):
            async with conn.transaction():
                await conn.execute("insert into t values(1)")


# -- rows that are none -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [None, 5, "ab", b"ab", {"a": 1}, range], ids=repr)
async def test_rows_that_cannot_be_iterated_are_refused_before_anything_is_sent(rows: Any) -> None:
    async with talking((PREPARE, described(2, kind=StatementType.DELETE)), release(2)) as (conn, peer):
        for call in (conn.executemany, conn.cursor().executemany):
            with pytest.raises(
                InterfaceError, match=f"rows must be an iterable .* not {type(rows).__name__}"
            ):
                await call("delete from t", rows)
        assert peer.groups == []
        async with await conn.prepare("delete from t") as statement:
            with pytest.raises(InterfaceError, match="rows must be"):
                await statement.executemany(rows)
