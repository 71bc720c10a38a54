from __future__ import annotations

import pytest

import aioifx
from aioifx.server import ServerOptions, serve
from aioifx.sqltypes import SqlType, TypeCode
from aioifx.wire import requests
from aioifx.wire.fields import BindEntry
from aioifx.wire.objects import CallRoutine, Routine
from aioifx.wire.routines import (
    BY_NUMBER,
    DescribeRoutine,
    FindNumbered,
    Outputs,
    RoutineParameter,
    routine_in,
)
from tests.server.talking import Heard, Talk, bound, error_of, prepared

P = (
    "CREATE PROCEDURE p(OUT size INT, INOUT text VARCHAR(20)) LET size = LENGTH(text); LET text = text || '!';"
    " END PROCEDURE"
)


def refused(talk: Talk, text: str) -> Routine:
    error = talk.say(*prepared(text)).error
    assert error is not None and error.sqlcode == -9752
    routine = routine_in(error.token)
    assert routine is not None and routine.database == b"demo"
    return routine


def call(talk: Talk, routine: Routine, *values: int | str | None, wanted: bool = False) -> Heard:
    found = talk.say(FindNumbered(routine))
    assert found.routine is not None
    database, handle = found.routine
    return talk.say(CallRoutine(database, handle, len(values), BY_NUMBER), bound(*values), Outputs(wanted))


def data_of(reply: Heard) -> list[bytes | None]:
    assert reply.error is None and reply.returned is not None
    return [None if entry.indicator else entry.data for entry in reply.returned]


def test_a_refused_call_is_described_and_made_by_number(talk: Talk) -> None:
    talk.command(P)
    routine = refused(talk, "EXECUTE PROCEDURE p(?, ?)")
    assert talk.say(DescribeRoutine(routine)).routine_parameters == (
        RoutineParameter(4, "size", SqlType(TypeCode.INTEGER, 4)),
        RoutineParameter(2, "text", SqlType(TypeCode.VARCHAR, 20)),
    )
    reply = call(talk, routine, None, "abc")
    assert (reply.outputs, data_of(reply)) == ((True, True), [b"\0\0\0\3", b"abc!"])


def test_the_modes_are_sent_with_the_first_call_of_each_statement_or_if_requested(talk: Talk) -> None:
    talk.command(P)
    first, second = (refused(talk, "EXECUTE PROCEDURE p(?, ?)") for _ in range(2))
    described = [call(talk, one, None, "x").outputs for one in (first, first, second, first, second)]
    assert described == [(True, True), None, (True, True), None, None]
    assert call(talk, first, None, "x", wanted=True).outputs == (True, True)


@pytest.mark.parametrize(
    ("value", "entry"),
    [
        ("NULL", (TypeCode.CHAR, None)),
        ("'ab'", (TypeCode.CHAR, b"ab   ")),
    ],
)
def test_a_char_has_its_blanks(talk: Talk, value: str, entry: tuple[int, bytes | None]) -> None:
    talk.command(f"CREATE PROCEDURE p(OUT c CHAR(5), n INT) LET c = {value}; END PROCEDURE")
    reply = call(talk, refused(talk, "EXECUTE PROCEDURE p(?, ?)"), None, 1)
    assert reply.outputs == (True, False)
    assert [(one.code, None if one.indicator else one.data) for one in reply.returned or ()] == [entry]


async def test_a_char_in_utf8_has_its_size_in_bytes() -> None:
    async with serve(ServerOptions(("demo:en_US.utf8",))) as server, aioifx.connect(server.dsn) as conn:
        await conn.execute("CREATE PROCEDURE p(OUT c CHAR(12)) LET c = 'λόγος'; END PROCEDURE")
        assert await conn.call("p", None) == [("λόγος  ",)]


def test_a_collection_is_sent_as_text(talk: Talk) -> None:
    talk.command("CREATE PROCEDURE p(OUT s SET(INT NOT NULL)) LET s = 'SET{1,2}'; END PROCEDURE")
    assert data_of(call(talk, refused(talk, "EXECUTE PROCEDURE p(?)"), None)) == [b"SET{1,2}"]


def test_arguments_may_be_left_to_defaults(talk: Talk) -> None:
    talk.command("CREATE PROCEDURE p(OUT a INT, b INT DEFAULT 7) LET a = b; END PROCEDURE")
    assert data_of(call(talk, refused(talk, "EXECUTE PROCEDURE p(?)"), None)) == [b"\0\0\0\7"]


@pytest.mark.parametrize(
    "text",
    [
        "EXECUTE PROCEDURE p(NULL, ?)",
        "EXECUTE PROCEDURE p(NULL, 'abc')",
        "EXECUTE FUNCTION f(?, ?)",
        "EXECUTE PROCEDURE plain(?)",
    ],
)
def test_other_calls_are_prepared(talk: Talk, text: str) -> None:
    talk.command(P)
    talk.command("CREATE FUNCTION f(a INT, OUT b INT) RETURNING INT; LET b = a; RETURN a; END FUNCTION")
    talk.command("CREATE PROCEDURE plain(a INT) END PROCEDURE")
    assert talk.say(*prepared(text)).error is None


def test_an_error_of_the_routine_is_the_reply(talk: Talk) -> None:
    talk.command("CREATE PROCEDURE p(OUT a INT) LET a = 1 / 0; END PROCEDURE")
    routine = refused(talk, "EXECUTE PROCEDURE p(?)")
    assert error_of(call(talk, routine, None))[0] == -1202
    talk.command("DROP PROCEDURE p")
    assert error_of(talk.say(FindNumbered(routine)))[0] == -674
    assert error_of(talk.say(DescribeRoutine(routine)))[0] == -674


async def test_a_call_is_logged_and_faulted_by_its_text() -> None:
    async with serve(ServerOptions()) as server, aioifx.connect(server.dsn) as conn:
        await conn.execute(P)
        with server.statements() as log:
            await conn.call("p", None, "abc")
        assert [each.sql for each in log] == ["execute procedure p(?, ?)"]
        with server.faults.fail_next(-244, -107, match="execute procedure p(") as fault:
            with pytest.raises(aioifx.LockError):
                await conn.call("p", None, "abc")
        assert fault.hits == 1


def test_bad_calls_are_errors_and_the_session_goes_on(talk: Talk) -> None:
    talk.command(P)
    routine = refused(talk, "EXECUTE PROCEDURE p(?, ?)")
    assert error_of(talk.say(Outputs()))[0] == -674
    assert error_of(call(talk, routine, None))[0] == -674
    call_of = CallRoutine(b"demo", routine.routine, 2, BY_NUMBER)
    assert talk.say(call_of, bound(None, "abc")).error is None
    assert error_of(talk.say(call_of, Outputs()))[0] == -674
    bad = requests.Bind((BindEntry(TypeCode.INTEGER, b"", b"", 7, 0, b"\0\0\0\1"),) * 2)
    assert error_of(talk.say(call_of, bad, Outputs()))[0] == -999
    assert data_of(call(talk, routine, None, "abc"))[1] == b"abc!"
